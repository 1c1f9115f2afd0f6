//! What the MPI library's own algorithms take, predicted: what no measured call may tell where sums round, what calls
//! begin with elsewhere ([decision 0017](../../../../docs/decisions/0017-learning.md)), and what `nagare predict`
//! shows.
//!
//! ```text
//!   library, ranks, bytes ──► choice.rs: its algorithms ──► scheme.rs: who sends to whom, in rounds
//!                                                                │
//!                              links of the network (Wires) ─────┴─► network.rs ──► nanoseconds
//! ```
//!
//! The library's algorithms know no nodes, so that ranks of one node share its link. Their rounds are taken to follow
//! one another without a gap, and their messages to lose no packet: what they take is rarely less. Over TCP ranks that
//! send and receive long messages do both at once or in turns (`turns.rs`).

mod choice;
mod folded;
mod gathering;
mod mpich;
mod network;
mod open_mpi;
mod part;
mod scheme;
mod trees;
mod turns;

pub use choice::Library;

use crate::collective::Collective;
use crate::context::Context;
use crate::cost::{Message, RoundCost, RoundCosts, together};
use crate::topology::Transport;
use choice::parts;
use network::on_network;
use once_cell::sync::OnceCell;
use part::{Among, Part, Shape};
use scheme::Scheme;
use turns::Turns;

/// The MPI library on the network of one communicator.
#[derive(Debug)]
pub struct Stock {
    library: Library,
    turns: Turns,
    /// By scheme, among ranks and then among nodes; nothing where there are more transfers than are looked at. On the
    /// heap, as all that a planner has.
    costs: Box<[OnceCell<Option<RoundCosts>>]>,
}

impl Stock {
    /// Of `library` over `transport`, where it is known; `carried`: the longest message, bytes, that it carries well,
    /// which bounds segments.
    pub fn new(library: Library, transport: Option<Transport>, carried: u64) -> Self {
        let turns = Turns::of(library, transport, carried);
        Self { library, turns, costs: (0..2 * Scheme::COUNT).map(|_| OnceCell::new()).collect() }
    }

    /// Nanoseconds that the library takes for a call of `bytes` (see [`crate::choice::Call`]; of an Alltoallv the mean
    /// per pair); `None` on more ranks than are looked at.
    pub fn time(&self, context: &Context, message: Message, collective: Collective, bytes: u64) -> Option<f64> {
        let hierarchy = context.grouped();
        let (ranks, nodes) = (context.topology().ranks(), hierarchy.node_count());
        let mut on_node = vec![0u32; nodes as usize];
        (0..ranks).for_each(|rank| on_node[hierarchy.node_of(rank) as usize] += 1);
        let is_even = on_node.iter().all(|&count| count == on_node[0]);
        let has_blocks = !matches!(collective, Collective::Reduce | Collective::Bcast | Collective::Allreduce);
        let vector = if has_blocks { bytes.saturating_mul(u64::from(ranks)) } else { bytes };
        let by_table = |&library: &Library| -> Option<f64> {
            let parts = parts(library, collective, Shape { ranks, nodes, is_even }, vector);
            parts.into_iter().map(|part| self.part(context, message, part, collective, vector as f64)).sum()
        };
        let times: Option<Vec<f64>> = self.library.tables().iter().map(by_table).collect();
        times?.into_iter().reduce(f64::min)
    }

    /// Whether it is known what it chooses, and not only taken to be like others.
    pub fn is_known(&self) -> bool {
        self.library != Library::Other
    }

    fn part(&self, context: &Context, message: Message, part: Part, collective: Collective, bytes: f64) -> Option<f64> {
        let Part { scheme, among, pipeline } = part;
        let cost = &self.costs[scheme as usize + Scheme::COUNT * usize::from(among == Among::Nodes)];
        let cost = cost.get_or_init(|| on_network(context, scheme, among)).as_ref()?;
        let members = match among {
            Among::Ranks => context.topology().ranks(),
            Among::Nodes => context.grouped().node_count(),
        };
        // Predictions decide about reductions alone. What moves data begins with ours only where it is far faster even
        // than the library in step.
        let with_others = |round: &RoundCost| {
            let peers_change = collective.reduces() && (round.exchanges || scheme == Scheme::Pairwise);
            peers_change.then_some(members)
        };
        let one = |round: &RoundCost, bytes| self.round(round, with_others(round), message, bytes);
        let all = |bytes: f64| cost.rounds.iter().map(|round| one(round, bytes)).sum();
        let Some(pipeline) = pipeline else { return Some(all(bytes)) };
        // Segments follow one another through all rounds: the rounds share the links.
        let segments = (bytes / pipeline.segment as f64).max(1.0);
        let first: f64 = all(bytes / segments);
        let per_byte = if pipeline.overlaps { cost.per_byte } else { cost.in_turn() };
        Some(first + bytes * (1.0 - 1.0 / segments) * per_byte)
    }

    /// `with_others`: so many members each send one message and receive one, and their peers change from round to
    /// round.
    fn round(&self, round: &RoundCost, with_others: Option<u32>, message: Message, bytes: f64) -> f64 {
        if round.messages == 0.0 {
            return 0.0;
        }
        let length = bytes * round.share;
        let turns = self.turns.times(length, round.exchanges, with_others);
        let way = message.latency + round.latency + round.forward * length.min(PACKET);
        round.times * (turns * together(bytes * round.per_byte, round.messages * message.gap) + way)
    }
}

/// What a switch holds up at most, bytes.
const PACKET: f64 = 1514.0;

#[cfg(test)]
mod tests;
