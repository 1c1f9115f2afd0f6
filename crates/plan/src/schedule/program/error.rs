//! Why a plan cannot be executed.

use thiserror::Error;

/// Why a plan cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProgramError {
    /// A hop refers to parts that do not exist.
    #[error("hop {hop}: parts {first}..{end} of {parts}")]
    NoSuchPart {
        /// Index of the hop.
        hop: u32,
        /// First part it names.
        first: u32,
        /// One past the last part it names.
        end: u32,
        /// Number of parts of the plan.
        parts: u32,
    },
    /// `after` names the hop itself or a later one.
    #[error("hop {hop} waits for hop {after}, which is not earlier")]
    NotEarlier {
        /// Index of the hop.
        hop: u32,
        /// What it waits for.
        after: u32,
    },
    /// A combination without a result buffer must work on the same parts as the hops around it.
    #[error("hop {hop}: a rank without a result buffer combines parts that other hops cut differently")]
    Misaligned {
        /// Index of the hop.
        hop: u32,
    },
    /// Of what it sends or combines a part is still the rank's own contribution, in another buffer than the rest.
    #[error("hop {hop}: some of its parts have been combined or received, others are still the rank's contribution")]
    InTwoBuffers {
        /// Index of the hop.
        hop: u32,
    },
    /// A copy or shuffle would overwrite what it reads or has written.
    #[error("hop {hop}: writes where it reads, or twice in one place")]
    InItsOwnWay {
        /// Index of the hop.
        hop: u32,
    },
    /// Something is received into a rank that has no result buffer.
    #[error("hop {hop}: receives into a rank without a result buffer")]
    NoOutput {
        /// Index of the hop.
        hop: u32,
    },
    /// Something is received into blocks that are only to be sent.
    #[error("hop {hop}: writes to the input")]
    WritesInput {
        /// Index of the hop.
        hop: u32,
    },
}
