//! One dimension of halving and doubling: how the nodes of a line come to own a position each.
//!
//! ```text
//!   4 nodes, neighbours:   ┌───────── 0–3, 1–2 ─────────┐   step 1: 0 and 3 keep the lower half, 1 and 2 the upper
//!                          0 ─────── 1 ─ ─ ─ 2 ─────── 3    step 2: partners are neighbours again, over other links
//!                            step 1            step 1
//! ```
//! A line of a power of two is halved: in every step two nodes exchange halves of what both hold. A line of any other
//! size is cut into as many positions as it has nodes, which go around, every step to the neighbour. In both each node
//! combines what it receives and in the end owns one position; read backwards, the same steps spread what each owns to
//! all. Source: Japanese patent 7087953 (docs/provenance.md).

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
    pub sent: Range<u32>,
    /// The node that is received from.
    pub from: u32,
    /// Positions received.
    pub received: Range<u32>,
}

/// The steps of all nodes of a line.
#[derive(Clone, Debug)]
pub struct Along {
    size: u32,
    /// For lines that are halved, the steps of every node.
    halving: Vec<Vec<LineStep>>,
}

impl Along {
    /// A line of `size` nodes, at least 1.
    pub fn new(size: u32, pairs: Pairs) -> Self {
        let mut halving = Vec::new();
        if size.is_power_of_two() {
            halving = vec![Vec::new(); size as usize];
            halve(&(0..size).collect::<Vec<_>>(), 0..size, (size, pairs), &mut halving);
        }
        Self { size, halving }
    }

    /// The same with every step to the neighbour, whatever the size.
    pub fn around(size: u32) -> Self {
        Self { size, halving: Vec::new() }
    }

    /// Number of steps.
    pub fn steps(&self) -> u32 {
        if self.halving.is_empty() { self.size - 1 } else { self.size.ilog2() }
    }

    /// What the node at `coordinate` does in step `step`.
    pub fn leg(&self, coordinate: u32, step: u32) -> LineStep {
        if let Some(steps) = self.halving.get(coordinate as usize) {
            return steps[step as usize].clone();
        }
        let around = |offset: u32| (coordinate + self.size - offset) % self.size;
        let one = |position: u32| position..position + 1;
        let (sent, received) = (one(around(step)), one(around(step + 1)));
        LineStep { to: (coordinate + 1) % self.size, sent, from: around(1), received }
    }

    /// The position that the node at `coordinate` owns after the last step.
    pub fn position(&self, coordinate: u32) -> u32 {
        self.steps().checked_sub(1).map_or(0, |last| {
            let leg = self.leg(coordinate, last);
            leg.received.start
        })
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
            for along in [Along::new(size, Pairs::Near), Along::new(size, Pairs::Bits), Along::around(size)] {
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
                        for position in leg.received.clone() {
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
}
