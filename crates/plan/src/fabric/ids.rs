//! How hosts, switches, adapters and directions of links are numbered: densely, hosts first, so that other modules
//! index plain vectors.

/// A host, numbered in the order of the file: `0..host_count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostId(pub u32);

/// A host or a switch: hosts have the numbers of their [`HostId`], switches follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl From<HostId> for NodeId {
    fn from(host: HostId) -> Self {
        NodeId(host.0)
    }
}

/// A network adapter: one of the links of a host, numbered in the order of the file. A host alone stands for its first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Adapter {
    /// The host that it belongs to.
    pub host: HostId,
    /// Its place among the host's links ([`Fabric::links_of`](super::Fabric::links_of)).
    pub number: u32,
}

impl From<HostId> for Adapter {
    fn from(host: HostId) -> Self {
        Self { host, number: 0 }
    }
}

/// Which of `adapters` of a host the process uses that is at `slot` of `width` processes there: they are spread over
/// them, and where each aggregator of a node can have its own, it does.
pub fn adapter_of(slot: u32, width: u32, adapters: u32) -> u32 {
    let used = u64::from(adapters.min(width).max(1));
    let number = ((u64::from(slot) + 1) * used - 1) / u64::from(width.max(1));
    number.min(used - 1) as u32
}

/// One direction of a link: link number × 2, plus 1 for the direction from `b` to `a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DirectedLink(pub u32);

impl DirectedLink {
    /// The number of the link in [`Fabric::links`](super::Fabric::links).
    pub fn link(self) -> usize {
        (self.0 / 2) as usize
    }

    /// The other direction of the same link.
    pub fn reverse(self) -> Self {
        DirectedLink(self.0 ^ 1)
    }

    /// For indexing a vector of `2 * links` entries.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
