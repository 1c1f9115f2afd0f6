//! What a call runs on where the calls themselves tell: the step before it, and what it took (docs/decisions/0017).

use super::decide::Decision;
use crate::boundary::failure::Failure;
use crate::boundary::stack;
use crate::comm::learning::{Class, Step};
use crate::transport::private::Private;
use crate::transport::together::slowest;
use crate::world::shim::Shim;

/// What the call runs on: if the one before was measured, all ranks agree on its time first; if this one is to be, they
/// begin it together.
///
/// # Errors
/// A rank has given up an earlier call.
pub fn step(shim: &Shim, decision: &Decision, private: &Private, class: Class) -> Result<Step, Failure> {
    let record = decision.record;
    if record.failed().is_err() {
        // This rank runs nothing any more; it says so as for any other call.
        return Ok(Step { way: Some(decision.algorithm), measured: false });
    }
    let call = record.traffic().coming_call();
    let together = |own| stack::on_large(|| slowest(shim.real, private, call, own, shim.pause()));
    let mut learning = record.learning();
    let lesson = learning.lesson(class, || decision.candidates());
    let is_measuring = lesson.is_measuring();
    if is_measuring {
        let own = std::mem::take(&mut lesson.own);
        if let Some(outcome) = lesson.note(together(own)?)
            && record.rank == 0
        {
            log::info!("{class} on {} ranks: {outcome}", record.size);
        }
    }
    let step = lesson.next();
    if step.measured && !is_measuring {
        together(0)?;
    }
    Ok(step)
}

/// Notes what a measured call took here.
pub fn took(decision: &Decision, class: Class, nanoseconds: u64) {
    decision.record.learning().lesson(class, Vec::new).own = nanoseconds;
}
