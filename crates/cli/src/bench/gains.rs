//! `nagare bench table --gains` and `--best`: many runs in one table, and what they come to.

use crate::bench_table::{Grid, is_stock_s, nearness};
use crate::output::bytes;
use nagare_bench::operation::Operation;
use nagare_bench::record::{Cell, DEFAULT, Results, STOCK, Timing};
use nagare_bench::statistics::median;

/// Below this share of stock's speed a series of calls, its trials included, is counted as slower.
const SLOWER: f64 = 0.93;

/// The same of single calls.
const SLOWER_CALL: f64 = 0.97;

/// Stock's median by the default's, or by that of the best of ours: a row for each collective and size, a column for
/// each run; `!` where the middle halves of the iterations do not overlap and stock is faster, `=` where stock ran on
/// both sides.
pub fn gains(runs: &[Results], of_best: bool) -> String {
    let mut cells: Vec<(Operation, u64)> =
        runs.iter().flat_map(|run| &run.cells).map(|cell| (cell.collective, cell.bytes)).collect();
    cells.sort_unstable();
    cells.dedup();
    let header = ["collective", "bytes"].into_iter().chain(runs.iter().map(|run| run.name.as_str()));
    let header: Vec<String> = header.map(str::to_owned).collect();
    let row = |&(collective, size): &(Operation, u64)| {
        let shown = |run: &Results| run.cell(collective, size).and_then(|cell| gain(cell, of_best));
        let gains = runs.iter().map(|run| shown(run).unwrap_or_else(|| "-".to_owned()));
        [collective.to_string(), bytes(size)].into_iter().chain(gains).collect()
    };
    let rows = cells.iter().map(row).collect();
    let of = if of_best { "the fastest of Nagare's algorithms" } else { "default" };
    let legend = format!(
        "\nStock by {of}; ! slower, and the middle halves of the iterations do not overlap{}.\n\n",
        if of_best { "" } else { "; = stock ran on both sides" }
    );
    let near = runs.iter().filter_map(|run| Some(format!("{}: {}\n", run.name, nearness(run)?)));
    let told = if of_best { String::new() } else { summary(runs) };
    Grid::new(header, rows).markdown() + &legend + &near.collect::<String>() + &told
}

fn gain(cell: &Cell, of_best: bool) -> Option<String> {
    let stock = cell.timing(STOCK)?;
    let (ours, name) = match of_best {
        true => best(cell).map(|best| (best, format!(" {}", best.configuration)))?,
        false => (cell.timing(DEFAULT)?, if is_stock_s(cell) { " =".to_owned() } else { String::new() }),
    };
    let mark = if ours.quartile1 > stock.quartile3 { " !" } else { "" };
    Some(format!("{:.2}{name}{mark}", stock.median / ours.median))
}

/// The fastest of the algorithms that were forced and ran.
fn best(cell: &Cell) -> Option<&Timing> {
    let is_ours = |timing: &&Timing| timing.configuration == timing.ran && timing.configuration != STOCK;
    cell.timings.iter().filter(is_ours).min_by(|a, b| a.median.total_cmp(&b.median))
}

/// Of all runs, in how many cells ours ran and what those gain; what the others show is how sure the figures are.
fn summary(runs: &[Results]) -> String {
    // With the most that the gain may be by the intervals of both medians, where these are known.
    let of = |cell: &Cell| {
        let (stock, own) = (cell.timing(STOCK)?, cell.timing(DEFAULT)?);
        let most = stock.interval.zip(own.interval).map(|(stock, own)| stock[1] / own[0]);
        Some((is_stock_s(cell), stock.median / own.median, most))
    };
    let cells: Vec<(bool, f64, Option<f64>)> = runs.iter().flat_map(|run| &run.cells).filter_map(of).collect();
    let line = |of_stock: bool, what: &str| {
        let these = || cells.iter().filter(|cell| cell.0 == of_stock);
        let mut gains: Vec<f64> = these().map(|cell| cell.1).collect();
        gains.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (gains.first(), gains.last()) else {
            return format!("{what} in none of {} cells.\n", cells.len());
        };
        let below = |least: f64| gains.iter().filter(|gain| **gain < least).count();
        let known: Vec<f64> = these().filter_map(|cell| cell.2).collect();
        let surely = known.iter().filter(|most| **most < SLOWER_CALL).count();
        let sure = match known.len() {
            0 => String::new(),
            count => format!("; {surely} of the {count} with 95 % intervals are, even at their better ends"),
        };
        format!(
            "{what} in {} of {} cells: median {:.2}, {least:.2} to {most:.2}, {} below {SLOWER}, {} below \
             {SLOWER_CALL}{sure}.\n",
            gains.len(),
            cells.len(),
            median(&gains),
            below(SLOWER),
            below(SLOWER_CALL)
        )
    };
    line(false, "Ours ran") + &line(true, "Stock ran on both sides")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(collective: Operation, bytes: u64, stock: f64, ran: &str, default: f64) -> Cell {
        let timing = |configuration: &str, ran: &str, median: f64| Timing {
            configuration: configuration.into(),
            ran: ran.into(),
            iterations: 3,
            median,
            quartile1: median,
            quartile3: median,
            interval: Some([median; 2]),
            fastest: median,
        };
        let timings = vec![timing(STOCK, STOCK, stock), timing(DEFAULT, ran, default)];
        Cell { timings, ..Cell::new(collective, bytes, bytes) }
    }

    #[test]
    fn runs_stand_side_by_side_and_what_they_come_to_below() {
        let run = |name: &str, cells| Results { name: name.into(), cells, ..Results::default() };
        let runs = [
            run(
                "a",
                vec![
                    cell(Operation::Bcast, 4096, 1.0, "stock (below threshold)", 1.25),
                    cell(Operation::Bcast, 65536, 3.0, "ring + stock (being measured)", 1.5),
                ],
            ),
            run("b", vec![cell(Operation::Bcast, 65536, 0.9, "chain", 1.0)]),
        ];
        let text = gains(&runs, false);
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines[0], "| collective | bytes | a | b |");
        assert_eq!(lines[2..4], ["| bcast | 4K | 0.80 = ! | - |", "| bcast | 64K | 2.00 | 0.90 ! |"]);
        let told = &lines[lines.len() - 2..];
        let sure = |count: usize| format!("; 1 of the {count} with 95 % intervals are, even at their better ends");
        let below = "1 below 0.93, 1 below 0.97";
        assert_eq!(told[0], format!("Ours ran in 2 of 3 cells: median 1.45, 0.90 to 2.00, {below}{}.", sure(2)));
        let both = "Stock ran on both sides in 1 of 3 cells: median 0.80, 0.80 to 0.80";
        assert_eq!(told[1], format!("{both}, {below}{}.", sure(1)));
        // What is wide may be chance, and of what has too few calls nobody knows how wide it is.
        for (interval, sure) in
            [(Some([0.92, 1.0]), "; 0 of the 1 with 95 % intervals are, even at their better ends"), (None, "")]
        {
            let mut near = runs[1].clone();
            near.cells[0].timings[0] = Timing { median: 0.96, interval, ..near.cells[0].timings[0].clone() };
            let text = gains(&[near], false);
            assert!(text.contains(&format!("0 below 0.93, 1 below 0.97{sure}.\n")), "{text}");
        }
        assert!(gains(&runs[1..], false).ends_with("Stock ran on both sides in none of 1 cells.\n"));
    }
}
