//! The tables of `nagare bench`, for the terminal and as Markdown.

use crate::output::{bytes, table};
use comfy_table::CellAlignment;
use nagare_bench::guidelines::{Violation, violations};
use nagare_bench::operation::{Operation, Unit};
use nagare_bench::record::{Cell, DEFAULT, GAP, LATENCY, Numbers, Results, STOCK, Timing, algorithms};
use nagare_plan::algorithm::Algorithm;
use std::collections::BTreeMap;

/// A table as text, not yet laid out. Columns from the second on are numbers.
pub struct Grid {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// Columns by their `header`, and `rows` of as many cells.
    pub fn new(header: Vec<String>, rows: Vec<Vec<String>>) -> Self {
        Self { header, rows }
    }

    /// For the terminal.
    pub fn boxed(&self) -> String {
        let mut table = table(&self.header);
        for row in &self.rows {
            table.add_row(row);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        format!("{table}\n")
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | ").replace('*', "\\*"));
        let mut rule = vec!["---".to_owned()];
        rule.resize(self.header.len(), "--:".to_owned());
        [line(&self.header), line(&rule)].into_iter().chain(self.rows.iter().map(|row| line(row))).collect()
    }
}

/// The network itself: measured, and what its file says.
pub fn network(results: &Results) -> Grid {
    let header = ["network", "flows", "measured", "by the rates", "share"].map(str::to_owned).into();
    let mut rows = Vec::new();
    for goodput in &results.goodput {
        let bits = goodput.bytes as f64 * 8.0 * goodput.flows.len() as f64 / 1e6;
        let limit = goodput.limit;
        let test = match goodput.test.as_str() {
            "pair" => "one host to one half way across",
            "across" => "every host to the one half way on",
            "next" => "every host to the next",
            other => other,
        };
        rows.push(vec![
            test.to_owned(),
            goodput.flows.len().to_string(),
            format!("{:.1} Mbit/s", bits / goodput.seconds),
            limit.map_or("-".to_owned(), |limit| format!("{:.1} Mbit/s", bits / limit)),
            limit.map_or("-".to_owned(), |limit| percent(limit / goodput.seconds)),
        ]);
    }
    for message in &results.messages {
        let test = match message.test.as_str() {
            LATENCY => format!("half a round trip of {} bytes, half way across", message.bytes),
            GAP => format!("one message of {} bytes after the other, every host to the next", message.bytes),
            other => other.to_owned(),
        };
        let measured = format!("{} µs", number(message.microseconds));
        rows.push(vec![test, message.flows.len().to_string(), measured, "-".to_owned(), "-".to_owned()]);
    }
    Grid { header, rows }
}

/// The lines by which a fabric file tells what messages cost; `None` if neither can be told.
pub fn suggestion(results: &Results) -> Option<String> {
    let tests = [("message_latency", LATENCY), ("message_gap", GAP)];
    let line = |(key, test)| Some(format!("{key} = {}   # microseconds\n", number(results.message(test)?)));
    Some(tests.into_iter().filter_map(line).collect::<String>()).filter(|lines| !lines.is_empty())
}

/// Whole microseconds where there are ten or more.
fn number(microseconds: f64) -> String {
    if microseconds >= 9.95 { format!("{microseconds:.0}") } else { format!("{microseconds:.1}") }
}

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
        let time = |name: &str| cell.timing(name).map(|timing| milliseconds(timing.median));
        let (stock, best, default) = (cell.timing(STOCK), cell.best_stock(), cell.timing(DEFAULT));
        let mark = if cell.cpu_bound { " *" } else { "" };
        let times = |other: Option<&Timing>| Some(format!("{:.2}", other?.median / default?.median));
        let mut row = vec![Some(cell.collective.to_string()), Some(size(cell)), time(STOCK)];
        row.extend(searched.then(|| best.map(best_stock)));
        row.extend(ours.iter().map(|name| time(name)));
        row.push(default.map(|timing| without_reasons(&timing.ran)));
        row.push(cell.limit.map(|limit| milliseconds(limit) + mark));
        row.push(times(stock));
        row.extend(searched.then(|| times(best)));
        // Of what Nagare leaves alone, the library's share is told.
        row.push(cell.limit.zip(default.or(stock)).map(|(limit, timing)| percent(limit / timing.median)));
        row.into_iter().map(|text| text.unwrap_or_else(|| "-".to_owned())).collect()
    };
    Grid { header, rows: results.cells.iter().map(row).collect() }
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

/// `, series of N calls` where times are means of such.
pub fn series(results: &Results) -> String {
    match results.job.series {
        0 | 1 => String::new(),
        calls => format!(", series of {calls} calls"),
    }
}

/// `, root R` where that is not rank 0.
pub fn root(results: &Results) -> String {
    match results.job.root {
        0 => String::new(),
        root => format!(", root {root}"),
    }
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

/// What the columns of [`timings`] are.
pub fn legend(results: &Results) -> String {
    let mut text =
        "Medians in ms of the time of the slowest rank; × stock and share of the limit are those of the default, or of \
         stock\n\
         where Nagare has none.\n"
            .to_owned();
    if results.cells.iter().any(|cell| cell.oracle.is_some()) {
        text += "Best stock: the fastest of the library's own choice and of all that it can be told.\n";
    }
    if results.cells.iter().any(|cell| cell.collective.varies()) {
        text += "Bytes per pair of Alltoallv, Gatherv and Scatterv, and per rank of Reduce_scatter, are means, from \
            which their own differ.\n";
    }
    if results.cells.iter().any(|cell| cell.cpu_bound) {
        text += "* more than this machine carried in the test of the network: its processors, not the links, are the \
            limit.\n";
    }
    for line in strays(results).into_iter().chain(guidelines(results)) {
        text += &format!("{line}\n");
    }
    text
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
    use nagare_bench::record::Message;

    #[test]
    fn three_digits() {
        let shown = [0.0000123, 0.00123, 0.0123, 0.0999, 0.123, 1.2345].map(milliseconds);
        assert_eq!(shown, ["0.012", "1.23", "12.3", "99.9", "123", "1234"]);
    }

    #[test]
    fn the_suggestion_has_the_form_of_a_fabric_file() {
        let message = |test: &str, microseconds| {
            let test = test.to_owned();
            Message { test, flows: Vec::new(), bytes: 8, microseconds, links: 0.0 }
        };
        let messages = vec![message(LATENCY, 75.2), message(GAP, 2.34)];
        let results = Results { messages, ..Results::default() };
        let expected = "message_latency = 75   # microseconds\nmessage_gap = 2.3   # microseconds\n";
        assert_eq!(suggestion(&results).as_deref(), Some(expected));
        assert_eq!(suggestion(&Results::default()), None);
    }

    #[test]
    fn what_was_forced_and_did_not_run_is_told() {
        let timing = |configuration: &str, ran: &str| Timing {
            configuration: configuration.into(),
            ran: ran.into(),
            iterations: 3,
            median: 1e-3,
            quartile1: 1e-3,
            quartile3: 1e-3,
            fastest: 1e-3,
        };
        let cell = |bytes: u64, ran: &str| Cell {
            timings: vec![
                timing(STOCK, "stock (prescribed)"),
                timing(DEFAULT, "stock (below threshold)"),
                timing("ring", "ring"),
                timing("halving_doubling", ran),
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
        let timing = |configuration: &str, seconds: f64| Timing {
            configuration: configuration.into(),
            ran: configuration.into(),
            iterations: 3,
            median: seconds,
            quartile1: seconds,
            quartile3: seconds,
            fastest: seconds,
        };
        let cell = |collective, stock, default| Cell {
            timings: vec![timing(STOCK, stock), timing(DEFAULT, default)],
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

    #[test]
    fn markdown_has_one_rule_for_every_column() {
        let grid = Grid { header: vec!["a".into(), "b".into()], rows: vec![vec!["1 *".into(), "2".into()]] };
        assert_eq!(grid.markdown(), "| a | b |\n| --- | --: |\n| 1 \\* | 2 |\n");
    }
}
