//! What a call runs on where the calls themselves tell: the step before it, and what it took (docs/decisions/0017).

use super::decide::Decision;
use super::ending::Ending;
use crate::boundary::failure::Failure;
use crate::boundary::stack;
use crate::comm::learning::{Class, Lesson, Step};
use crate::transport::private::Private;
use crate::transport::together::slowest;
use crate::world::shim::Shim;

/// What the call runs on. If the one before was measured, all ranks agree on its time first; if this one is to be, they
/// begin it together. A rank that does not come through this, for whatever reason, tells those that wait for it.
///
/// # Errors
/// A rank has given up an earlier call, or the library fails.
pub fn step(shim: &Shim, decision: &Decision, private: &Private, class: Class) -> Result<Step, Failure> {
    let record = decision.record;
    if record.failed().is_err() {
        // This rank runs nothing any more; it says so as for any other call.
        return Ok(Step { way: Some(decision.algorithm), measured: false });
    }
    let mut traffic = record.traffic();
    let call = traffic.coming_call();
    let mut ending = Ending::new(shim, record, private, &mut traffic, (decision.call.collective, call));
    let mut learning = record.learning();
    let lesson = learning.lesson(class, || decision.candidates());
    let mut together = |own| stack::on_large(|| slowest(shim.real, private, call, own, shim.pause()));
    let step = agreed(lesson, &mut together, |outcome| {
        if record.rank == 0 {
            log::info!("{class} on {} ranks: {outcome}", record.size);
        }
    });
    ending.failure = match step {
        Ok(_) => None,
        Err(failure @ Failure::GivenUp { .. }) => Some(failure),
        // The agreement is ours: nobody else would tell of its failure.
        Err(_) => Some(Failure::Left),
    };
    step
}

/// The next step of the lesson. `together`: waits for all ranks and tells the slowest one's time.
fn agreed(
    lesson: &mut Lesson,
    together: &mut impl FnMut(u64) -> Result<u64, Failure>,
    tell: impl FnOnce(String),
) -> Result<Step, Failure> {
    let is_measuring = lesson.is_measuring();
    if is_measuring {
        let own = std::mem::take(&mut lesson.own);
        if let Some(outcome) = lesson.note(together(own)?) {
            tell(outcome);
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
