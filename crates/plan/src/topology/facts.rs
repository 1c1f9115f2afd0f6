//! The facts about the ranks of one communicator, as every rank of it knows them: here the groups that they are in.
//!
//! `network.rs`: where their nodes are; `inside_nodes.rs`: where they are inside these; `known_costs.rs`: what messages
//! and links cost; `restricted.rs`: the facts about some of them.

mod inside_nodes;
mod known_costs;
mod network;
mod restricted;

pub use inside_nodes::in_order;
pub use network::Network;

use super::{Cartesian, Costs, Dims};
use crate::collective::Rank;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;
use thiserror::Error;

/// Place of every rank of a communicator.
///
/// Shapes: `groups[level][rank]` is a group number; `names[level]` names the level; levels are outermost first and the
/// last one is the node. Two ranks are in the same group of a level only if they also are in all wider levels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    names: Vec<String>,
    groups: Vec<Vec<u32>>,
    cores: Vec<u32>,
    #[serde(skip)]
    network: Option<Network>,
    /// Dimensions that the user gave, and the point of every node.
    #[serde(skip)]
    torus: Option<(Arc<Dims>, Vec<u32>)>,
    #[serde(skip)]
    cartesian: Option<Cartesian>,
    /// NUMA node of every rank in its node; empty where it is not known.
    #[serde(skip)]
    numa: Vec<u32>,
    /// Of every rank which adapter of its host it uses; empty where hosts have one.
    #[serde(skip)]
    adapters: Vec<u32>,
    /// Adapters beside the NUMA node of every rank; empty where that is not known.
    #[serde(skip)]
    beside: Vec<u32>,
    /// What was measured of the network.
    #[serde(skip)]
    costs: Option<Costs>,
}

/// Facts that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyError {
    /// A level or the cores do not have one entry per rank.
    #[error("level `{level}` places {got} ranks, expected {expected}")]
    Length {
        /// Name of the level.
        level: String,
        /// Entries given.
        got: usize,
        /// Ranks of the communicator.
        expected: usize,
    },
    /// A group of an inner level reaches over two groups of a wider one.
    #[error("ranks {a} and {b} share a {inner} but not a {outer}: levels must be nested")]
    NotNested {
        /// A rank of the inner group.
        a: Rank,
        /// Another rank of it.
        b: Rank,
        /// The narrower level.
        inner: String,
        /// The wider level.
        outer: String,
    },
    /// Dimensions that another number of nodes would fill.
    #[error("{dims} has {points} nodes, the job has {nodes}; expected sizes whose product is the number of nodes")]
    Torus {
        /// The sizes.
        dims: String,
        /// Their product.
        points: u32,
        /// Nodes there are.
        nodes: u32,
    },
    /// There is no level at all, or there are more than a stage number can tell apart.
    #[error("{0} topology levels, expected 1 to 64 of which the last is the node")]
    Levels(usize),
}

impl Topology {
    /// Checks and normalises facts: group numbers become 0, 1, … in the order of the smallest rank of each group.
    ///
    /// `names[l]` and `groups[l][rank]` describe the levels, outermost first, the node last; `cores[rank]` orders the
    /// ranks of a node by the core they are bound to (equal values fall back to rank order), see [`in_order`].
    ///
    /// # Errors
    /// [`TopologyError`] if the shapes differ or the levels are not nested.
    pub fn new(names: Vec<String>, groups: Vec<Vec<u32>>, cores: Vec<u32>) -> Result<Self, TopologyError> {
        if names.is_empty() || names.len() > 64 || names.len() != groups.len() {
            return Err(TopologyError::Levels(groups.len()));
        }
        let ranks = cores.len();
        let mut normal: Vec<Vec<u32>> = Vec::with_capacity(groups.len());
        for (level, (name, of_rank)) in names.iter().zip(&groups).enumerate() {
            if of_rank.len() != ranks {
                return Err(TopologyError::Length { level: name.clone(), got: of_rank.len(), expected: ranks });
            }
            let mut numbers: HashMap<u32, (u32, usize)> = HashMap::new();
            let mut renumbered = Vec::with_capacity(ranks);
            for (rank, &group) in of_rank.iter().enumerate() {
                let next = numbers.len() as u32;
                let &mut (number, first) = numbers.entry(group).or_insert((next, rank));
                if let Some(outer) = normal.last().filter(|outer: &&Vec<u32>| outer[rank] != outer[first]) {
                    debug_assert_eq!(outer.len(), ranks);
                    return Err(TopologyError::NotNested {
                        a: first as Rank,
                        b: rank as Rank,
                        inner: name.clone(),
                        outer: names[level - 1].clone(),
                    });
                }
                renumbered.push(number);
            }
            normal.push(renumbered);
        }
        Ok(Self {
            names,
            groups: normal,
            cores,
            network: None,
            torus: None,
            cartesian: None,
            numa: Vec::new(),
            adapters: Vec::new(),
            beside: Vec::new(),
            costs: None,
        })
    }

    /// A topology that knows only nodes: `nodes[rank]` is the node's number.
    ///
    /// # Errors
    /// None for any input of one entry per rank; the type is that of [`Topology::new`].
    pub fn of_nodes(nodes: Vec<u32>) -> Result<Self, TopologyError> {
        let cores = vec![0; nodes.len()];
        Self::new(vec!["node".into()], vec![nodes], cores)
    }

    /// The same facts for a communicator that is Cartesian.
    pub fn with_cartesian(self, cartesian: Cartesian) -> Self {
        Self { cartesian: Some(cartesian), ..self }
    }

    /// The grid of the ranks, if the communicator is Cartesian.
    pub fn cartesian(&self) -> Option<&Cartesian> {
        self.cartesian.as_ref()
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.cores.len() as u32
    }

    /// Level names, outermost first; the last is the node.
    pub fn level_names(&self) -> &[String] {
        &self.names
    }

    /// Group number of every rank at one level.
    pub fn groups(&self, level: usize) -> &[u32] {
        &self.groups[level]
    }

    /// The groups of all levels that divide something: not those of one group, or of the same groups as the next.
    pub fn level_groups(&self) -> Vec<&[u32]> {
        let mut telling: Vec<&[u32]> = Vec::new();
        for groups in self.groups.iter().filter(|groups| groups.iter().any(|&group| group != 0)) {
            if telling.last().is_none_or(|last| last != groups) {
                telling.push(groups);
            }
        }
        telling
    }

    /// Node number of every rank; nodes are numbered by their smallest rank.
    pub fn nodes(&self) -> &[u32] {
        &self.groups[self.groups.len() - 1]
    }

    /// Number of nodes.
    pub fn node_count(&self) -> u32 {
        self.nodes().iter().max().map_or(0, |&last| last + 1)
    }
}
