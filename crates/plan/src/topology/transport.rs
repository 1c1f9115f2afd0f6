//! How messages travel between nodes, as far as their costs depend on it where nobody has measured them.

use crate::fabric::MessageCost;

/// How many times as long software may take on a slow processor as is taken at least.
const SLOW: f64 = 3.0;

/// How messages travel between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Open MPI's own over TCP (`btl/tcp`).
    OpenMpiTcp,
    /// Others without RDMA.
    Tcp,
    /// Adapters that read and write memory themselves: InfiniBand, Omni-Path, RoCE, Slingshot.
    Rdma,
    /// None: all ranks share memory, whatever they are told of nodes.
    SharedMemory,
}

impl Transport {
    /// Whether it never drops a message, so that nothing is won by keeping queues short.
    pub fn is_lossless(self) -> bool {
        matches!(self, Self::Rdma | Self::SharedMemory)
    }

    /// What a message costs at least: over TCP between two hosts of a switch, half a round trip of some 20 microseconds
    /// and 7 to the next message of a host that sends and receives on a core of its own (6.8 to 8.2 were measured,
    /// docs/algorithms.md, "The cost model"); with RDMA 2 and 0.5, most of it software; in shared memory 1 and 2, since
    /// a message that is copied once asks its receiver and calls the kernel. A transport of which nothing is known is
    /// taken for TCP. `crowding`: ranks for each processor, where they share them; each then gets its part of the
    /// processor's time, and both grow with it (measured from 1 to 8 ranks a processor, in the same place).
    pub(super) fn message(transport: Option<Self>, crowding: Option<f64>) -> MessageCost {
        let (latency, gap) = match transport {
            None | Some(Self::OpenMpiTcp | Self::Tcp) => (20.0, 7.0),
            Some(Self::Rdma) => (2.0, 0.5),
            Some(Self::SharedMemory) => (1.0, 2.0),
        };
        let [latency_us, gap_us] = [latency, gap].map(|cost| Some(cost * crowding.unwrap_or(1.0)));
        MessageCost { latency_us, gap_us }
    }

    /// What a rank sends at most, Mbit/s, infinite where adapters read memory themselves. TCP is copied and cut into
    /// packets by processors: between two processes 4.5 Gbit/s were reported over MPICH on a link of 10 (pmodels/mpich
    /// issue 2635), 5 over UCX on one of 100 (openucx/ucx issue 5252). 10 leaves room for faster processors. Ranks that
    /// share a processor share that.
    pub(super) fn most_sent(transport: Option<Self>, crowding: Option<f64>) -> f64 {
        let is_software = matches!(transport, None | Some(Self::OpenMpiTcp | Self::Tcp));
        if is_software { 10_000.0 / crowding.unwrap_or(1.0) } else { f64::INFINITY }
    }

    /// How many times as much it may cost: TCP is software, on hosts that may be busy, virtual, or slow. How many ranks
    /// share a processor is a known part of that.
    pub(super) fn spread(transport: Option<Self>, crowding: Option<f64>) -> f64 {
        let is_software = matches!(transport, None | Some(Self::OpenMpiTcp | Self::Tcp));
        if is_software { (10.0 / crowding.unwrap_or(1.0)).max(SLOW) } else { 1.0 }
    }
}
