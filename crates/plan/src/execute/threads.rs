//! A transport between ranks of one process: for tests with threads, and for playing a schedule in one thread.
//!
//! Units are 64-bit integers and the operation is wrapping addition. Each rank has a random weight, so a sum is right
//! exactly if it contains every contribution once.

mod world;

pub use world::{Fault, World};

use super::layout::Layout;
use super::transport::{Completed, Label, Place, Region, Synchronous, Transport};
use crate::schedule::{Parts, Rank};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};
use world::{Message, Ticket};

/// One rank's end of a [`World`].
pub struct ThreadTransport {
    world: Arc<World>,
    rank: Rank,
    /// This rank's contribution (send blocks of Alltoall).
    pub input: Vec<u64>,
    /// Its result (receive blocks of Alltoall).
    pub output: Vec<u64>,
    scratch: Vec<u64>,
    slot: usize,
    stage: Vec<u64>,
    layout: Layout,
    lines: HashMap<u32, Line>,
    under_way: usize,
}

/// What a rank has started of one hop.
struct Line {
    peer: Rank,
    label: Label,
    started: u64,
    /// Operations that the executor knows to be complete.
    reported: u64,
    /// Later ones that are complete too.
    finished: HashSet<u64>,
    /// Where receives that are not go.
    wanted: HashMap<u64, Place>,
}

impl ThreadTransport {
    /// The end of `rank`, with its vector; the result starts as zeros of the same length.
    pub fn new(world: &Arc<World>, rank: Rank, input: Vec<u64>) -> Self {
        let units = input.len();
        Self::with_layout(world, rank, Layout::Vector { units: units as u64 }, input, units)
    }

    /// The end of `rank`, with its input laid out as `layout` says; the output starts as that many zeros.
    pub fn with_layout(world: &Arc<World>, rank: Rank, layout: Layout, input: Vec<u64>, output: usize) -> Self {
        Self {
            world: Arc::clone(world),
            rank,
            output: vec![0; output],
            input,
            scratch: Vec::new(),
            slot: 0,
            stage: Vec::new(),
            layout,
            lines: HashMap::new(),
            under_way: 0,
        }
    }

    /// Makes input and output one buffer, as `MPI_IN_PLACE` and Bcast do.
    pub fn in_place(mut self) -> Self {
        self.output = std::mem::take(&mut self.input);
        self
    }

    /// Units of scratch memory and of the staging space.
    pub fn reserved(&self) -> usize {
        self.scratch.len() + self.stage.len()
    }

    /// Names an operation of `hop` that starts now, and says with whom and by which label.
    fn start(&mut self, hop: u32, into: Option<Place>) -> Result<(Ticket, Rank, Label), Fault> {
        let line = self.lines.get_mut(&hop).ok_or(Fault::Stalled(self.rank))?;
        let number = line.started;
        line.started += 1;
        into.map(|into| line.wanted.insert(number, into));
        self.under_way += 1;
        Ok(((hop, number), line.peer, line.label))
    }

    /// Takes note of an operation that is complete; later ones of the same hop are reported after it.
    fn complete(
        &mut self,
        (hop, number): Ticket,
        data: Option<Vec<u64>>,
        completed: &mut Completed,
    ) -> Result<(), Fault> {
        let Some(line) = self.lines.get_mut(&hop) else { return Ok(()) };
        line.finished.insert(number);
        let before = line.reported;
        while line.finished.remove(&line.reported) {
            line.reported += 1;
        }
        let more = line.reported - before;
        self.under_way -= more as usize;
        match completed.iter_mut().find(|(other, _)| *other == hop) {
            Some((_, count)) => *count += more as u32,
            None if more > 0 => completed.push((hop, more as u32)),
            None => {}
        }
        let from = line.peer;
        if let Some((data, into)) = data.zip(line.wanted.remove(&number)) {
            if data.len() as u64 != into.units {
                let got = data.len() as u64;
                return Err(Fault::Length { from, to: self.rank, expected: into.units, got });
            }
            self.slice(into).copy_from_slice(&data);
        }
        Ok(())
    }

    /// The segments of a hop that lie there.
    fn segments(&self, hop: u32, Place { region, start, units }: Place) -> Result<Vec<Place>, Fault> {
        let Line { label, .. } = self.lines.get(&hop).ok_or(Fault::Stalled(self.rank))?;
        let firsts = (0..units.max(1)).step_by(label.segment as usize);
        let segment = |first| Place { region, start: start + first, units: label.segment.min(units - first) };
        Ok(firsts.map(segment).collect())
    }

    fn send_one(&mut self, hop: u32, from: Place, synchronous: bool) -> Result<(), Fault> {
        let data = self.slice(from).to_vec();
        let (ticket, peer, label) = self.start(hop, None)?;
        let synchronous = synchronous || self.world.rendezvous;
        let mut state = self.world.lock();
        state.started += 1;
        let stream = state.streams.entry((self.rank, peer, label)).or_default();
        if let Some(wanted) = stream.wanted.pop_front() {
            state.finished[peer as usize].push((wanted, Some(data)));
            state.finished[self.rank as usize].push((ticket, None));
        } else {
            stream.sent.push_back(Message { data, sender: synchronous.then_some(ticket) });
            stream.most_waiting = stream.most_waiting.max(stream.sent.len());
            if !synchronous {
                state.finished[self.rank as usize].push((ticket, None));
            }
        }
        drop(state);
        self.world.changed.notify_all();
        Ok(())
    }

    fn recv_one(&mut self, hop: u32, into: Place) -> Result<(), Fault> {
        let (ticket, peer, label) = self.start(hop, Some(into))?;
        let mut state = self.world.lock();
        state.started += 1;
        let stream = state.streams.entry((peer, self.rank, label)).or_default();
        if let Some(message) = stream.sent.pop_front() {
            state.finished[self.rank as usize].push((ticket, Some(message.data)));
            if let Some(sender) = message.sender {
                state.finished[peer as usize].push((sender, None));
            }
        } else {
            stream.wanted.push_back(ticket);
        }
        drop(state);
        self.world.changed.notify_all();
        Ok(())
    }

    fn slice(&mut self, place: Place) -> &mut [u64] {
        let (start, units) = (place.start as usize, place.units as usize);
        match place.region {
            Region::Input if !self.input.is_empty() => &mut self.input[start..start + units],
            Region::Input | Region::Output => &mut self.output[start..start + units],
            Region::Scratch(slot) => {
                let start = slot as usize * self.slot + start;
                &mut self.scratch[start..start + units]
            }
            Region::Stage => &mut self.stage[start..start + units],
        }
    }
}

impl Drop for ThreadTransport {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.world.lock().abandoned = true;
            self.world.changed.notify_all();
        }
    }
}

impl Transport for ThreadTransport {
    type Error = Fault;

    fn units(&self, parts: Parts, of: u32) -> (u64, u64) {
        self.layout.units(parts, of)
    }

    fn reserve(&mut self, slots: u32, units: u64, staged: u64) -> Result<(), Fault> {
        self.slot = units as usize;
        self.stage = vec![0; staged as usize];
        self.scratch = vec![0; slots as usize * self.slot];
        Ok(())
    }

    fn open(&mut self, hop: u32, peer: Rank, label: Label) {
        let (finished, wanted) = (HashSet::new(), HashMap::new());
        self.lines.insert(hop, Line { peer, label, started: 0, reported: 0, finished, wanted });
    }

    fn send(&mut self, hop: u32, from: Place, synchronous: Synchronous) -> Result<(), Fault> {
        let segments: Vec<Place> = self.segments(hop, from)?;
        let first = match synchronous {
            Synchronous::None => segments.len(),
            Synchronous::Last => segments.len() - 1,
            Synchronous::All => 0,
        };
        segments.into_iter().enumerate().try_for_each(|(at, from)| self.send_one(hop, from, at >= first))
    }

    fn recv(&mut self, hop: u32, into: Place) -> Result<(), Fault> {
        self.segments(hop, into)?.into_iter().try_for_each(|into| self.recv_one(hop, into))
    }

    fn reduce(&mut self, from: Place, into: Place) -> Result<(), Fault> {
        let from = self.slice(from).to_vec();
        for (into, from) in self.slice(into).iter_mut().zip(from) {
            *into = from.wrapping_add(*into);
        }
        Ok(())
    }

    fn copy(&mut self, from: Place, into: Place) -> Result<(), Fault> {
        let from = self.slice(from).to_vec();
        self.slice(into).copy_from_slice(&from);
        Ok(())
    }

    fn poll(&mut self, wait: bool, completed: &mut Completed) -> Result<(), Fault> {
        if wait && self.under_way == 0 {
            return Err(Fault::Stalled(self.rank));
        }
        let before = completed.len();
        let world = Arc::clone(&self.world);
        loop {
            let mut state = world.lock();
            while wait && state.finished[self.rank as usize].is_empty() {
                if state.abandoned {
                    return Err(Fault::Abandoned(self.rank));
                }
                state = world.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let finished = std::mem::take(&mut state.finished[self.rank as usize]);
            drop(state);
            for (ticket, data) in finished {
                self.complete(ticket, data, completed)?;
            }
            if !wait || completed.len() > before {
                return Ok(());
            }
        }
    }
}
