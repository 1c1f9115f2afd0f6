//! A report in words, and times in words.

use super::file::{Calls, Learned, Report, Row, Way};
use crate::output::bytes;
use nagare_plan::choice::Reason;
use nagare_plan::{counted, quoted};
use std::fmt::Write;

/// The MPI library's own.
const STOCK: &str = "stock";

/// The report in words.
pub fn explained(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    macro_rules! line {
        ($($format:tt)*) => { { let _ = writeln!(text, $($format)*); } };
    }
    let nodes = report.nodes.map_or_else(String::new, |nodes| format!(" on {}", counted(nodes, "node")));
    let levels: Vec<String> = report.levels.iter().map(|level| quoted(level)).collect();
    let ranks = counted(report.ranks, "rank");
    line!("Nagare {}, {}, {ranks}{nodes}", quoted(&report.nagare), quoted(&report.mpi));
    if !report.program.is_empty() {
        let job = report.job.as_ref().map_or_else(String::new, |job| format!(", job {}", quoted(job)));
        line!("{}{job}, {}", quoted(&report.program), report.place());
    }
    if !levels.is_empty() {
        line!("levels {} (from {})", levels.join(" > "), quoted(&report.topology_from));
    }
    report.problems.iter().for_each(|problem| line!("problem: {}", quoted(problem)));
    report.profiles.iter().for_each(|profile| line!("profile {}", quoted(profile)));
    report.self_test.iter().for_each(|test| line!("{}", test.explained()));
    if report.seconds > 0.0 {
        let by_rank = report.all.map_or_else(String::new, |all| {
            format!(": {} to {} by rank", seconds(all.min_seconds), seconds(all.max_seconds))
        });
        let (run, percent) = (seconds(report.seconds), 100.0 * report.share);
        line!("{run} from MPI_Init to MPI_Finalize, {percent:.0} % of it in collectives{by_rank}");
    }
    if report.rows.is_empty() {
        line!("\nNo collective of the kinds that Nagare handles was called.");
        text += &passed_on(&report.others);
        return text;
    }
    line!(
        "\nCalls are of the rank that made most, times of the rank that was longest in them, in each line by itself."
    );
    for Calls { collective, calls, max_seconds, .. } in report.handled() {
        line!("\n{}, {}: {}", quoted(&collective), counted(calls, "call"), seconds(max_seconds));
        let rows = report.rows.iter().filter(|row| row.collective == collective);
        rows.for_each(|row| line!("  {}", row.explained()));
    }
    text += &passed_on(&report.others);
    let is_named = |name: &Option<String>| name.as_ref().is_some_and(|name| !name.starts_with("MPI_COMM_"));
    if report.communicators.iter().any(|part| is_named(&part.name)) {
        line!("\nThe program names communicators: --by communicator tells the calls on them apart.");
    }
    if !report.learned.is_empty() {
        line!("\nMeasured in the program's own calls:");
        report.learned.iter().for_each(|learned| line!("  {}", learned.explained()));
        let saved = report.learned.iter().map(|learned| learned.saved_seconds).sum();
        line!("All of it {}.", saving(saved));
    }
    text
}

/// What Nagare does not carry out, the longest first.
fn passed_on(others: &[Calls]) -> String {
    if others.is_empty() {
        return String::new();
    }
    let mut text = "\nCollectives that Nagare leaves to the MPI library:\n".to_owned();
    let mut others: Vec<&Calls> = others.iter().collect();
    others.sort_by(|a, b| b.max_seconds.total_cmp(&a.max_seconds));
    for Calls { collective, calls, max_seconds, .. } in others {
        let _ = writeln!(text, "  {}, {}: {}", quoted(collective), counted(*calls, "call"), seconds(*max_seconds));
    }
    text
}

impl Row {
    fn explained(&self) -> String {
        let size = size_range(self.min_bytes, self.max_bytes);
        let on = match &self.reason {
            None => format!("on {}", quoted(&self.algorithm)),
            Some(reason) => {
                format!("on the MPI library's own ({}{})", quoted(reason), meaning(reason))
            }
        };
        let waited = match self.max_seconds - self.min_seconds {
            // Less is noise.
            waited if self.min_seconds > 0.0 && waited > 0.2 * self.max_seconds => {
                format!(", of which a rank waited {} for late ones", seconds(waited))
            }
            _ => String::new(),
        };
        format!("{} of {size} bytes {on}: {}{waited}", counted(self.calls, "call"), seconds(self.max_seconds))
    }
}

impl Learned {
    /// Its sizes.
    pub fn range(&self) -> String {
        match self.min_bytes {
            0 => "any size".to_owned(),
            least => format!("{} bytes", size_range(least, least.saturating_mul(2))),
        }
    }

    fn explained(&self) -> String {
        let communicators = match self.communicators {
            1 => String::new(),
            several => format!(", {several} communicators"),
        };
        let runs = match ran_since(self) {
            runs if self.runs.is_some() => format!("since then {runs}"),
            runs => runs,
        };
        let measured: Vec<String> = self.ways.iter().filter_map(Way::explained).collect();
        format!(
            "{} of {} ({} on {}{communicators}): {runs}, {}\n      {}",
            quoted(&self.collective),
            self.range(),
            counted(self.ranks, "rank"),
            counted(self.nodes, "node"),
            saving(self.saved_seconds),
            measured.join("; ")
        )
    }
}

impl Way {
    /// What it took, and how sure that is; `None` if it was not measured.
    fn explained(&self) -> Option<String> {
        let (typical, longest) = (self.typical_us?, self.longest_us?);
        let (typical, longest) = (seconds(typical * 1e-6), seconds(longest * 1e-6));
        let samples = if self.samples == 1 { "call" } else { "calls" };
        Some(format!("{} {typical} (at most {longest}, {} {samples})", quoted(&self.algorithm), self.samples))
    }
}

/// What runs since it was measured.
pub fn ran_since(learned: &Learned) -> String {
    match learned.runs.as_deref() {
        None => "nothing is settled yet".to_owned(),
        Some(STOCK) => "the MPI library's own".to_owned(),
        Some(algorithm) => quoted(algorithm),
    }
}

/// What a reason means, after a colon; nothing if it is one of another version.
pub fn meaning(reason: &str) -> String {
    let known = Reason::ALL.into_iter().find(|known| known.name() == reason);
    known.map_or_else(String::new, |known| format!(": {}", known.meaning()))
}

/// `1K to 64K`.
pub fn size_range(least: u64, most: u64) -> String {
    match (bytes(least), bytes(most)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}"),
    }
}

/// What has been saved, or lost.
pub fn saving(seconds_saved: f64) -> String {
    let amount = seconds(seconds_saved.abs());
    if seconds_saved < 0.0 {
        format!("cost about {amount} more than it saved")
    } else {
        format!("saved about {amount}")
    }
}

/// A time with three digits.
pub fn seconds(time: f64) -> String {
    let (value, unit) = match time {
        time if time >= 1.0 => (time, "s"),
        time if time >= 1e-3 => (time * 1e3, "ms"),
        time => (time * 1e6, "us"),
    };
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_and_what_was_saved_is_told() {
        let report = serde_json::json!({
            "schema": 1, "nagare": "0.1.0", "mpi": "Open MPI v4.1.4", "ranks": 16, "nodes": 8,
            "levels": ["leaf", "node"], "topology_from": "shipped:tree8",
            "program": "ft.D", "job": "17", "host": "node1", "seconds": 3.25, "share": 0.251,
            "hosts": ["node1", "node2"], "host_count": 8, "all": {"max_seconds": 0.84, "min_seconds": 0.8},
            "collectives": [{"collective": "bcast", "calls": 90, "max_seconds": 0.81}],
            "rows": [
                {"collective": "bcast", "algorithm": "chain", "min_bytes": 65536, "max_bytes": 65536, "calls": 90,
                 "bytes": 1, "total_seconds": 9.0, "max_seconds": 0.81, "min_seconds": 0.41},
                {"collective": "bcast", "algorithm": "stock", "reason": "below threshold", "min_bytes": 8,
                 "max_bytes": 1024, "calls": 1, "bytes": 1, "total_seconds": 0.1, "max_seconds": 0.0005},
            ],
            "others": [
                {"collective": "ibcast", "calls": 1, "total_calls": 16, "max_seconds": 1e-5, "min_seconds": 1e-6},
                {"collective": "barrier", "calls": 9, "total_calls": 144, "max_seconds": 0.04, "min_seconds": 1e-6},
            ],
            "self_test": {"seconds": 0.0123, "latency_us": 87.66, "gap_us": 27.8, "host_goodput": 38.3},
            "communicators": [{"name": "rows", "communicator_ranks": 4, "collective": "bcast", "nagare": true,
                "calls": 90, "max_seconds": 0.81}],
            "learned": [
                {"collective": "bcast", "min_bytes": 65536, "ranks": 16, "nodes": 8, "communicators": 1,
                 "runs": "chain", "saved_seconds": 4.125, "ways": [
                    {"algorithm": "stock", "calls": 4, "samples": 4, "typical_us": 54000.0, "longest_us": 61000.0},
                    {"algorithm": "chain", "calls": 86, "samples": 3, "typical_us": 8100.0, "longest_us": 9000.0},
                    {"algorithm": "ring", "calls": 0, "samples": 0}]},
            ],
        });
        let report: Report = serde_json::from_value(report).expect("a report");
        let expected = "\
Nagare 0.1.0, Open MPI v4.1.4, 16 ranks on 8 nodes
ft.D, job 17, on 8 hosts: node1 node2 and 6 more
levels leaf > node (from shipped:tree8)
network, tested by the job in 12.3 ms: latency 87.7 us, gap 27.8 us, data of a host 38.3 Mbit/s
3.25 s from MPI_Init to MPI_Finalize, 25 % of it in collectives: 800 ms to 840 ms by rank

Calls are of the rank that made most, times of the rank that was longest in them, in each line by itself.

bcast, 90 calls: 810 ms
  90 calls of 64K bytes on chain: 810 ms, of which a rank waited 400 ms for late ones
  1 call of 8 to 1K bytes on the MPI library's own (below threshold: too little data to gain anything): 500 us

Collectives that Nagare leaves to the MPI library:
  barrier, 9 calls: 40.0 ms
  ibcast, 1 call: 10.0 us

The program names communicators: --by communicator tells the calls on them apart.

Measured in the program's own calls:
  bcast of 64K to 128K bytes (16 ranks on 8 nodes): since then chain, saved about 4.12 s
      stock 54.0 ms (at most 61.0 ms, 4 calls); chain 8.10 ms (at most 9.00 ms, 3 calls)
All of it saved about 4.12 s.
";
        assert_eq!(explained(&report), expected);
    }

    #[test]
    fn times_have_three_digits() {
        assert_eq!([12.34567, 0.0123456, 0.000_000_9, 123.4].map(seconds), ["12.3 s", "12.3 ms", "0.90 us", "123 s"]);
        assert_eq!(saving(-0.5), "cost about 500 ms more than it saved");
    }
}
