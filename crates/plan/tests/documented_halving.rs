//! What `docs/algorithms.md` says about halving and doubling, against schedules and the routes of the torus.

use nagare_plan::fabric::{Fabric, HostId, shipped};
use nagare_plan::pattern::{Pairs, Rails, lanes};
use nagare_plan::schedule::Action;
use nagare_plan::topology::DimensionOrder;
use std::collections::BTreeMap;

use crate::support::document::{number, table};
use crate::support::halving::{grid, lane, schedule};

/// `a` or `a/b`.
fn fraction(cell: &str) -> (u64, u64) {
    cell.split_once('/').map_or_else(|| (number(cell), 1), |(a, b)| (number(a), number(b)))
}

/// Steps along a line.
fn steps_of(size: u32) -> u32 {
    if size.is_power_of_two() { size.ilog2() } else { size - 1 }
}

#[test]
fn formulas() {
    let more = [vec![1, 6], vec![2, 3, 5], vec![16], vec![1]];
    let rows = table("dimensions of a torus");
    let documented = rows.iter().map(|row| row[0].split('×').map(|c| number(c.trim())).collect::<Vec<u32>>());
    for sizes in documented.chain(more) {
        let nodes: u32 = sizes.iter().product();
        for (ppn, aggregators, host_mbit, chunks) in [(1, 1, 50.0, 1), (1, 1, 1000.0, 2), (3, 2, 100.0, 4)] {
            let grid = grid(&sizes);
            let all = lanes(&grid, &grid.ordered(DimensionOrder::Given), host_mbit, aggregators);
            let (count, each) = (all.len() as u32, all.len() as u32 / aggregators);
            let schedule =
                schedule(&vec![ppn; nodes as usize], &Rails::new(grid, all, aggregators, Pairs::Near), chunks);
            let steps: u32 = sizes.iter().map(|&size| steps_of(size)).sum();
            let what = format!("{sizes:?} × {ppn}, {aggregators} aggregators, {chunks} chunks");
            let parts = schedule.plans[0].parts;
            assert_eq!(parts, count * chunks * nodes, "{what}: the smallest message is one part");
            let mut of_node = vec![[0u32; 2]; nodes as usize];
            let mut inside = 0;
            for plan in &schedule.plans {
                let mut messages = 0;
                for hop in &plan.hops {
                    let node = plan.rank / ppn;
                    let sent = hop.action == Action::Send;
                    if hop.peer / ppn == node {
                        inside += u32::from(sent) * hop.parts.count;
                        continue;
                    }
                    messages += u32::from(sent);
                    of_node[node as usize][usize::from(sent)] += hop.parts.count;
                }
                assert!(messages == 0 || messages == 2 * each * chunks * steps, "{what}: {messages} messages");
            }
            let expected = 2 * (parts / nodes) * (nodes - 1);
            assert!(of_node.iter().all(|both| *both == [expected; 2]), "{what}: 2n(N-1)/N");
            assert_eq!(inside, 2 * (nodes * ppn - nodes) * parts, "{what}");
        }
    }
    for row in rows {
        let sizes: Vec<u32> = row[0].split('×').map(|c| number(c.trim())).collect();
        let nodes: u64 = sizes.iter().product::<u32>().into();
        assert_eq!(number::<u32>(&row[1]), 2 * sizes.iter().map(|&size| steps_of(size)).sum::<u32>(), "{row:?}");
        let (sent, of) = fraction(&row[2]);
        assert_eq!(sent * nodes, 2 * (nodes - 1) * of, "{row:?}");
        assert_eq!(fraction(&row[3]), (1, nodes), "{row:?}");
    }
}

/// Busiest host link and torus link of the whole call, and the sum over the steps of what the busiest link of the step
/// needs, all relative to the least time an Allreduce can take.
fn loads(orders: &[&[usize]], pairs: Pairs) -> [f64; 3] {
    let fabric = Fabric::from_toml(shipped("torus16").unwrap(), "torus16").unwrap();
    let all = orders.iter().map(|order| lane(order)).collect();
    let rails = Rails::new(grid(&[4, 4]), all, 1, pairs);
    let schedule = schedule(&[1; 16], &rails, 1);
    let lanes = orders.len() as u32;
    let parts = f64::from(schedule.plans[0].parts);
    let mut steps: BTreeMap<(u16, u32), BTreeMap<_, f64>> = BTreeMap::new();
    let mut all: BTreeMap<_, f64> = BTreeMap::new();
    for m in schedule.moves() {
        for link in fabric.route(HostId(m.from), HostId(m.to)) {
            let time = f64::from(m.parts.count) / parts / fabric.mbit(link);
            *steps.entry((m.round.stage, m.round.step / lanes)).or_default().entry(link).or_default() += time;
            *all.entry(link).or_default() += time;
        }
    }
    let least = 2.0 * 15.0 / 16.0 / 100.0;
    let busiest = |of_hosts: bool| {
        let is_host = |link| fabric.is_host(fabric.start(link)) || fabric.is_host(fabric.end(link));
        all.iter().filter(|(link, _)| is_host(**link) == of_hosts).map(|(_, time)| time / least).fold(0.0, f64::max)
    };
    let in_steps: f64 = steps.values().map(|links| links.values().copied().fold(0.0, f64::max)).sum();
    [busiest(true), busiest(false), in_steps / least]
}

#[test]
fn what_orders_and_partners_reach_on_the_torus() {
    for row in table("orders") {
        let order = |name: &str| name.bytes().map(|letter| usize::from(letter - b'X')).collect::<Vec<_>>();
        let orders: Vec<Vec<usize>> = row[0].split(" and ").map(order).collect();
        let orders: Vec<&[usize]> = orders.iter().map(Vec::as_slice).collect();
        let pairs = if row[1] == "near" { Pairs::Near } else { Pairs::Bits };
        let [host, torus, steps] = loads(&orders, pairs);
        let percent: f64 = number(row[2].trim_end_matches(" %"));
        assert!((100.0 / steps - percent).abs() < 1e-9, "{row:?}: {}", 100.0 / steps);
        // Host links carry the least in any case; with neighbours in two orders those of the torus never need longer.
        assert!((host - 1.0).abs() < 1e-9, "{row:?}: {host}");
        assert!(percent < 100.0 || torus <= 1.0, "{row:?}: {torus}");
    }
}
