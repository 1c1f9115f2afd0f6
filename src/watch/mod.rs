//! The watch over calls that do not end (`NAGARE_WATCH`): which ranks have not arrived, what they are in, and whom the
//! others wait for.
//!
//! ```text
//!   call ──► doing      what the threads of this process are in             each process has a thread,
//!              ▲                                                            which calls nothing of MPI
//!            thread ──► wire ═══ datagrams ═══ the threads of other ranks
//!              │  └───► door ═══ nagare ps
//!              └──────► crates/watch: words ──► standard error
//! ```
//!
//! May enter: what can be said without MPI, of calls as text. May not: communicators, arguments, schedules.

pub mod doing;
mod door;
mod thread;
pub mod wire;

pub use thread::{Setting, Watch, bind};
