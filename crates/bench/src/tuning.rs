//! From what was measured to a profile.

use crate::operation::Operation;
use crate::pairs::{Pair, Reduction};
use crate::record::{Cell, GAP, LATENCY, NO_EMULATION, Results, STOCK, Timing};
use crate::statistics::{LEAST as FEWEST_CALLS, LONG};
use nagare_plan::algorithm::Algorithm;
use nagare_plan::fabric::MessageCost;
use nagare_plan::profile::{self, Measured, Profile};
use nagare_plan::topology::Costs;

/// Of what the MPI library takes, an algorithm of ours may take at most this to be preferred.
const PREFERRED: f64 = 0.97;

/// Digits behind the point do not matter: thousandths of a microsecond.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// The profile of a run of `date`; `None` if Nagare was not there.
pub fn profile(results: &Results, date: &str) -> Option<Profile> {
    let job = &results.job;
    let measured = Measured {
        mpi: job.mpi.split_whitespace().collect::<Vec<_>>().join(" "),
        network: job.network.clone()?,
        transport: job.transport.clone().unwrap_or_default(),
        placement: job.placement.clone().unwrap_or_default(),
        ranks: job.hosts.len() as u32,
        nodes: job.nodes?,
        nagare: job.nagare.clone()?,
        date: date.to_owned(),
        command: results.command.clone(),
    };
    let mut cells: Vec<profile::Cell> = Vec::new();
    // Vectors of several sizes have one block size where ranks are many: the first.
    for cell in results.cells.iter().filter_map(cell) {
        if !cells.iter().any(|other| (other.collective, other.bytes) == (cell.collective, cell.bytes)) {
            cells.push(cell);
        }
    }
    let pairs = results.pairs.iter().map(pair).collect();
    Some(Profile { measured, costs: costs(results), pairs, reduction: results.reduction.map(reduction), cells })
}

/// What messages cost, and what a host sends to another: the best of one pair alone and all hosts at once. Predictions
/// add the latency of a fabric's links to that of messages. Where a launcher has started the ranks that of messages has
/// it already, and is left out.
fn costs(results: &Results) -> Costs {
    let is_told = results.job.network.as_ref().is_some_and(|network| !network.starts_with("levels "));
    let holds_links = is_told && results.fabric == NO_EMULATION;
    let per_host = |goodput: &crate::record::Goodput| goodput.bytes as f64 * 8e-6 / goodput.seconds;
    let cost = |test| results.message(test).map(|cost| rounded(cost).max(LEAST));
    let message = MessageCost { latency_us: cost(LATENCY).filter(|_| !holds_links), gap_us: cost(GAP) };
    let host_goodput = results.goodput.iter().map(per_host).reduce(f64::max).map(rounded);
    Costs { message, host_goodput, ..Costs::default() }
}

/// Numbers of a profile are at least this.
const LEAST: f64 = 1e-3;

fn pair(measured: &Pair) -> profile::Pair {
    profile::Pair {
        within: measured.within.clone(),
        latency_us: rounded(measured.latency).max(LEAST),
        goodput: rounded(measured.goodput).max(LEAST),
        eager: measured.eager,
        // What costs nothing that could be measured is left out.
        rendezvous_us: measured.rendezvous.map(rounded).filter(|&more| more >= LEAST),
        assumed: measured.assumed,
    }
}

fn reduction(measured: Reduction) -> profile::Reduction {
    let least = |value: f64| rounded(value).max(LEAST);
    profile::Reduction { int_ns: least(measured.int), double_ns: least(measured.double) }
}

/// Whether a profile says something about it: of sizes that differ by rank, a rank knows its own only.
pub fn is_told(operation: Operation) -> bool {
    operation.planned().is_some_and(|collective| !collective.has_own_sizes())
}

/// What was the fastest of a cell; `None` if stock was not measured, or where sizes differ by rank.
fn cell(cell: &Cell) -> Option<profile::Cell> {
    let stock = cell.timing(STOCK)?;
    let collective = cell.collective.planned().filter(|_| is_told(cell.collective))?;
    // What fell behind in a race may have had one call, and that a disturbed one; or a few, before all took longer.
    let ours = || cell.timings.iter().filter(|timing| Algorithm::from_name(&timing.configuration).is_some());
    let most = ours().map(|timing| timing.iterations).max().unwrap_or(0);
    let stayed = ours().filter(|timing| timing.iterations >= FEWEST_CALLS.max(most / 2));
    let best = stayed.min_by(|a, b| a.median.total_cmp(&b.median));
    let best = best.filter(|best| is_clearly_faster(best, stock)).unwrap_or(stock);
    let us = |timing: &Timing| rounded(timing.median * 1e6).max(1e-3);
    Some(profile::Cell {
        collective,
        bytes: cell.block,
        most: None,
        fastest: Algorithm::from_name(&best.configuration),
        stock_us: us(stock),
        fastest_us: us(best),
    })
}

/// By the median, and three of four calls are faster than every second of the library's. Of fewer than five short ones
/// that quarter may be one call that waited for TCP's time-out.
fn is_clearly_faster(ours: &Timing, stock: &Timing) -> bool {
    let is_few = ours.iterations < 5 && ours.median < LONG;
    ours.median <= stock.median * PREFERRED && (is_few || ours.quartile3 <= stock.median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Goodput, Job, Message};

    fn results(timings: Vec<Timing>) -> Results {
        let mut cell = Cell::new(Operation::Allgather, 1 << 20, 1 << 16);
        cell.timings = timings;
        let host = |host: &str| host.to_owned();
        let job = Job {
            nagare: Some("0.1.0".to_owned()),
            mpi: "MPICH Version:\t4.0.2".to_owned(),
            network: Some("tree8".to_owned()),
            nodes: Some(2),
            hosts: vec![host("a"), host("b"), host("a"), host("b")],
            ..Job::default()
        };
        let message = |test: &str, microseconds| Message {
            test: test.to_owned(),
            flows: Vec::new(),
            bytes: 8,
            microseconds,
            links: 0.0,
        };
        let goodput = |seconds| Goodput {
            test: "next".to_owned(),
            flows: vec![(0, 1), (1, 0)],
            bytes: 1_000_000,
            seconds,
            limit: None,
        };
        Results {
            job,
            messages: vec![message(LATENCY, 66.12345), message(GAP, 60.0)],
            goodput: vec![goodput(0.1), goodput(0.08)],
            cells: vec![cell],
            ..Results::default()
        }
    }

    #[test]
    fn what_is_clearly_faster_is_chosen() {
        let timing = Timing::without_spread;
        let fastest = |timings| profile(&results(timings), "2026-11-23").expect("a profile").cells[0].fastest;
        assert_eq!(fastest(vec![timing(STOCK, 1.0), timing("ring", 0.5), timing("chain", 0.6)]), Some(Algorithm::Ring));
        assert_eq!(fastest(vec![timing(STOCK, 1.0), timing("ring", 0.98)]), None);
        let fell_behind = Timing { iterations: 2, ..timing("chain", 0.4) };
        let timings = vec![timing(STOCK, 1.0), timing("ring", 0.5), fell_behind];
        assert_eq!(fastest(timings), Some(Algorithm::Ring), "two calls are too few");
        let of = |iterations, algorithm, median| Timing { iterations, ..timing(algorithm, median) };
        let early = vec![of(144, STOCK, 1.0), of(7, "ring", 0.5), of(144, "chain", 0.6)];
        assert_eq!(fastest(early), Some(Algorithm::Chain), "it fell behind before the others became slower");
        let times = |stock: f64, ours: f64, iterations| {
            let quartile3 = ours + 0.1;
            vec![timing(STOCK, stock), Timing { iterations, quartile3, ..timing("ring", ours) }]
        };
        assert_eq!(fastest(times(0.004, 0.002, 3)), Some(Algorithm::Ring), "one of three waited for a time-out");
        assert_eq!(fastest(times(0.004, 0.002, 5)), None, "more than one of five did");
        assert_eq!(fastest(times(0.4, 0.35, 3)), None, "long calls know no better");
        let unsure = Timing { quartile3: 1.2, ..timing("ring", 0.9) };
        assert_eq!(fastest(vec![timing(STOCK, 1.0), unsure]), None);
        // What the default took is no algorithm.
        assert_eq!(fastest(vec![timing(STOCK, 1.0), timing("default", 0.5)]), None);
    }

    #[test]
    fn costs_and_shape_are_those_measured() {
        let timings = vec![Timing::without_spread(STOCK, 0.5e-3), Timing::without_spread("ring", 0.25e-3)];
        let found = profile(&results(timings), "2026-11-23").expect("a profile");
        let Measured { mpi, ranks, nodes, .. } = &found.measured;
        assert_eq!((mpi.as_str(), *ranks, *nodes), ("MPICH Version: 4.0.2", 4, 2));
        assert_eq!((found.costs.message.latency_us, found.costs.message.gap_us), (Some(66.123), Some(60.0)));
        // 1 MB in 80 ms.
        assert_eq!(found.costs.host_goodput, Some(100.0));
        let cell = found.cells[0];
        assert_eq!((cell.bytes, cell.stock_us, cell.fastest_us), (65536, 500.0, 250.0));
    }

    /// Half a round trip of a launcher's run has the links in it, which a fabric's file tells too.
    #[test]
    fn the_latency_of_links_is_not_counted_twice() {
        let mut measured = results(Vec::new());
        measured.fabric = NO_EMULATION.to_owned();
        let latency = |measured: &Results| profile(measured, "2026-11-23").expect("a profile").costs.message.latency_us;
        assert_eq!(latency(&measured), None);
        measured.job.network = Some("levels leaf > node".to_owned());
        assert_eq!(latency(&measured), Some(66.123));
    }

    #[test]
    fn what_pairs_and_sums_cost_is_told_where_it_was_measured() {
        let mut measured = results(Vec::new());
        let none = profile(&measured, "2026-11-23").expect("a profile");
        assert_eq!((none.pairs, none.reduction), (Vec::new(), None));
        let pair = |rendezvous| Pair {
            within: "node".to_owned(),
            ranks: (0, 2),
            latency: 0.51239,
            goodput: 41000.0,
            eager: Some(4064),
            rendezvous: Some(rendezvous),
            assumed: Some(3840),
        };
        measured.pairs = vec![pair(1.5), pair(-0.2)];
        measured.reduction = Some(Reduction { int: 0.0, double: 0.25 });
        let found = profile(&measured, "2026-11-23").expect("a profile");
        assert_eq!(found.pairs.iter().map(|pair| pair.rendezvous_us).collect::<Vec<_>>(), [Some(1.5), None]);
        assert_eq!((found.pairs[0].latency_us, found.pairs[0].eager), (0.512, Some(4064)));
        assert_eq!(found.reduction, Some(profile::Reduction { int_ns: 1e-3, double_ns: 0.25 }));
        assert_eq!(Profile::from_toml(&found.to_toml(), "p.toml"), Ok(found));
    }

    #[test]
    fn a_block_that_several_vectors_have_stands_once() {
        let mut twice = results(vec![Timing::without_spread(STOCK, 0.5)]);
        twice.cells.push(Cell { timings: vec![Timing::without_spread(STOCK, 2.0)], ..twice.cells[0].clone() });
        let found = profile(&twice, "2026-11-23").expect("a profile");
        assert_eq!(found.cells.iter().map(|cell| cell.stock_us).collect::<Vec<_>>(), [0.5e6]);
        assert_eq!(Profile::from_toml(&found.to_toml(), "p.toml"), Ok(found));
    }

    #[test]
    fn without_nagare_there_is_no_profile() {
        let mut without = results(Vec::new());
        without.job.network = None;
        assert_eq!(profile(&without, "2026-11-23"), None);
    }
}
