//! From an intercepted call to its outcome: guard, decide, run or pass on.
//!
//! ```text
//!   handle ─► decide ─► is_early? ─► take ─► trial ─► run ─► staged      arguments: what the call says, which all read
//! ```
//!
//! May enter: what is about one call. May not: what outlives it, which belongs to the communicator or the world.

pub mod arguments;
mod decide;
mod ending;
mod parameters;
mod run;
mod self_test;
mod sides;
mod sizes;
mod staged;
mod trial;
mod validity;
mod watched;

use self::arguments::Arguments;
use self::decide::{PassedOn, decide, take};
use self::run::run;
pub use self::watched::finalizing;
use crate::boundary::failure::Failure;
use crate::boundary::stack;
use crate::comm::learning::Class;
use crate::comm::lesson::Step;
use crate::comm::record::Communicator;
use crate::comm::registry;
use crate::real::handles::RawHandle;
use crate::real::{OTHERS, Other, Word};
use crate::transport::agreement;
use crate::world::shim::Shim;
use nagare_plan::choice::{Choice, Reason};
use std::ffi::c_int;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Handles one call. `forward` is the library's own.
#[inline]
pub fn handle(shim: &Shim, arguments: &Arguments, forward: impl FnOnce() -> c_int) -> c_int {
    let collective = arguments.collective;
    let watched = if shim.watched.load(Ordering::Relaxed) { watched::handled(shim, arguments) } else { None };
    if !shim.is_open() {
        return passed_on(shim, arguments, Reason::Outside, 0, forward);
    }
    let bytes = match arguments.bytes(shim) {
        Ok(bytes) => bytes,
        Err(reason) => return passed_on(shim, arguments, reason, 0, forward),
    };
    if arguments.is_below(bytes, shim.floor(collective)) {
        return passed_on(shim, arguments, Reason::Small, bytes, forward);
    }
    let mut decision = match decide(shim, arguments, bytes) {
        Ok(decision) => decision,
        Err(PassedOn::Because(reason)) => return passed_on(shim, arguments, reason, bytes, forward),
        Err(PassedOn::Early(_, _, false)) => return passed_on(shim, arguments, Reason::Early, bytes, forward),
        Err(PassedOn::Early(record, class, true)) => {
            return timed(shim, record, class, arguments, Reason::Early, bytes, forward);
        }
    };
    if let Some(class) = decision.class {
        match trial::is_early(shim, arguments.comm, &decision, class) {
            Ok(false) => {}
            Ok(true) => return timed(shim, decision.record, class, arguments, Reason::Early, bytes, forward),
            Err(code) => return code,
        }
    }
    let private = match take(shim, arguments, &decision) {
        Ok(private) => private,
        Err(reason) => return passed_on(shim, arguments, reason, bytes, forward),
    };
    // The ranks of a place of the pool are those of the world, so that nothing is measured there.
    if private.lease.is_some()
        && decision.class.is_some()
        && let Err(reason) = decision.unmeasured()
    {
        return passed_on(shim, arguments, reason, bytes, forward);
    }
    if decision.place.asks_for_devices {
        // Before anything that ranks wait in for one another.
        match stack::on_large(|| agreement::least(shim.real, arguments.comm, c_int::from(!arguments.on_device(shim)))) {
            Ok(0) => return passed_on(shim, arguments, Reason::Device, bytes, forward),
            Ok(_) => {}
            // As in any call of the library that fails on this rank.
            Err(code) => return code,
        }
    }
    let class = decision.class.filter(|_| private.lease.is_none());
    let mut kept = decision.early;
    if let Some(class) = class {
        match trial::step(shim, &mut decision, &private, class) {
            Err(failure) => {
                drop((decision, private, watched));
                return raise(shim, arguments, failure);
            }
            Ok(Step { way: Err(reason), is_timed: true }) => {
                return timed(shim, decision.record, class, arguments, reason, bytes, forward);
            }
            Ok(Step { way: Err(reason), is_timed: false }) => {
                return passed_on(shim, arguments, reason, bytes, forward);
            }
            Ok(Step { way: Ok(algorithm), is_timed }) => {
                decision.switch_to(algorithm);
                kept = is_timed.then_some(class);
                run::prepare(arguments, &decision);
            }
        }
    }
    let algorithm = decision.algorithm;
    if let Some(watched) = &watched {
        watched.runs(algorithm.name());
    }
    let start = Instant::now();
    let outcome = run(shim, arguments, &decision, &private);
    let elapsed = start.elapsed().as_nanos() as u64;
    if let Some(class) = kept {
        decision.record.learning().took(class, elapsed, bytes);
    }
    if shim.timed.load(Ordering::Relaxed) {
        let record = decision.record;
        // SAFETY: the call on the communicator has not returned, and no error handler has been called.
        unsafe { record.counted.count(shim.real, record.handle, collective, true, elapsed) };
    }
    // The program's error handler may call and use it again, or never come back.
    drop((decision, private, watched));
    let code = match outcome {
        Ok(()) => 0,
        Err(failure) => raise(shim, arguments, failure),
    };
    shim.statistics.count(collective, Choice::Run(algorithm), bytes, elapsed);
    code
}

/// Passes a collective on that Nagare does not carry out; the report counts it.
#[inline]
pub fn pass_on(shim: &Shim, which: Other, comm: Word, forward: impl FnOnce() -> c_int) -> c_int {
    let _watched = if shim.watched.load(Ordering::Relaxed) {
        watched::other(shim, RawHandle(comm).into(), OTHERS[which as usize])
    } else {
        None
    };
    if !shim.timed.load(Ordering::Relaxed) {
        return forward();
    }
    let start = Instant::now();
    let code = forward();
    shim.statistics.count_other(which, start.elapsed().as_nanos() as u64);
    code
}

/// A call of the library's whose time teaches something.
fn timed(
    shim: &Shim,
    record: &Communicator,
    class: Class,
    arguments: &Arguments,
    reason: Reason,
    bytes: u64,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    let (start, deletions) = (Instant::now(), registry::deletions());
    let code = passed_on(shim, arguments, reason, bytes, forward);
    // An error handler, which also says what the call returns, may have freed the communicator, and the record with it.
    if code == 0 && deletions == registry::deletions() {
        record.learning().took(class, start.elapsed().as_nanos() as u64, bytes);
    }
    code
}

#[inline]
fn passed_on(shim: &Shim, arguments: &Arguments, reason: Reason, bytes: u64, forward: impl FnOnce() -> c_int) -> c_int {
    let collective = arguments.collective;
    let choice = Choice::Library(reason);
    if !shim.timed.load(Ordering::Relaxed) {
        shim.statistics.count(collective, choice, bytes, 0);
        return forward();
    }
    let start = Instant::now();
    let code = forward();
    let elapsed = start.elapsed().as_nanos() as u64;
    shim.statistics.count(collective, choice, bytes, elapsed);
    if code == 0 {
        registry::count(shim, arguments.comm, collective, elapsed);
    }
    code
}

/// Raises a failure on the program's communicator, as the library would, and gives the code to return.
fn raise(shim: &Shim, arguments: &Arguments, failure: Failure) -> c_int {
    let code = failure.code();
    // SAFETY: the communicator is valid: this call ran on it.
    unsafe { (shim.real.mpi.comm_call_errhandler)(arguments.comm, code) };
    code
}
