//! The report as text: header lines and tables, of as few columns as they can have.

use super::by_communicator;
use super::content::Report;
use super::learned;
use super::rows::Ranks;
use super::table::table;
use nagare_plan::text::{WIDTH, bytes, wrapped};
use nagare_plan::{counted, quoted};
use std::fmt::Write as _;

/// Most hosts that are named.
const HOSTS: usize = 16;

/// What is behind the last line of a table.
const MEANING: &str = "calls, bytes, s: of the rank with the most, in each line by itself, also where it says all\n\
                       s least: of the rank with the least; what the others have more they mostly waited\n\
                       nonblocking collectives: the time of their start; persistent ones are not counted\n";

impl Report {
    /// As a table with header lines.
    pub fn text(&self) -> String {
        let mut text = format!("Nagare {} · {}\n", self.nagare, self.mpi);
        text += &wrapped(&self.place(), WIDTH, 2);
        let nodes = self.nodes.map_or_else(|| "unknown nodes".to_owned(), |nodes| counted(nodes, "node"));
        let levels = if self.levels.is_empty() { "none".to_owned() } else { self.levels.join(" > ") };
        // Writing to a String cannot fail.
        let ranks = counted(self.ranks, "rank");
        let _ = writeln!(text, "{ranks}, {nodes}, levels: {levels} (from {})", self.topology_from);
        for profile in &self.profiles {
            let _ = writeln!(text, "profile: {}", quoted(profile));
        }
        if let Some(test) = &self.self_test {
            let _ = writeln!(text, "network, tested in {:.1} ms: {}", test.seconds * 1e3, test.found.found());
        }
        for problem in &self.problems {
            let _ = writeln!(text, "problem: {problem}");
        }
        let Some(all) = &self.all else { return text + "no collective was called\n" };
        if let Some((seconds, share)) = self.seconds.zip(self.share) {
            let (percent, least, most) = (100.0 * share, all.min_seconds, all.max_seconds);
            let _ = writeln!(
                text,
                "{seconds:.3} s, {percent:.0} % of it in collectives: {least:.3} to {most:.3} s by rank"
            );
        }
        text + &table(["collective", "ran", "size", "calls", "bytes", "s", "s least"], &self.lines(), &[2, 3, 4, 5, 6])
            + MEANING
            + &by_communicator::text(&self.communicators)
            + &learned::text(&self.learned)
    }

    /// What runs where.
    fn place(&self) -> String {
        let job = self.job.as_ref().map_or_else(String::new, |job| format!(", job {}", quoted(job)));
        let named: Vec<String> = self.hosts.iter().take(HOSTS).map(|host| quoted(host)).collect();
        let on = match self.host_count {
            1 => String::new(),
            several => format!("{several} hosts: "),
        };
        let more = match self.host_count - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{}{job}, on {on}{}{more}", quoted(&self.program), named.join(" "))
    }

    /// The lines of the table: by collective, those of several outcomes followed by one of all.
    fn lines(&self) -> Vec<[String; 7]> {
        let mut lines = Vec::new();
        for all in &self.collectives {
            let rows: Vec<_> = self.rows.iter().filter(|row| row.collective == all.collective).collect();
            for row in &rows {
                let range = match (bytes(row.min_bytes), bytes(row.max_bytes)) {
                    (least, most) if least == most => least,
                    (least, most) => format!("{least}-{most}"),
                };
                let ran = row.reason.map_or_else(|| row.algorithm.to_owned(), |reason| format!("stock: {reason}"));
                lines.push(line(row.collective, ran, [range, bytes(row.rank_bytes)], &row.ranks));
            }
            if rows.len() > 1 {
                let counted = [String::new(), bytes(all.rank_bytes)];
                lines.push(line(all.collective, "all".to_owned(), counted, &all.ranks));
            }
        }
        let others = self.others.iter();
        lines.extend(others.map(|o| line(o.collective, "stock: passed on".to_owned(), Default::default(), &o.ranks)));
        lines
    }
}

fn line(collective: &str, ran: String, [size, bytes]: [String; 2], ranks: &Ranks) -> [String; 7] {
    let [longest, shortest] = [ranks.max_seconds, ranks.min_seconds].map(|seconds| format!("{seconds:.6}"));
    [collective.to_owned(), ran, size, ranks.calls.to_string(), bytes, longest, shortest]
}
