//! What a rank that gives up a call tells the others, which would wait for it where the program's error handler
//! returns.
//!
//! ```text
//!   rank 2 has no memory for call 7 of c ──► a notice (c, 7, class) to every rank of c,
//!                                            on a private communicator over the world
//!   a rank that waits in call 7 of c or a later one looks for notices: its call fails too, with the same error class
//! ```
//!
//! Notices do not travel on the communicator of the call: a rank that had nothing to wait for may have freed it, and
//! the library may have given its context id to another communicator. A communicator on which a call has failed goes on
//! failing, so one notice from each rank is enough. The rank allocates its memory beforehand, since later there may be
//! none. If the library cannot send it, the program's next call on the communicator tries again, or freeing the
//! communicator does.

use super::making;
use crate::boundary::failure::Failure;
use crate::real::Real;
use crate::real::handles::{ANY_SOURCE, STATUS_IGNORE};
use mpi::ffi::{MPI_Comm, MPI_Status};
use nagare_plan::schedule::Rank;
use parking_lot::Mutex;
use std::cmp::Ordering::{Equal, Greater, Less};
use std::ffi::c_int;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The name of a private communicator, different from that of any other that one of its ranks has ever been in. Two
/// that threads make at once may have the same epoch, but not the same place.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// Larger than the epoch of any private communicator that one of its ranks was in before.
    pub epoch: u32,
    /// Its place in the pool, from 1; 0 for a communicator that is not from the pool.
    pub place: u32,
}

/// The ranks of a private communicator, as notices know them.
pub trait Members {
    /// What notices call the communicator.
    fn name(&self) -> Name;

    /// What its ranks are called in the world.
    fn world_ranks(&self) -> &[Rank];

    /// Where notices about it are sent.
    fn notices(&self) -> &Notices;
}

/// The message.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Notice {
    on: Name,
    /// Number of the call that was given up.
    call: u32,
    /// Class of the error.
    class: c_int,
}

const BYTES: c_int = size_of::<Notice>() as c_int;

/// Communicators of which notices can be kept without any more memory.
const ROOM: usize = 64;

/// Nothing else travels on this communicator.
const TAG: c_int = 0;

/// A notice and the rank in the world that it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Heard {
    source: Rank,
    notice: Notice,
}

impl Heard {
    /// Whether this notice, of two about the same communicator, is the one that holds: that of the earlier call, and of
    /// one call that of the lower rank. The rank whose notice precedes all others tells everybody.
    fn precedes(self, other: Self) -> bool {
        match (other.notice.call.wrapping_sub(self.notice.call) as i32).cmp(&0) {
            Less => false,
            Equal => self.source < other.source,
            Greater => true,
        }
    }
}

/// Notices among the ranks of the world.
pub struct Notices {
    comm: MPI_Comm,
    /// The one that holds for each communicator that there was one for.
    heard: Mutex<Vec<Heard>>,
    /// Whether there is any, so that calls need no lock.
    any: AtomicBool,
}

// SAFETY: the handle is a name that MPI makes usable from every thread; it is not changed while this is shared.
unsafe impl Send for Notices {}
// SAFETY: as above; the rest is behind a lock.
unsafe impl Sync for Notices {}

impl Notices {
    /// Opens them; collective over the world, inside `MPI_Init`. `None` on all ranks if one cannot have the
    /// communicator.
    pub fn of_world(real: &Real) -> Option<Arc<Self>> {
        let comm = making::of_world(real)?;
        Some(Arc::new(Self { comm, heard: Mutex::new(Vec::with_capacity(ROOM)), any: AtomicBool::new(false) }))
    }

    /// Whether call number `call` among `members` can go on.
    ///
    /// # Errors
    /// [`Failure::GivenUp`] if another rank has given up that call or an earlier one.
    #[inline]
    pub fn check(&self, members: &impl Members, call: u32) -> Result<(), Failure> {
        if !self.any.load(Ordering::Relaxed) {
            return Ok(());
        }
        let Some(Heard { source, notice }) = self.on(members.name()) else { return Ok(()) };
        // Not later than this call.
        let holds = call.wrapping_sub(notice.call) as i32 >= 0;
        let peer = members.world_ranks().iter().position(|&rank| rank == source);
        match peer.filter(|_| holds) {
            Some(peer) => Err(Failure::GivenUp { peer: peer as Rank, class: notice.class }),
            None => Ok(()),
        }
    }

    fn on(&self, name: Name) -> Option<Heard> {
        self.heard.lock().iter().find(|heard| heard.notice.on == name).copied()
    }

    /// Takes note of what has arrived. What the library has to say against it is left to the call at hand.
    pub fn look(&self, real: &Real) {
        // Another thread that looks does it for this one.
        let Some(mut heard) = self.heard.try_lock() else { return };
        // What there is no memory for waits.
        while heard.try_reserve(1).is_ok() {
            let Some(new) = receive(real, self.comm) else { return };
            note(&mut heard, new);
            self.any.store(true, Ordering::Relaxed);
        }
    }

    /// Frees the communicator; collective over the world, when no call is under way.
    pub fn free(&self, real: &Real) {
        self.look(real);
        let mut comm = self.comm;
        // SAFETY: ours, and not used any more: this is called at finalisation. Notices that are still under way end as
        // the standard has it (MPI 4.0 section 7.4.3).
        unsafe { (real.mpi.comm_free)(&raw mut comm) };
    }
}

/// Keeps of each communicator the notice that holds.
fn note(heard: &mut Vec<Heard>, new: Heard) {
    match heard.iter_mut().find(|known| known.notice.on == new.notice.on) {
        Some(known) if new.precedes(*known) => *known = new,
        Some(_) => {}
        None => heard.push(new),
    }
}

/// The call that this rank gave up on one communicator, and which ranks it still has to tell.
///
/// ```text
///   tell: a notice to every rank ──► some could not be sent ──► tell_the_rest, in later calls and at the end
/// ```
pub struct AbandonedCall {
    /// Room for it; none any more when it has begun.
    room: Option<Box<Notice>>,
    /// The notice, and the range of ranks of which some have not been told.
    untold: Option<(&'static Notice, Range<Rank>)>,
}

impl Default for AbandonedCall {
    fn default() -> Self {
        Self { room: Some(Box::default()), untold: None }
    }
}

/// Ranks that a rank tells between two polls.
const LOOK_EVERY: usize = 16;

/// Looks at the network after notices are on their way: the library may have connections to make first, and the program
/// may not call it soon.
const PUSHES: u32 = 100;

impl AbandonedCall {
    /// Tells `members` that this one, `rank`, has given up call number `call`; once.
    pub fn tell(&mut self, real: &Real, members: &impl Members, rank: Rank, call: u32, failure: Failure) {
        if let Some(room) = self.room.take() {
            // Never freed: nobody waits until it has been read.
            let own = Box::leak(room);
            *own = Notice { on: members.name(), call, class: failure.code() };
            self.untold = Some((own, 0..members.world_ranks().len() as Rank));
        }
        self.tell_the_rest(real, members, rank);
    }

    /// Tells the ranks that could not be told so far: the library may have had no memory for it.
    pub fn tell_the_rest(&mut self, real: &Real, members: &impl Members, rank: Rank) {
        let Some((notice, untold)) = self.untold.take() else { return };
        let Some(&source) = members.world_ranks().get(rank as usize) else { return };
        let notices = members.notices();
        let own = Heard { source, notice: *notice };
        let mut failed: Option<Range<Rank>> = None;
        for (number, peer) in untold.enumerate() {
            if number % LOOK_EVERY == 0 {
                notices.look(real);
                // Where many give up at once, the first of them tells all.
                if notices.on(members.name()).is_some_and(|heard| heard.precedes(own)) {
                    return;
                }
            }
            let Some(&there) = members.world_ranks().get(peer as usize) else { continue };
            if there != source && !send(real, notices.comm, notice, there) {
                failed.get_or_insert(peer..peer).end = peer + 1;
            }
        }
        self.untold = failed.map(|ranks| (notice, ranks));
        for _ in 0..PUSHES {
            notices.look(real);
        }
    }
}

/// Whether the notice to `peer` of the world is on its way.
fn send(real: &Real, comm: MPI_Comm, notice: &'static Notice, peer: Rank) -> bool {
    let mut request = real.handles.request_null;
    // SAFETY: the message is never written to again, and lives as long as the process; valid handles. An active request
    // may be freed (MPI 4.0 section 3.7.3); one that could not be started is no request.
    unsafe {
        let message = ptr::from_ref(notice).cast();
        let code = (real.mpi.isend)(message, BYTES, real.handles.byte, peer as c_int, TAG, comm, &raw mut request);
        code == 0 && (real.mpi.request_free)(&raw mut request) == 0
    }
}

/// A notice that has arrived.
fn receive(real: &Real, comm: MPI_Comm) -> Option<Heard> {
    let (mut found, mut notice) = (0, Notice::default());
    // SAFETY: MPI_Status is plain data.
    let mut status: MPI_Status = unsafe { std::mem::zeroed() };
    // SAFETY: valid communicator and pointers.
    let code = unsafe { (real.mpi.iprobe)(ANY_SOURCE, TAG, comm, &raw mut found, &raw mut status) };
    if code != 0 || found == 0 {
        return None;
    }
    let from = status.MPI_SOURCE;
    // SAFETY: as above, and room for what is there already: nothing but notices is ever sent on this communicator, and
    // one thread at a time receives from it.
    let code = unsafe {
        let room = (&raw mut notice).cast();
        (real.mpi.recv)(room, BYTES, real.handles.byte, from, TAG, comm, STATUS_IGNORE)
    };
    let source = Rank::try_from(from).ok()?;
    (code == 0).then_some(Heard { source, notice })
}

#[cfg(test)]
mod tests;
