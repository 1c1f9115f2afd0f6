//! All ranks of a communicator at one point, and what a call took the slowest of them: how a measured call begins
//! (docs/decisions/0017).

use super::agreement::{to_amount, to_number};
use super::minimum::minimum;
use super::private::Private;
use super::wait::{Patience, Waiting};
use crate::boundary::failure::Failure;
use crate::real::Real;

/// Times of a rank, nanoseconds; of a measured call, one, and bytes.
pub type Times = [u64; TIMES];

/// How many.
const TIMES: usize = 3;

/// Waits for all ranks, and tells the most of their `own` numbers, each by itself. Collective over `private`, which
/// must be no place of the pool. `call`: the number of this agreement.
///
/// # Errors
/// [`Failure::GivenUp`] if a rank has given up an earlier call and will not come; then no rank's time is known.
pub fn longest(real: &Real, private: &Private, call: u32, own: Times, waiting: Waiting) -> Result<Times, Failure> {
    let mut patience = Patience::new(waiting);
    let longest = minimum(real, private.comm, own.map(to_number), |looks| {
        private.notices.look(real);
        private.notices.check(private, call)?;
        patience.wait(looks);
        Ok(())
    })?
    .map_err(Failure::Mpi)?;
    // The operation goes on without a rank that has left it, and completes. The notice of that rank was sent before the
    // others could complete it, so that it is here in all likelihood; a rank that missed it would enter the library's
    // collective alone.
    private.notices.look(real);
    private.notices.check(private, call)?;
    Ok(longest.map(to_amount))
}
