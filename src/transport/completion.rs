//! How the messages of a call complete: which requests are done, whether each received what it should, and what a rank
//! does while it waits. After a while it looks for a message that matches none of its receives, and for a notice of a
//! rank that has given up.

use super::line::Line;
use super::mpi_transport::{Channel, MpiTransport, check};
use super::places::Buffers;
use crate::boundary::failure::Failure;
use crate::real::Real;
use crate::real::handles::ANY_TAG;
use crate::watch::doing::{CALLS, is_asked};
use mpi::ffi::MPI_Status;
use nagare_plan::execute::Completed;
use nagare_watch::Awaited;
use std::ffi::c_int;

/// Polls without success between two probes for messages that match none of the requests.
pub(super) const FRUITLESS: u32 = 1 << 7;

impl MpiTransport<'_> {
    /// Whether a message of that tag is of the same call and stream, and no segment of it as this rank cuts it.
    fn is_stray(&self, tag: c_int, line: &Line) -> bool {
        let Channel { tags, call, .. } = self.channel;
        tags.is_of(tag, line.label.tag, call) && ![line.tag, line.last_tag].contains(&tag)
    }

    /// Looks for a message of this call, in a stream that this rank receives from, that is none of the stream's
    /// segments: either ranks cut it differently, and what this rank waits for never comes, or it is of a later call
    /// whose number looks the same in a tag. Messages of one rank match their receives in order, so in the second case
    /// the one for this call has matched its receive already, and the receive can no longer be cancelled: trying it
    /// tells the two apart.
    fn look_for_strays(&mut self) -> Result<(), Failure> {
        let comm = self.channel.private.comm;
        let streams: Vec<u32> = self.requests.streams().collect();
        for hop in streams {
            let line = &self.lines[hop as usize];
            if !line.receives || line.doubt.is_some() {
                continue;
            }
            let mut found = 0;
            // SAFETY: MPI_Status is plain data.
            let mut status: MPI_Status = unsafe { std::mem::zeroed() };
            // SAFETY: valid communicator and pointers.
            check(unsafe { (self.real.mpi.iprobe)(line.peer, ANY_TAG, comm, &raw mut found, &raw mut status) })?;
            if found != 0 && self.is_stray(status.MPI_TAG, line) {
                let line = &mut self.lines[hop as usize];
                line.doubt = Some(bytes(self.real, &status));
                // SAFETY: a receive that has not been completed by any call.
                check(unsafe { (self.real.mpi.cancel)(self.requests.oldest(&line.queue)) })?;
            }
        }
        Ok(())
    }

    /// Waits until some request is complete; how many are.
    #[cold]
    #[inline(never)]
    pub(super) fn wait(&mut self) -> Result<usize, Failure> {
        if self.requests.is_empty() {
            return Err(Failure::Stalled);
        }
        let mut looks = 0u32;
        loop {
            // A rank may wait for days.
            looks = looks.wrapping_add(1);
            self.pause(looks)?;
            let done = self.requests.test(self.real)?;
            if done > 0 {
                return Ok(done);
            }
        }
    }

    /// What a rank does after `looks` polls without success.
    fn pause(&mut self, looks: u32) -> Result<(), Failure> {
        if looks.is_multiple_of(FRUITLESS) {
            let Channel { private, call, .. } = self.channel;
            private.notices.look(self.real);
            private.notices.check(private, call)?;
            self.look_for_strays()?;
        }
        // Looks take long where many ranks share a core.
        if is_asked() {
            CALLS.waits(self.awaited());
        }
        self.patience.wait(looks);
        Ok(())
    }

    /// The messages that are under way.
    fn awaited(&self) -> Vec<Awaited> {
        let line = |hop: u32| &self.lines[hop as usize];
        let awaited = |hop: u32| {
            Some(Awaited {
                peer: *self.channel.private.world_ranks.get(line(hop).rank as usize)?,
                receives: line(hop).receives,
            })
        };
        self.requests.streams().filter_map(awaited).collect()
    }

    /// Takes note of so many requests that a poll has found complete.
    #[inline(always)]
    pub(super) fn complete(&mut self, done: usize, completed: &mut Completed) -> Result<(), Failure> {
        let Self { real, places, lines, requests, .. } = self;
        let buffers = &places.buffers;
        let mut nth = 0;
        while nth < done {
            let hop = requests.stream(nth);
            let line = &mut lines[hop as usize];
            if line.receives {
                for (index, status) in requests.found(nth..done) {
                    if !line.queue.has(index) {
                        break;
                    }
                    let before = line.queue.before(index);
                    let units = if u64::from(before) + 1 == line.left { line.last_units } else { line.units };
                    if line.doubt.is_some() || !has(real, buffers, units, status) {
                        judge(real, buffers, line, (units, before == 0), status)?;
                    }
                    line.queue.complete(before);
                    nth += 1;
                }
            } else {
                nth += line.queue.complete_all(requests.places(nth..done));
            }
            let reported = requests.report(&mut line.queue);
            line.left -= u64::from(reported);
            if reported > 0 {
                completed.push((hop, reported));
            }
        }
        Ok(())
    }
}

/// Bytes of the message of that status.
fn bytes(real: &Real, status: &MPI_Status) -> u64 {
    let mut bytes = 0;
    // SAFETY: the status of a message.
    unsafe { (real.mpi.get_count)(status, real.handles.byte, &raw mut bytes) };
    u64::try_from(bytes).unwrap_or(0)
}

/// Whether a receive that is complete has so many units.
#[inline]
fn has(real: &Real, buffers: &Buffers, units: u64, status: &MPI_Status) -> bool {
    let mut got = 0;
    // SAFETY: the status of a receive of this type that is complete.
    let code = unsafe { (real.mpi.get_count)(status, buffers.datatype, &raw mut got) };
    code == 0 && got as u64 == units
}

/// Judges a receive that is complete and should have so many units; the oldest of its stream may be in doubt.
#[cold]
fn judge(
    real: &Real,
    buffers: &Buffers,
    line: &mut Line,
    (units, is_oldest): (u64, bool),
    status: &MPI_Status,
) -> Result<(), Failure> {
    let doubt = if is_oldest { line.doubt.take() } else { None };
    let (peer, expected) = (line.rank, units * buffers.shape.size as u64);
    let wrong = |got| Err(Failure::Length { peer, expected, got });
    if let Some(bytes) = doubt {
        let mut cancelled = 0;
        // SAFETY: the status of a receive that is complete.
        check(unsafe { (real.mpi.test_cancelled)(status, &raw mut cancelled) })?;
        if cancelled != 0 {
            return wrong(bytes);
        }
    }
    if has(real, buffers, units, status) { Ok(()) } else { wrong(bytes(real, status)) }
}
