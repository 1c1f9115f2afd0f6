//! Plans executed on an ideal network: messages last their bytes over the bandwidth of their way, tokens nothing.

use nagare_plan::fabric::{DirectedLink, Fabric, HostId, Placement};
use nagare_plan::schedule::{Action, Hop, Rank, Schedule};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

/// What happened.
pub struct Run {
    /// Nanoseconds until the last message has arrived.
    pub makespan: u64,
    /// The largest rate every link ever carried, Mbit/s.
    pub most: BTreeMap<DirectedLink, f64>,
    /// Nanoseconds the busiest link needs for all its bytes.
    pub bound: f64,
}

/// A hop of a rank.
type At = (Rank, usize);

/// Which hops are done.
struct Progress<'s> {
    schedule: &'s Schedule,
    /// What every hop still waits for; a receive also for its message.
    waiting: Vec<Vec<usize>>,
    dependents: Vec<Vec<Vec<usize>>>,
    receives: HashMap<(Rank, Rank, u32), usize>,
    ready: Vec<At>,
    done: usize,
}

impl<'s> Progress<'s> {
    fn new(schedule: &'s Schedule) -> Self {
        let (mut waiting, mut dependents, mut receives) = (Vec::new(), Vec::new(), HashMap::new());
        let mut ready = Vec::new();
        for plan in &schedule.plans {
            let mut of = vec![Vec::new(); plan.hops.len()];
            for (index, hop) in plan.hops.iter().enumerate() {
                hop.after.iter().for_each(|&after| of[after as usize].push(index));
                if hop.action == Action::Recv {
                    assert_eq!(receives.insert((hop.peer, plan.rank, hop.tag), index), None);
                } else if hop.after.is_empty() {
                    ready.push((plan.rank, index));
                }
            }
            let needs = |hop: &Hop| hop.after.len() + usize::from(hop.action == Action::Recv);
            waiting.push(plan.hops.iter().map(needs).collect::<Vec<_>>());
            dependents.push(of);
        }
        Self { schedule, waiting, dependents, receives, ready, done: 0 }
    }

    fn hop(&self, (rank, index): At) -> &'s Hop {
        &self.schedule.plans[rank as usize].hops[index]
    }

    fn complete(&mut self, (rank, index): At) {
        self.done += 1;
        for next in std::mem::take(&mut self.dependents[rank as usize][index]) {
            self.less((rank, next));
        }
        let hop = self.hop((rank, index));
        if hop.action == Action::Send {
            self.less((hop.peer, self.receives[&(rank, hop.peer, hop.tag)]));
        }
    }

    fn less(&mut self, at: At) {
        let waiting = &mut self.waiting[at.0 as usize][at.1];
        *waiting -= 1;
        if *waiting == 0 {
            self.ready.push(at);
        }
    }
}

/// Executes `schedule` with messages of `bytes`. The messages that the ranks of a host send at the same time share its
/// rate.
pub fn run(fabric: &Fabric, placement: &Placement, schedule: &Schedule, bytes: u64) -> Run {
    let host = |rank: Rank| placement.host(rank).expect("placed");
    let mut ranks_of: HashMap<HostId, f64> = HashMap::new();
    placement.hosts().iter().for_each(|&h| *ranks_of.entry(h).or_default() += 1.0);
    let mut progress = Progress::new(schedule);
    // Links and rate of a message between hosts; `None` for what takes no time.
    let message = |(rank, hop): (Rank, &Hop)| {
        let (from, to) = (host(rank), host(hop.peer));
        let moves = hop.action == Action::Send && hop.parts.count > 0 && from != to;
        moves.then(|| {
            let route = fabric.route(from, to);
            let mbit = route.iter().map(|&l| fabric.mbit(l)).fold(f64::INFINITY, f64::min) / ranks_of[&from];
            (route, mbit)
        })
    };
    let mut loads: BTreeMap<DirectedLink, f64> = BTreeMap::new();
    let mut rates: BTreeMap<DirectedLink, f64> = BTreeMap::new();
    let mut most: BTreeMap<DirectedLink, f64> = BTreeMap::new();
    let mut ends: BinaryHeap<Reverse<(u64, At)>> = BinaryHeap::new();
    let mut now = 0;
    loop {
        // Whatever ends now has ended before anything starts.
        let mut starting = Vec::new();
        while let Some(at) = progress.ready.pop() {
            match message((at.0, progress.hop(at))) {
                Some(message) => starting.push((at, message)),
                None => progress.complete(at),
            }
        }
        for (at, (route, mbit)) in starting {
            for link in route {
                *loads.entry(link).or_default() += bytes as f64 * 8e3 / fabric.mbit(link);
                let rate = rates.entry(link).or_default();
                *rate += mbit;
                let most = most.entry(link).or_default();
                *most = most.max(*rate);
            }
            ends.push(Reverse((now + (bytes as f64 * 8e3 / mbit).round() as u64, at)));
        }
        let Some(&Reverse((next, _))) = ends.peek() else { break };
        now = next;
        while let Some(&Reverse((_, at))) = ends.peek().filter(|end| end.0.0 == now) {
            ends.pop();
            let (route, mbit) = message((at.0, progress.hop(at))).expect("it has started");
            route.into_iter().for_each(|link| *rates.entry(link).or_default() -= mbit);
            progress.complete(at);
        }
    }
    assert_eq!(progress.done, schedule.plans.iter().map(|p| p.hops.len()).sum::<usize>(), "some hop is never done");
    Run { makespan: now, most, bound: loads.into_values().fold(0.0, f64::max) }
}
