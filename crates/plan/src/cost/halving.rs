//! What the steps of halving and doubling do to the network.
//!
//! ```text
//!   step     0        1      2    2   1      0              halving, then doubling
//!        ├────────┤├────┤ ├──┤ ├──┤├────┤├────────┤         each as long as its busiest link needs, of all
//!            ├────────┤├────┤ ├──┤ ├──┤├────┤├────────┤     nodes and lanes
//! ```
//!
//! Chunks overlap where they use different links (`overlap.rs`). The schedule is in `docs/algorithms.md`,
//! "halving_doubling"; the formula in "The cost model" there.

use super::demand::{Demand, Shape};
use super::incast::Incast;
use super::overlap::{Work, overlapped};
use super::stepwise::{Step, Steps};
use super::{Message, Segments};
use crate::collective::Collective;
use crate::pattern::Rails;
use crate::topology::{Way, Wires};

/// Transfers, of all nodes in all steps and lanes, up to which they are looked at: some 50 ms of work.
const MOST_TRANSFERS: usize = 1 << 16;

/// Bytes for which the fastest rails are looked for.
const LARGE: u64 = 1 << 20;

impl Demand {
    /// Whether there is a demand of halving and doubling on `rails`: there are not more transfers than are looked at.
    pub fn is_known(rails: &Rails) -> bool {
        let counts = [rails.nodes(), rails.steps(), rails.lanes().len() as u32];
        counts.into_iter().fold(1usize, |all, count| all.saturating_mul(count as usize)) <= MOST_TRANSFERS
    }

    /// The demand of halving and doubling on `rails`, or of the half that `collective` is, with at most `most` chunks
    /// of a lane; `None` where there are more transfers than can be looked at.
    pub fn stepwise(collective: Collective, rails: &Rails, most: u32, wires: &mut Wires) -> Option<Self> {
        if !Self::is_known(rails) {
            return None;
        }
        let lanes = rails.lanes().len() as u32;
        let mut loaded: Vec<Loaded> = Vec::new();
        for transfers in transfers(collective, rails) {
            match loaded.last_mut().filter(|step| step.transfers == transfers) {
                Some(same) => same.work.times += 1,
                None => loaded.push(Loaded::new(transfers, rails.nodes() * lanes, wires)),
            }
        }
        let work = || loaded.iter().map(|step| &step.work);
        let mut total = vec![0.0; wires.count()];
        for work in work() {
            work.links.iter().for_each(|&(link, time)| total[link as usize] += f64::from(work.times) * time);
        }
        let in_turn: f64 = work().map(|work| f64::from(work.times) * work.busiest()).sum();
        let overlap =
            |chunks| if in_turn > 0.0 && chunks > 1 { overlapped(work(), total.len(), chunks) / in_turn } else { 1.0 };
        let overlap = (0..=most.max(1).ilog2()).map(|power| overlap(1 << power).min(1.0)).collect();
        let steps: Vec<Step> = loaded.iter().map(Loaded::step).collect();
        let vectors = f64::from(lanes) * steps.iter().map(|step| step.times * step.share).sum::<f64>();
        let shape = Shape::Stepwise(Steps { steps, lanes: f64::from(lanes), cut: rails.cut(), overlap });
        Some(Self { per_byte: total.into_iter().fold(0.0, f64::max), vectors, incast: Incast::default(), shape })
    }
}

/// Of several ways through one grid the fastest for an Allreduce of a large vector, with at most `most` chunks; of
/// equal ones the first.
pub fn fastest(ways: impl Iterator<Item = Rails>, most: u32, message: Message, wires: &mut Wires) -> Option<Rails> {
    let mut time = |rails: &Rails| {
        let demand = Demand::stepwise(Collective::Allreduce, rails, most, wires);
        demand
            .map_or(f64::INFINITY, |p| super::predict(&p, (message, [1.0; 2]), LARGE, Segments::AtMost(u64::MAX)).time)
    };
    let timed = ways.map(|rails| (time(&rails), rails));
    // Less than 1 % is rounding, or nothing that is worth another order.
    timed.reduce(|best, next| if next.0 < 0.99 * best.0 { next } else { best }).map(|(_, rails)| rails)
}

/// What one node sends in one step of one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Transfer {
    from: u32,
    to: u32,
    positions: u32,
    runs: u32,
    /// The adapter of both hosts that it uses.
    adapter: u32,
}

/// The transfers of every step, of all nodes and lanes.
fn transfers(collective: Collective, rails: &Rails) -> Vec<Vec<Transfer>> {
    let mut halving = vec![Vec::new(); rails.steps() as usize];
    for (lane, from) in (0..rails.lanes().len() as u32).flat_map(|l| (0..rails.nodes()).map(move |node| (l, node))) {
        for (step, transfer) in halving.iter_mut().zip(rails.halving(lane, from)) {
            let (positions, runs) = (transfer.sent.len(), transfer.sent.runs().len() as u32);
            step.push(Transfer { from, to: transfer.to, positions, runs, adapter: rails.adapter_of(lane) });
        }
    }
    let back = |t: &Transfer| Transfer { from: t.to, to: t.from, ..*t };
    let doubling = || halving.iter().rev().map(|step| step.iter().map(back).collect()).collect();
    match collective {
        collective if collective.scatters() => halving,
        collective if collective.gathers_all() => doubling(),
        _ => {
            let doubling: Vec<_> = doubling();
            halving.into_iter().chain(doubling).collect()
        }
    }
}

/// Equal steps, with the ways of their messages.
struct Loaded {
    work: Work,
    transfers: Vec<Transfer>,
    longest: Way,
    mean: Way,
}

impl Loaded {
    /// `parts`: positions that make up the vector.
    fn new(transfers: Vec<Transfer>, parts: u32, wires: &mut Wires) -> Self {
        let mut links = std::collections::BTreeMap::new();
        let (mut share, mut longest, mut mean) = (0.0_f64, Way::default(), Way::default());
        let count = transfers.len() as f64;
        for transfer in &transfers {
            let way = wires.between((transfer.from, transfer.adapter), (transfer.to, transfer.adapter));
            let sent = f64::from(transfer.positions) / f64::from(parts);
            for &(link, part) in &way.links {
                *links.entry(link).or_insert(0.0) += part * sent * wires.per_byte(link);
            }
            share = share.max(sent);
            longest.latency = longest.latency.max(way.latency);
            longest.forward = longest.forward.max(way.forward);
            mean.latency += way.latency / count;
            mean.forward += way.forward / count;
        }
        let work = Work { times: 1, share, links: links.into_iter().collect() };
        Self { work, transfers, longest, mean }
    }

    fn step(&self) -> Step {
        let Work { times, share, .. } = self.work;
        let way = if times > 1 { &self.mean } else { &self.longest };
        let runs = self.transfers.iter().map(|transfer| f64::from(transfer.runs)).sum::<f64>();
        let runs = runs / self.transfers.len().max(1) as f64;
        Step { times: f64::from(times), per_byte: self.work.busiest(), share, runs, way: way.clone() }
    }
}
