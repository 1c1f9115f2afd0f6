//! The tables of `nagare bench`.

use crate::output::{bytes, table};
use comfy_table::CellAlignment;
use nagare_bench::record::{Cell, DEFAULT, Results, STOCK, Timing};
use nagare_plan::algorithm::ALGORITHMS;
use nagare_plan::collective::Collective;

/// The network itself, measured and as its file says.
pub fn goodput_table(results: &Results) -> String {
    let mut table = table(["network", "flows", "Mbit/s in all", "by the rates", "share"]);
    for goodput in &results.goodput {
        let bits = goodput.bytes as f64 * 8.0 * goodput.flows.len() as f64 / 1e6;
        let limit = goodput.limit;
        table.add_row([
            match goodput.test.as_str() {
                "pair" => "one host to one half way across".to_owned(),
                "across" => "every host to the one half way on".to_owned(),
                "next" => "every host to the next".to_owned(),
                other => other.to_owned(),
            },
            goodput.flows.len().to_string(),
            format!("{:.1}", bits / goodput.seconds),
            limit.map_or("-".to_owned(), |limit| format!("{:.1}", bits / limit)),
            limit.map_or("-".to_owned(), |limit| percent(limit / goodput.seconds)),
        ]);
    }
    right(&mut table, 1);
    format!("{table}\n")
}

/// Medians in milliseconds, one row per collective and size.
pub fn timing_table(results: &Results) -> String {
    let measured = |name: &str| results.cells.iter().any(|cell| cell.timing(name).is_some());
    let forced = ALGORITHMS.iter().map(|spec| spec.name).filter(|name| measured(name));
    let configurations: Vec<&str> =
        [STOCK].into_iter().chain(forced).chain([DEFAULT]).filter(|n| measured(n)).collect();
    let mut header = vec!["collective", "bytes"];
    header.extend(&configurations);
    header.extend(["which ran", "limit", "× stock", "of limit"]);
    let mut table = table(header);
    for cell in &results.cells {
        let mut row = vec![cell.collective.to_string(), size(cell)];
        let time = |name: &&str| cell.timing(name).map_or("-".to_owned(), |timing| milliseconds(timing.median));
        row.extend(configurations.iter().map(time));
        let ours = cell.timing(DEFAULT);
        // Reasons why the library's own ran are in the file.
        let ran = |timing: &Timing| timing.ran.split(" (").next().unwrap_or_default().to_owned();
        row.push(ours.map_or("-".to_owned(), ran));
        let mark = if cell.cpu_bound { " *" } else { "" };
        row.push(cell.limit.map_or("-".to_owned(), |limit| milliseconds(limit) + mark));
        let stock = cell.timing(STOCK).map(|timing| timing.median);
        let ratio = stock.zip(ours).map(|(stock, ours)| format!("{:.2}", stock / ours.median));
        row.push(ratio.unwrap_or_else(|| "-".to_owned()));
        let share = cell.limit.zip(ours).map(|(limit, ours)| percent(limit / ours.median));
        row.push(share.unwrap_or_else(|| "-".to_owned()));
        table.add_row(row);
    }
    right(&mut table, 1);
    let note = if results.cells.iter().any(|cell| cell.cpu_bound) {
        "* more than this machine carried in the test of the network: its processors, not the links, are the limit\n"
    } else {
        ""
    };
    format!(
        "medians in ms, time of the slowest rank; × stock and share of the limit are those of the default\n{table}\n{note}"
    )
}

/// Numbers end at the same place, from column `first` on.
fn right(table: &mut comfy_table::Table, first: usize) {
    for column in table.column_iter_mut().skip(first) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// Bytes of the vector, for Alltoall with those per pair.
pub fn size(cell: &Cell) -> String {
    match cell.collective {
        Collective::Alltoall => format!("{} ({} per pair)", bytes(cell.bytes), bytes(cell.block)),
        _ => bytes(cell.bytes),
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
    use super::milliseconds;

    #[test]
    fn three_digits() {
        let shown = [0.0000123, 0.00123, 0.0123, 0.0999, 0.123, 1.2345].map(milliseconds);
        assert_eq!(shown, ["0.012", "1.23", "12.3", "99.9", "123", "1234"]);
    }
}
