//! One dimension of halving and doubling: how the nodes of a line come to own a position each.
//!
//! ```text
//!   4 nodes, halved:   ┌───────── 0–3, 1–2 ─────────┐   step 1: 0 and 3 keep the lower half, 1 and 2 the upper
//!                      0 ─────── 1 ─ ─ ─ 2 ─────── 3    step 2: partners are neighbours again, over other links
//!                        step 1            step 1
//!
//!   5 nodes, what node r still works on:   step 1: r … r+4   sends r+3 r+4 three nodes on
//!   (shifts, numbers modulo 5)             step 2: r … r+2   sends r+2     two nodes on
//!                                          step 3: r, r+1    sends r+1     to the next;   r is left
//! ```
//! A line of a power of two is **halved**: in every step two nodes exchange halves of what both hold. On a line of any
//! other size data go **around**, every step to the neighbour, where the line is a ring of links; where all nodes are
//! at one switch, or groups at switches above them, steps are **shifts**: a node sends the upper half of what it works
//! on so many nodes on, and the lower half, of the odd number, is left: ⌈log2 s⌉ steps. In each of the three a node
//! combines what it receives and in the end owns one position; read backwards, the same steps spread what each owns to
//! all. Sources: Japanese patent 7087953; shifts: arXiv 2410.14234 (docs/provenance.md).

use super::stretch::Stretch;
use std::ops::Range;

/// Which nodes of a line are partners in the steps of a halving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairs {
    /// Nodes as near as can be, so that no two exchanges of a line of 2 or 4 share a link of the ring.
    #[default]
    Near,
    /// Nodes whose numbers differ in one bit, the lowest bit first: the order of the patent.
    Bits,
}

/// What a node does in one step: it sends some positions and receives and combines others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineStep {
    /// The node that is sent to, by its coordinate.
    pub to: u32,
    /// Positions sent, as they are held before the step.
    pub sent: Stretch,
    /// The node that is received from.
    pub from: u32,
    /// Positions received.
    pub received: Stretch,
}

/// The steps of all nodes of a line.
#[derive(Clone, Debug)]
pub struct Along {
    size: u32,
    way: Steps,
}

#[derive(Clone, Debug)]
enum Steps {
    /// Two nodes exchange halves: the steps of every node.
    Halved(Vec<Vec<LineStep>>),
    /// Every step to the neighbour.
    Around,
    /// For every step how many positions a node works on before it.
    Shifts(Vec<u32>),
}

impl Along {
    /// A line of `size` nodes, at least 1, each of which is joined to its neighbours: halved if it can be, else around.
    pub fn new(size: u32, pairs: Pairs) -> Self {
        if !size.is_power_of_two() {
            return Self::around(size);
        }
        let mut steps = vec![Vec::new(); size as usize];
        halve(&(0..size).collect::<Vec<_>>(), 0..size, (size, pairs), &mut steps);
        Self { size, way: Steps::Halved(steps) }
    }

    /// A line of `size` nodes, at least 1, between which all ways are alike: halved if it can be, else by shifts.
    pub fn switched(size: u32, pairs: Pairs) -> Self {
        if size.is_power_of_two() {
            return Self::new(size, pairs);
        }
        let halves = std::iter::successors(Some(size), |held| Some(held.div_ceil(2)));
        Self { size, way: Steps::Shifts(halves.take_while(|&held| held > 1).collect()) }
    }

    /// Every step to the neighbour, whatever the size.
    pub fn around(size: u32) -> Self {
        Self { size, way: Steps::Around }
    }

    /// Number of steps.
    pub fn steps(&self) -> u32 {
        match &self.way {
            Steps::Halved(_) => self.size.ilog2(),
            Steps::Around => self.size - 1,
            Steps::Shifts(held) => held.len() as u32,
        }
    }

    /// Into how many pieces of equal size, rounded down, the first step cuts what there is.
    pub fn cut(&self) -> u32 {
        match &self.way {
            Steps::Around => self.size,
            Steps::Halved(_) => self.size.min(2),
            Steps::Shifts(_) => self.size / (self.size / 2),
        }
    }

    /// The most runs of positions that a node sends in a step.
    pub fn runs(&self) -> u32 {
        if matches!(self.way, Steps::Shifts(_)) { Stretch::RUNS } else { 1 }
    }

    /// What the node at `coordinate` does in step `step`.
    pub fn leg(&self, coordinate: u32, step: u32) -> LineStep {
        let around = |offset: u32| (coordinate + offset) % self.size;
        let stretch = |first, count| Stretch::around(first, count, self.size);
        match &self.way {
            Steps::Halved(steps) => steps[coordinate as usize][step as usize].clone(),
            Steps::Around => {
                let back = |offset: u32| stretch(around(self.size - offset), 1);
                LineStep { to: around(1), sent: back(step), from: around(self.size - 1), received: back(step + 1) }
            }
            Steps::Shifts(held) => {
                let left = held[step as usize].div_ceil(2);
                let from = around(self.size - left);
                let sent = |node| self.shifted(held, node, step);
                LineStep { to: around(left), sent: sent(coordinate), from, received: sent(from) }
            }
        }
    }

    /// What a node sends in a step of shifts. Of an odd number of positions one is left in the first step that nothing
    /// is combined into. It is sent in the second, in a run of its own: what it is has not changed since.
    fn shifted(&self, held: &[u32], node: u32, step: u32) -> Stretch {
        let held = held[step as usize];
        let left = held.div_ceil(2);
        let stretch = |first, count| Stretch::around((node + first) % self.size, count, self.size);
        if step == 1 { stretch(left, held - left - 1).and(stretch(held - 1, 1)) } else { stretch(left, held - left) }
    }

    /// The position that the node at `coordinate` owns after the last step.
    pub fn position(&self, coordinate: u32) -> u32 {
        self.steps().checked_sub(1).map_or(0, |last| self.leg(coordinate, last).received.first())
    }
}

/// Legs of `nodes`, in the order around the ring, all of which hold the same `positions`, of their contributions or
/// combined.
fn halve(nodes: &[u32], positions: Range<u32>, (ring, pairs): (u32, Pairs), steps: &mut [Vec<LineStep>]) {
    let count = nodes.len();
    if count < 2 {
        return;
    }
    let gap = |a: usize, b: usize| (nodes[b % count] + ring - nodes[a]) % ring;
    // Pairs of neighbours around the ring begin with the first or with the second node, whichever are nearer.
    let first = usize::from(pairs == Pairs::Near && gap(0, 1) > gap(1, 2));
    let middle = positions.start + (positions.end - positions.start) / 2;
    let mut halves = [Vec::with_capacity(count / 2), Vec::with_capacity(count / 2)];
    for pair in 0..count / 2 {
        let (a, b) = (nodes[(first + 2 * pair) % count], nodes[(first + 2 * pair + 1) % count]);
        // Every second pair the other way round, so that neighbours of the same half are near.
        let mirrored = pairs == Pairs::Near && pair % 2 == 1;
        let (low, high) = if mirrored { (b, a) } else { (a, b) };
        let (lower, upper) = (positions.start..middle, middle..positions.end);
        let (lower, upper) = (Stretch::run(lower), Stretch::run(upper));
        steps[low as usize].push(LineStep { to: high, sent: upper.clone(), from: high, received: lower.clone() });
        steps[high as usize].push(LineStep { to: low, sent: lower, from: low, received: upper });
        halves[0].push(low);
        halves[1].push(high);
    }
    let [low, high] = halves;
    halve(&low, positions.start..middle, (ring, pairs), steps);
    halve(&high, middle..positions.end, (ring, pairs), steps);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a line: every node owns one position in the end, with every contribution to it once.
    #[test]
    fn every_position_is_combined_once_and_owned_by_one_node() {
        for size in 1..=70u32 {
            let all = [
                Along::new(size, Pairs::Near),
                Along::new(size, Pairs::Bits),
                Along::switched(size, Pairs::Near),
                Along::around(size),
            ];
            for along in all {
                // held[node][position]: which nodes contributed, each counted.
                let mut held: Vec<Vec<Vec<u32>>> = (0..size)
                    .map(|node| (0..size).map(|_| (0..size).map(|n| u32::from(n == node)).collect()).collect())
                    .collect();
                for step in 0..along.steps() {
                    let before = held.clone();
                    for node in 0..size {
                        let leg = along.leg(node, step);
                        assert_eq!(along.leg(leg.from, step).to, node, "{along:?} {step}");
                        assert_eq!(along.leg(leg.from, step).sent, leg.received, "{along:?} {step}");
                        for position in leg.received.runs().iter().cloned().flatten() {
                            for n in 0..size as usize {
                                held[node as usize][position as usize][n] +=
                                    before[leg.from as usize][position as usize][n];
                            }
                        }
                    }
                }
                let mut owners: Vec<u32> = (0..size).map(|node| along.position(node)).collect();
                for (node, &position) in owners.iter().enumerate() {
                    assert_eq!(held[node][position as usize], vec![1; size as usize], "{along:?}");
                }
                owners.sort_unstable();
                assert_eq!(owners, (0..size).collect::<Vec<_>>(), "{along:?}");
            }
        }
    }

    #[test]
    fn partners_of_four_and_eight() {
        let partners = |size, pairs, step| -> Vec<(u32, u32)> {
            let along = Along::new(size, pairs);
            (0..size).map(|node| (node, along.leg(node, step).to)).filter(|(a, b)| a < b).collect()
        };
        assert_eq!(partners(4, Pairs::Near, 0), [(0, 1), (2, 3)]);
        assert_eq!(partners(4, Pairs::Near, 1), [(0, 3), (1, 2)]);
        assert_eq!(partners(4, Pairs::Bits, 0), [(0, 1), (2, 3)]);
        assert_eq!(partners(4, Pairs::Bits, 1), [(0, 2), (1, 3)]);
        // In the second step of eight all partners are still neighbours, over the links that the first left idle.
        assert_eq!(partners(8, Pairs::Near, 1), [(0, 7), (1, 2), (3, 4), (5, 6)]);
    }
    /// Every step halves what is left, and a step is one shift of all nodes.
    #[test]
    fn shifts_take_as_few_steps_as_there_can_be_and_send_no_position_twice() {
        for size in (3..=1025u32).filter(|size| !size.is_power_of_two()) {
            let along = Along::switched(size, Pairs::Near);
            assert_eq!(1 << along.steps(), size.next_power_of_two());
            let mut sent = 0;
            for step in 0..along.steps() {
                let shift = along.leg(0, step).to;
                assert!((0..size).all(|node| along.leg(node, step).to == (node + shift) % size), "{size}, {step}");
                sent += along.leg(size / 2, step).sent.len();
            }
            assert_eq!(sent, size - 1);
        }
        let along = Along::switched(5, Pairs::Near);
        let to: Vec<u32> = (0..3).map(|step| along.leg(4, step).to).collect();
        assert_eq!(to, [2, 1, 0]);
        assert_eq!(along.leg(1, 0).sent.runs(), [4..5, 0..1], "past the end of the line");
    }
}
