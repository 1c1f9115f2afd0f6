//! How messages travel between nodes, as far as their costs depend on it where nobody has measured them.

use crate::fabric::MessageCost;

/// How messages travel between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Open MPI's own over TCP (`btl/tcp`).
    OpenMpiTcp,
    /// Others without RDMA.
    Tcp,
    /// Adapters that read and write memory themselves: InfiniBand, Omni-Path, RoCE.
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
    /// taken for TCP.
    pub(super) fn message(transport: Option<Self>) -> MessageCost {
        let (latency, gap) = match transport {
            None | Some(Self::OpenMpiTcp | Self::Tcp) => (20.0, 7.0),
            Some(Self::Rdma) => (2.0, 0.5),
            Some(Self::SharedMemory) => (1.0, 2.0),
        };
        MessageCost { latency_us: Some(latency), gap_us: Some(gap) }
    }

    /// What a rank sends at most, Mbit/s, infinite where adapters read memory themselves. TCP is copied and cut into
    /// packets by processors: between two processes 4.5 Gbit/s were reported over MPICH on a link of 10 (pmodels/mpich
    /// issue 2635), 5 over UCX on one of 100 (openucx/ucx issue 5252). 10 leaves room for faster processors.
    pub(super) fn most_sent(transport: Option<Self>) -> f64 {
        if matches!(transport, None | Some(Self::OpenMpiTcp | Self::Tcp)) { 10_000.0 } else { f64::INFINITY }
    }

    /// How many times as much it may cost: TCP is software, on hosts that may be busy, virtual, or slow. Between hosts
    /// that share processors 60 to 140 microseconds were measured.
    pub(super) fn spread(transport: Option<Self>) -> f64 {
        if matches!(transport, None | Some(Self::OpenMpiTcp | Self::Tcp)) { 10.0 } else { 1.0 }
    }
}
