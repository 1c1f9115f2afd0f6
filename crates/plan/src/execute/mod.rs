//! Running a plan: one executor for every algorithm, over anything that can move and combine data.

mod confirmations;
mod credits;
mod executor;
mod flow;
mod layout;
mod opening;
mod own;
mod peer;
mod play;
mod ready;
mod receives;
mod rounds;
mod scratch;
mod sends;
mod spare;
mod stream;
mod threads;
mod transport;

pub use crate::schedule::{ACTIVE_HOPS, Flow, Pacing};
pub use credits::Credits;
pub use executor::{Executor, Traffic};
pub use layout::Layout;
pub use play::{PlayError, play};
pub use threads::{Fault, ThreadTransport, World};
pub use transport::{Completed, Label, Place, Region, Synchronous, TURNS, Transport};
