//! Why a call is left to the MPI library.

use serde::{Deserialize, Serialize};

/// Why a call is left to the library. Every valid call that Nagare does not carry out has one, and it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Less data than the threshold of the table.
    Small,
    /// All ranks are on one node and no algorithm is forced.
    OneNode,
    /// `stock` was asked for.
    Asked,
    /// A communicator of one rank.
    OneRank,
    /// An intercommunicator.
    Intercommunicator,
    /// Zero elements.
    Empty,
    /// An operation that does not commute.
    NonCommutative,
    /// A predefined operation on a type it is not known to be defined for.
    TypeOfOperation,
    /// One element is larger than a segment.
    LargeElement,
    /// An argument the library is to judge.
    Argument,
    /// Facts about the ranks are missing or contradictory.
    Topology,
    /// The configuration of some rank cannot be used, or differs from that of the others.
    Configuration,
    /// A buffer of some rank is in the memory of a device.
    Device,
    /// Too many communicators already have a private one, or the library has none to give.
    Communicators,
    /// Nagare is switched off.
    Disabled,
    /// The library's own was measured, or is predicted, to be as fast or faster.
    Faster,
    /// A communicator that is being freed, used by a callback that deletes an attribute of it.
    BeingFreed,
    /// Calls like it have not yet taken so long that it is worth finding out what is faster (docs/decisions/0017).
    Early,
    /// The library's own is being measured (docs/decisions/0017).
    Tried,
    /// Ranks outside `MPI_COMM_WORLD`, or no such communicator (yet, or any more): sessions, spawned processes.
    Outside,
}

impl Reason {
    /// Every reason, in report order.
    pub const ALL: [Reason; 20] = [
        Self::Small,
        Self::OneNode,
        Self::Asked,
        Self::OneRank,
        Self::Intercommunicator,
        Self::Empty,
        Self::NonCommutative,
        Self::TypeOfOperation,
        Self::LargeElement,
        Self::Argument,
        Self::Topology,
        Self::Configuration,
        Self::Device,
        Self::Communicators,
        Self::Disabled,
        Self::Faster,
        Self::BeingFreed,
        Self::Early,
        Self::Tried,
        Self::Outside,
    ];

    /// Words for the report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "below threshold",
            Self::OneNode => "one node",
            Self::Asked => "asked for",
            Self::OneRank => "one rank",
            Self::Intercommunicator => "intercommunicator",
            Self::Empty => "no data",
            Self::NonCommutative => "operation does not commute",
            Self::TypeOfOperation => "type of operation",
            Self::LargeElement => "element larger than a segment",
            Self::Argument => "arguments",
            Self::Topology => "topology unknown",
            Self::Configuration => "configuration",
            Self::Device => "device memory",
            Self::Communicators => "too many communicators",
            Self::Disabled => "switched off",
            Self::Faster => "stock as fast",
            Self::BeingFreed => "being freed",
            Self::Early => "not yet worth trying",
            Self::Tried => "being measured",
            Self::Outside => "outside the world",
        }
    }

    /// What that means, in a few words, for people.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Small => "too little data to gain anything",
            Self::OneNode => "all ranks are on one node",
            Self::Asked => "a rule says so",
            Self::OneRank => "there is nobody else",
            Self::Intercommunicator => "two groups of ranks, which Nagare leaves alone",
            Self::Empty => "zero elements",
            Self::NonCommutative => "ranks must be combined in their order",
            Self::TypeOfOperation => "the operation is not known to be defined for the type",
            Self::LargeElement => "an element is never split",
            Self::Argument => "the library is to judge them",
            Self::Topology => "facts about the ranks are missing or contradictory",
            Self::Configuration => "that of some rank cannot be used, or differs from the others'",
            Self::Device => "a buffer of some rank is in the memory of a GPU",
            Self::Communicators => "the library has none to give for Nagare's messages",
            Self::Disabled => "NAGARE_ENABLE=0",
            Self::Faster => "measured, predicted or known to be as fast as anything of Nagare's",
            Self::BeingFreed => "called inside MPI_Comm_free or MPI_Comm_disconnect",
            Self::Early => "such calls have not yet taken enough time to measure candidates",
            Self::Tried => "its turn among the candidates",
            Self::Outside => "ranks of sessions or spawned processes",
        }
    }
}
