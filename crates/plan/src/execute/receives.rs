//! What an executor does besides sending: it receives, combines and copies.

use super::executor::Executor;
use super::scratch::{is_free, owns_ring};
use super::stream::{Kind, result_of};
use super::transport::{Place, Region, Transport};
use crate::schedule::{Action, Hop, Parts, Run, Source, Space};
use std::cmp::Reverse;

impl Executor<'_> {
    /// Posts receives up to the window.
    pub(super) fn receive<T: Transport>(&mut self, hop: u32, transport: &mut T) -> Result<(), T::Error> {
        self.receive_here(hop, transport)
    }

    /// The same, for the place where most of them are posted.
    #[inline(always)]
    pub(super) fn receive_here<T: Transport>(&mut self, hop: u32, transport: &mut T) -> Result<(), T::Error> {
        let stream = &self.streams[hop as usize];
        let most = stream.segments.min(stream.done + self.window);
        if stream.kind == Kind::Reduce && !stream.is_direct {
            return self.receive_into_scratch(hop, most, transport);
        }
        let first = stream.posted;
        let start = stream.segment(first).0;
        // What is combined where it is wanted waits for its turn only then.
        let free = if stream.kind == Kind::Reduce { u64::MAX } else { self.free_until(hop, start) };
        let end = most.min(stream.segments_before(free));
        if first >= end {
            return Ok(());
        }
        if first == 0 {
            self.open_receive(hop, transport);
        }
        let stream = &mut self.streams[hop as usize];
        stream.posted = end;
        let (start, units) = stream.segments_between(first, end);
        transport.recv(hop, Place { region: stream.region, start: start.wrapping_add(stream.moved), units })
    }

    /// Posts the receives of a combination that has scratch segments.
    fn receive_into_scratch<T: Transport>(&mut self, hop: u32, most: u64, transport: &mut T) -> Result<(), T::Error> {
        for segment in self.streams[hop as usize].posted..most {
            if !owns_ring(self.program, self.streams, hop) || !is_free(self.program, self.streams, self.window, hop) {
                return Ok(());
            }
            if segment == 0 {
                self.open_receive(hop, transport);
            }
            let stream = &mut self.streams[hop as usize];
            stream.posted = segment + 1;
            let into = stream.landing(segment, stream.segment(segment), self.ring);
            transport.recv(hop, into)?;
        }
        Ok(())
    }

    /// Has the transport know a receive, before its first message.
    fn open_receive<T: Transport>(&mut self, hop: u32, transport: &mut T) {
        let Hop { peer, tag, .. } = *self.hop(hop);
        transport.open(hop, peer, self.streams[hop as usize].label(tag));
    }

    /// Combines what has arrived, in order.
    pub(super) fn combine<T: Transport>(&mut self, hop: u32, transport: &mut T) -> Result<(), T::Error> {
        loop {
            let stream = &self.streams[hop as usize];
            let (first, arrived) = (stream.done, stream.arrived);
            if first == arrived {
                return Ok(());
            }
            let end = arrived.min(self.free_segments(hop, first));
            if end <= first {
                return Ok(());
            }
            for segment in first..end {
                self.combine_one(hop, segment, transport)?;
            }
            self.is_done_with(hop, end - first);
        }
    }

    /// Combines a segment that has arrived.
    #[inline]
    fn combine_one<T: Transport>(&self, hop: u32, segment: u64, transport: &mut T) -> Result<(), T::Error> {
        let stream = &self.streams[hop as usize];
        let (start, units) = stream.segment(segment);
        if stream.own.0 < stream.own.1 {
            for own in stream.own.0..stream.own.1 {
                if let Some((input, staged)) = self.owns[own as usize].within(start, units) {
                    let start = staged.start.wrapping_add(stream.moved);
                    transport.reduce(input, Place { region: stream.region, start, ..staged })?;
                }
            }
            return Ok(());
        }
        let arrived = stream.landing(segment, (start, units), self.ring);
        let running = self.locate(stream.source, segment, start, units);
        if running.region == Region::Stage && !stream.is_direct {
            transport.reduce(arrived, running)
        } else if stream.is_direct || !self.has_output {
            transport.reduce(running, arrived)
        } else {
            transport.reduce(arrived, Place { region: Region::Output, start, units })
        }
    }

    /// Where a segment's running value is.
    #[inline]
    pub(super) fn locate(&self, source: Source, segment: u64, start: u64, units: u64) -> Place {
        match source {
            Source::Input => Place { region: Region::Input, start, units },
            Source::Output => Place { region: Region::Output, start, units },
            Source::Stage => Place { region: Region::Stage, start, units },
            Source::ScratchOf(hop) => {
                Place { region: self.streams[hop as usize].slot(segment, self.ring), start: 0, units }
            }
        }
    }

    /// Has a copy or a shuffle done that is ready.
    pub(super) fn offer_copy<T: Transport>(&mut self, hop: u32, transport: &T) {
        let (start, end) = transport.units(self.hop(hop).parts, self.program.plan.parts);
        if self.free_until(hop, start) >= end {
            self.streams[hop as usize].is_open = false;
            self.copies.push(Reverse(hop));
        }
    }

    /// Does a copy or a shuffle inside the rank, all of it at once.
    pub(super) fn copy<T: Transport>(&mut self, hop: u32, transport: &mut T) -> Result<(), T::Error> {
        let Hop { action, parts, .. } = *self.hop(hop);
        let Some(from) = action.copied() else { return Ok(()) };
        let whole = [Run { from: from.first, to: parts.first, count: parts.count }];
        let runs = match action {
            Action::Shuffle { .. } => self.program.plan.runs(self.hop(hop)),
            _ => &whole,
        };
        let place = |transport: &T, space, first, count| {
            let (start, end) = transport.units(Parts { space, first, count }, self.program.plan.parts);
            let region = if space == Space::Input { Region::Input } else { result_of(space) };
            Place { region, start, units: end - start }
        };
        for run in runs {
            let source = place(transport, from.space, run.from, run.count);
            let target = place(transport, parts.space, run.to, run.count);
            transport.copy(source, target)?;
        }
        self.streams[hop as usize].leave_out();
        self.finish(hop);
        Ok(())
    }
}
