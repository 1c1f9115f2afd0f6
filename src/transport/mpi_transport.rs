//! The executor's transport over the MPI library's point-to-point calls, on the private communicator.
//!
//! Ranks that disagree on the size of a call are an error in the program, which must not look like success: the tag of
//! a message names its call, its length and the length of its stream, so that it matches no receive of another call or
//! length, if the library's tags have the bits for it (`tags.rs`). (The library cannot be left to match another length:
//! Open MPI 4.1.4 writes a message that is too long beyond the buffer when both ranks are on one host.) `completion.rs`
//! has what happens then.

use super::line::Line;
use super::places::{Buffers, Places};
use super::private::Private;
use super::requests::{Queue, Requests};
use super::tags::Tags;
use super::wait::{Patience, Waiting};
use crate::boundary::failure::Failure;
use crate::buffers::datatype::{self, Typed};
use crate::real::Real;
use nagare_plan::execute::{Completed, Label, Place, Synchronous, TURNS, Transport};
use nagare_plan::schedule::{Parts, Rank};
use std::ffi::c_int;
use std::ptr;

/// Bytes that are copied at a time: of much more, C libraries write past the caches, and 8 MiB took a third longer.
const COPIED: usize = 128 << 10;

/// Where the messages of a call go.
#[derive(Clone, Copy)]
pub struct Channel<'r> {
    /// The communicator.
    pub private: &'r Private,
    /// This process's rank in the program's communicator.
    pub rank: Rank,
    /// What the tags of its messages are made of.
    pub tags: Tags,
    /// Number of the call among those that ran on our algorithms there, the same on all ranks.
    pub call: u32,
}

/// Memory that a call takes over from the one before.
pub struct Spare {
    lines: Vec<Line>,
    requests: Requests,
}

impl Spare {
    /// For the first call.
    pub fn new(real: &Real) -> Self {
        Self { lines: Vec::new(), requests: Requests::new(real.handles.request_null) }
    }
}

/// One call's transport.
pub struct MpiTransport<'r> {
    pub(super) real: &'r Real,
    pub(super) channel: Channel<'r>,
    pub(super) places: Places,
    /// By hop; of one that has not been opened, that of an earlier call.
    pub(super) lines: &'r mut Vec<Line>,
    pub(super) requests: &'r mut Requests,
    /// Between polls without success.
    pub(super) patience: Patience,
}

impl<'r> MpiTransport<'r> {
    /// A transport over `channel`, in the memory of an earlier call.
    ///
    /// # Safety
    /// The addresses in `buffers` must be valid for all units of its layout, of type `datatype` (input for reading,
    /// output, unless null, for writing) until the transport is dropped with nothing under way, and the handles must be
    /// valid.
    pub unsafe fn new(
        real: &'r Real,
        channel: Channel<'r>,
        buffers: Buffers,
        waiting: Waiting,
        Spare { lines, requests }: &'r mut Spare,
    ) -> Self {
        requests.begin();
        Self { real, channel, places: Places::new(buffers), lines, requests, patience: Patience::new(waiting) }
    }
}

pub(super) fn check(code: c_int) -> Result<(), Failure> {
    if code == 0 { Ok(()) } else { Err(Failure::Mpi(code)) }
}

impl Transport for MpiTransport<'_> {
    type Error = Failure;

    fn units(&self, parts: Parts, of: u32) -> (u64, u64) {
        self.places.buffers.layout.units(parts, of)
    }

    fn reserve(&mut self, slots: u32, units: u64, staged: u64) -> Result<(), Failure> {
        self.places.reserve(slots, units, staged)
    }

    fn open(&mut self, hop: u32, peer: Rank, label: Label) {
        let Label { stream, segment, .. } = label;
        let segments = stream.div_ceil(segment.max(1)).max(1);
        let (units, last_units) = (segment.min(stream), stream - (segments - 1) * segment);
        let tag = self.tag(label, units);
        let mut line = Line {
            rank: peer,
            peer: self.channel.private.rank(peer),
            label,
            units,
            bytes: (units as isize).wrapping_mul(self.places.buffers.shape.extent as isize),
            tag,
            last_units,
            last_tag: if last_units == units { tag } else { self.tag(label, last_units) },
            left: segments,
            receives: false,
            doubt: None,
            queue: Queue::EMPTY,
        };
        match self.lines.get_mut(hop as usize) {
            Some(before) => {
                line.queue = std::mem::replace(&mut before.queue, Queue::EMPTY).emptied();
                *before = line;
            }
            // What lies between is not asked for before it is opened.
            None => self.lines.resize(hop as usize + 1, line),
        }
    }

    #[inline]
    fn send(&mut self, hop: u32, from: Place, synchronous: Synchronous) -> Result<(), Failure> {
        let mut address = self.places.address(from);
        let line = &mut self.lines[hop as usize];
        let (real, comm, datatype) = (self.real, self.channel.private.comm, self.places.buffers.datatype);
        let first = if synchronous == Synchronous::All { real.mpi.issend } else { real.mpi.isend };
        let last = if synchronous == Synchronous::None { real.mpi.isend } else { real.mpi.issend };
        let mut left = from.units;
        loop {
            let (units, tag) = line.cut(left);
            left -= units;
            let start = if left == 0 { last } else { first };
            let mut request = real.handles.request_null;
            // SAFETY: the place lies within a buffer that `new` was promised to be valid, and the executor does not
            // write to it before the request is complete.
            check(unsafe { start(address.cast(), units as c_int, datatype, line.peer, tag, comm, &raw mut request) })?;
            self.requests.push(hop, &mut line.queue, request);
            if left == 0 {
                return Ok(());
            }
            address = address.wrapping_offset(line.bytes);
        }
    }

    fn send_rounds(&mut self, first: &[(u32, Place)], rounds: u64, synchronous: Synchronous) -> Result<(), Failure> {
        let mut addresses = [ptr::null_mut(); TURNS];
        for (address, &(_, place)) in addresses.iter_mut().zip(first) {
            *address = self.places.address(place);
        }
        let (real, comm, datatype) = (self.real, self.channel.private.comm, self.places.buffers.datatype);
        let start = if synchronous == Synchronous::None { real.mpi.isend } else { real.mpi.issend };
        for _ in 0..rounds {
            for (address, &(hop, Place { units, .. })) in addresses.iter_mut().zip(first) {
                let line = &mut self.lines[hop as usize];
                let tag = line.cut(units).1;
                let mut request = real.handles.request_null;
                // SAFETY: as for `send`: each round moves the address on by one segment, and the executor starts no
                // more rounds than whole segments lie there.
                check(unsafe {
                    start(address.cast(), units as c_int, datatype, line.peer, tag, comm, &raw mut request)
                })?;
                self.requests.push(hop, &mut line.queue, request);
                *address = address.wrapping_offset(line.bytes);
            }
        }
        Ok(())
    }

    // Where most are posted (`Executor::receive_here`) a call of it costs 3 of 200 instructions a segment.
    #[inline(always)]
    fn recv(&mut self, hop: u32, into: Place) -> Result<(), Failure> {
        let mut address = self.places.address(into);
        let line = &mut self.lines[hop as usize];
        line.receives = true;
        let (real, comm, datatype) = (self.real, self.channel.private.comm, self.places.buffers.datatype);
        let mut left = into.units;
        loop {
            let (units, tag) = line.cut(left);
            left -= units;
            let mut request = real.handles.request_null;
            // SAFETY: as for `send`; the executor neither reads nor writes the place before the request is complete.
            check(unsafe {
                (real.mpi.irecv)(address.cast(), units as c_int, datatype, line.peer, tag, comm, &raw mut request)
            })?;
            self.requests.push(hop, &mut line.queue, request);
            if left == 0 {
                return Ok(());
            }
            address = address.wrapping_offset(line.bytes);
        }
    }

    fn reduce(&mut self, from: Place, into: Place) -> Result<(), Failure> {
        let Some(op) = self.places.buffers.op else { return Err(Failure::Stalled) };
        let (source, target) = (self.places.address(from), self.places.address(into));
        // SAFETY: both places are valid for that many elements and distinct, and no request is under way on them.
        let code = unsafe {
            (self.real.mpi.reduce_local)(
                source.cast(),
                target.cast(),
                into.units as c_int,
                self.places.buffers.datatype,
                op,
            )
        };
        check(code)
    }

    fn copy(&mut self, from: Place, into: Place) -> Result<(), Failure> {
        // A rank without a block may have no buffer for it either.
        if into.units == 0 {
            return Ok(());
        }
        let (source, target) = (self.places.address(from), self.places.address(into));
        if self.places.buffers.shape.plain {
            let bytes = into.units as usize * self.places.buffers.shape.extent as usize;
            // What a root contributes in place is already where it belongs.
            if source != target {
                for start in (0..bytes).step_by(COPIED) {
                    let bytes = COPIED.min(bytes - start);
                    // SAFETY: as for `reduce`; the elements are consecutive bytes, of which these are a part.
                    unsafe { source.add(start).copy_to_nonoverlapping(target.add(start), bytes) };
                }
            }
            return Ok(());
        }
        let typed = |address: *mut u8| Typed {
            address: address.cast(),
            count: into.units as i64,
            datatype: self.places.buffers.datatype,
        };
        let Channel { private, rank, .. } = self.channel;
        // SAFETY: as for `reduce`; this is the process's own rank in the private communicator.
        unsafe { datatype::copy(self.real, private.comm, private.rank(rank), typed(source), typed(target)) }
            .map_err(Failure::Mpi)
    }

    #[inline]
    fn poll(&mut self, wait: bool, completed: &mut Completed) -> Result<(), Failure> {
        loop {
            let mut done = self.requests.test(self.real)?;
            if done == 0 && wait {
                done = self.wait()?;
            }
            self.complete(done, completed)?;
            if !wait || !completed.is_empty() {
                return Ok(());
            }
        }
    }
}

impl MpiTransport<'_> {
    fn tag(&self, label: Label, units: u64) -> c_int {
        let bytes = |units| units * self.places.buffers.shape.size as u64;
        self.channel.tags.of(label.tag, self.channel.call, [bytes(units), bytes(label.stream)])
    }
}
