//! What a call runs on where the calls themselves tell (docs/decisions/0017).

use super::decide::Decision;
use super::ending::Ending;
use super::self_test;
use crate::boundary::failure::Failure;
use crate::boundary::stack;
use crate::comm::learning::{Beginning, Class};
use crate::comm::lesson::Step;
use crate::transport::agreement;
use crate::transport::private::Private;
use crate::transport::together::{Times, longest};
use crate::world::shim::Shim;
use mpi::ffi::MPI_Comm;
use nagare_plan::choice::Reason;
use nagare_plan::learn::{self, Earning};
use std::ffi::c_int;
use std::time::Instant;

/// Whether the library runs the call because the calls of its class have not yet earned any trials; counts it then.
/// Ranks ask each other now and then: by the library's own on the program's communicator `comm`, while there is none of
/// ours, whose making would be a part of the cost, and which a communicator with one call is not worth, whatever is
/// predicted. No call of ours has failed there, so that all ranks come.
///
/// # Errors
/// The code with which the library fails there. It has called the program's error handler, which may have freed the
/// communicator, and the record with it; the other ranks are as in any call of the library that fails on one of them.
pub fn is_early(shim: &Shim, comm: MPI_Comm, decision: &Decision, class: Class) -> Result<bool, c_int> {
    let record = decision.record;
    if decision.is_long() || record.has_private() {
        return Ok(false);
    }
    let earning = match record.learning().early(class, || decision.beginning()) {
        None => return Ok(false),
        Some(Beginning { earning, .. }) => {
            if !earning.next_call() {
                return Ok(true);
            }
            earning.clone()
        }
    };
    let is_earned =
        is_earned(decision, class, earning, |own| stack::on_large(|| agreement::longest(shim.real, comm, own)))?;
    if is_earned {
        record.learning().lesson(class, || decision.candidates());
    }
    Ok(!is_earned)
}

/// Whether the calls of the class, whose `earning` this is, have earned trials, by the longest times of all ranks,
/// which `ask` finds out from this rank's own. The record is not locked meanwhile: the library's error handler may make
/// calls.
///
/// # Errors
/// That of `ask`; the record may be gone.
fn is_earned<E>(
    decision: &Decision,
    class: Class,
    mut earning: Earning,
    mut ask: impl FnMut(Times) -> Result<Times, E>,
) -> Result<bool, E> {
    let record = decision.record;
    let is_earned = earning.is_earned(|own| {
        let start = Instant::now();
        let (longest, took) = (ask(own)?, start.elapsed());
        if record.rank == 0 {
            let [spent, asking, _] = longest.map(|nanoseconds| nanoseconds / 1000);
            log::debug!("{class} on {} ranks: calls took at most {spent} us so far, asking {asking}", record.size);
        }
        Ok((longest, took))
    })?;
    if let Some(beginning) = record.learning().early(class, || decision.beginning()) {
        let before = beginning.way();
        beginning.earning = earning;
        if let Some(ours) = beginning.way().filter(|_| before.is_none() && !is_earned && record.rank == 0) {
            log::debug!("{class} on {} ranks: the MPI library takes what was predicted; {ours} is next", record.size);
        }
    }
    Ok(is_earned)
}

/// What the call runs on. If the one before was measured, all ranks agree on its time first; if this one is to be, they
/// begin it together. A rank that does not come through this, for whatever reason, tells those that wait for it.
///
/// # Errors
/// A rank has given up an earlier call, or the library fails.
pub fn step(shim: &Shim, decision: &mut Decision, private: &Private, class: Class) -> Result<Step, Failure> {
    let record = decision.record;
    // Here they ask on a communicator of ours, which calls of another class, or early ones of this, have made. All
    // ranks run calls before which nobody is asked on the same, also where a call of ours has failed: then one that
    // ours runs fails, and tells the others, and no rank learns when to ask again. Only a rank that could not take part
    // when the others last asked may run another, and waits there as one that has left a collective.
    let (mut early, mut way) = (None, Err(Reason::Early));
    if decision.is_long() {
        // Begun on all ranks alike, also where a call of ours has failed.
        record.learning().lesson(class, || decision.candidates());
    } else if let Some(beginning) = record.learning().early(class, || decision.beginning()) {
        way = beginning.way().ok_or(Reason::Early);
        if !beginning.earning.next_call() {
            return Ok(Step { way, is_timed: true });
        }
        early = Some(beginning.earning.clone());
    }
    if record.failed().is_err() {
        // This rank runs nothing any more; it says so as for any other call.
        return Ok(Step { way: Ok(decision.algorithm), is_timed: false });
    }
    let mut traffic = record.traffic();
    // The agreement has a number of its own: one that a rank gives up ends no agreement before it, though the library
    // carried out the call between them.
    let call = traffic.next_call();
    let mut ending = Ending::new(shim, record, private, &mut traffic, (decision.call.collective, call));
    let mut together = |own| stack::on_large(|| longest(shim.real, private, call, own, shim.waiting()));
    let is_early = match early {
        Some(earning) => is_earned(decision, class, earning, &mut together).map(|is_earned| !is_earned),
        None => Ok(false),
    };
    let step = is_early.and_then(|is_early| {
        if is_early {
            return Ok(Step { way, is_timed: true });
        }
        if let Some(world) = self_test::is_due(shim, decision, class) {
            self_test::run(shim, &world, decision, (private, call), class)?;
        }
        let tell = |level, line: String| {
            if record.rank == 0 {
                log::log!(level, "{class} on {} ranks: {line}", record.size);
            }
        };
        let slowest = |own: learn::Call| {
            together([own.nanoseconds, own.bytes, 0]).map(|[nanoseconds, bytes, _]| learn::Call { nanoseconds, bytes })
        };
        record.learning().lesson(class, || decision.candidates()).next(slowest, tell)
    });
    ending.failure = match step {
        Ok(_) => None,
        Err(failure @ (Failure::GivenUp { .. } | Failure::Memory)) => Some(failure),
        // The agreement and the test are ours: nobody else would tell of their failure.
        Err(_) => Some(Failure::Left),
    };
    step
}
