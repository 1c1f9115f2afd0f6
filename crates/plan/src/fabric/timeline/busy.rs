//! When links are busy, and when a link receives more than it can carry.
//!
//! The messages of a host share its link evenly, whatever delays them further on; a link passes on what it receives, or
//! the same share of each message if that is more than it carries. A host cannot overload its own link, and the
//! messages of one host alone overload no other: they wait at the host.

use super::Overload;
use super::flows::Flows;
use crate::fabric::ids::{DirectedLink, HostId};

/// Stretches shorter than a nanosecond are rounding.
const SHORTEST: f64 = 1e-3;

/// Times what comes in is worked out anew; more than the links of a route that narrow it one after another.
const ROUNDS: usize = 16;

/// One directed link; times in microseconds.
#[derive(Debug, Clone, Default)]
struct State {
    /// Since when some message has been on it.
    since: Option<f64>,
    busy: f64,
    /// The overload that lasts.
    open: Option<Overload>,
    overloads: Vec<Overload>,
}

/// What comes into a link at one moment.
#[derive(Debug, Clone, Default)]
struct Input {
    /// Mbit/s.
    mbit: f64,
    source: Option<HostId>,
    /// Whether there are several sources.
    several: bool,
}

/// All links.
pub(super) struct Busy {
    links: Vec<State>,
    inputs: Vec<Input>,
    /// The part of what comes in that each link passes on.
    passed: Vec<f64>,
    /// Links that have messages.
    used: Vec<DirectedLink>,
}

impl Busy {
    pub fn new(links: usize) -> Self {
        let (states, inputs) = (vec![State::default(); links], vec![Input::default(); links]);
        Self { links: states, inputs, passed: vec![1.0; links], used: Vec::new() }
    }

    /// Takes note of what is under way from `now` on.
    pub fn note(&mut self, now: f64, flows: &Flows) {
        let mut changed = std::mem::take(&mut self.used);
        for flow in flows.iter() {
            for &link in &flow.way.links {
                let input = &mut self.inputs[link.index()];
                if input.source.is_none() {
                    self.used.push(link);
                }
                input.several |= *input.source.get_or_insert(flow.way.source) != flow.way.source;
            }
        }
        for _ in 0..ROUNDS {
            if !self.pass(flows) {
                break;
            }
        }
        changed.extend(&self.used);
        changed.sort_unstable();
        changed.dedup();
        for link in changed {
            let input = std::mem::take(&mut self.inputs[link.index()]);
            self.passed[link.index()] = 1.0;
            let demand = input.mbit / flows.capacity(link);
            let exceeded = input.several && demand > 1.0 + 1e-9;
            self.links[link.index()].note(now, flows.count(link), exceeded.then_some(demand));
        }
    }

    /// Works out what comes in from what the links before pass on; true if that has changed what they pass on.
    fn pass(&mut self, flows: &Flows) -> bool {
        self.used.iter().for_each(|link| self.inputs[link.index()].mbit = 0.0);
        for flow in flows.iter() {
            let Some((&own, others)) = flow.way.links.split_first() else { continue };
            let mut rate = (flows.capacity(own) / flows.count(own) as f64).min(flows.cable(own));
            for &link in others {
                self.inputs[link.index()].mbit += rate;
                rate = (rate * self.passed[link.index()]).min(flows.cable(link));
            }
        }
        let mut changed = false;
        for &link in &self.used {
            let passed = (flows.capacity(link) / self.inputs[link.index()].mbit).min(1.0);
            changed |= (passed - self.passed[link.index()]).abs() > 1e-12;
            self.passed[link.index()] = passed;
        }
        changed
    }

    /// Per link: microseconds in which it was busy, and its overloads in seconds.
    pub fn into_links(self) -> impl Iterator<Item = (f64, Vec<Overload>)> {
        let seconds = |o: Overload| Overload { start: o.start * 1e-6, end: o.end * 1e-6, ..o };
        self.links.into_iter().map(move |state| (state.busy, state.overloads.into_iter().map(seconds).collect()))
    }
}

impl State {
    fn note(&mut self, now: f64, messages: usize, exceeded: Option<f64>) {
        self.since = match (self.since, messages) {
            (Some(since), 0) => {
                self.busy += now - since;
                None
            }
            (None, 1..) => Some(now),
            (since, _) => since,
        };
        match (exceeded, &mut self.open) {
            (Some(demand), Some(open)) => {
                open.demand = open.demand.max(demand);
                open.messages = open.messages.max(messages);
            }
            (Some(demand), none) => *none = Some(Overload { start: now, end: now, demand, messages }),
            (None, open) => {
                let over = open.take().map(|open| Overload { end: now, ..open });
                self.overloads.extend(over.filter(|o| o.end - o.start >= SHORTEST));
            }
        }
    }
}
