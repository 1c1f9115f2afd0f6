//! Nagare's messages: on which communicators they travel, with which tags, how ranks wait for them, agree and give up.
//!
//! ```text
//!   mpi_transport ─► private, tags, wait             what a call sends and receives
//!   private       ─► pool, notice                    on which communicator, and what ranks say of calls
//!   pool, notice  ─► making                          communicators of our own
//!   making, pool  ─► agreement                       what ranks find out together
//!   together      ─► minimum, agreement, private, wait     the same, as a measured call begins
//!   self_test     ─► private, tags, wait             messages by which a job tests its network
//!   minimum       ─► pending                         operations of the library that are looked at; on MPICH also
//!                    gathered, making, agreement ─► pending ─► wait, and agreement ─► minimum
//! ```
//!
//! `README.md` beside this file has the protocols: states, messages, and why no rank waits for ever.
//!
//! May enter: what moves bytes between ranks, and what ranks agree on by the library's own collectives, on a
//! communicator of the program where there is no private one. May not: decisions, plans, and settings but how ranks
//! wait.

pub mod agreement;
mod completion;
pub mod gathered;
mod giving_up;
mod line;
pub mod making;
mod minimum;
pub mod mpi_transport;
pub mod notice;
mod pending;
pub mod places;
pub mod pool;
pub mod private;
mod requests;
pub mod self_test;
pub mod tags;
pub mod together;
pub mod wait;
