//! What is kept of each communicator of the program, from its first call to its end.
//!
//! ```text
//!   registry ─► record ─► placement ─► cartesian   which record a handle has; where its ranks are
//!      └─► witness  ├─► programs                   whether it is a handle at all; plans made so far
//!                   ├─► duplicates                 private communicators so far
//!                   ├─► learning ─► lesson         what its calls have taught, class by class
//!                   ├─► counted                    its calls, and its name, for the report
//!                   └─► told                       what has been told of its calls
//! ```
//!
//! May enter: what is known of one communicator whatever is called on it. May not: arguments and buffers of a call.

mod cartesian;
mod counted;
mod duplicates;
pub mod learning;
pub mod lesson;
pub mod placement;
mod programs;
pub mod record;
pub mod registry;
mod told;
mod witness;
