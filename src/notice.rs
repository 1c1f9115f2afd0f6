//! What a rank that gives up a call tells the others, who would wait for it where the program's error handler returns.
//!
//! ```text
//!   rank 2 has no memory for call 7 ──► a notice to every rank of the communicator, on a tag of its own
//!   a rank that waits in call 7 or a later one looks for it: its call fails too, with the same error class
//! ```
//!
//! A communicator on which a call has failed goes on failing, so one notice of a rank is enough. It is small, and room for it is there from the
//! beginning: memory is what is missing. Where the library itself cannot send it, the program's next call there tries again.

use crate::communicator::Private;
use crate::failure::Failure;
use crate::real::Real;
use crate::real::handles::{ANY_SOURCE, STATUS_IGNORE};
use crate::tags::NOTICES;
use mpi::ffi::MPI_Status;
use nagare_plan::schedule::Rank;
use std::ffi::c_int;
use std::ptr;

/// The message.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notice {
    /// Of the communicator of ours: a rank that never waited may have left a notice unread, and use the place for another.
    epoch: u32,
    /// Number of the call that was given up.
    call: u32,
    /// Class of the error.
    class: c_int,
}

const BYTES: c_int = size_of::<Notice>() as c_int;

/// Looks at the network after notices are on their way: the library may have connections to make first, and the program may not call it soon.
const PUSHES: u32 = 100;

/// The notices of a communicator.
pub struct Notices {
    /// Room for what this rank will say; none any more when it has begun.
    room: Option<Box<Notice>>,
    /// What this rank has to say, and the first rank that has not been told.
    own: Option<(&'static Notice, Rank)>,
    /// The earliest call that another rank has given up, and that rank.
    heard: Option<(Rank, Notice)>,
}

impl Default for Notices {
    fn default() -> Self {
        Self { room: Some(Box::default()), own: None, heard: None }
    }
}

impl Notices {
    /// Tells the ranks of the communicator, of which there are `size`, that this one, `rank`, has given up call number `call`; once.
    pub fn tell(&mut self, real: &Real, private: &Private, (rank, size): (Rank, u32), call: u32, failure: Failure) {
        if let Some(room) = self.room.take() {
            // Never freed: nobody waits until it has been read.
            let own = Box::leak(room);
            *own = Notice { epoch: private.epoch, call, class: failure.code() };
            self.own = Some((own, 0));
        }
        self.go_on(real, private, (rank, size));
    }

    /// Tells the ranks that could not be told so far: the library may have had no memory for it.
    pub fn go_on(&mut self, real: &Real, private: &Private, (rank, size): (Rank, u32)) {
        let Some((own, first)) = self.own else { return };
        for peer in first..size {
            // Where many give up at once, most hear of another first, who tells all.
            if peer % LOOK_EVERY == 0 {
                self.look(real, private);
                if self.check(own.call).is_err() {
                    self.own = None;
                    return;
                }
            }
            if peer != rank && !send(real, private, own, peer) {
                return;
            }
            self.own = Some((own, peer + 1));
        }
        self.own = None;
        for _ in 0..PUSHES {
            self.look(real, private);
        }
    }

    /// Whether call number `call` can go on.
    ///
    /// # Errors
    /// [`Failure::GivenUp`] if another rank has given up that call or an earlier one.
    pub fn check(&self, call: u32) -> Result<(), Failure> {
        match self.heard {
            Some((peer, notice)) if is_until(notice.call, call) => Err(Failure::GivenUp { peer, class: notice.class }),
            _ => Ok(()),
        }
    }

    /// Takes note of what has arrived. What the library has to say against it is left to the call at hand.
    pub fn look(&mut self, real: &Real, private: &Private) {
        while let Some((source, notice)) = receive(real, private) {
            let Some(peer) = private.named(source).filter(|_| notice.epoch == private.epoch) else { continue };
            if self.heard.is_none_or(|(_, heard)| !is_until(heard.call, notice.call)) {
                self.heard = Some((peer, notice));
            }
        }
    }
}

/// Ranks that are told between two looks.
const LOOK_EVERY: u32 = 16;

/// Whether the notice to `peer` is on its way.
fn send(real: &Real, private: &Private, notice: &'static Notice, peer: Rank) -> bool {
    let mut request = real.handles.request_null;
    // SAFETY: the message is never written to again, and lives as long as the process; valid handles. An active request may be freed
    // (MPI 4.0 section 3.7.3); one that could not be started is no request.
    unsafe {
        let code = (real.mpi.isend)(
            ptr::from_ref(notice).cast(),
            BYTES,
            real.handles.byte,
            private.rank(peer),
            NOTICES,
            private.comm,
            &raw mut request,
        );
        code == 0 && (real.mpi.request_free)(&raw mut request) == 0
    }
}

/// Whether call number `first` is `second` or comes before it; numbers start again after the largest.
const fn is_until(first: u32, second: u32) -> bool {
    second.wrapping_sub(first) as i32 >= 0
}

/// A notice that has arrived, and its sender's rank in our communicator.
fn receive(real: &Real, private: &Private) -> Option<(c_int, Notice)> {
    let (mut found, mut notice) = (0, Notice::default());
    // SAFETY: MPI_Status is plain data.
    let mut status: MPI_Status = unsafe { std::mem::zeroed() };
    // SAFETY: valid communicator and pointers.
    let code = unsafe { (real.mpi.iprobe)(ANY_SOURCE, NOTICES, private.comm, &raw mut found, &raw mut status) };
    if code != 0 || found == 0 {
        return None;
    }
    // SAFETY: as above, and room for a message that only ranks with this library send; it is there already.
    let code = unsafe {
        (real.mpi.recv)(
            (&raw mut notice).cast(),
            BYTES,
            real.handles.byte,
            status.MPI_SOURCE,
            NOTICES,
            private.comm,
            STATUS_IGNORE,
        )
    };
    (code == 0).then_some((status.MPI_SOURCE, notice))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(call: u32) -> Notices {
        Notices { heard: Some((3, Notice { epoch: 1, call, class: 34 })), ..Notices::default() }
    }

    #[test]
    fn calls_before_the_one_given_up_go_on() {
        for call in [7, 0, u32::MAX] {
            let notices = heard(call);
            assert_eq!(notices.check(call.wrapping_sub(1)), Ok(()));
            for later in 0..200 {
                let failure = Failure::GivenUp { peer: 3, class: 34 };
                assert_eq!(notices.check(call.wrapping_add(later)), Err(failure), "{call} + {later}");
            }
        }
        assert_eq!(Notices::default().check(5), Ok(()));
    }
}
