//! What the machine says of messages between nodes, without a clock: one process of each node looks, and all ranks
//! believe what all of these have found.
//!
//! ```text
//!   component of the MPI library ─┐
//!   adapters of the host (links) ─┴─► Said, in the facts of each rank ──► agreed: transport, rate of a host's link
//! ```

use super::links::Links;
use crate::real::{Real, transport};
use nagare_plan::topology::Transport;

/// What one process tells: numbers, since facts are exchanged as bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    transport: u32,
    mbit: u32,
}

const UNKNOWN: u32 = 0;
/// Another process of the node has looked.
const NOT_ASKED: u32 = u32::MAX;

impl Said {
    /// What a process says that is not the first of its node.
    pub const NOTHING: Self = Self { transport: NOT_ASKED, mbit: NOT_ASKED };

    /// What is known here; `with_links`: whether adapters are looked at, which a fabric file makes superfluous.
    pub fn here(real: &Real, with_links: bool) -> Self {
        let links = if with_links { Links::here() } else { Links::default() };
        Self::of(transport::component(real).as_deref(), links)
    }

    fn of(component: Option<&str>, links: Links) -> Self {
        let (transport, mbit) = match (component, links.rdma) {
            (Some(transport::TCP), _) => (Transport::OpenMpiTcp, links.net),
            (Some("psm2" | "openib"), rdma) => (Transport::Rdma, rdma),
            (_, Some(rdma)) => (Transport::Rdma, Some(rdma)),
            (Some(_), None) if links.net.is_some() => (Transport::Tcp, links.net),
            _ => return Self { transport: UNKNOWN, mbit: UNKNOWN },
        };
        Self { transport: code(transport), mbit: mbit.unwrap_or(UNKNOWN) }
    }

    /// What `all` say: the transport if it is one, and the slowest rate if all know theirs.
    pub fn agreed(all: impl Iterator<Item = Self> + Clone) -> (Option<Transport>, Option<u32>) {
        let asked = all.filter(|said| *said != Self::NOTHING);
        let mut transports = asked.clone().map(|said| decoded(said.transport));
        let first = transports.next().flatten();
        let transport = first.filter(|_| transports.all(|other| other == first));
        (transport, asked.map(|said| said.mbit).min().filter(|&mbit| mbit != UNKNOWN))
    }
}

fn code(transport: Transport) -> u32 {
    match transport {
        Transport::OpenMpiTcp => 1,
        Transport::Tcp => 2,
        Transport::Rdma => 3,
        // What all ranks share is not told by one.
        Transport::SharedMemory => UNKNOWN,
    }
}

fn decoded(number: u32) -> Option<Transport> {
    [Transport::OpenMpiTcp, Transport::Tcp, Transport::Rdma].into_iter().find(|&transport| code(transport) == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_believe_what_all_nodes_say() {
        let links = |net, rdma| Links { net, rdma };
        let tcp = |mbit| Said::of(Some("tcp"), links(mbit, Some(400_000)));
        let agreed = |all: &[Said]| Said::agreed(all.iter().copied());
        let both = [tcp(Some(25_000)), Said::NOTHING, tcp(Some(10_000)), Said::NOTHING];
        assert_eq!(agreed(&both), (Some(Transport::OpenMpiTcp), Some(10_000)));
        assert_eq!(agreed(&[tcp(Some(25_000)), tcp(None)]), (Some(Transport::OpenMpiTcp), None));
        let ucx = |rdma| Said::of(Some("ucx"), links(Some(1000), rdma));
        assert_eq!(agreed(&[ucx(Some(200_000)), Said::NOTHING]), (Some(Transport::Rdma), Some(200_000)));
        assert_eq!(agreed(&[ucx(None)]), (Some(Transport::Tcp), Some(1000)));
        assert_eq!(agreed(&[ucx(None), ucx(Some(200_000))]), (None, Some(1000)));
        assert_eq!(agreed(&[Said::of(None, links(None, None))]), (None, None));
        assert_eq!(agreed(&[]), (None, None));
    }
}
