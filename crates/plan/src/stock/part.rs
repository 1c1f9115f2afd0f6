//! What a call of a library is made of: algorithms, one after another, each among some members.

use super::scheme::Scheme;

/// The members among which an algorithm sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    /// All ranks.
    Ranks,
    /// One rank of every node; what happens inside nodes costs nothing here.
    Nodes,
}

/// Segments that follow one another through all rounds of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Bytes.
    pub segment: u64,
    /// Whether the rounds of different segments overlap, so that the busiest link counts; otherwise that of every round
    /// does.
    pub overlaps: bool,
}

/// One algorithm of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub scheme: Scheme,
    pub among: Among,
    pub pipeline: Option<Pipeline>,
}

impl Part {
    /// Among one rank of every node.
    pub const fn of_nodes(scheme: Scheme) -> Self {
        Self { scheme, among: Among::Nodes, pipeline: None }
    }
}

impl From<Scheme> for Part {
    fn from(scheme: Scheme) -> Self {
        Self { scheme, among: Among::Ranks, pipeline: None }
    }
}

/// Where a call runs.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub ranks: u32,
    pub nodes: u32,
    /// Whether all nodes have as many ranks.
    pub is_even: bool,
}

impl Shape {
    /// Bytes of one of the blocks, one for every rank, that are `bytes` together.
    pub fn block(self, bytes: u64) -> u64 {
        bytes / u64::from(self.ranks.max(1))
    }
}
