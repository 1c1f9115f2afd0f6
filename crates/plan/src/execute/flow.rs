//! What an exchange may have under way: bounds on all streams of a rank together, kept as counts.

use super::ready::Ready;
use super::stream::Stream;
use crate::schedule::{Action, Flow, Hop};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The state of a [`Flow`].
#[derive(Debug)]
pub(super) struct Bounds {
    flow: Flow,
    /// Units sent and not confirmed.
    under_way: u64,
    /// Sends that are confirmed one by one.
    pub ready: Ready,
    /// Hops from the start of the list on, up to the first with more than [`Flow::behind`] units to be received before
    /// it, that one included; and these units.
    in_step: u32,
    behind: u64,
    /// Sends that are not in step, by their place in the list.
    ahead: BinaryHeap<Reverse<u32>>,
    /// No unfinished send comes before this one in the list.
    first: u32,
}

impl Bounds {
    pub fn new(flow: Flow) -> Self {
        let (ready, ahead) = (Ready::new(), BinaryHeap::new());
        Self { flow, under_way: 0, ready, in_step: 0, behind: 0, ahead, first: 0 }
    }

    /// Whether a segment of so many units is worth a confirmation.
    #[inline]
    pub fn confirms(&self, units: u64) -> bool {
        units >= self.flow.confirmed
    }

    /// Whether a send at that place of the list may start.
    pub fn is_in_step(&self, hop: u32) -> bool {
        hop < self.in_step
    }

    /// Keeps a send that is not in step.
    pub fn hold(&mut self, hop: u32) {
        self.ahead.push(Reverse(hop));
    }

    /// Takes note of units received by `hop`; whether sends may have come into step by that.
    #[inline]
    pub fn received(&mut self, hop: u32, units: u64) -> bool {
        if hop < self.in_step {
            self.behind -= units;
        }
        hop < self.in_step && self.behind <= self.flow.behind
    }

    /// A send that has come into step; `next`: the first hop of the list that nobody works on yet.
    pub fn release(&mut self, next: u32, hops: &[Hop], streams: &[Stream]) -> Option<u32> {
        while self.behind <= self.flow.behind && self.in_step < next {
            let at = self.in_step as usize;
            if matches!(hops[at].action, Action::Recv | Action::Reduce) {
                self.behind += streams[at].remaining();
            }
            self.in_step += 1;
        }
        let Reverse(hop) = *self.ahead.peek()?;
        self.is_in_step(hop).then(|| {
            self.ahead.pop();
            hop
        })
    }

    /// Takes note of units that are sent.
    #[inline]
    pub fn start(&mut self, units: u64) {
        self.under_way += units;
    }

    /// Takes note that their sends are complete.
    #[inline]
    pub fn complete(&mut self, units: u64) {
        self.under_way -= units;
    }

    /// Units that may be under way besides.
    #[inline]
    pub fn room(&self) -> u64 {
        self.flow.unconfirmed.saturating_sub(self.under_way)
    }

    /// The first unfinished send among the hops before `next`, which never waits for those after it, whose receivers
    /// may wait for it.
    pub fn first(&mut self, next: u32, hops: &[Hop], streams: &[Stream]) -> Option<u32> {
        let passed = |at: u32| hops[at as usize].action != Action::Send || streams[at as usize].finished();
        while self.first < next && passed(self.first) {
            self.first += 1;
        }
        (self.first < next).then_some(self.first)
    }
}
