//! The collectives that programs call: those that Nagare carries out, and their neighbours.

use nagare_plan::collective::Collective;
use std::fmt::{Display, Formatter, Result};

/// A collective: its row in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct What(usize);

struct Row {
    name: &'static str,
    has: &'static [Has],
}

#[derive(PartialEq)]
enum Has {
    Root,
    Operation,
    /// What is sent and what is received have types of their own.
    TwoTypes,
    /// Blocks may differ.
    Shape,
    /// Data of every rank for every other.
    Pairs,
}

use Has::{Operation, Pairs, Root, Shape, TwoTypes};

const ROWS: &[Row] = &[
    Row { name: "bcast", has: &[Root] },
    Row { name: "reduce", has: &[Root, Operation] },
    Row { name: "allreduce", has: &[Operation] },
    Row { name: "alltoall", has: &[TwoTypes, Pairs] },
    Row { name: "alltoallv", has: &[TwoTypes, Shape, Pairs] },
    Row { name: "gather", has: &[Root, TwoTypes] },
    Row { name: "allgather", has: &[TwoTypes, Pairs] },
    Row { name: "reduce_scatter_block", has: &[Operation, Pairs] },
    Row { name: "reduce_scatter", has: &[Operation, Shape, Pairs] },
    Row { name: "barrier", has: &[] },
    Row { name: "scatter", has: &[Root, TwoTypes] },
    Row { name: "gatherv", has: &[Root, TwoTypes, Shape] },
    Row { name: "scatterv", has: &[Root, TwoTypes, Shape] },
    Row { name: "allgatherv", has: &[TwoTypes, Shape, Pairs] },
    Row { name: "alltoallw", has: &[TwoTypes, Shape, Pairs] },
    Row { name: "scan", has: &[Operation] },
    Row { name: "exscan", has: &[Operation] },
];

impl What {
    /// Every collective.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..ROWS.len()).map(Self)
    }

    /// Those that Nagare carries out.
    pub fn ours() -> impl Iterator<Item = Self> {
        Self::all().filter(|what| what.collective().is_some())
    }

    /// The collective of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|what| what.name() == name)
    }

    /// Name in cases.
    pub fn name(self) -> &'static str {
        ROWS[self.0].name
    }

    /// Its name in Nagare.
    pub fn collective(self) -> Option<Collective> {
        Collective::from_name(self.name())
    }

    fn has(self, what: &Has) -> bool {
        ROWS[self.0].has.contains(what)
    }

    /// Whether it names a root.
    pub fn is_rooted(self) -> bool {
        self.has(&Root)
    }

    /// Whether it combines data with an operation.
    pub fn reduces(self) -> bool {
        self.has(&Operation)
    }

    /// Whether what is sent and what is received have types of their own.
    pub fn has_two_types(self) -> bool {
        self.has(&TwoTypes)
    }

    /// Whether its blocks may differ.
    pub fn has_shape(self) -> bool {
        self.has(&Shape)
    }

    /// Whether every rank has data of every rank.
    pub fn has_pairs(self) -> bool {
        self.has(&Pairs)
    }

    /// Whether a rank that sends has a block for each rank.
    pub fn sends_blocks(self) -> bool {
        matches!(self.name(), "alltoall" | "alltoallv" | "alltoallw" | "scatter" | "scatterv")
    }

    /// Whether it moves data.
    pub fn has_data(self) -> bool {
        self.name() != "barrier"
    }

    /// Whether it takes `MPI_IN_PLACE`.
    pub fn takes_in_place(self) -> bool {
        !matches!(self.name(), "bcast" | "barrier")
    }
}

impl Display for What {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.pad(self.name())
    }
}
