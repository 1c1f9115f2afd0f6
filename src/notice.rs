//! What a rank that gives up a call tells the others, who would wait for it where the program's error handler returns.
//!
//! ```text
//!   rank 2 has no memory for call 7 ──► a notice to every rank of the communicator, on a tag of its own
//!   a rank that waits in call 7 or a later one looks for it: its call fails too, with the same error class
//! ```
//!
//! A communicator on which a call has failed goes on failing, so one notice of a rank is enough. It is small and needs no memory that is not there yet:
//! memory is what is missing.

use crate::communicator::Private;
use crate::failure::Failure;
use crate::real::Real;
use crate::real::handles::{ANY_SOURCE, STATUS_IGNORE};
use crate::tags::NOTICES;
use mpi::ffi::MPI_Status;
use nagare_plan::schedule::Rank;
use std::ffi::c_int;

/// The message.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notice {
    /// Number of the call that was given up.
    call: u32,
    /// Class of the error.
    class: c_int,
}

const BYTES: c_int = size_of::<Notice>() as c_int;

/// Looks at the network after a notice is on its way: the library may have connections to make first, and the program may not call it soon.
const PUSHES: u32 = 100;

/// The notices of a communicator.
#[derive(Default)]
pub struct Notices {
    /// What this rank will say; none any more when it has.
    own: Option<Box<Notice>>,
    /// The earliest call that another rank has given up, and that rank.
    heard: Option<(Rank, Notice)>,
}

impl Notices {
    /// Sets aside what a notice needs.
    pub fn prepare(&mut self) {
        self.own.get_or_insert_default();
    }

    /// Tells the other ranks of `size` that `rank` has given up call number `call`, unless it has told them of another.
    pub fn tell(&mut self, real: &Real, private: &Private, (rank, size): (Rank, u32), call: u32, failure: Failure) {
        let Some(own) = self.own.take() else { return };
        // Never freed: nobody waits until it has been read.
        let own = Box::leak(own);
        *own = Notice { call, class: failure.code() };
        for peer in (0..size).filter(|&peer| peer != rank) {
            let mut request = real.handles.request_null;
            // SAFETY: the message is never written to again, and lives as long as the process; valid handles. An active request may be
            // freed (MPI 4.0 section 3.7.3); one that could not be started is no request.
            unsafe {
                let code = (real.mpi.isend)(
                    (&raw const *own).cast(),
                    BYTES,
                    real.handles.byte,
                    private.rank(peer),
                    NOTICES,
                    private.comm,
                    &raw mut request,
                );
                if code == 0 {
                    (real.mpi.request_free)(&raw mut request);
                }
            }
        }
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
        while let Some((peer, notice)) = receive(real, private) {
            if self.heard.is_none_or(|(_, heard)| !is_until(heard.call, notice.call)) {
                self.heard = Some((peer, notice));
            }
        }
    }
}

/// Whether call number `first` is `second` or comes before it; numbers start again after the largest.
const fn is_until(first: u32, second: u32) -> bool {
    second.wrapping_sub(first) as i32 >= 0
}

/// A notice that has arrived.
fn receive(real: &Real, private: &Private) -> Option<(Rank, Notice)> {
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
    (code == 0).then(|| (private.named(status.MPI_SOURCE), notice))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(call: u32) -> Notices {
        Notices { own: None, heard: Some((3, Notice { call, class: 34 })) }
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
