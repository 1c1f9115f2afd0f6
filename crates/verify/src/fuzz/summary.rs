//! What ran how often.

use super::Blame;
use super::case::{Action, Case};
use super::run::Ended;
use super::settings::Settings;
use nagare_harness::Report;
use nagare_plan::algorithm::ALGORITHMS;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Formatter, Result};

/// Counts of the cases on one MPI.
#[derive(Debug, Default)]
pub struct Summary {
    right: u64,
    skipped: u64,
    wrong: u64,
    /// Of the wrong ones, those that are wrong without Nagare too.
    of_library: u64,
    ranks: BTreeSet<u32>,
    threads: u64,
    /// Statements of the cases: collective calls by name, other statements.
    calls: BTreeMap<&'static str, u64>,
    nonblocking: u64,
    in_place: u64,
    /// In delete functions of attributes.
    last: u64,
    series: u64,
    stalls: u64,
    messages: u64,
    communicators: u64,
    kinds: BTreeMap<&'static str, u64>,
    types: BTreeMap<&'static str, u64>,
    operations: BTreeMap<&'static str, u64>,
    /// What the reports say: calls by collective and algorithm.
    ran: BTreeMap<(String, String), u64>,
}

impl Summary {
    /// Adds a batch.
    pub fn add(&mut self, settings: &Settings, cases: &[Case], ended: &Ended) {
        self.right += ended.right;
        self.skipped += ended.skipped;
        self.wrong += ended.wrong.len() as u64;
        self.ranks.insert(settings.ranks);
        for case in cases {
            self.threads += u64::from(case.threads > 1);
            case.statements.iter().for_each(|statement| self.count(&statement.action));
        }
        for (collective, algorithm, calls) in ended.reports.iter().flat_map(Report::counts) {
            *self.ran.entry((collective, algorithm)).or_default() += calls;
        }
    }

    fn count(&mut self, action: &Action) {
        match action {
            Action::Comm { .. } => self.communicators += 1,
            Action::Message(_) => self.messages += 1,
            Action::Call(call) => {
                *self.calls.entry(call.what.name()).or_default() += 1;
                *self.kinds.entry(call.kind.name()).or_default() += 1;
                call.send.iter().for_each(|t| *self.types.entry(t.name).or_default() += 1);
                self.nonblocking += u64::from(call.start);
                self.in_place += u64::from(call.in_place);
                self.last += u64::from(call.last);
                self.series += u64::from(call.series.is_some());
                if call.what.reduces() {
                    *self.operations.entry(call.op).or_default() += 1;
                }
            }
            Action::Stall { .. } => self.stalls += 1,
            Action::Free { .. } | Action::Finish(_) => {}
        }
    }

    /// Notes whose fault one of the wrong cases is.
    pub fn blame(&mut self, blame: Blame) {
        self.of_library += u64::from(blame == Blame::Library);
    }

    /// Cases that were run.
    pub fn cases(&self) -> u64 {
        self.right + self.wrong
    }

    /// Collective calls of the cases.
    pub fn calls(&self) -> u64 {
        self.calls.values().sum()
    }

    /// Numbers of ranks and what else the cases had, in a few words.
    pub fn extent(&self) -> String {
        let ranks = match (self.ranks.first(), self.ranks.last()) {
            (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
            (first, _) => first.map_or("no".to_owned(), u32::to_string),
        };
        format!(
            "{ranks} ranks, up to 3 threads, {} communicators, {} messages, all algorithms",
            self.communicators, self.messages
        )
    }

    /// What came out.
    pub fn result(&self) -> String {
        match (self.wrong, self.of_library) {
            (0, _) => "every result as computed without collectives".to_owned(),
            (wrong, library) => format!("{wrong} wrong, {library} of them without Nagare too"),
        }
    }

    /// Algorithms that never ran, with their collectives.
    fn missing(&self) -> Vec<String> {
        let pairs = ALGORITHMS.iter().flat_map(|a| a.collectives.iter().map(move |c| (c.name(), a.name)));
        let ran = |(collective, algorithm): &(&str, &str)| {
            self.ran.keys().any(|(c, a)| (c.as_str(), a.as_str()) == (*collective, *algorithm))
        };
        pairs.filter(|pair| !ran(pair)).map(|(collective, algorithm)| format!("{collective} by {algorithm}")).collect()
    }

    /// Whether nothing at all was wrong.
    pub fn is_all_right(&self) -> bool {
        self.wrong == 0
    }

    /// Whether nothing was wrong with Nagare only and, of a full run, every algorithm has carried out something.
    pub fn is_right(&self, full: bool) -> bool {
        self.wrong == self.of_library && (!full || self.missing().is_empty())
    }
}

fn listed(f: &mut Formatter<'_>, title: &str, counts: &BTreeMap<&'static str, u64>) -> Result {
    let items: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    writeln!(f, "  {title}: {}", items.join(", "))
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self {
            right,
            wrong,
            of_library,
            skipped,
            threads,
            nonblocking,
            in_place,
            messages,
            communicators,
            last,
            series,
            stalls,
            ..
        } = self;
        writeln!(f, "{right} cases right, {wrong} wrong ({of_library} of them without Nagare too), {skipped} skipped")?;
        writeln!(
            f,
            "  {} calls ({nonblocking} non-blocking, {in_place} in place, {last} in delete functions), {series} \
             series, {stalls} stalls, {messages} messages, {communicators} communicators, {threads} cases with threads",
            self.calls()
        )?;
        listed(f, "collectives", &self.calls)?;
        listed(f, "kinds", &self.kinds)?;
        listed(f, "types", &self.types)?;
        listed(f, "operations", &self.operations)?;
        for ((collective, algorithm), calls) in &self.ran {
            writeln!(f, "  ran: {collective:20} {algorithm:20} {calls:8} calls")?;
        }
        let missing = self.missing();
        if !missing.is_empty() {
            writeln!(f, "  never ran: {}", missing.join(", "))?;
        }
        Ok(())
    }
}
