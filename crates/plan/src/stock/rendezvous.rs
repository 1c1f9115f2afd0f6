//! What it costs that a library asks a receiver before it sends a long message over TCP: the answer waits behind what
//! the receiver itself sends, so that of two directions often one stands still.
//!
//! ```text
//!   in step       rank a ══ data ══►  b        out of step   a ══ data ══►  b ┊
//!                        ◄══ data ══                           ┊◄─ answer   b ┊◄══ data ══   twice as long
//! ```

use super::Library;
use crate::topology::Transport;

/// The longest message, bytes, that MPICH sends over TCP at once: of 16 KiB exchanges take what one way takes, of 32
/// up to twice as long (4.0.2 over UCX 1.13, 5.0.2).
const MPICH: u64 = 16 << 10;

/// How many times as long as one way messages take that are asked for, of which ranks send one and receive one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rendezvous {
    /// The longest message, bytes, that is sent at once.
    at_once: u64,
    /// Pairs exchange longer ones.
    exchange: f64,
    /// Ranks send longer ones to peers that change from step to step.
    change: f64,
}

impl Rendezvous {
    /// No message is asked for, or the answer does not wait: adapters with RDMA, shared memory.
    const FREE: Self = Self { at_once: u64::MAX, exchange: 1.0, change: 1.0 };

    /// Of `library` over `transport`; Open MPI's own TCP sends messages up to `eager` bytes at once. MPICH's transport is
    /// taken for TCP where nothing is known of it, as its message costs are.
    ///
    /// Measured on sixteen hosts at 12 and 1.2 Mbit/s (docs/benchmarks.md, "Messages that are asked for"): Open MPI's
    /// exchanges take 1.9 to 2.0 times as long. MPICH's are in step between peers that stay the same; where these change
    /// they are in step or not, as it happens, and take 1.0 to 2.2 times as long: half as long again is the middle.
    pub fn of(library: Library, transport: Option<Transport>, eager: u64) -> Self {
        match (library, transport) {
            (Library::OpenMpi4 | Library::OpenMpi5, Some(Transport::OpenMpiTcp)) => {
                Self { at_once: eager, exchange: 2.0, change: 1.0 }
            }
            (Library::Mpich, None | Some(Transport::Tcp)) => Self { at_once: MPICH, exchange: 1.0, change: 1.5 },
            _ => Self::FREE,
        }
    }

    /// How many times as long a step takes whose messages have `length` bytes: pairs exchange them, or not, and peers
    /// change from step to step, or not.
    pub fn turns(self, length: f64, is_exchange: bool, peers_change: bool) -> f64 {
        if length <= self.at_once as f64 {
            return 1.0;
        }
        let exchange = if is_exchange { self.exchange } else { 1.0 };
        if peers_change { exchange.max(self.change) } else { exchange }
    }
}
