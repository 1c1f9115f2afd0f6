//! What the machine says of messages between nodes, without a clock: one process of each node looks, and all ranks
//! believe what all of these have found.
//!
//! ```text
//!   component of the MPI library ─┐
//!   adapters of the host (links) ─┴─► Said, in the facts of each rank ──► agreed: transport, rate of a host's link
//!                                                                         adapters beside the ranks' NUMA nodes
//! ```

use super::links::{Adapters, Links};
use crate::real::{Real, transport};
use nagare_plan::topology::Transport;

/// What one process tells: numbers, since facts are exchanged as bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    transport: u32,
    mbit: u32,
    adapters: Adapters,
}

const UNKNOWN: u32 = 0;
/// Another process of the node has looked.
const NOT_ASKED: u32 = u32::MAX;

impl Said {
    /// What a process says that is not the first of its node.
    pub const NOTHING: Self = Self { transport: NOT_ASKED, mbit: NOT_ASKED, adapters: Adapters::NONE };

    /// What is known here; `with_links`: whether rates and adapters count, which a fabric file says better.
    pub fn here(real: &Real, with_links: bool) -> Self {
        let said = Self::of(transport::component(real).as_deref(), transport::is_told_tcp(), Links::here());
        if with_links { said } else { Self { mbit: UNKNOWN, adapters: Adapters::NONE, ..said } }
    }

    /// Adapters of that process's host beside a NUMA node.
    pub fn adapters(self, numa: u32) -> u32 {
        self.adapters.beside(numa)
    }

    /// `told_tcp`: the user has chosen TCP below the component. Components that nobody has told use an adapter with
    /// RDMA where there is one.
    fn of(component: Option<&str>, told_tcp: bool, links: Links) -> Self {
        let told_tcp = told_tcp || component.is_some_and(transport::names_tcp);
        let through_libfabric = component.is_some_and(transport::is_libfabric);
        let rdma = links.slingshot.filter(|_| through_libfabric).or(links.rdma).filter(|_| !told_tcp);
        let (transport, fastest) = match (component, rdma) {
            (Some(transport::TCP), _) => (Transport::OpenMpiTcp, links.net),
            (Some("psm2" | "openib"), rdma) => (Transport::Rdma, rdma),
            (Some(component), Some(rdma)) if !component.starts_with(transport::CH3) => (Transport::Rdma, Some(rdma)),
            (Some(_), _) if links.net.is_some() => (Transport::Tcp, links.net),
            _ => return Self { transport: UNKNOWN, mbit: UNKNOWN, adapters: Adapters::NONE },
        };
        let (mbit, adapters) = fastest.map_or((UNKNOWN, Adapters::NONE), |fastest| (fastest.mbit, fastest.adapters));
        Self { transport: code(transport), mbit, adapters }
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
    use crate::world::links::Fastest;

    #[test]
    fn ranks_believe_what_all_nodes_say() {
        let fastest = |mbit| Fastest { mbit, adapters: Adapters::NONE };
        let links = |net: Option<u32>, rdma: Option<u32>| Links {
            net: net.map(fastest),
            rdma: rdma.map(fastest),
            ..Links::default()
        };
        let tcp = |mbit| Said::of(Some("tcp"), false, links(mbit, Some(400_000)));
        let agreed = |all: &[Said]| Said::agreed(all.iter().copied());
        let both = [tcp(Some(25_000)), Said::NOTHING, tcp(Some(10_000)), Said::NOTHING];
        assert_eq!(agreed(&both), (Some(Transport::OpenMpiTcp), Some(10_000)));
        assert_eq!(agreed(&[tcp(Some(25_000)), tcp(None)]), (Some(Transport::OpenMpiTcp), None));
        let ucx = |rdma| Said::of(Some("ucx"), false, links(Some(1000), rdma));
        assert_eq!(agreed(&[ucx(Some(200_000)), Said::NOTHING]), (Some(Transport::Rdma), Some(200_000)));
        assert_eq!(agreed(&[ucx(None)]), (Some(Transport::Tcp), Some(1000)));
        assert_eq!(agreed(&[ucx(None), ucx(Some(200_000))]), (None, Some(1000)));
        for over_tcp in [("ucx", true), ("ch3:nemesis", false)] {
            let said = Said::of(Some(over_tcp.0), over_tcp.1, links(Some(1000), Some(200_000)));
            assert_eq!(agreed(&[said]), (Some(Transport::Tcp), Some(1000)), "{over_tcp:?}");
        }
        // Libfabric alone drives Slingshot; others go over its interface as over any.
        let slingshot = Links { slingshot: Some(fastest(200_000)), ..links(Some(200_000), Some(100_000)) };
        for (component, told_tcp, expected) in [
            ("ofi", false, (Transport::Rdma, 200_000)),
            ("ch4:ofi", false, (Transport::Rdma, 200_000)),
            ("ch4:ofi", true, (Transport::Tcp, 200_000)),
            ("ch4:ofi:tcp", false, (Transport::Tcp, 200_000)),
            ("ucx", false, (Transport::Rdma, 100_000)),
            ("ch4:ucx ofi", false, (Transport::Rdma, 100_000)),
            ("tcp", false, (Transport::OpenMpiTcp, 200_000)),
        ] {
            let said = Said::of(Some(component), told_tcp, slingshot);
            assert_eq!(agreed(&[said]), (Some(expected.0), Some(expected.1)), "{component}");
        }
        let alone = Links { rdma: None, ..slingshot };
        for component in ["ucx", "ch4:ucx ofi", "btl ofi", "ch3:nemesis:ofi"] {
            let said = Said::of(Some(component), false, alone);
            assert_eq!(agreed(&[said]), (Some(Transport::Tcp), Some(200_000)), "{component}");
        }
        for unknown in [links(None, None), links(Some(1000), Some(200_000))] {
            assert_eq!(agreed(&[Said::of(None, false, unknown)]), (None, None));
        }
        assert_eq!(agreed(&[]), (None, None));
    }
}
