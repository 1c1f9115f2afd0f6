//! What tests and verification commands share: MPI installations, compiled programs, launches with a time limit,
//! reports.
//!
//! ```text
//!   compile(Mpi, source) ──► Program ──► Job (ranks, variables, what is preloaded) ──► run ──► Outcome: Ended, Report
//!                                          its turn among the jobs (gate), a second run after a known fault
//! ```
//!
//! A fault that only a broken build or installation can cause is a panic that says what to do.

mod fault;
mod gate;
mod job;
mod launcher;
mod mpi;
mod program;
mod record;
mod report;

pub use fault::FAULTS;
pub use job::{Job, Outcome};
pub use launcher::{Ended, Running, run_limited, run_watched};
pub use mpi::{Family, Mpi, root_directory};
pub use program::{Program, compile, compile_with, scratch_directory};
pub use record::{RECORD, Verified, verified};
pub use report::Report;

/// Every call that an algorithm of ours can carry out is carried out by it.
pub const FORCED: &str = "all=grouped_two_tree;alltoall=xor;alltoallv=two_level_ring;alltoallw=two_level_ring;\
    gather=relay;gatherv=direct;scatter=relay;scatterv=direct;\
    allgather=halving_doubling;allgatherv=halving_doubling;\
    reduce_scatter_block=halving_doubling;reduce_scatter=halving_doubling";

/// Whether tests run all their cases (`make test-all`, which sets `TEST_ALL`), not a part of them that stands for the
/// others.
pub fn everything() -> bool {
    std::env::var_os("TEST_ALL").is_some()
}

/// Three uneven levels for up to 16 ranks: nodes of 3 ranks, the last group half empty.
pub const MACHINE: &str = "synthetic:group:3 node:2 core:3";
