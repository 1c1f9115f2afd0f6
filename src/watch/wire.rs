//! What the watches of ranks tell each other: datagrams of JSON, answered only if they have the key of the world.

use nagare_watch::Answer;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};

/// Bytes of the longest datagram.
pub const LONGEST: usize = 60_000;

/// Messages that an answer lists at most, of each thread.
pub const LISTED: usize = 100;

/// A datagram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Datagram {
    /// What only the ranks of the world know, and whoever may read this process's memory.
    pub key: u64,
    /// What it says.
    pub says: Says,
}

/// Questions and answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Says {
    /// What are you in?
    Ask,
    /// This.
    Answer(Answer),
}

/// Where the watch of a rank listens: addresses of its host (IPv4), 0 for none, one of which the others reach.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub addresses: [u32; 4],
    /// 0 if it does not listen.
    pub port: u32,
    /// Seconds after which it calls a call overdue.
    pub limit: u32,
    /// The key it would give the world; that of rank 0 counts.
    pub key: u64,
}

impl Place {
    /// Where it may be reached.
    pub fn sockets(&self) -> impl Iterator<Item = SocketAddr> {
        let port = u16::try_from(self.port).unwrap_or(0);
        let addresses = self.addresses.into_iter().filter(move |&address| address != 0 && port != 0);
        addresses.map(move |address| SocketAddr::from((Ipv4Addr::from(address), port)))
    }
}
