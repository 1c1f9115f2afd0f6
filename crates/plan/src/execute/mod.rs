//! Running a plan: one executor for every algorithm, over anything that can move and combine data.

mod executor;
mod layout;
mod play;
mod stream;
mod threads;
mod transport;

pub use crate::schedule::{ACTIVE_HOPS, Flow, Pacing};
pub use executor::{Credits, Executor, Traffic};
pub use layout::Layout;
pub use play::{PlayError, play};
pub use threads::{Fault, ThreadTransport, World};
pub use transport::{Completed, Label, Place, Region, Ticket, Transport};
