//! The tables of `nagare bench`. Here the times of collectives; `bench_table/network.rs`: the network itself;
//! `bench_table/legend.rs`: what is said below them; `bench_table/grid.rs`: how a table is printed.

mod grid;
mod legend;
mod network;

pub use grid::Grid;
pub use legend::{guidelines, legend, nearness};
pub use network::{network, suggestion};

use crate::output::bytes;
use nagare_bench::operation::Unit;
use nagare_bench::record::{Cell, DEFAULT, Numbers, Results, STOCK, Timing, algorithms};

/// Medians in milliseconds, one row per operation and size.
pub fn timings(results: &Results) -> Grid {
    let measured = |name: &str| results.cells.iter().any(|cell| cell.timing(name).is_some());
    let forced = algorithms().filter(|name| measured(name));
    let ours: Vec<&str> = forced.chain([DEFAULT].into_iter().filter(|name| measured(name))).collect();
    // Stock is best told only where it was searched for.
    let searched = results.cells.iter().any(|cell| cell.oracle.is_some());
    let header = ["collective", "bytes", STOCK].into_iter();
    let header = header.chain(searched.then_some("best stock")).chain(ours.iter().copied());
    let header = header.chain(["which ran", "limit", "× stock"]).chain(searched.then_some("× best stock"));
    let header = header.chain(["of limit"]).map(str::to_owned).collect();
    let row = |cell: &Cell| {
        let time = |name: &str| cell.timing(name).map(spread);
        let (stock, best, default) = (cell.timing(STOCK), cell.best_stock(), cell.timing(DEFAULT));
        let mark = if cell.cpu_bound { " *" } else { "" };
        let times = |other: Option<&Timing>| Some(format!("{:.2}", other?.median / default?.median));
        let mut row = vec![Some(cell.collective.to_string()), Some(size(cell)), time(STOCK)];
        row.extend(searched.then(|| best.map(best_stock)));
        row.extend(ours.iter().map(|name| time(name)));
        row.push(default.map(|timing| without_reasons(&timing.ran)));
        row.push(cell.limit.map(|limit| milliseconds(limit) + mark));
        row.push(times(stock).map(|times| if is_stock_s(cell) { times + " =" } else { times }));
        row.extend(searched.then(|| times(best)));
        // Of what Nagare leaves alone, the library's share is told.
        row.push(cell.limit.zip(default.or(stock)).map(|(limit, timing)| percent(limit / timing.median)));
        row.into_iter().map(|text| text.unwrap_or_else(|| "-".to_owned())).collect()
    };
    Grid::new(header, results.cells.iter().map(row).collect())
}

/// What ran, without the reasons why the library's own did, which are in the file.
fn without_reasons(ran: &str) -> String {
    let mut names: Vec<&str> = ran.split(" + ").filter_map(|part| part.split(" (").next()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(" + ")
}

/// `, floating-point numbers` where vectors are of these.
pub fn numbers(results: &Results) -> &'static str {
    match results.job.numbers {
        Numbers::Int => "",
        Numbers::Float => ", floating-point numbers",
    }
}

/// `, series of N calls` and `, M calls back to back` where times are means of such.
pub fn series(results: &Results) -> String {
    let said = |calls: u32, text: String| if calls > 1 { text } else { String::new() };
    let (series, row) = (results.job.series, results.job.back_to_back);
    said(series, format!(", series of {series} calls")) + &said(row, format!(", {row} calls back to back"))
}

/// `, root R` where that is not rank 0.
pub fn root(results: &Results) -> String {
    match results.job.root {
        0 => String::new(),
        root => format!(", root {root}"),
    }
}

/// The median, with the quartiles where these are far apart.
fn spread(timing: &Timing) -> String {
    let median = milliseconds(timing.median);
    if is_spread(timing) {
        let [first, third] = [timing.quartile1, timing.quartile3].map(milliseconds);
        format!("{median} ({first}–{third})")
    } else {
        median
    }
}

/// Whether the median alone says little, as of iterations with two modes.
fn is_spread(timing: &Timing) -> bool {
    timing.quartile3 >= 2.0 * timing.quartile1
}

/// Whether the default was the library's own.
pub fn is_stock_s(cell: &Cell) -> bool {
    cell.timing(DEFAULT).is_some_and(|timing| without_reasons(&timing.ran) == STOCK)
}

/// Its time and what it is.
fn best_stock(best: &Timing) -> String {
    format!("{} {}", milliseconds(best.median), best.forced_stock().unwrap_or("its own choice"))
}

/// Bytes of the vector, or of a block and of all.
pub fn size(cell: &Cell) -> String {
    let blocks = |of: &str| format!("{} per {of} ({} in all)", bytes(cell.block), bytes(cell.bytes));
    match cell.collective.unit() {
        Unit::Vector => bytes(cell.bytes),
        Unit::Pair => blocks("pair"),
        Unit::Rank => blocks("rank"),
    }
}

/// Three significant digits.
pub fn milliseconds(seconds: f64) -> String {
    match seconds * 1e3 {
        ms if ms >= 99.95 => format!("{ms:.0}"),
        ms if ms >= 9.995 => format!("{ms:.1}"),
        ms if ms >= 0.9995 => format!("{ms:.2}"),
        ms => format!("{ms:.3}"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nagare_bench::operation::Operation;

    #[test]
    fn three_digits() {
        let shown = [0.0000123, 0.00123, 0.0123, 0.0999, 0.123, 1.2345].map(milliseconds);
        assert_eq!(shown, ["0.012", "1.23", "12.3", "99.9", "123", "1234"]);
    }

    /// Calls that take 23 or 250 ms by chance, on both sides.
    #[test]
    fn two_modes_and_what_is_the_library_s_on_both_sides_are_seen() {
        let timing = |configuration: &str, ran: &str, [quartile1, median, quartile3]: [f64; 3]| Timing {
            configuration: configuration.into(),
            ran: ran.into(),
            iterations: 15,
            median,
            quartile1,
            quartile3,
            interval: None,
            fastest: quartile1,
        };
        let row = |ran: &str, default: [f64; 3]| {
            let cell = Cell {
                timings: vec![timing(STOCK, STOCK, [0.0228, 0.24, 0.252]), timing(DEFAULT, ran, default)],
                ..Cell::new(Operation::Alltoall, 65536, 4096)
            };
            let text = timings(&Results { cells: vec![cell], ..Results::default() }).markdown();
            text.lines().last().expect("a row").to_owned()
        };
        let both = row("stock (below threshold)", [0.0228, 0.0249, 0.255]);
        assert!(both.contains("| 240 (22.8–252) | 24.9 (22.8–255) | stock | - | 9.64 = |"), "{both}");
        let ours = row("two_level_ring", [0.0245, 0.0249, 0.0251]);
        assert!(ours.contains("| 240 (22.8–252) | 24.9 | two_level_ring | - | 9.64 |"), "{ours}");
    }
}
