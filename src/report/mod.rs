//! What ran, how often and how long: counters of one process, the report of all, and where it is written.
//!
//! May enter: numbers and words. May not: MPI; `world/collect.rs` gathers the counters and passes them on.

mod by_communicator;
pub mod content;
mod counter;
pub mod destination;
pub mod kinds;
pub mod learned;
mod rows;
mod snapshot;
pub mod statistics;
mod table;
mod text;
