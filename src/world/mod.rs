//! The world from `MPI_Init` to `MPI_Finalize`: settings, the meeting of all ranks, their facts, the state of this
//! process.
//!
//! ```text
//!   collect, taught ─► shim ─► facts ─► meeting ─► disagreement       setup: what the environment says, read first
//!                        │       ├─► profiles                  profiles: what was measured before
//!                        │       ├─► machine ─► links          machine: what it says without a clock
//!                        │       ├─► node ─► locality            node: which ranks share a machine, or processors
//!                        │       └─► setup, locality           taught: what calls have taught, for later jobs
//!                        ├─► announcing ─► facts               announcing: what came of the meeting, in words
//!                        ├─► setup, logging, family            family: a library for the other MPI libraries
//!                        ├─► planners                          planners: what communicators with the same ranks share
//!                        ├─► self_test                         self_test: what a test of the network has found
//!                        ├─► floors                            floors: sizes below which calls are the library's
//!                        └─► watching                          watching: how the watches of ranks find each other
//! ```
//!
//! `README.md` beside this file has the meeting of all ranks: states, messages, and why no rank waits for ever.
//!
//! May enter: what holds for the whole process. May not: single communicators and calls, which read it.

mod announcing;
pub mod collect;
pub mod disagreement;
mod facts;
pub mod family;
mod floors;
mod links;
pub mod locality;
mod logging;
mod machine;
mod meeting;
mod node;
pub mod planners;
mod profiles;
pub mod self_test;
pub mod setup;
pub mod shim;
pub mod taught;
mod watching;
