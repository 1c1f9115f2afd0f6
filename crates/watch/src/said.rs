//! What a rank says of its calls.

use nagare_plan::schedule::Rank;
use serde::{Deserialize, Serialize};

/// A call of a collective, as all ranks that are in it name it, but for its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Name of the function, without `MPI_`.
    pub function: String,
    /// What it is called with, in words: the same on all ranks of a correct program.
    pub arguments: String,
    /// Its communicator: a number that its ranks have found out alike.
    pub comm: u64,
    /// Its number among the collectives on that, from 1 on.
    pub number: u64,
}

impl Call {
    /// Whether the ranks in `self` and in `other` wait for each other.
    pub fn is_place_of(&self, other: &Self) -> bool {
        (self.comm, self.number) == (other.comm, other.number)
    }

    /// Whether the ranks in `other` wait for those in `self`, or will.
    pub fn is_before(&self, other: &Self) -> bool {
        self.comm == other.comm && self.number < other.number
    }
}

/// What carries out a call that Nagare does not.
pub const LIBRARY: &str = "the MPI library's own";

/// A message that a rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaited {
    /// The rank at its other end, in the world.
    pub peer: Rank,
    /// Whether it comes from there.
    pub receives: bool,
}

/// What a rank is in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// In the world.
    pub rank: Rank,
    /// Its host, and its process there.
    pub host: String,
    /// The process.
    pub process: u32,
    /// The calls that its threads are in.
    pub now: Vec<Now>,
    /// The last call that came to its end, and how many seconds ago that was.
    pub last: Option<(Call, f64)>,
    /// The number of the last call that came to its end on the communicator that was asked about, if it is known.
    pub ended: Option<u64>,
}

/// A call that a thread is in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Now {
    /// Which.
    pub call: Call,
    /// For so many seconds.
    pub seconds: f64,
    /// What carries it out; none while that is being decided.
    pub runs: Option<String>,
    /// What it waits for.
    pub awaited: Vec<Awaited>,
    /// Whether some rank has told why it does not end.
    pub told: bool,
}

/// The job of a rank, as `nagare ps` finds it: the first line of what the rank answers that; the answers of the ranks
/// follow, one on each line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// A number that no other job has.
    pub world: u64,
    /// File of the program, without directories.
    pub program: String,
    /// What the batch system calls it.
    pub job: Option<String>,
    /// Ranks of the world.
    pub ranks: Rank,
    /// The rank that answers.
    pub rank: Rank,
}

/// How the socket begins at which ranks are asked.
const DOOR: &str = "nagare-watch-";

/// The abstract name of the socket at which `nagare ps` asks `rank` of a job.
pub fn door(world: u64, rank: Rank) -> String {
    format!("{DOOR}{world:016x}-{rank}")
}

/// The job and rank of a socket of that name.
pub fn behind(door: &str) -> Option<(u64, Rank)> {
    let (world, rank) = door.strip_prefix(DOOR)?.split_once('-')?;
    Some((u64::from_str_radix(world, 16).ok()?, rank.parse().ok()?))
}
