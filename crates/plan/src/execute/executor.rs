//! The executor: keeps every link of a rank busy while never having more than a window of segments under way per
//! stream.
//!
//! Each hop of the plan is a stream of segments. A completion makes hops *due*: those that work on the same data
//! (`Dependencies::followers`) and those that waited for it as a whole. The executor visits only these: they combine
//! what has arrived, post the receives of the window, and join the sends that are ready, of which the lowest segment
//! starts first, so that two children take turns. An event costs the same however many hops, streams and segments there
//! are. Segments that follow one another, with nothing to be decided between them, are started together.
//!
//! **Credits.** A send of a small segment completes before the receiver has asked for it, so completion alone bounds
//! nothing. On each stream the executor sends one segment per half window synchronously, or per quarter where the peer
//! sends too, and with two or four of these unfinished the stream waits: at most a window of it is unreceived. The same
//! holds for all streams to one peer together (a ring has many, each short), except that a stream with nothing under
//! way may still send one segment, synchronously: two streams never wait for one another. [`Credits`] carries the
//! counts from call to call, so that many short calls are bounded as one long call is. What a peer sends in a call
//! shows that it has begun it, and so has received everything of the calls before: that confirms them, so that short
//! calls in which both send need no synchronous segment. A send without credit is parked with its peer until a
//! confirmation comes.
//!
//! **Flow.** An exchange has many streams, each short, and [`crate::schedule::Flow`] bounds what they have under way
//! together: the executor sends segments synchronously, so that their completion shows that they have left the network,
//! and a send waits while too much of what precedes it in the list is still to be received. The first unfinished send
//! always goes on, so the bounds never wait for one another.
//!
//! **Order of combination.** A segment is combined in the order of the hops in the plan, whatever arrives first, so
//! results are the same from run to run.
//!
//! **No deadlock.** The executor posts the receives of the first [`crate::schedule::ACTIVE_HOPS`] unfinished hops
//! whatever else happens, and the list order is one partial order for all ranks: the earliest unfinished transfer
//! always has both its ends in the two ranks' windows.

use super::credits::{Counts, Credits};
use super::flow::Bounds;
use super::own::{Own, leave_out_copies};
use super::peer::Peer;
use super::ready::Ready;
use super::scratch;
use super::spare::Spare;
use super::stream::{Kind, Stream};
use super::transport::{Completed, Transport};
use crate::schedule::{Hop, Pacing, Program, Rank, Source};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What a run moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages sent.
    pub messages: u64,
    /// Units sent.
    pub units: u64,
}

/// One run of a program.
#[derive(Debug)]
pub struct Executor<'p> {
    pub(super) program: &'p Program,
    pub(super) streams: &'p mut [Stream],
    /// See [`Stream::own`].
    pub(super) owns: &'p [Own],
    /// Hops that may have something to start, each once.
    pub(super) due: &'p mut VecDeque<u32>,
    /// Sends that need no more than credit.
    pub(super) ready: Ready,
    /// Copies and shuffles that are ready; the first of the list goes first.
    pub(super) copies: BinaryHeap<Reverse<u32>>,
    /// Hops that are worked on, at most [`crate::schedule::ACTIVE_HOPS`].
    pub(super) unfinished: usize,
    /// The first hop of the list that is not worked on yet.
    pub(super) next: u32,
    pub(super) window: u64,
    pub(super) bounds: Option<Bounds>,
    /// Scratch segments of one combination.
    pub(super) ring: u64,
    /// By connection.
    pub(super) peers: &'p mut [Peer],
    pub(super) has_output: bool,
    pub(super) counts: &'p mut Counts,
    completed: &'p mut Completed,
}

impl<'p> Executor<'p> {
    /// Prepares a run and reserves its scratch memory.
    ///
    /// `in_place`: input and output are the same buffer. `has_output`: as given to [`Program::new`]. `credits`: of this
    /// rank's connections.
    ///
    /// # Errors
    /// If the transport cannot reserve the memory; nothing has been sent then.
    pub fn new<T: Transport>(
        program: &'p Program,
        pacing: Pacing,
        (in_place, has_output): (bool, bool),
        credits: &'p mut Credits,
        transport: &mut T,
    ) -> Result<Self, T::Error> {
        let plan = &program.plan;
        let length = pacing.segment.max(1);
        let window = pacing.window.max(2);
        let stream =
            |(hop, dependencies)| Stream::new(hop, dependencies, transport.units(hop.parts, plan.parts), length);
        let Credits { counts, spare: Spare { streams, owns, due, peers, completed } } = credits;
        owns.clear();
        streams.clear();
        streams.extend(plan.hops.iter().zip(&program.dependencies).map(stream));
        if !in_place {
            for stream in streams.iter_mut().filter(|stream| stream.kind == Kind::Send) {
                stream.is_harmless = stream.source == Source::Input;
                stream.has_followers &= !stream.is_harmless;
            }
        }
        if has_output && !in_place {
            for (stream, dependencies) in streams.iter_mut().zip(&program.dependencies) {
                // What nobody has combined yet is nowhere but in the contribution.
                stream.is_direct = stream.kind == Kind::Reduce && dependencies.source == Source::Input;
            }
            leave_out_copies(program, streams, owns, transport);
        }
        let ring = scratch::share(program, streams, window, transport)?;
        for hop in 0..streams.len() {
            let waits_for = &program.dependencies[hop].whole;
            if !waits_for.is_empty() {
                streams[hop].waits_for = waits_for.iter().filter(|&&h| !streams[h as usize].finished()).count() as u32;
            }
        }
        due.clear();
        completed.clear();
        peers.clear();
        peers.extend(program.connections.iter().map(|connection| {
            let counter = counts.counter(connection.peer, None);
            let mut peer = Peer::new(connection, counter, window, |hop| streams[hop as usize].finished());
            peer.carry(counts.sent(counter));
            peer
        }));
        let mut executor = Self {
            program,
            peers,
            due,
            streams,
            owns,
            ready: Ready::new(),
            copies: BinaryHeap::new(),
            unfinished: 0,
            next: 0,
            window,
            bounds: pacing.flow.map(Bounds::new),
            ring,
            has_output,
            counts,
            completed,
        };
        executor.take_in();
        Ok(executor)
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// The first error of the transport.
    pub fn run<T: Transport>(mut self, transport: &mut T) -> Result<Traffic, T::Error> {
        while !self.advance(transport)? {
            transport.poll(true, self.completed)?;
        }
        Ok(self.traffic())
    }

    /// Does what can be done without waiting; true when the whole plan is done.
    ///
    /// # Errors
    /// The first error of the transport.
    pub fn progress<T: Transport>(&mut self, transport: &mut T) -> Result<bool, T::Error> {
        transport.poll(false, self.completed)?;
        self.advance(transport)
    }

    /// What has been sent so far.
    pub fn traffic(&self) -> Traffic {
        let sends = self.program.connections.iter().flat_map(|connection| &connection.sends);
        let mut traffic = Traffic::default();
        for stream in sends.map(|&hop| &self.streams[hop as usize]) {
            traffic.messages += stream.posted;
            traffic.units += stream.started();
        }
        traffic
    }

    /// The rank this run is for.
    pub fn rank(&self) -> Rank {
        self.program.plan.rank
    }

    /// Takes note of what has completed and starts everything that is ready.
    #[inline]
    fn advance<T: Transport>(&mut self, transport: &mut T) -> Result<bool, T::Error> {
        let mut completed = std::mem::take(self.completed);
        for &(hop, count) in &completed {
            let stream = &mut self.streams[hop as usize];
            let will_be_done = stream.done + u64::from(count);
            match stream.kind {
                Kind::Reduce => {
                    stream.arrived += u64::from(count);
                    self.resume(hop, transport)?;
                }
                Kind::Send if will_be_done < stream.quiet => stream.done = will_be_done,
                Kind::Send => self.is_sent(hop, count.into()),
                Kind::Recv => {
                    if will_be_done < stream.quiet {
                        stream.done = will_be_done;
                    } else {
                        self.is_done_with(hop, count.into());
                    }
                    self.receive_here(hop, transport)?;
                }
                Kind::Copy => {}
            }
        }
        completed.clear();
        *self.completed = completed;
        loop {
            while let Some(hop) = self.due.pop_front() {
                let stream = &mut self.streams[hop as usize];
                stream.is_due = false;
                match stream.kind {
                    // These join those that are ready at once.
                    Kind::Send => {}
                    Kind::Reduce => self.resume(hop, transport)?,
                    Kind::Recv => self.receive(hop, transport)?,
                    Kind::Copy => self.offer_copy(hop, transport),
                }
            }
            self.send(transport)?;
            // One at a time: what it completes is sent before the next is copied.
            let Some(Reverse(hop)) = self.copies.pop() else {
                let is_done = self.unfinished == 0;
                if is_done {
                    self.forget_what_is_received();
                }
                return Ok(is_done);
            };
            self.copy(hop, transport)?;
        }
    }

    /// Does what a combination can do.
    fn resume<T: Transport>(&mut self, hop: u32, transport: &mut T) -> Result<(), T::Error> {
        self.combine(hop, transport)?;
        self.receive(hop, transport)
    }

    #[inline]
    pub(super) fn hop(&self, index: u32) -> &'p Hop {
        &self.program.plan.hops[index as usize]
    }
}
