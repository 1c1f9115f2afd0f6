//! The executor: keeps every link of a rank busy while never having more than a window of segments under way per
//! stream.
//!
//! Each hop of the plan is a stream of segments. Every call of [`Executor::progress`] takes note of what has completed,
//! combines what has arrived, posts the receives of the window, and starts every send whose data is there, lowest
//! segment first, so that two children are served alternately.
//!
//! **Credits.** A send of a small segment completes before the receiver has asked for it, so completion alone bounds
//! nothing. On each stream about every half window one segment is sent synchronously, and with two of these unfinished
//! the stream waits: at most a window of it is unreceived. The same holds for all streams to one peer together (a ring
//! has many, each short), except that a stream with nothing under way may still send one segment, synchronously: two
//! streams never wait for one another. [`Credits`] carries the counts from call to call, so that many short calls are
//! bounded as one long call is.
//!
//! **Flow.** An exchange has many streams, each short, and what they have under way together is bounded as [`Flow`]
//! says: segments are sent synchronously, so that their completion tells that they have left the network, and a send
//! waits while more than a block before it in the list is still to be received. The first unfinished send always goes
//! on, so the bounds never wait for one another.
//!
//! **Order of combination.** A segment is combined in the order of the hops in the plan, whatever arrives first, so
//! results are the same from run to run.
//!
//! **No deadlock.** Receives of the first [`ACTIVE_HOPS`] unfinished hops are posted whatever else happens, and the
//! list order is one partial order for all ranks: the earliest unfinished transfer always has both its ends in the two
//! ranks' windows.

use super::stream::Stream;
use super::transport::{Completed, Place, Region, Ticket, Transport};
use crate::schedule::{ACTIVE_HOPS, Action, Flow, Hop, Pacing, Parts, Program, Rank, Run, Source, Space};
use std::collections::HashMap;

/// Segments from one synchronous one to the next, at most: of calls with one segment each, a rank is never as many as
/// 256 ahead of another.
const CONFIRMED: u64 = 63;

/// Streams to one peer that never wait for one another: what a tree has at most, two halves in two directions.
const STREAMS: usize = 4;

/// Unfinished combinations that may have receives posted at the same time; bounds the scratch memory of long plans.
const ACTIVE_COMBINATIONS: usize = 16;

/// Segments sent since the last synchronous one, by stream (peer and tag) and by peer (all tags), kept from run to run
/// on the same connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credits(HashMap<(Rank, Option<u32>), u64>);

impl Credits {
    /// Counts one segment; true if it must be synchronous: one in `every` of the stream and of the peer, or as
    /// `forced`.
    fn spend(&mut self, peer: Rank, tag: u32, every: u64, forced: bool) -> bool {
        let mut synchronous = forced;
        for key in [(peer, Some(tag)), (peer, None)] {
            let sent = self.0.entry(key).or_insert(0);
            *sent += 1;
            synchronous |= *sent >= every;
        }
        if synchronous {
            self.0.insert((peer, Some(tag)), 0);
            self.0.insert((peer, None), 0);
        }
        synchronous
    }
}

/// What a run moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages sent.
    pub messages: u64,
    /// Units sent.
    pub units: u64,
}

/// Where what is received or copied into a space goes.
const fn result_of(space: Space) -> Region {
    match space {
        Space::Stage => Region::Stage,
        Space::Vector | Space::Input | Space::Output => Region::Output,
    }
}

/// One run of a program.
#[derive(Debug)]
pub struct Executor<'p> {
    program: &'p Program,
    streams: Vec<Stream>,
    /// Unfinished hops, in list order.
    active: Vec<u32>,
    /// Those of them that have something left to start and wait for no hop as a whole.
    open: Vec<u32>,
    /// For every hop the number of unfinished hops that it waits for as a whole.
    waits_for: Vec<u32>,
    /// Hops that have finished since the last refill.
    finished: Vec<u32>,
    /// Next hop to become active.
    next: usize,
    window: u64,
    flow: Option<Flow>,
    /// Scratch segments of one combination.
    ring: u64,
    /// The earlier combination that used the same ring.
    previous_on_ring: Vec<Option<u32>>,
    in_place: bool,
    has_output: bool,
    traffic: Traffic,
    credits: &'p mut Credits,
    /// Synchronous sends under way.
    unconfirmed: HashMap<Ticket, Rank>,
    completed: Completed,
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
        let mut streams: Vec<Stream> = plan
            .hops
            .iter()
            .map(|hop| Stream::new(transport.units(hop.parts, plan.parts), length, hop.parts.count == 0))
            .collect();
        let window = pacing.window.max(2);
        // Each combination owns a ring of scratch segments; long plans use a few rings in turn.
        let combinations: Vec<usize> =
            (0..streams.len()).filter(|&i| plan.hops[i].action == Action::Reduce && streams[i].segments > 0).collect();
        let ring = combinations.iter().map(|&i| streams[i].segments).max().unwrap_or(0).min(window);
        let mut previous_on_ring = vec![None; streams.len()];
        for (nth, &i) in combinations.iter().enumerate() {
            streams[i].scratch = (nth % ACTIVE_COMBINATIONS) as u32 * ring as u32;
            previous_on_ring[i] = nth.checked_sub(ACTIVE_COMBINATIONS).map(|p| combinations[p] as u32);
        }
        if ring > 0 || plan.staged > 0 {
            let longest = combinations.iter().map(|&i| streams[i].segment(0).1).max().unwrap_or(0);
            let slots = combinations.len().min(ACTIVE_COMBINATIONS) as u32 * ring as u32;
            let stage = Parts { space: Space::Stage, first: 0, count: plan.staged };
            transport.reserve(slots, longest, transport.units(stage, plan.parts).1)?;
        }
        let unfinished = |hops: &[u32]| hops.iter().filter(|&&h| !streams[h as usize].finished()).count() as u32;
        let waits_for = program.dependencies.iter().map(|d| unfinished(&d.whole)).collect();
        Ok(Self {
            program,
            streams,
            active: Vec::new(),
            open: Vec::new(),
            waits_for,
            finished: Vec::new(),
            next: 0,
            window,
            flow: pacing.flow,
            ring: ring.max(1),
            previous_on_ring,
            in_place,
            has_output,
            traffic: Traffic::default(),
            credits,
            unconfirmed: HashMap::new(),
            completed: Vec::new(),
        })
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// The first error of the transport.
    pub fn run<T: Transport>(mut self, transport: &mut T) -> Result<Traffic, T::Error> {
        while !self.advance(transport)? {
            transport.poll(true, &mut self.completed)?;
        }
        Ok(self.traffic)
    }

    /// Does what can be done without waiting; true when the whole plan is done.
    ///
    /// # Errors
    /// The first error of the transport.
    pub fn progress<T: Transport>(&mut self, transport: &mut T) -> Result<bool, T::Error> {
        transport.poll(false, &mut self.completed)?;
        self.advance(transport)
    }

    /// Takes note of what has completed and starts everything that is ready.
    fn advance<T: Transport>(&mut self, transport: &mut T) -> Result<bool, T::Error> {
        let mut completed = std::mem::take(&mut self.completed);
        for ticket in completed.drain(..) {
            let stream = &mut self.streams[ticket.hop as usize];
            stream.complete(ticket.segment);
            self.unconfirmed.remove(&ticket);
            if self.program.plan.hops[ticket.hop as usize].action != Action::Reduce {
                stream.done = stream.arrived;
                if stream.finished() {
                    self.finished.push(ticket.hop);
                }
            }
        }
        self.completed = completed;
        // What is started changes nothing for other hops; what is finished here and now may let them start.
        loop {
            self.refill();
            let mut finished = false;
            for at in 0..self.open.len() {
                let hop = self.open[at];
                match self.hop(hop).action {
                    Action::Reduce => {
                        finished |= self.combine(hop, transport)?;
                        self.receive(hop, transport)?;
                    }
                    Action::Recv => self.receive(hop, transport)?,
                    Action::Copy { .. } | Action::Shuffle { .. } | Action::Send => {}
                }
            }
            self.send(transport)?;
            // One at a time: what it completes is sent before the next is copied.
            finished |= self.copy_one(transport)?;
            if !finished {
                return Ok(self.active.is_empty());
            }
        }
    }

    /// What has been sent so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn hop(&self, index: u32) -> &'p Hop {
        &self.program.plan.hops[index as usize]
    }

    /// Drops finished hops, opens those that waited for them, and takes in the next ones.
    fn refill(&mut self) {
        for hop in self.finished.drain(..) {
            if let Ok(at) = self.active.binary_search(&hop) {
                self.active.remove(at);
            }
            for &waiting in &self.program.dependencies[hop as usize].released {
                self.waits_for[waiting as usize] -= 1;
                let is_free = self.waits_for[waiting as usize] == 0 && (waiting as usize) < self.next;
                if let (true, Err(at)) = (is_free, self.open.binary_search(&waiting)) {
                    self.open.insert(at, waiting);
                }
            }
        }
        while self.active.len() < ACTIVE_HOPS && self.next < self.streams.len() {
            if !self.streams[self.next].finished() {
                self.active.push(self.next as u32);
                if self.waits_for[self.next] == 0 {
                    self.open.push(self.next as u32);
                }
            }
            self.next += 1;
        }
        let (streams, hops) = (&self.streams, &self.program.plan.hops);
        self.open.retain(|&hop| {
            let stream = &streams[hop as usize];
            let begun = if hops[hop as usize].action == Action::Reduce { stream.done } else { stream.posted };
            begun < stream.segments
        });
    }

    /// Whether the hops that `hop`, which is open, waits for are done with the units of its segment.
    fn is_free(&self, hop: u32, start: u64, units: u64) -> bool {
        let data = &self.program.dependencies[hop as usize].data;
        data.iter().all(|&d| self.streams[d as usize].is_done_with(start, units))
    }

    /// Whether the scratch segments a combination needs for its next segment are free again.
    fn has_scratch(&self, hop: u32) -> bool {
        let stream = &self.streams[hop as usize];
        let Some(oldest) = stream.posted.checked_sub(self.window) else { return true };
        let readers = &self.program.dependencies[hop as usize].freed_by;
        stream.done > oldest && readers.iter().all(|&r| self.streams[r as usize].done > oldest)
    }

    /// Posts receives up to the window.
    fn receive<T: Transport>(&mut self, hop: u32, transport: &mut T) -> Result<(), T::Error> {
        let Hop { action, peer, tag, parts, .. } = *self.hop(hop);
        let combines = action == Action::Reduce;
        loop {
            let stream = &self.streams[hop as usize];
            let segment = stream.posted;
            if segment == stream.segments || segment - stream.done >= self.window || combines && !self.owns_ring(hop) {
                return Ok(());
            }
            let (start, units) = stream.segment(segment);
            let into = if combines {
                Place { region: stream.slot(segment, self.ring), start: 0, units }
            } else {
                Place { region: result_of(parts.space), start, units }
            };
            let label = stream.label(tag);
            let free = if combines { self.has_scratch(hop) } else { self.is_free(hop, start, units) };
            if !free {
                return Ok(());
            }
            self.streams[hop as usize].post();
            transport.recv(Ticket { hop, segment }, peer, label, into)?;
        }
    }

    /// Whether the ring of this combination is no longer in use by an earlier one.
    fn owns_ring(&self, hop: u32) -> bool {
        self.previous_on_ring[hop as usize].is_none_or(|earlier| {
            let readers = &self.program.dependencies[earlier as usize].freed_by;
            std::iter::once(&earlier).chain(readers).all(|&h| self.streams[h as usize].finished())
        })
    }

    /// Combines what has arrived, in order.
    fn combine<T: Transport>(&mut self, hop: u32, transport: &mut T) -> Result<bool, T::Error> {
        let mut moved = false;
        loop {
            let stream = &self.streams[hop as usize];
            let segment = stream.done;
            let (start, units) = stream.segment(segment);
            if segment == stream.arrived || !self.is_free(hop, start, units) {
                return Ok(moved);
            }
            let arrived = Place { region: stream.slot(segment, self.ring), start: 0, units };
            let running = self.locate(self.program.dependencies[hop as usize].source, segment, start, units);
            if running.region == Region::Stage {
                transport.reduce(arrived, running)?;
            } else if !self.has_output {
                transport.reduce(running, arrived)?;
            } else {
                let output = Place { region: Region::Output, start, units };
                if running.region == Region::Input && !self.in_place {
                    transport.copy(running, output)?;
                }
                transport.reduce(arrived, output)?;
            }
            let stream = &mut self.streams[hop as usize];
            stream.done += 1;
            if stream.finished() {
                self.finished.push(hop);
            }
            moved = true;
        }
    }

    /// Where a segment's running value is.
    fn locate(&self, source: Source, segment: u64, start: u64, units: u64) -> Place {
        match source {
            Source::Input => Place { region: Region::Input, start, units },
            Source::Output => Place { region: Region::Output, start, units },
            Source::Stage => Place { region: Region::Stage, start, units },
            Source::ScratchOf(hop) => {
                Place { region: self.streams[hop as usize].slot(segment, self.ring), start: 0, units }
            }
        }
    }

    /// Does the first copy or shuffle that is ready.
    fn copy_one<T: Transport>(&mut self, transport: &mut T) -> Result<bool, T::Error> {
        for at in 0..self.open.len() {
            let hop = self.open[at];
            if self.copy(hop, transport)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Does a copy or a shuffle inside the rank, all of it at once.
    fn copy<T: Transport>(&mut self, hop: u32, transport: &mut T) -> Result<bool, T::Error> {
        let Hop { action, parts, .. } = *self.hop(hop);
        let Some(from) = action.copied() else { return Ok(false) };
        let (start, end) = transport.units(parts, self.program.plan.parts);
        if !self.is_free(hop, start, end - start) {
            return Ok(false);
        }
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
        let stream = &mut self.streams[hop as usize];
        (stream.posted, stream.arrived, stream.done) = (stream.segments, stream.segments, stream.segments);
        self.finished.push(hop);
        Ok(true)
    }

    /// Starts every send that is ready: lowest turn, then lowest segment number first, ties in list order.
    fn send<T: Transport>(&mut self, transport: &mut T) -> Result<(), T::Error> {
        // Two confirmations may be outstanding, and a stream's one forced segment.
        let every = ((self.window - 1) / 2).clamp(1, CONFIRMED);
        loop {
            let limit = self.flow.map_or(u32::MAX, |flow| self.last_in_step(flow.behind));
            // A token has what it waits for in its plan, and others wait for it.
            let near = self.open.iter().copied().filter(|&h| h <= limit || self.hop(h).parts.count == 0);
            let ready = near.filter(|&h| self.hop(h).action == Action::Send).filter(|&h| {
                let stream = &self.streams[h as usize];
                let (start, units) = stream.segment(stream.posted);
                stream.posted < stream.segments && self.is_free(h, start, units) && self.has_credit(h)
            });
            let Some(hop) = ready.min_by_key(|&h| (self.hop(h).turn, self.streams[h as usize].posted)) else {
                return Ok(());
            };
            let Hop { peer, tag, .. } = *self.hop(hop);
            let stream = &self.streams[hop as usize];
            let segment = stream.posted;
            let ticket = Ticket { hop, segment };
            let label = stream.label(tag);
            let (start, units) = stream.segment(segment);
            let from = self.locate(self.program.dependencies[hop as usize].source, segment, start, units);
            let forced = self.confirms(units).is_some() || self.unconfirmed_to(peer) >= 2;
            let synchronous = self.credits.spend(peer, tag, every, forced);
            if synchronous {
                self.unconfirmed.insert(ticket, peer);
            }
            self.streams[hop as usize].post();
            self.traffic.messages += 1;
            self.traffic.units += units;
            transport.send(ticket, peer, label, from, synchronous)?;
        }
    }

    /// The last hop of the list that has at most `most` units to be received before it.
    fn last_in_step(&self, most: u64) -> u32 {
        let mut behind = 0;
        let beyond = self.active.iter().find(|&&h| {
            let receives = matches!(self.hop(h).action, Action::Recv | Action::Reduce);
            behind += if receives { self.streams[h as usize].remaining() } else { 0 };
            behind > most
        });
        beyond.map_or(u32::MAX, |&hop| hop)
    }

    /// The bound on what all streams together have unconfirmed, if a segment of so many units counts towards it.
    fn confirms(&self, units: u64) -> Option<u64> {
        self.flow.filter(|flow| units >= flow.confirmed).map(|flow| flow.unconfirmed)
    }

    fn unconfirmed_to(&self, peer: Rank) -> usize {
        self.unconfirmed.values().filter(|&&p| p == peer).count()
    }

    /// Whether a send may start another segment now.
    fn has_credit(&self, hop: u32) -> bool {
        let stream = &self.streams[hop as usize];
        let units = stream.segment(stream.posted).1;
        if let Some(most) = self.confirms(units) {
            let mut sends = self.active.iter().filter(|&&h| self.hop(h).action == Action::Send);
            let under_way: u64 = sends.clone().map(|&h| self.streams[h as usize].under_way()).sum();
            // The first send of the list never waits for those after it, whose receivers may wait for it.
            let is_first = sends.next() == Some(&hop) && stream.posted == stream.done;
            return is_first || under_way + units <= most;
        }
        let peer = self.hop(hop).peer;
        let own = self.unconfirmed.keys().filter(|t| t.hop == hop).count();
        if own < 2 && self.unconfirmed_to(peer) < 2 {
            return true;
        }
        let rivals = self.active.iter().take_while(|&&h| h != hop).map(|&h| self.hop(h));
        let earlier = rivals.filter(|h| h.action == Action::Send && h.peer == peer).count();
        stream.posted == stream.done && earlier < STREAMS
    }

    /// The rank this run is for.
    pub fn rank(&self) -> Rank {
        self.program.plan.rank
    }
}
