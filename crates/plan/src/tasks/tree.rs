//! Optimal phases of an Alltoall on a tree with equal links: as many as the busiest link has tasks.
//!
//! ```text
//!            centre                  t₀ t₁ … are the hosts below the links of the centre, m₀ ≥ m₁ ≥ … their numbers;
//!          /   |   \                 no other link has more tasks than that of t₀: m₀ (P − m₀), the number of phases
//!        t₀    t₁   t₂ …
//!
//!   phases:         0 …                                                     … m₀ (P − m₀)
//!   tᵢ sends to     tᵢ₊₁ │ tᵢ₊₂ │ … │ tₖ │       │ t₀ │ … │ tᵢ₋₁
//! ```
//! In every phase at most one task leaves a tᵢ and at most one enters it; they never meet below the centre. Beside them
//! a task a→b inside tᵢ runs in a phase in which b is the host of tᵢ that sends and a the one that receives: these
//! three share no link in one direction, whatever is below. So all that is needed is that every pair of hosts of tᵢ has
//! such a phase:
//!
//! * In phase p host `p mod mᵢ` of tᵢ sends, i > 0. A host of tⱼ receives mᵢ tasks of tᵢ in a row, one from each.
//! * While tᵢ, i > 0, receives from tᵢ₋₁, each host of tᵢ receives mᵢ₋₁ ≥ mᵢ times in a row: meanwhile every host has
//!   its turn.
//! * In t₀ the hosts take turns in m₀ phases in a row as they like, since one host receives from all. The turns are the
//!   colours of the graph in which every phase joins its row to the host of t₀ that receives in it.
//!
//! The intervals are those of Faraj and Yuan; the choice of hosts within them is our own (docs/provenance.md).

use super::colouring::colour;
use super::{Routes, Tasks};
use std::collections::HashMap;

/// The phases of all tasks of an Alltoall, `of[to * nodes + from]`, if the routes look like those of a tree. It is for
/// the caller to see that no link is used twice in a phase: other networks may look alike.
fn of_pairs(routes: &Routes) -> Option<(Vec<u32>, u64)> {
    let below = below_the_centre(routes)?;
    let nodes = routes.nodes() as usize;
    let size: Vec<usize> = below.iter().map(Vec::len).collect();
    // Hosts of t_from..t_to.
    let between = |from: usize, to: usize| size[from.min(to)..to].iter().sum::<usize>();
    let phases = size[0] * (nodes - size[0]);
    let first = |i: usize, j: usize| match i < j {
        true => size[i] * between(i + 1, j),
        false => phases - size[j] * between(j + 1, i + 1),
    };
    // The host of t₀ that receives, for every phase.
    let mut receives = vec![0; phases];
    for i in 1..size.len() {
        for q in 0..size[0] * size[i] {
            receives[first(i, 0) + q] = (q / size[i]) as u32;
        }
    }
    let edges: Vec<(u32, u32)> = (0..).zip(&receives).map(|(p, &host)| (p / size[0] as u32, host)).collect();
    let turns = colour(&edges, size[0]);
    let sends = |i: usize, p: usize| if i == 0 { turns[p] as usize } else { p % size[i] };
    let mut phase = vec![0; nodes * nodes];
    let mut set = |from: u32, to: u32, p: usize| phase[to as usize * nodes + from as usize] = p as u32;
    for (i, j) in (0..size.len()).flat_map(|i| (0..size.len()).map(move |j| (i, j))).filter(|(i, j)| i != j) {
        for q in 0..size[i] * size[j] {
            let p = first(i, j) + q;
            set(below[i][sends(i, p)], below[j][q / size[i]], p);
        }
    }
    for i in 1..size.len() {
        for (a, p) in (0..size[i]).flat_map(|a| (a * size[i - 1]..(a + 1) * size[i - 1]).map(move |p| (a, p))) {
            set(below[i][a], below[i][p % size[i]], p);
        }
    }
    for p in 0..phases {
        set(below[0][receives[p] as usize], below[0][turns[p] as usize], p);
    }
    Some((phase, phases as u64))
}

/// The nodes below each link of the centre, most first.
fn below_the_centre(routes: &Routes) -> Option<Vec<Vec<u32>>> {
    let nodes = routes.nodes();
    let mut tasks = vec![0u64; routes.link_count()];
    for (from, to) in (0..nodes).flat_map(|to| (0..nodes).map(move |from| (from, to))) {
        routes.links(from, to).iter().for_each(|&link| tasks[link as usize] += 1);
    }
    let most = *tasks.iter().max()?;
    let senders = |link: u32| -> Vec<u32> {
        let uses = |from: u32| (0..nodes).any(|to| routes.links(from, to).contains(&link));
        (0..nodes).filter(|&from| uses(from)).collect()
    };
    let busiest = (0..tasks.len() as u32).filter(|&link| tasks[link as usize] == most);
    // One direction of it has the smaller side below it.
    let mut link = busiest.take(2 * nodes as usize).find(|&link| 2 * senders(link).len() as u32 <= nodes)?;
    let largest = senders(link);
    let outside: Vec<u32> = (0..nodes).filter(|node| largest.binary_search(node).is_err()).collect();
    loop {
        // What follows the link tells the others apart; where it is always the same link, the centre is beyond that.
        let mut others: HashMap<u32, Vec<u32>> = HashMap::new();
        for &to in &outside {
            let links = routes.links(largest[0], to);
            let at = links.iter().position(|&l| l == link)?;
            others.entry(*links.get(at + 1)?).or_default().push(to);
        }
        match others.iter().next() {
            Some((&next, _)) if others.len() == 1 && outside.len() > largest.len() => link = next,
            _ => {
                let mut below: Vec<Vec<u32>> = others.into_values().collect();
                below.sort_unstable_by_key(|hosts| (std::cmp::Reverse(hosts.len()), hosts[0]));
                below.insert(0, largest);
                return below.windows(2).all(|w| w[0].len() >= w[1].len()).then_some(below);
            }
        }
    }
}

/// All tasks of an Alltoall by phase, if the routes look like those of a tree with equal links; O(nodes²) and the
/// routes.
///
/// Whether they are is for the caller to see, from the idealised execution: other networks may look alike.
pub fn tree_phases(tasks: &Tasks<'_>) -> Option<Vec<u32>> {
    let nodes = u64::from(tasks.routes().nodes());
    if nodes < 2 || tasks.len() as u64 != nodes * (nodes - 1) {
        return None;
    }
    let (phase, phases) = of_pairs(tasks.routes())?;
    let most = tasks.by_link().0.windows(2).map(|w| u64::from(w[1] - w[0])).max()?;
    let of = |task: u32| {
        let super::Task { from, to, .. } = tasks.task(task);
        phase[to as usize * nodes as usize + from as usize]
    };
    let mut sequence: Vec<u32> = (0..tasks.len() as u32).collect();
    sequence.sort_by_key(|&task| of(task));
    (phases == most).then_some(sequence)
}
