//! The executor's transport over the MPI library's point-to-point calls, on the communicator's private duplicate.

use crate::communicator::Private;
use crate::datatype::{self, Shape, Typed};
use crate::memory::Buffer;
use crate::real::Real;
use crate::wait::{self, LOOKS};
use mpi::ffi::{MPI_Datatype, MPI_Op, MPI_Request, MPI_Status};
use nagare_plan::execute::{Completed, Layout, Place, Region, Ticket, Transport};
use nagare_plan::schedule::{Parts, Rank};
use std::ffi::c_int;
use std::time::Duration;

/// Alignment of scratch elements, bytes: a cache line.
const ALIGNMENT: usize = 64;

/// Why a call of ours failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An error code of the MPI library.
    Mpi(c_int),
    /// No memory for segments or copies; nothing has been sent.
    Memory,
    /// The plan waits for nothing: an error in Nagare.
    Stalled,
}

/// The buffers of a call in units.
pub struct Buffers {
    /// Address of unit 0 of the contribution.
    pub input: *const u8,
    /// Address of unit 0 of the result; null on ranks without one.
    pub output: *mut u8,
    /// Where the parts of the plan are in them.
    pub layout: Layout,
    /// Type of one unit.
    pub datatype: MPI_Datatype,
    /// Shape of that type.
    pub shape: Shape,
    /// Operation, for reductions.
    pub op: Option<MPI_Op>,
}

/// One call's transport.
pub struct MpiTransport<'r> {
    real: &'r Real,
    private: &'r Private,
    rank: Rank,
    buffers: Buffers,
    scratch: Buffer,
    slot_bytes: usize,
    stage: Buffer,
    requests: Vec<MPI_Request>,
    tickets: Vec<Ticket>,
    finished: Vec<c_int>,
    statuses: Vec<MPI_Status>,
    /// Between two looks at the requests, where ranks wait by pausing.
    pause: Option<Duration>,
}

impl<'r> MpiTransport<'r> {
    /// A transport over `private` for the process that is `rank` there.
    ///
    /// # Safety
    /// The addresses in `buffers` must be valid for all units of its layout, of type `datatype` (input for reading, output,
    /// unless null, for writing) until the transport is dropped with nothing under way, and the handles must be valid.
    pub unsafe fn new(
        real: &'r Real,
        private: &'r Private,
        rank: Rank,
        buffers: Buffers,
        pause: Option<Duration>,
    ) -> Self {
        Self {
            real,
            private,
            rank,
            buffers,
            scratch: Buffer::default(),
            slot_bytes: 0,
            stage: Buffer::default(),
            requests: Vec::new(),
            tickets: Vec::new(),
            finished: Vec::new(),
            statuses: Vec::new(),
            pause,
        }
    }

    /// Address of the first unit of a place.
    fn address(&mut self, place: Place) -> *mut u8 {
        // In memory of ours elements start at a multiple of the alignment, so that a user's operation finds its data aligned as in
        // the program's own buffers; the first byte of data may lie on either side of that.
        let shape = &self.buffers.shape;
        let data = (shape.true_lb.rem_euclid(ALIGNMENT as i64) - shape.true_lb) as isize;
        let base = match place.region {
            Region::Input => self.buffers.input.cast_mut(),
            Region::Output => self.buffers.output,
            Region::Stage => self.stage.address().wrapping_offset(data),
            Region::Scratch(slot) => {
                self.scratch.address().wrapping_add(slot as usize * self.slot_bytes).wrapping_offset(data)
            }
        };
        base.wrapping_offset(place.start as isize * shape.extent as isize)
    }

    /// Bytes that `units` units take up in memory of ours, wherever their first byte lies; `None` if there is no such number.
    fn room(&self, units: u64) -> Option<usize> {
        let shape = &self.buffers.shape;
        let between = units.saturating_sub(1).checked_mul(shape.extent as u64)?;
        let bytes = usize::try_from(between.checked_add(shape.true_extent as u64)?).ok()?;
        bytes.checked_add(ALIGNMENT)?.checked_next_multiple_of(ALIGNMENT)
    }

    /// Gives up the scratch memory without freeing it, since receives into it may still be under way.
    pub fn abandon(&mut self) {
        std::mem::forget(std::mem::take(&mut self.scratch));
        std::mem::forget(std::mem::take(&mut self.stage));
    }

    fn start(&mut self, ticket: Ticket, code: c_int, request: MPI_Request) -> Result<(), Failure> {
        check(code)?;
        self.requests.push(request);
        self.tickets.push(ticket);
        Ok(())
    }
}

fn check(code: c_int) -> Result<(), Failure> {
    if code == 0 { Ok(()) } else { Err(Failure::Mpi(code)) }
}

impl Transport for MpiTransport<'_> {
    type Error = Failure;

    fn units(&self, parts: Parts, of: u32) -> (u64, u64) {
        self.buffers.layout.units(parts, of)
    }

    fn reserve(&mut self, slots: u32, units: u64, staged: u64) -> Result<(), Failure> {
        self.slot_bytes = self.room(units).ok_or(Failure::Memory)?;
        let bytes = self.slot_bytes.checked_mul(slots as usize).ok_or(Failure::Memory)?;
        let stage = if staged > 0 { self.room(staged).ok_or(Failure::Memory)? } else { 0 };
        self.scratch = Buffer::new(bytes).ok_or(Failure::Memory)?;
        self.stage = Buffer::new(stage).ok_or(Failure::Memory)?;
        Ok(())
    }

    fn send(&mut self, ticket: Ticket, peer: Rank, tag: u32, from: Place, synchronous: bool) -> Result<(), Failure> {
        let address = self.address(from);
        let mut request = self.real.handles.request_null;
        let start = if synchronous { self.real.mpi.issend } else { self.real.mpi.isend };
        // SAFETY: the place lies within a buffer that `new` was promised to be valid, and the executor does not write to it
        // before the request is complete.
        let code = unsafe {
            start(
                address.cast(),
                from.units as c_int,
                self.buffers.datatype,
                self.private.rank(peer),
                tag as c_int,
                self.private.comm,
                &raw mut request,
            )
        };
        self.start(ticket, code, request)
    }

    fn recv(&mut self, ticket: Ticket, peer: Rank, tag: u32, into: Place) -> Result<(), Failure> {
        let address = self.address(into);
        let mut request = self.real.handles.request_null;
        // SAFETY: as for `send`; the executor neither reads nor writes the place before the request is complete.
        let code = unsafe {
            (self.real.mpi.irecv)(
                address.cast(),
                into.units as c_int,
                self.buffers.datatype,
                self.private.rank(peer),
                tag as c_int,
                self.private.comm,
                &raw mut request,
            )
        };
        self.start(ticket, code, request)
    }

    fn reduce(&mut self, from: Place, into: Place) -> Result<(), Failure> {
        let Some(op) = self.buffers.op else { return Err(Failure::Stalled) };
        let (source, target) = (self.address(from), self.address(into));
        // SAFETY: both places are valid for that many elements and distinct, and no request is under way on them.
        let code = unsafe {
            (self.real.mpi.reduce_local)(source.cast(), target.cast(), into.units as c_int, self.buffers.datatype, op)
        };
        check(code)
    }

    fn copy(&mut self, from: Place, into: Place) -> Result<(), Failure> {
        // A rank without a block may have no buffer for it either.
        if into.units == 0 {
            return Ok(());
        }
        let (source, target) = (self.address(from), self.address(into));
        if self.buffers.shape.plain {
            let bytes = into.units as usize * self.buffers.shape.extent as usize;
            // What a root contributes in place is already where it belongs.
            if source != target {
                // SAFETY: as for `reduce`; the elements are consecutive bytes.
                unsafe { source.copy_to_nonoverlapping(target, bytes) };
            }
            return Ok(());
        }
        let typed = |address: *mut u8| Typed {
            address: address.cast(),
            count: into.units as i64,
            datatype: self.buffers.datatype,
        };
        // SAFETY: as for `reduce`; this process has rank `self.rank` in the private communicator.
        unsafe {
            datatype::copy(self.real, self.private.comm, self.private.rank(self.rank), typed(source), typed(target))
        }
        .map_err(Failure::Mpi)
    }

    fn poll(&mut self, wait: bool, completed: &mut Completed) -> Result<(), Failure> {
        let Some(pause) = self.pause.filter(|_| wait) else { return self.look(wait, completed) };
        let mut looks = 0;
        loop {
            self.look(false, completed)?;
            if !completed.is_empty() {
                return Ok(());
            }
            if self.requests.is_empty() {
                return Err(Failure::Stalled);
            }
            looks += 1;
            if looks > LOOKS {
                std::thread::sleep(pause * wait::patience(looks));
            }
        }
    }
}

impl MpiTransport<'_> {
    /// Takes note of requests that are complete; waits for one if `wait`.
    fn look(&mut self, wait: bool, completed: &mut Completed) -> Result<(), Failure> {
        let count = self.requests.len();
        if count == 0 {
            return if wait { Err(Failure::Stalled) } else { Ok(()) };
        }
        self.finished.resize(count, 0);
        // SAFETY: MPI_Status is plain data.
        self.statuses.resize_with(count, || unsafe { std::mem::zeroed() });
        let poll = if wait { self.real.mpi.waitsome } else { self.real.mpi.testsome };
        let mut done = 0;
        // SAFETY: the arrays have `count` entries; every request is active and its buffer valid (see `send`, `recv`).
        let code = unsafe {
            poll(
                count as c_int,
                self.requests.as_mut_ptr(),
                &raw mut done,
                self.finished.as_mut_ptr(),
                self.statuses.as_mut_ptr(),
            )
        };
        if code != 0 {
            // The code says "look at the statuses"; the first real one is what the user should see.
            let failed = self.statuses.iter().take(done.max(0) as usize).map(|s| s.MPI_ERROR).find(|&e| e != 0);
            return Err(Failure::Mpi(failed.unwrap_or(code)));
        }
        let finished = &mut self.finished[..done.max(0) as usize];
        // From the highest index down, so that swapping the last entry into the gap leaves the others where they are.
        completed.extend(finished.iter().map(|&i| self.tickets[i as usize]));
        finished.sort_unstable_by(|a, b| b.cmp(a));
        for &index in finished.iter() {
            self.requests.swap_remove(index as usize);
            self.tickets.swap_remove(index as usize);
        }
        Ok(())
    }
}
