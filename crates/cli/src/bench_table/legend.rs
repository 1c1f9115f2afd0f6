//! What is said below a table: what its columns are, and what in it is not as it should be.

use super::{is_spread, is_stock_s, milliseconds, size};
use nagare_bench::guidelines::{Violation, violations};
use nagare_bench::operation::Operation;
use nagare_bench::record::{Cell, DEFAULT, Results, STOCK, Timing};
use nagare_plan::algorithm::Algorithm;
use std::collections::BTreeMap;

/// What the columns of [`timings`](super::timings) are.
pub fn legend(results: &Results) -> String {
    let mut text =
        "Medians in ms of the time of the slowest rank; × stock and share of the limit are those of the default, or of \
         stock\n\
         where Nagare has none.\n"
            .to_owned();
    let shown = |cell: &Cell| cell.timings.iter().any(|timing| timing.forced_stock().is_none() && is_spread(timing));
    if results.cells.iter().any(shown) {
        text += "Quartiles in brackets where the upper one is at least twice the lower one.\n";
    }
    if results.cells.iter().any(is_stock_s) {
        text += "= where the library ran on both sides: how far figures tell.\n";
    }
    if results.cells.iter().any(|cell| cell.oracle.is_some()) {
        text += "Best stock: the fastest of the library's own choice and of all that it can be told.\n";
    }
    if results.cells.iter().any(|cell| cell.collective.varies()) {
        text += "Bytes per pair of Alltoallv, Gatherv and Scatterv, and per rank of Reduce_scatter, are means of \
            unequal ones.\n";
    }
    if results.cells.iter().any(|cell| cell.cpu_bound) {
        text += "* more than this machine carried in the test of the network: its processors, not the links, are the \
            limit.\n";
    }
    for line in nearness(results).into_iter().chain(strays(results)).chain(guidelines(results)) {
        text += &format!("{line}\n");
    }
    text
}

/// How near the default comes to the fastest of all that was measured, cell by cell: in how many within 7 and 20 %.
/// Nothing where no algorithm of ours was forced.
pub fn nearness(results: &Results) -> Option<String> {
    let is_forced = |timing: &Timing| Algorithm::from_name(&timing.configuration).is_some();
    let ratio = |cell: &Cell| {
        let fastest = cell.timings.iter().chain(cell.best_stock()).map(|timing| timing.median).reduce(f64::min)?;
        cell.timings.iter().any(is_forced).then_some(cell.timing(DEFAULT)?.median / fastest)
    };
    let ratios: Vec<f64> = results.cells.iter().filter_map(ratio).collect();
    let within = |percent: f64| ratios.iter().filter(|&&ratio| ratio <= 1.0 + percent / 100.0).count();
    let (cells, near, nearly) = (ratios.len(), within(7.0), within(20.0));
    let told = format!(
        "Of {cells} cells in which algorithms were forced, the default is within 7 % of the fastest there in {near}, \
         within 20 % in {nearly}."
    );
    (cells > 0).then_some(told)
}

/// Where the default is slower than it should be by what the same run measured, a line each.
pub fn guidelines(results: &Results) -> Vec<String> {
    let of = |&(collective, bytes): &(Operation, u64)| {
        let size = results.cell(collective, bytes).map_or_else(String::new, size);
        format!("{collective} of {size}")
    };
    let stock = violations(results, STOCK);
    let line = |found: &Violation| {
        let own = of(&(found.collective, found.bytes));
        let bound: Vec<String> = found.bound.iter().map(of).collect();
        let [own_time, bound_time] = [found.seconds, found.bound_seconds].map(milliseconds);
        let same = |other: &&Violation| (&other.bytes, &other.bound) == (&found.bytes, &found.bound);
        let is_stock_s = stock.iter().filter(same).any(|other| other.collective == found.collective);
        let stock = if is_stock_s { " (stock too)" } else { "" };
        format!("{own}, {own_time} ms, is slower than {}, {bound_time} ms{stock}", bound.join(" + "))
    };
    violations(results, DEFAULT).iter().map(line).collect()
}

/// One line for every algorithm and collective where by Nagare's report something else ran than was forced.
fn strays(results: &Results) -> Vec<String> {
    let mut found: BTreeMap<(&str, String, &str), Vec<String>> = BTreeMap::new();
    for cell in &results.cells {
        let forced = cell.timings.iter().filter(|timing| Algorithm::from_name(&timing.configuration).is_some());
        for timing in forced.filter(|timing| timing.ran != timing.configuration) {
            let of = (timing.configuration.as_str(), cell.collective.to_string(), timing.ran.as_str());
            found.entry(of).or_default().push(size(cell));
        }
    }
    let line = |((forced, collective, ran), sizes): (_, Vec<String>)| {
        format!("Not {forced} but {ran} ran where it was forced: {collective} of {}.", sizes.join(", "))
    };
    found.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(configuration: &str, ran: &str, seconds: f64) -> Timing {
        Timing {
            configuration: configuration.into(),
            ran: ran.into(),
            iterations: 3,
            median: seconds,
            quartile1: seconds,
            quartile3: seconds,
            interval: None,
            fastest: seconds,
        }
    }

    /// 1 %, 7.5 % and 25 % longer than the ring, and one cell in which no algorithm was forced.
    #[test]
    fn how_near_the_default_comes_to_the_fastest_is_counted() {
        let cell = |bytes: u64, default: f64| Cell {
            timings: vec![
                timing(STOCK, "stock (prescribed)", 3e-3),
                timing(DEFAULT, "chain", default),
                timing("ring", "ring", 1e-3),
            ],
            ..Cell::new(Operation::Allreduce, bytes, bytes)
        };
        let mut alone = cell(8192, 2e-3);
        alone.timings.pop();
        let cells = vec![cell(1024, 1.01e-3), cell(2048, 1.075e-3), cell(4096, 1.25e-3), alone.clone()];
        let told = nearness(&Results { cells, ..Results::default() });
        assert!(told.is_some_and(|told| told.starts_with("Of 3 cells ") && told.ends_with(" in 1, within 20 % in 2.")));
        assert_eq!(nearness(&Results { cells: vec![alone], ..Results::default() }), None);
    }

    #[test]
    fn what_was_forced_and_did_not_run_is_told() {
        let cell = |bytes: u64, ran: &str| Cell {
            timings: vec![
                timing(STOCK, "stock (prescribed)", 1e-3),
                timing(DEFAULT, "stock (below threshold)", 1e-3),
                timing("ring", "ring", 1e-3),
                timing("halving_doubling", ran, 1e-3),
            ],
            ..Cell::new(Operation::Allgather, bytes, bytes / 4)
        };
        let results = |cells| Results { cells, ..Results::default() };
        let all_ran = legend(&results(vec![cell(4096, "halving_doubling")]));
        assert!(!all_ran.contains("Not "), "{all_ran}");
        let cells = vec![cell(4096, "stock"), cell(8192, "halving_doubling"), cell(16384, "stock")];
        let some = legend(&results(cells));
        let expected = "Not halving_doubling but stock ran where it was forced: allgather of 1K per rank (4K in all), \
                        4K per rank (16K in all).";
        assert_eq!(some.lines().last(), Some(expected), "{some}");
    }

    #[test]
    fn what_is_slower_than_its_parts_is_told() {
        let cell = |collective, stock, default| Cell {
            timings: vec![timing(STOCK, STOCK, stock), timing(DEFAULT, DEFAULT, default)],
            ..Cell::new(collective, 65536, 65536)
        };
        let cells = |stock| {
            let (reduce, bcast) = (cell(Operation::Reduce, 1e-3, 2e-3), cell(Operation::Bcast, 1e-3, 3e-3));
            vec![reduce, bcast, cell(Operation::Allreduce, stock, 8e-3)]
        };
        let results = |stock| Results { cells: cells(stock), ..Results::default() };
        let told = "allreduce of 64K, 8.00 ms, is slower than reduce of 64K + bcast of 64K, 5.00 ms";
        assert!(legend(&results(1e-3)).lines().any(|line| line == told), "{}", legend(&results(1e-3)));
        assert_eq!(guidelines(&results(9e-3)), [format!("{told} (stock too)")]);
    }
}
