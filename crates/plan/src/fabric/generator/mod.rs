//! Regular networks from a few parameters. Hosts are called `n0`, `n1`, ... everywhere.

mod fat_tree;
mod mlfm;
mod star;
mod torus;
mod tree;

use super::build::{FabricBuilder, LinkRate};
use super::error::BuildError;

/// A regular network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Generator {
    /// One switch `s0` with all hosts.
    Star {
        /// Number of hosts, at least 1.
        hosts: u32,
    },
    /// A tree of switches with one root; each link as the rates say, so usually oversubscribed.
    Tree {
        /// Children of every switch, from the leaves upwards: hosts per leaf, leaves per switch above, ...
        children: Vec<u32>,
    },
    /// The folded Clos network of switches with equal numbers of ports.
    FatTree {
        /// Ports per switch, even, at least 2.
        ports: u32,
        /// 2 (leaves and spines) or 3 (pods of leaves and aggregation switches, and a core).
        levels: u32,
        /// Hosts per leaf; `None`: half the ports, which is non-blocking.
        hosts_per_leaf: Option<u32>,
    },
    /// The multi-layer full mesh.
    Mlfm {
        /// Ports per switch, even, at least 6.
        ports: u32,
    },
    /// A torus of any number of dimensions.
    Torus {
        /// Size of each dimension, at least 1.
        dims: Vec<u32>,
        /// Hosts per switch, usually 1.
        hosts_per_switch: u32,
    },
}

/// Bandwidth and latency per tier of links: first the host links, then upwards, or per dimension of a torus.
/// The last value holds for all further tiers.
#[derive(Debug, Clone, PartialEq)]
pub struct TierRates {
    /// Mbit/s.
    pub mbit: Vec<f64>,
    /// Microseconds.
    pub latency_us: Vec<f64>,
}

impl TierRates {
    /// The same rate on all links.
    pub fn uniform(mbit: f64, latency_us: f64) -> Self {
        TierRates { mbit: vec![mbit], latency_us: vec![latency_us] }
    }

    fn tier(&self, tier: usize) -> LinkRate {
        let at = |values: &[f64], missing| {
            let value = values.get(tier).or(values.last());
            value.copied().unwrap_or(missing)
        };
        LinkRate {
            mbit: at(&self.mbit, 0.0), // refused by the builder
            latency_us: at(&self.latency_us, super::DEFAULT_LATENCY_US),
            parallel: 1,
        }
    }
}

impl Generator {
    /// The name used in fabric files.
    pub fn kind(&self) -> &'static str {
        match self {
            Generator::Star { .. } => "star",
            Generator::Tree { .. } => "tree",
            Generator::FatTree { .. } => "fat-tree",
            Generator::Mlfm { .. } => "mlfm",
            Generator::Torus { .. } => "torus",
        }
    }

    /// The network, to which routes and a queue may still be added.
    pub fn builder(&self, name: &str, rates: &TierRates) -> Result<FabricBuilder, BuildError> {
        let mut builder = FabricBuilder::new(name);
        let b = &mut builder;
        match self {
            Generator::Star { hosts } => star::build(b, *hosts, rates),
            Generator::Tree { children } => tree::build(b, children, rates),
            Generator::FatTree { ports, levels, hosts_per_leaf } => {
                fat_tree::build(b, *ports, *levels, *hosts_per_leaf, rates)
            }
            Generator::Mlfm { ports } => mlfm::build(b, *ports, rates),
            Generator::Torus { dims, hosts_per_switch } => torus::build(b, dims, *hosts_per_switch, rates),
        }?;
        Ok(builder)
    }
}

/// Adds hosts `n{first}` to `n{first + count - 1}` to a switch.
fn attach(b: &mut FabricBuilder, switch: &str, first: u32, count: u32, rate: LinkRate) -> Result<(), BuildError> {
    for i in 0..count {
        let host = format!("n{}", first + i);
        b.host(&host)?;
        b.link(&host, switch, rate)?;
    }
    Ok(())
}

/// The error for a parameter out of range.
fn bad<T>(
    kind: &'static str,
    parameter: &'static str,
    value: impl std::fmt::Debug,
    expected: &'static str,
) -> Result<T, BuildError> {
    Err(BuildError::BadParameter { kind, parameter, value: format!("{value:?}"), expected })
}
