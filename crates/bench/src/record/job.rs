//! What ran: the program, its libraries, its ranks.

use serde::{Deserialize, Serialize};

/// What ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Version of Nagare; `None` if it was not preloaded or not active.
    pub nagare: Option<String>,
    /// First line of what the MPI library says of itself.
    pub mpi: String,
    /// The file of that library at rank 0; `None` where it is in the program itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// What Nagare calls the network; `None` without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// What it says carries messages between nodes; `None` without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// In which order it says ranks are; `None` without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
    /// Nodes that it knows; `None` without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// The host of every rank.
    pub hosts: Vec<String>,
    /// TCP's congestion control on the host of rank 0; `None` where the system does not tell.
    #[serde(default)]
    pub congestion: Option<String>,
    /// Root of the collectives that have one.
    #[serde(default)]
    pub root: u32,
    /// What elements were: `int` before that was a choice.
    #[serde(default)]
    pub numbers: Numbers,
    /// Calls in a row on a communicator of their own, of which a time is the mean; 1 where calls took turns one by one.
    #[serde(default = "one")]
    pub series: u32,
    /// Calls that ranks made one after another without waiting for each other, of which a time is the mean; 1 where all
    /// began every call together.
    #[serde(default = "one")]
    pub back_to_back: u32,
}

/// What the elements of vectors are, four bytes each. It matters to reductions: calls that sum integers may be measured
/// and run on whatever is the fastest; floating-point sums keep one order, which predictions or a profile choose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Numbers {
    /// Integers.
    #[default]
    Int,
    /// Floating-point numbers.
    Float,
}

impl Numbers {
    /// Ranks over which their sums are exact, so that results can be compared.
    pub const fn most_ranks(self) -> i32 {
        match self {
            Self::Int => 8192,
            Self::Float => 800,
        }
    }

    /// Its name, as an argument has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Float => "float",
        }
    }
}

const fn one() -> u32 {
    1
}
