//! A random MPI program as data: statements of threads. `write.rs`, `read.rs`: its text; `valid.rs`: what makes one
//! valid.

use super::tables::{Kind, Type};
use super::what::What;

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its number in the batch.
    pub id: u64,
    /// Threads of every rank; communicator 0 is the world, `1..threads` are duplicates of it, one per thread.
    pub threads: u32,
    /// In the order of the text; each thread does its own in this order, on all ranks.
    pub statements: Vec<Statement>,
}

/// What a thread does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The thread.
    pub thread: u32,
    /// What it does.
    pub action: Action,
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Makes communicator `id` from another.
    Comm {
        /// Its number.
        id: u64,
        /// The number of the communicator it is made from.
        of: u64,
        /// How.
        make: Make,
    },
    /// Frees a communicator.
    Free {
        /// Its number.
        id: u64,
        /// By `MPI_Comm_disconnect`.
        disconnect: bool,
    },
    /// A collective call.
    Call(Call),
    /// A message between two ranks.
    Message(Message),
    /// Completes what was started under that number, and compares.
    Finish(u64),
    /// One rank sleeps while the others go on.
    Stall {
        /// Its rank in the world.
        rank: u32,
        /// For so long.
        milliseconds: u32,
    },
}

/// How a communicator is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Make {
    /// `MPI_Comm_dup`.
    Dup,
    /// `MPI_Comm_idup`.
    Idup,
    /// `MPI_Comm_split`; no colour: `MPI_UNDEFINED`.
    Split {
        /// By rank.
        colors: Vec<Option<u32>>,
        /// By rank.
        keys: Vec<u32>,
    },
    /// `MPI_Cart_create`.
    Cart {
        /// Ranks along each dimension.
        dims: Vec<u32>,
        /// Whether each dimension is closed.
        periods: Vec<bool>,
        /// Whether the library may give ranks other numbers.
        reorder: bool,
    },
    /// `MPI_Cart_sub`: which dimensions stay.
    Sub(Vec<bool>),
    /// `MPI_Comm_create_group` by these ranks, in this order.
    Group(Vec<u32>),
    /// `MPI_Comm_create` by these ranks, in this order.
    Create(Vec<u32>),
    /// The first `low` ranks and the others, merged.
    Merge {
        /// Ranks of the first group.
        low: u32,
        /// Whether the first group comes last.
        high: bool,
    },
}

/// A collective call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number.
    pub id: u64,
    /// Communicator.
    pub comm: u64,
    /// Which collective.
    pub what: What,
    /// Values in a block.
    pub items: u64,
    /// What the values are.
    pub kind: Kind,
    /// Types of what is sent: one for all ranks, or one per rank.
    pub send: Vec<Type>,
    /// Types of what is received: likewise; as `send` where there is one buffer, and for reductions.
    pub receive: Vec<Type>,
    /// Operation of a reduction.
    pub op: &'static str,
    /// Root of a rooted collective.
    pub root: u32,
    /// `MPI_IN_PLACE` (at the root of a rooted collective).
    pub in_place: bool,
    /// How blocks differ.
    pub shape: Shape,
    /// Chooses the values.
    pub salt: u32,
    /// Sums depend on the order.
    pub rounding: bool,
    /// Non-blocking: `Finish` completes it.
    pub start: bool,
    /// The function with counts of `MPI_Count`, where the library has it.
    pub large: bool,
    /// Carried out later: when the communicator is freed, in the delete function of an attribute.
    pub last: bool,
    /// Made many times, of shape `Rare`.
    pub series: Option<Series>,
}

/// An Alltoallv that is made many times, each time with other lengths and hardly any data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// How often.
    pub times: u32,
    /// A rank has data for a higher one every so many times.
    pub every: u32,
    /// The rank that is stopped while it waits for data.
    pub slow: u32,
    /// For so long.
    pub milliseconds: u32,
}

/// How the blocks of a collective with a count for each rank differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All alike.
    Even,
    /// Of many sizes.
    Ragged,
    /// Many empty.
    Sparse,
    /// One is not empty.
    One,
    /// All empty.
    Zero,
    /// Those of a series: a rank has data for a higher one now and then.
    Rare,
}

impl Shape {
    /// Every shape, the simplest first.
    pub const ALL: [Self; 6] = [Self::Even, Self::Ragged, Self::Sparse, Self::One, Self::Zero, Self::Rare];

    /// Name in cases.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Ragged => "ragged",
            Self::Sparse => "sparse",
            Self::One => "one",
            Self::Zero => "zero",
            Self::Rare => "rare",
        }
    }
}

/// A message between two ranks of a communicator, of ints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number.
    pub id: u64,
    /// Communicator.
    pub comm: u64,
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// Values.
    pub items: u64,
    /// Tag.
    pub tag: u32,
    /// Received with `MPI_ANY_SOURCE` and `MPI_ANY_TAG`.
    pub wild: bool,
    /// Sent here and received at its `Finish`, not the other way round.
    pub early: bool,
}

/// The entry of `rank` in a list with one entry per rank, or one for all.
pub fn entry<T: Copy>(list: &[T], rank: usize) -> Option<T> {
    if list.len() == 1 { list.first().copied() } else { list.get(rank).copied() }
}
