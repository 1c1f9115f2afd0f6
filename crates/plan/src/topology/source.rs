//! Where a rank is, by what the user or the site says about the machine: a pretended machine, a fabric file, Slurm's
//! address.
//!
//! Every rank works out its own place; the places of all ranks together make a [`super::Topology`].

use super::Topology;
use crate::fabric::{Fabric, FabricError, HostId, Level, SlurmAddress, SlurmError, Synthetic, SyntheticError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use thiserror::Error;

/// What is known about the machine.
#[derive(Debug)]
pub enum Source {
    /// Ranks fill a pretended machine in order.
    Synthetic(Synthetic),
    /// Hosts of a network.
    Fabric {
        /// The network.
        fabric: Arc<Fabric>,
        /// Its groups of hosts, outermost first.
        levels: Vec<Level>,
    },
    /// The address Slurm gave this rank's node.
    Slurm(SlurmAddress),
    /// Nothing: only which ranks are on one machine.
    Nodes,
}

/// One rank's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Number of the group at every level outside the node, outermost first; equal numbers are the same group.
    pub groups: Vec<u64>,
    /// Number of the node, if the source knows it.
    pub node: Option<u64>,
    /// Number of the NUMA node in the machine, if the source knows it.
    pub numa: Option<u64>,
    /// Number of the core in the machine, if the source knows it.
    pub core: Option<u64>,
}

/// Why a rank has no place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SourceError {
    /// The pretended machine is wrong or too small.
    #[error(transparent)]
    Synthetic(#[from] SyntheticError),
    /// The fabric file is wrong.
    #[error("{0}")]
    Fabric(String),
    /// Slurm's variables are wrong.
    #[error(transparent)]
    Slurm(#[from] SlurmError),
    /// The rank runs on a host that the fabric file does not name.
    #[error("host `{host}` is not in fabric `{fabric}`, expected one of its {hosts} hosts (such as `{example}`)")]
    UnknownHost {
        /// Name of the rank's host.
        host: String,
        /// Name of the fabric.
        fabric: String,
        /// Hosts it has.
        hosts: usize,
        /// One of them.
        example: String,
    },
}

impl Source {
    /// Reads a `synthetic:` text.
    ///
    /// # Errors
    /// [`SourceError::Synthetic`].
    pub fn synthetic(text: &str) -> Result<Self, SourceError> {
        Ok(Self::Synthetic(text.parse()?))
    }

    /// Reads a fabric file's text; `name` stands for the file in errors.
    ///
    /// # Errors
    /// [`SourceError::Fabric`].
    pub fn fabric(text: &str, name: &str) -> Result<Self, SourceError> {
        let fabric = Fabric::from_toml(text, name).map_err(|e: FabricError| SourceError::Fabric(e.to_string()))?;
        let levels = fabric.levels();
        Ok(Self::Fabric { fabric: Arc::new(fabric), levels })
    }

    /// Reads Slurm's address and its pattern.
    ///
    /// # Errors
    /// [`SourceError::Slurm`].
    pub fn slurm(address: &str, pattern: &str) -> Result<Self, SourceError> {
        Ok(Self::Slurm(SlurmAddress::parse(address, pattern)?))
    }

    /// Names of the levels outside the node, outermost first.
    pub fn level_names(&self) -> Vec<String> {
        match self {
            Self::Synthetic(synthetic) => {
                synthetic.levels()[..node_level(synthetic)].iter().map(|l| l.name.clone()).collect()
            }
            Self::Fabric { levels, .. } => levels.iter().map(|l| l.name.clone()).collect(),
            Self::Slurm(address) => {
                let outer = &address.components[..address.components.len().saturating_sub(1)];
                outer.iter().enumerate().map(|(i, (kind, _))| format!("{kind}{}", outer.len() - i)).collect()
            }
            Self::Nodes => Vec::new(),
        }
    }

    /// `topology` with the network of this source, if there is one: `node_of[rank]` is [`Location::node`].
    pub fn on_network(&self, topology: Topology, node_of: &[u64]) -> Topology {
        let Self::Fabric { fabric, .. } = self else { return topology };
        let host = |&node: &u64| u32::try_from(node).ok().filter(|&n| (n as usize) < fabric.host_count()).map(HostId);
        match node_of.iter().map(host).collect::<Option<Vec<HostId>>>() {
            Some(hosts) => topology.on_network(Arc::clone(fabric), &hosts),
            None => topology,
        }
    }

    /// The place of the rank with that number in its world, on that host.
    ///
    /// # Errors
    /// [`SourceError`] if there is no such place.
    pub fn place(&self, rank: u64, host: &str) -> Result<Location, SourceError> {
        Ok(match self {
            Self::Synthetic(synthetic) => {
                let path = synthetic.path(rank)?;
                let node = node_level(synthetic);
                // The first level inside the node that is called `numa`, or the first that is not.
                let inside = |is_numa: bool| {
                    let found =
                        (node + 1..path.len()).find(|&level| (synthetic.levels()[level].name == NUMA) == is_numa);
                    found.map(|level| path[level])
                };
                let (numa, core) = (inside(true), inside(false));
                Location { groups: path[..node].to_vec(), node: Some(path[node]), numa, core }
            }
            Self::Fabric { fabric, levels } => {
                // A site's file may name hosts with or without their domain.
                let short = host.split('.').next().unwrap_or(host);
                let found = fabric.find_host(host).or_else(|| fabric.find_host(short));
                let id = found.ok_or_else(|| SourceError::UnknownHost {
                    host: host.to_owned(),
                    fabric: fabric.name().to_owned(),
                    hosts: fabric.host_count(),
                    example: fabric.hosts().next().map_or("", |h| fabric.node_name(h)).to_owned(),
                })?;
                Location {
                    groups: levels.iter().map(|l| u64::from(l.of_host[id.0 as usize])).collect(),
                    node: Some(u64::from(id.0)),
                    numa: None,
                    core: None,
                }
            }
            Self::Slurm(address) => {
                // The whole path up to a switch names it, so that equal names in different branches stay apart.
                let mut hasher = DefaultHasher::new();
                let groups = address.switches().map(|name| {
                    name.hash(&mut hasher);
                    hasher.finish()
                });
                Location { groups: groups.collect(), node: None, numa: None, core: None }
            }
            Self::Nodes => Location { groups: Vec::new(), node: None, numa: None, core: None },
        })
    }
}

/// The level whose elements are NUMA nodes.
const NUMA: &str = "numa";

/// Index of the level that is the node: the one of that name, else the last that is not called `numa` or `core`.
fn node_level(synthetic: &Synthetic) -> usize {
    let levels = synthetic.levels();
    let named = levels.iter().position(|l| l.name == "node");
    named.unwrap_or_else(|| levels.iter().rposition(|l| l.name != NUMA && l.name != "core").unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synthetic_machines_have_nodes_and_cores() {
        let source = Source::synthetic("synthetic:group:4 node:2 core:4").unwrap();
        assert_eq!(source.level_names(), ["group"]);
        let place = source.place(13, "anything").unwrap();
        assert_eq!(place, Location { groups: vec![1], node: Some(3), numa: None, core: Some(13) });
        assert!(source.place(32, "anything").is_err());
        for text in ["synthetic:group:4 node:2 numa:2 core:3", "synthetic:group:4 blade:2 numa:2 core:3"] {
            let place = Source::synthetic(text).unwrap().place(10, "").unwrap();
            assert_eq!(place, Location { groups: vec![0], node: Some(1), numa: Some(3), core: Some(10) });
        }
        let without_cores = Source::synthetic("synthetic:node:2 numa:2").unwrap().place(3, "").unwrap();
        assert_eq!(without_cores, Location { groups: vec![], node: Some(1), numa: Some(3), core: None });
        let flat = Source::synthetic("synthetic:rack:2 blade:3").unwrap();
        assert_eq!((flat.level_names(), flat.place(4, "").unwrap().node), (vec!["rack".to_owned()], Some(4)));
    }

    #[test]
    fn slurm_switches_of_different_branches_stay_apart() {
        let of = |address| Source::slurm(address, "switch.switch.node").unwrap().place(0, "").unwrap().groups;
        assert_eq!(of("s0.l1.n1"), of("s0.l1.n2"));
        assert_ne!(of("s0.l1.n1")[1], of("s1.l1.n9")[1]);
        assert_eq!(Source::slurm("s0.l1.n1", "switch.switch.node").unwrap().level_names(), ["switch2", "switch1"]);
    }

    #[test]
    fn unknown_hosts_are_named() {
        let text = crate::fabric::shipped("tree8").unwrap();
        let source = Source::fabric(text, "tree8.toml").unwrap();
        assert_eq!(source.place(0, "n5.cluster.example").unwrap().groups, [1]);
        let error = source.place(0, "login1").unwrap_err().to_string();
        assert!(error.starts_with("host `login1` is not in fabric") && error.contains("`n0`"), "{error}");
    }
}
