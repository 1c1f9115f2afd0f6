//! Rounds in which a rank sends one long message and receives one over TCP: one of the two may stand still meanwhile.
//!
//! ```text
//!   both ways at once   a ══════►  b          in turns   a ══════►  b ┊
//!                         ◄══════                                   b ┊ ◄══════   twice as long
//! ```
//! Open MPI asks before it sends more than its eager limit, and the answer to the peer's question waits behind the own
//! bytes on the one connection. Where a rank sends to others too, these bytes fill the wait. MPICH's ranks send both
//! ways at once to a peer that stays the same; where peers change from round to round they are in step or not, as it
//! happens. Why was not found out: MPICH 5.0.2 over UCX 1.20 asks for no message of less than 256 KiB.

use super::Library;
use crate::topology::Transport;

/// The longest message, bytes, of which steps of MPICH are always in step: halves of 16 KiB and less take what one way
/// takes, of 32 KiB up to 1.7 times as long.
const MPICH: u64 = 16 << 10;

/// Ranks from which steps of MPICH were seen out of step; four and eight were in step.
pub(super) const MANY: u32 = 16;

/// By what a round's time grows of which each rank sends one message and receives one, over that of one way alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Turns {
    /// The longest message, bytes, whose round takes no longer.
    most: u64,
    /// Pairs exchange longer ones.
    exchange: f64,
    /// Many ranks send longer ones to peers that change from round to round.
    change: f64,
}

impl Turns {
    /// Adapters with RDMA and shared memory, and what nobody has measured.
    const NONE: Self = Self { most: u64::MAX, exchange: 1.0, change: 1.0 };

    /// Of `library` over `transport`; `eager`: the longest message, bytes, that Open MPI's own TCP sends at once.
    /// MPICH's transport is taken for TCP where nothing is known of it, as its message costs are.
    ///
    /// Measured (docs/benchmarks.md, "Steps of the library"): Open MPI's exchanges take 1.8 to 2.2 times as long as one
    /// way. Steps of MPICH with peers that change take 1.0 to 2.7 times as long, its Allreduce 1.0 to 1.7; half as
    /// long again stands for both.
    pub fn of(library: Library, transport: Option<Transport>, eager: u64) -> Self {
        match (library, transport) {
            (Library::OpenMpi4 | Library::OpenMpi5, Some(Transport::OpenMpiTcp)) => {
                Self { most: eager, exchange: 2.0, change: 1.0 }
            }
            (Library::Mpich, None | Some(Transport::Tcp)) => Self { most: MPICH, exchange: 1.0, change: 1.5 },
            _ => Self::NONE,
        }
    }

    /// How many times as long a round takes whose messages have `length` bytes: pairs exchange them, or not, and peers
    /// change from round to round, or not.
    pub fn times(self, length: f64, is_exchange: bool, peers_change: bool) -> f64 {
        if length <= self.most as f64 {
            return 1.0;
        }
        let exchange = if is_exchange { self.exchange } else { 1.0 };
        if peers_change { exchange.max(self.change) } else { exchange }
    }
}
