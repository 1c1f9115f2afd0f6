//! Virtual ranks of the XOR exchange: numbers by node and slot, padded so that the high bits are the node, and below
//! them the NUMA node where that costs no step. See `algorithm/xor.rs`.

use crate::collective::Rank;
use crate::topology::Topology;

/// Virtual ranks of a communicator: nodes in the order of their numbers, inside a node by NUMA node and core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualRanks {
    /// Virtual rank of every rank.
    of_rank: Vec<u32>,
    /// Rank of every virtual rank, `None` where padding left a hole.
    rank_of: Vec<Option<Rank>>,
    /// Slots of a node, the padding included.
    width: u32,
}

/// With whom a rank exchanges in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partners {
    /// It sends to the rank from which it receives.
    #[default]
    One,
    /// It sends to one rank and receives from another, on other nodes where there are enough (claim 4).
    Two,
}

impl VirtualRanks {
    /// Numbers the ranks of `topology`; also the recomputation for a sub-communicator, from its own topology (claim 5).
    pub fn new(topology: &Topology) -> Self {
        let (slots, width) = padded_slots(topology);
        let nodes = topology.node_count().max(1).next_power_of_two();
        let of_rank: Vec<u32> = topology.nodes().iter().zip(&slots).map(|(n, s)| n * width + s).collect();
        let mut rank_of = vec![None; nodes as usize * width as usize];
        for (rank, &vrank) in of_rank.iter().enumerate() {
            rank_of[vrank as usize] = Some(rank as Rank);
        }
        Self { of_rank, rank_of, width }
    }

    /// Number of steps, step 0 (the rank's own block) included: a power of two.
    pub fn steps(&self) -> u32 {
        self.rank_of.len() as u32
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.of_rank.len() as u32
    }

    /// Virtual rank of `rank`.
    pub fn of(&self, rank: Rank) -> u32 {
        self.of_rank[rank as usize]
    }

    /// Partner of `rank` in step `step`, `None` if the step is idle for it.
    pub fn partner(&self, rank: Rank, step: u32) -> Option<Rank> {
        self.rank_of[(self.of(rank) ^ step) as usize]
    }

    /// Whom `rank` sends to and whom it receives from in step `step` with two partners; `None` where there is nobody.
    ///
    /// The step has two XOR values with the same highest bit, `step` itself and its mate. Ranks whose virtual rank
    /// lacks that bit send along the first and receive along the second, the others the other way round. Either value
    /// leads from one half to the other, so every send meets the receive of the same step; in the mate's step the
    /// values change places.
    pub fn two_partners(&self, rank: Rank, step: u32) -> (Option<Rank>, Option<Rank>) {
        let (along, back) = (self.partner(rank, step), self.partner(rank, self.mate(step)));
        let highest = step.checked_ilog2().map_or(0, |bit| 1 << bit);
        if self.of(rank) & highest == 0 { (along, back) } else { (back, along) }
    }

    /// The step with which `step` shares its values: of the next node where two nodes have the same highest bit, else
    /// of the next slot. Steps 0 and 1 are their own.
    fn mate(&self, step: u32) -> u32 {
        match step {
            0 | 1 => step,
            _ if step >= 2 * self.width => step ^ self.width,
            _ => step ^ 1,
        }
    }
}

/// The slot of every rank in its node, the holes of padding counted, and how many slots a node has with them.
///
/// Where each NUMA node has slots of its own, as many as the fullest one needs, its number is in the bits above them,
/// and all its ranks talk to one NUMA node per step. A node must not have more slots for it: with twice as many, half
/// of its ranks or more would be idle in a step, on average: as much as two transfers lose that share a path.
fn padded_slots(topology: &Topology) -> (Vec<u32>, u32) {
    let slots = topology.slots();
    let width = padded(slots.iter().copied());
    let by_numa = topology.numa_slots();
    let of_numa = padded(by_numa.iter().map(|&(_, slot)| slot));
    let numas = padded(by_numa.iter().map(|&(numa, _)| numa));
    if u64::from(numas) * u64::from(of_numa) > u64::from(width) {
        return (slots, width);
    }
    (by_numa.into_iter().map(|(numa, slot)| numa * of_numa + slot).collect(), width)
}

/// The power of two above the largest of these numbers.
fn padded(numbers: impl Iterator<Item = u32>) -> u32 {
    numbers.max().map_or(1, |last| (last + 1).next_power_of_two())
}
