//! Messages as fluids: what is under way on each link, and the rates at which flows share links max-min fairly.
//!
//! All rates grow alike until a link is full; the flows on it keep that rate, the others go on growing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use super::super::ids::{DirectedLink, HostId};

/// Flows that end within a picosecond end together, whatever rounding says; microseconds.
const SAME: f64 = 1e-6;

/// A route.
#[derive(Debug, Clone)]
pub(super) struct Way {
    pub source: HostId,
    pub links: Vec<DirectedLink>,
    /// What one message can have at most, Mbit/s: the least of one cable of each link.
    pub most: f64,
    /// Latency of a message, microseconds.
    pub latency: f64,
}

/// A message under way.
#[derive(Debug)]
pub(super) struct Flow {
    pub message: u32,
    pub way: Rc<Way>,
    /// Bits to go.
    pub left: f64,
    /// Mbit/s, that is bits per microsecond.
    pub rate: f64,
}

/// All messages under way.
pub(super) struct Flows {
    /// Mbit/s of every directed link, and of one of its cables.
    capacity: Vec<f64>,
    cable: Vec<f64>,
    /// Slots of flows; free ones are reused.
    slots: Vec<Option<Flow>>,
    free: Vec<u32>,
    /// Flows on every directed link.
    on_link: Vec<Vec<u32>>,
}

impl Flows {
    /// None yet, on links of these rates, all cables together and one of them.
    pub fn new(capacity: Vec<f64>, cable: Vec<f64>) -> Self {
        let on_link = vec![Vec::new(); capacity.len()];
        Self { capacity, cable, slots: Vec::new(), free: Vec::new(), on_link }
    }

    /// All flows.
    pub fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.slots.iter().flatten()
    }

    /// Mbit/s of a directed link.
    pub fn capacity(&self, link: DirectedLink) -> f64 {
        self.capacity[link.index()]
    }

    /// Mbit/s of one cable of a directed link.
    pub fn cable(&self, link: DirectedLink) -> f64 {
        self.cable[link.index()]
    }

    /// Number of flows on a directed link.
    pub fn count(&self, link: DirectedLink) -> usize {
        self.on_link[link.index()].len()
    }

    pub fn add(&mut self, message: u32, way: Rc<Way>, bits: f64) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        way.links.iter().for_each(|link| self.on_link[link.index()].push(slot));
        self.slots[slot as usize] = Some(Flow { message, way, left: bits, rate: 0.0 });
    }

    /// Time until the first flow ends, microseconds; infinite if there is none.
    pub fn until_first_end(&self) -> f64 {
        self.iter().map(|flow| flow.left / flow.rate).fold(f64::INFINITY, f64::min)
    }

    /// Lets `time` microseconds pass and takes out the flows that are over.
    pub fn advance(&mut self, time: f64) -> Vec<Flow> {
        let mut over = Vec::new();
        for (slot, held) in self.slots.iter_mut().enumerate() {
            let Some(flow) = held else { continue };
            if flow.left <= flow.rate * (time * (1.0 + 1e-9) + SAME) {
                self.free.push(slot as u32);
                for link in &flow.way.links {
                    self.on_link[link.index()].retain(|&other| other as usize != slot);
                }
                over.extend(held.take());
            } else {
                flow.left -= flow.rate * time;
            }
        }
        over
    }

    /// Works out all rates anew.
    pub fn share(&mut self) {
        // Candidates for the next level at which growth ends: a link that is full, or a flow that fills its cable.
        const LINK: u8 = 0;
        let mut left = self.capacity.clone();
        let mut open: Vec<u32> = self.on_link.iter().map(|flows| flows.len() as u32).collect();
        let key = |level: f64| Reverse(level.max(0.0).to_bits());
        let mut ends: BinaryHeap<(Reverse<u64>, Reverse<u8>, Reverse<u32>)> = BinaryHeap::new();
        for (link, &flows) in open.iter().enumerate().filter(|(_, flows)| **flows > 0) {
            ends.push((key(left[link] / f64::from(flows)), Reverse(LINK), Reverse(link as u32)));
        }
        for (slot, flow) in self.slots.iter_mut().enumerate() {
            let Some(flow) = flow else { continue };
            flow.rate = 0.0;
            ends.push((key(flow.way.most), Reverse(1), Reverse(slot as u32)));
        }
        let mut reached = 0.0f64;
        while let Some((Reverse(bits), Reverse(kind), Reverse(number))) = ends.pop() {
            // Levels only rise; rounding must not make one of them zero.
            let level = f64::from_bits(bits).max(reached);
            reached = level;
            if kind != LINK {
                settle(&mut self.slots[number as usize], level, &mut left, &mut open);
                continue;
            }
            let link = number as usize;
            if open[link] == 0 {
                continue;
            }
            // Flows that were settled since have made this link's level higher.
            let now = left[link] / f64::from(open[link]);
            if now > level * (1.0 + 1e-12) {
                ends.push((key(now), Reverse(LINK), Reverse(number)));
                continue;
            }
            for &slot in &self.on_link[link] {
                settle(&mut self.slots[slot as usize], level, &mut left, &mut open);
            }
        }
    }
}

/// Gives a flow its rate, if it has none.
fn settle(flow: &mut Option<Flow>, rate: f64, left: &mut [f64], open: &mut [u32]) {
    let Some(flow) = flow.as_mut().filter(|flow| flow.rate == 0.0) else { return };
    flow.rate = rate;
    for link in &flow.way.links {
        left[link.index()] -= rate;
        open[link.index()] -= 1;
    }
}
