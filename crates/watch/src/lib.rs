//! What the watches of ranks say (`NAGARE_WATCH`), to each other and to people.
//!
//! ```text
//!   said: what a rank answers ──► overdue: a call that does not end      ranks: 0-3, 7
//!                            └──► running: what a job is in (`nagare ps`)
//! ```

mod overdue;
mod ranks;
mod running;
mod said;

pub use overdue::{FINALIZE, Overdue, overdue};
pub use ranks::ranges;
pub use running::running;
pub use said::{Answer, Awaited, Call, Job, LIBRARY, Now, behind, door};
