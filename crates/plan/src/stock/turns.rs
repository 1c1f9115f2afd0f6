//! Rounds in which a rank sends one long message and receives one over TCP: one of the two may stand still meanwhile.
//!
//! ```text
//!   both ways at once   a ══════►  b          in turns   a ══════►  b ┊
//!                         ◄══════                                   b ┊ ◄══════   twice as long
//! ```
//! Open MPI asks before it sends more than its eager limit, and the answer to the peer's question waits behind the own
//! bytes on the one connection. Where a rank sends to others too, these bytes fill the wait. MPICH's ranks send both
//! ways at once to a peer that stays the same; where peers change from round to round they are in step or not, as it
//! happens. Why was not found out: MPICH 5.0.2 over UCX 1.20 asks for no message of 64 KiB.

use super::Library;
use crate::topology::Transport;

/// The longest message, bytes, whose rounds in MPICH's halving take what one way takes.
const MPICH: u64 = 16 << 10;

/// Ranks from which MPICH's halving is often out of step. Four and eight are in step but for the first calls over a UCX
/// that asks for no message of 64 KiB; over one that asks from 8 KiB on they are not.
const FROM: u32 = 16;
const FROM_WHERE_ASKED: u32 = 3;

/// How many times as long as one way a round takes in which each rank sends one message and receives one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Turns {
    /// The longest message, bytes, whose round takes no longer.
    most: u64,
    /// Pairs exchange longer ones.
    exchange: f64,
    /// So many ranks and more send longer ones to peers that change from round to round, and what that takes.
    from: u32,
    change: f64,
}

impl Turns {
    /// Adapters with RDMA and shared memory, and what nobody has measured.
    const NONE: Self = Self { most: u64::MAX, exchange: 1.0, from: u32::MAX, change: 1.0 };

    /// Of `library` over `transport`, which carries messages of up to `carried` bytes well: Open MPI's own TCP sends
    /// these at once, UCX asks for those of more than half of it before 1.16. MPICH's transport is taken for TCP where
    /// nothing is known of it, as its message costs are.
    ///
    /// Measured with a rank on each host of one switch (docs/benchmarks.md, "Steps of the library"): Open MPI's
    /// exchanges take 1.8 to 2.2 times as long as one way. MPICH's steps with peers that change take 1.0 to 2.8 times
    /// as long, its Allreduce and Reduce, whose end is one way, 1.0 to 1.7; half as long again stands for all.
    pub fn of(library: Library, transport: Option<Transport>, carried: u64) -> Self {
        match (library, transport) {
            (_, Some(Transport::OpenMpiTcp)) => Self { most: carried, exchange: 2.0, ..Self::NONE },
            (Library::Mpich, None | Some(Transport::Tcp)) => {
                let from = if carried <= MPICH { FROM_WHERE_ASKED } else { FROM };
                Self { most: MPICH, from, change: 1.5, ..Self::NONE }
            }
            _ => Self::NONE,
        }
    }

    /// How many times as long a round takes whose messages have `length` bytes: pairs exchange them, or not, and the
    /// peers of so many ranks change from round to round, or of none.
    pub fn times(self, length: f64, is_exchange: bool, with_others: Option<u32>) -> f64 {
        if length <= self.most as f64 {
            return 1.0;
        }
        let exchange = if is_exchange { self.exchange } else { 1.0 };
        if with_others.is_some_and(|ranks| ranks >= self.from) { exchange.max(self.change) } else { exchange }
    }
}
