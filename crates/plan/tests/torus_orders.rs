//! Orders of dimensions of halving and doubling, on tori whose dimensions have links of different rates: the order that
//! is chosen against all others, predicted and played in time.

use crate::support::document::{number, table};
use crate::support::network;
use nagare_plan::algorithm::halving_doubling;
use nagare_plan::collective::Collective::Allreduce;
use nagare_plan::cost::{Demand, Message, Segments, predict};
use nagare_plan::fabric::{Fabric, HostId, timeline};
use nagare_plan::pattern::{Pairs, Rails, lanes};
use nagare_plan::schedule::Schedule;
use nagare_plan::topology::{DimensionOrder, Grid, Hierarchy, NodeRanks, Topology, Wires};
use std::sync::Arc;

const BYTES: u64 = 1 << 20;

/// One rank on every host of a torus.
struct Torus {
    fabric: Arc<Fabric>,
    topology: Topology,
    grid: Grid,
}

impl Torus {
    /// `mbit`: rates of the links of hosts, then of each dimension.
    fn new(dims: &[u32], mbit: &[f64]) -> Self {
        let text = format!("[generator]\nkind = \"torus\"\ndims = {dims:?}\nbandwidth = {mbit:?}\n");
        let fabric = Arc::new(Fabric::from_toml(&text, "torus").unwrap());
        let placement = network::place(&fabric, "by slot", fabric.host_count(), 1);
        let topology = network::planner(&fabric, &placement).topology().clone();
        let grid = Grid::new(&Hierarchy::new(&topology), &topology);
        Self { fabric, topology, grid }
    }

    /// Times of an Allreduce with the lanes of this order, predicted and played, relative to the least over the links
    /// of hosts.
    fn times(&self, order: &[usize]) -> [f64; 2] {
        let lanes = lanes(&self.grid, order, self.fabric.host_mbit(HostId(0)), 1);
        let nodes = self.fabric.host_count() as f64;
        let least = 2.0 * (1.0 - 1.0 / nodes) * BYTES as f64 * 8e-6 / self.fabric.host_mbit(HostId(0));
        let rails = Rails::new(self.grid.clone(), lanes, 1, Pairs::default());
        let hierarchy = Hierarchy::new(&self.topology);
        let demand = Demand::stepwise(Allreduce, &rails, 4, &mut Wires::new(&self.topology, &hierarchy)).unwrap();
        let message = Message::of(&self.topology);
        let predicted = predict(&demand, (message, [1.0; 2]), BYTES, Segments::AtMost(65280)).time * 1e-9;
        let node_ranks = NodeRanks::new(&hierarchy, &self.topology);
        let plans = (0..self.topology.ranks()).map(|rank| halving_doubling(&node_ranks, &rails, 4, rank)).collect();
        let (algorithm, stages) = ("halving_doubling".to_owned(), Vec::new());
        let schedule = Schedule { collective: Allreduce, algorithm, root: 0, stages, plans };
        let hosts: Vec<HostId> = self.fabric.hosts().collect();
        let played = timeline(&schedule, &self.fabric, &hosts, BYTES, None).unwrap().finish;
        [predicted / least, played / least]
    }
}

/// All orders of `left`.
fn orders(left: &[usize]) -> Vec<Vec<usize>> {
    if left.is_empty() {
        return vec![Vec::new()];
    }
    let first = |&d: &usize| {
        let rest: Vec<usize> = left.iter().copied().filter(|&other| other != d).collect();
        orders(&rest).into_iter().map(move |rest| [vec![d], rest].concat())
    };
    left.iter().flat_map(first).collect()
}

#[test]
fn no_other_order_is_much_faster_than_the_widest_first() {
    for row in table("torus") {
        let dims: Vec<u32> = row[0].split(" × ").map(number).collect();
        let mbit: Vec<f64> = format!("{} {}", row[1], row[2]).split(' ').map(number).collect();
        let torus = Torus::new(&dims, &mbit);
        let chosen = torus.grid.ordered(DimensionOrder::Bandwidth);
        let names: String = chosen.iter().map(|&d| torus.grid.dimensions()[d].name.as_str()).collect();
        assert_eq!(names, row[3], "{row:?}");
        let (own, all): (_, Vec<_>) = (torus.times(&chosen), orders(&chosen).iter().map(|o| torus.times(o)).collect());
        for (which, cell) in row[4..].iter().enumerate() {
            let times = || all.iter().map(|times| times[which]);
            let (best, worst) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
            let found = [own[which], best, worst].map(|time| format!("{time:.2}"));
            assert_eq!(found.join(" "), *cell, "{row:?}");
            assert!(own[which] < 1.04 * best && worst < 1.6 * best, "{row:?}");
        }
    }
}
