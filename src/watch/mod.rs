//! The watch over calls that do not end (`NAGARE_WATCH`): which ranks have not arrived, what they are in, and whom the
//! others wait for.
//!
//! ```text
//!   call ──► doing      what the threads of this process are in             each process has a thread,
//!              ▲                                                            which calls nothing of MPI
//!            thread ──► peers ──► wire ═══ datagrams ═══ the threads of other ranks, at their places
//!              │  └───► door ═══ nagare ps            (both sockets: kept)
//!              └──────► crates/watch: words ──► standard error
//! ```
//!
//! May enter: what can be said without MPI, of calls as text. May not: communicators, arguments, schedules.

pub mod doing;
mod door;
mod kept;
mod peers;
pub mod place;
mod thread;
mod wire;

use self::door::Door;
use self::peers::Peers;
use self::place::Place;
use self::thread::Thread;
use self::wire::Key;
use crate::boundary::threads;
use nagare_plan::schedule::Rank;
use nagare_plan::topology::Topology;
use nagare_watch::Job;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Error, Result};
use std::net::UdpSocket;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// The ranks of a communicator look at a call that does not end one after another, so that the first has told before
/// most others ask it: after so long each, at most a part of the limit.
const APART: Duration = Duration::from_millis(5);
const MOST_APART: u32 = 2;

/// What a watch knows of its job.
pub struct Setting {
    pub rank: Rank,
    pub host: String,
    /// Where all ranks listen, by rank.
    pub places: Vec<Place>,
    /// Where they are, and the network, where it is known.
    pub topology: Arc<Topology>,
    /// File of the program, and what the batch system calls the job.
    pub program: String,
    pub job: Option<String>,
}

/// The watch of this process, as its calls see it.
pub struct Watch {
    /// After so long a call is overdue.
    limit: Duration,
    /// How many communicators there have been of the same ranks, by a number for them.
    alike: Mutex<HashMap<u64, u32>>,
    ends: AtomicBool,
}

impl Watch {
    /// Starts the thread, which listens at the socket.
    ///
    /// # Errors
    /// If no rank listens, or there is no thread to be had.
    pub fn start(socket: UdpSocket, setting: Setting) -> Result<Arc<Self>> {
        let Setting { rank, host, places, topology, program, job } = setting;
        let key = places.iter().map(|place| place.key).find(|&key| key != [0; 2]);
        let key = key.ok_or_else(|| Error::other("no rank has random numbers"))?;
        let seconds = places.iter().map(|place| place.limit).filter(|&limit| limit > 0).min();
        let limit = Duration::from_secs(seconds.ok_or_else(|| Error::other("no rank asks for it"))?.into());
        let watch = Arc::new(Self { limit, alike: Mutex::default(), ends: AtomicBool::new(false) });
        let (world, ranks) = (world(key), places.len() as Rank);
        let thread = Thread {
            watch: Arc::clone(&watch),
            peers: Peers::new(socket, Key(key), (rank, host), places, topology.nodes().to_vec())?,
            rank,
            door: Door::open(Job { world, program, job, ranks, rank }).ok(),
            topology,
        };
        threads::spawn("nagare-watch", move || thread.run())?;
        Ok(watch)
    }

    /// The thread ends soon, and tells nothing any more.
    pub fn end(&self) {
        self.ends.store(true, Relaxed);
    }

    /// Whether it is to.
    pub fn has_ended(&self) -> bool {
        self.ends.load(Relaxed)
    }

    /// After so long a call is overdue.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// How long after its begin rank `rank` of a communicator looks at a call.
    pub fn patience(&self, rank: Rank) -> Duration {
        self.limit + APART.saturating_mul(rank).min(self.limit / MOST_APART)
    }

    /// A number for a communicator of these ranks, the same on all of them where they come to use communicators of the
    /// same ranks in the same order; that of the world is known.
    pub fn name(&self, members: &[Rank], is_world: bool) -> u64 {
        let mut hasher = DefaultHasher::new();
        members.hash(&mut hasher);
        let number = if is_world {
            0
        } else {
            let mut alike = self.alike.lock();
            let before = alike.entry(hasher.finish()).or_insert(0);
            *before += 1;
            *before
        };
        number.hash(&mut hasher);
        hasher.finish()
    }
}

/// A number for the world that says nothing of its key.
fn world(key: [u64; 2]) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// Waits until one of these has something to read, or is closed, or for so long.
fn poll(descriptors: &[RawFd], within: Duration) {
    let mut all: Vec<libc::pollfd> =
        descriptors.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    let milliseconds = within.as_millis().clamp(1, 60_000) as i32;
    // SAFETY: as many structures as said, which the call writes.
    unsafe { libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, milliseconds) };
}
