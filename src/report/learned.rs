//! The rows of the report about measured calls (docs/decisions/0017), on communicators that rank 0 of the world is in.

use super::table::table;
use nagare_plan::collective::Collective;
use nagare_plan::text::{WIDTH, bytes, wrapped};
use parking_lot::Mutex;
use serde::Serialize;

/// What has been measured in the calls of one collective and size, on communicators with so many ranks and nodes.
#[derive(Clone, Debug, Serialize)]
pub struct Learned {
    /// Name of the collective.
    pub collective: &'static str,
    /// From so many bytes to less than twice as many, counted as in the rows of the report; 0: of all sizes.
    pub min_bytes: u64,
    /// Ranks and nodes of the communicator.
    pub ranks: u32,
    /// Its nodes.
    pub nodes: u32,
    /// How many communicators these are.
    pub communicators: u64,
    /// What runs since: an algorithm, or `stock`; none while nothing is settled. Of several communicators that of the
    /// one with the most calls, as what was measured.
    pub runs: Option<&'static str>,
    /// An estimate of the seconds saved against running all calls on the MPI library, by what each takes; less than
    /// 0 where measuring has cost more than it has gained.
    pub saved_seconds: f64,
    /// The candidates, the MPI library first.
    pub ways: Vec<LearnedWay>,
    /// Calls of the communicator with the most.
    #[serde(skip)]
    pub most_calls: u64,
    /// Whether the ranks of all these communicators are in the order of the world's.
    #[serde(skip)]
    pub in_order: bool,
}

/// One candidate.
#[derive(Clone, Debug, Serialize)]
pub struct LearnedWay {
    /// Name of the algorithm, `stock` for the MPI library.
    pub algorithm: &'static str,
    /// Calls that ran on it.
    pub calls: u64,
    /// How many of them were measured since measuring last began anew, on the communicator with the most calls.
    pub samples: u32,
    /// Mean of the last sixteen of them without the worst, on the slowest rank, microseconds; none if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typical_us: Option<f64>,
    /// The longest of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_us: Option<f64>,
}

impl Learned {
    /// Whether these are communicators of one kind, and calls of one collective and size.
    fn is_like(&self, other: &Self) -> bool {
        let key = |l: &Self| (l.collective, l.min_bytes, l.ranks, l.nodes, l.in_order);
        key(self) == key(other)
    }

    fn calls(&self) -> u64 {
        self.ways.iter().map(|way| way.calls).sum()
    }

    /// Its row. The size is first, so that programs that look for a collective's lines in the text find those of the
    /// table of calls.
    fn line(&self) -> [String; 7] {
        let sizes = || format!("{}-{}", bytes(self.min_bytes), bytes(2 * self.min_bytes));
        [
            if self.min_bytes > 0 { sizes() } else { "any".to_owned() },
            self.collective.to_owned(),
            self.ranks.to_string(),
            self.nodes.to_string(),
            self.calls().to_string(),
            self.runs.unwrap_or("not settled").to_owned(),
            format!("{:.6}", self.saved_seconds),
        ]
    }

    /// What was measured, in words.
    fn measured(&self) -> String {
        let ways = self.ways.iter();
        let measured =
            ways.filter_map(|way| Some(format!("{} {:.0} ({})", way.algorithm, way.typical_us?, way.samples)));
        measured.collect::<Vec<_>>().join(", ")
    }
}

/// What was learnt on communicators that are freed.
#[derive(Default)]
pub struct Kept(Mutex<Vec<Learned>>);

impl Kept {
    /// Keeps what one more communicator has taught.
    pub fn keep(&self, learned: impl Iterator<Item = Learned>) {
        let mut kept = self.0.lock();
        learned.for_each(|learned| add(&mut kept, learned));
    }

    /// With what the communicators that are left have taught, in the order of collectives, sizes and ranks.
    pub fn with(&self, learned: impl Iterator<Item = Learned>) -> Vec<Learned> {
        let mut all = self.0.lock().clone();
        learned.for_each(|learned| add(&mut all, learned));
        let order = |name: &str| Collective::ALL.iter().position(|collective| collective.name() == name);
        all.sort_by_key(|l| (order(l.collective), l.min_bytes, l.ranks, l.nodes));
        all
    }
}

fn add(all: &mut Vec<Learned>, mut learned: Learned) {
    let Some(same) = all.iter_mut().find(|same| same.is_like(&learned)) else { return all.push(learned) };
    let (communicators, saved) =
        (same.communicators + learned.communicators, same.saved_seconds + learned.saved_seconds);
    if learned.most_calls > same.most_calls {
        std::mem::swap(same, &mut learned);
    }
    for other in learned.ways {
        match same.ways.iter_mut().find(|way| way.algorithm == other.algorithm) {
            Some(way) => way.calls += other.calls,
            None => same.ways.push(LearnedWay { samples: 0, typical_us: None, longest_us: None, ..other }),
        }
    }
    (same.communicators, same.saved_seconds) = (communicators, saved);
}

/// As a table with a line that says what it is, below each row what was measured; empty if nothing was learnt.
pub fn text(learned: &[Learned]) -> String {
    if learned.is_empty() {
        return String::new();
    }
    let lines: Vec<[String; 7]> = learned.iter().map(Learned::line).collect();
    let header = ["bytes", "collective", "ranks", "nodes", "calls", "now runs on", "saved s"];
    let table = table(header, &lines, &[0, 2, 3, 4, 6]);
    let mut text =
        "\nmeasured in calls on communicators of the rank that writes this, us (times); saved: an estimate\n"
            .to_owned();
    for (index, line) in table.lines().enumerate() {
        text = text + line + "\n";
        if let Some(learned) = index.checked_sub(1).and_then(|index| learned.get(index)) {
            text += &wrapped(&format!("  {}", learned.measured()), WIDTH, 0);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(algorithm: &'static str, calls: u64, typical_us: Option<f64>) -> LearnedWay {
        LearnedWay { algorithm, calls, samples: 2, typical_us, longest_us: typical_us }
    }

    fn learned(collective: &'static str, ways: Vec<LearnedWay>, saved_seconds: f64) -> Learned {
        let runs = ways.last().map(|way| way.algorithm);
        let most_calls = ways.iter().map(|way| way.calls).sum();
        let (min_bytes, ranks, nodes, communicators) = (1024, 4, 2, 1);
        Learned {
            collective,
            min_bytes,
            ranks,
            nodes,
            communicators,
            runs,
            saved_seconds,
            ways,
            most_calls,
            in_order: true,
        }
    }

    #[test]
    fn communicators_that_are_alike_are_one_row() {
        let kept = Kept::default();
        let few = vec![way("stock", 3, Some(9.0)), way("chain", 2, Some(8.0))];
        let many = vec![way("stock", 1, Some(90.0)), way("two_tree", 5, Some(80.0))];
        kept.keep([learned("reduce", few.clone(), 0.5), learned("bcast", few.clone(), -0.5)].into_iter());
        // Fewer calls than those before have together, and still more than each of them.
        kept.keep([learned("reduce", few, 0.5)].into_iter());
        let all = kept.with([learned("reduce", many, 2.0)].into_iter());
        assert_eq!(
            all.iter().map(|l| (l.collective, l.communicators)).collect::<Vec<_>>(),
            [("reduce", 3), ("bcast", 1)]
        );
        assert_eq!((all[0].saved_seconds, all[0].runs), (3.0, Some("two_tree")));
        let ways: Vec<_> = all[0].ways.iter().map(|way| (way.algorithm, way.calls, way.typical_us)).collect();
        assert_eq!(ways, [("stock", 7, Some(90.0)), ("two_tree", 5, Some(80.0)), ("chain", 4, None)]);
    }

    #[test]
    fn a_table_says_what_was_measured_and_what_runs() {
        assert_eq!(text(&[]), "");
        let mut long = learned("allgather", vec![way("stock", 2, Some(90.4)), way("chain", 7, None)], 1.25);
        long.min_bytes = 1 << 20;
        let names = ["halving_doubling", "two_level_ring", "contention_free", "grouped_two_tree"];
        long.ways.extend(names.map(|name| way(name, 3, Some(12345.6))));
        let text = text(&[learned("bcast", vec![way("stock", 2, Some(90.4))], 0.5), long]);
        let expected = [
            "bytes  collective  ranks  nodes  calls  now runs on   saved s",
            "1K-2K  bcast           4      2      2  stock        0.500000",
            "  stock 90 (2)",
            "1M-2M  allgather       4      2     21  chain        1.250000",
            "  stock 90 (2), halving_doubling 12346 (2), two_level_ring 12346 (2),",
            "  contention_free 12346 (2), grouped_two_tree 12346 (2)",
        ];
        assert_eq!(text.lines().skip(2).map(str::trim_end).collect::<Vec<_>>(), expected);
    }
}
