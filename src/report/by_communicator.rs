//! The rows of a report by communicator.

use super::kinds::Kind;
use super::rows::Ranks;
use super::snapshot::{Counted, Snapshot};
use super::table::table;
use nagare_plan::collective::Collective;
use nagare_plan::quoted;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Most kinds of communicators in a report.
const KINDS: usize = 64;

/// What the standard calls communicators that are there from the start (MPI 4.0 section 7.8).
const STANDARD: &str = "MPI_COMM_";

/// The timed calls of one collective on communicators with the same name and number of ranks.
#[derive(Debug, Serialize)]
pub struct CommunicatorRow {
    /// What the program calls them (`MPI_Comm_set_name`), or the standard.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// None for those that are not told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    communicator_ranks: Option<u64>,
    collective: &'static str,
    /// Whether they ran on Nagare.
    nagare: bool,
    #[serde(flatten)]
    ranks: Ranks,
}

/// The rows: the largest communicators first, what is not told apart last.
pub fn communicators(ranks: &[Snapshot]) -> Vec<CommunicatorRow> {
    let mut times: BTreeMap<Kind, u64> = BTreeMap::new();
    for (kind, place) in ranks.iter().flat_map(|rank| rank.kinds().map(move |(kind, place)| (kind, (rank, place)))) {
        let (rank, place) = place;
        let calls = outcomes().map(|(collective, nagare)| rank.on_kind(place, collective, nagare).nanoseconds);
        *times.entry(kind).or_default() += calls.sum::<u64>();
    }
    let mut kinds: Vec<(Kind, u64)> = times.into_iter().collect();
    kinds.sort_by_key(|&(_, time)| std::cmp::Reverse(time));
    kinds.truncate(KINDS);
    let mut kinds: Vec<Kind> = kinds.into_iter().map(|(kind, _)| kind).collect();
    kinds.sort_by_key(|kind| (std::cmp::Reverse(kind.ranks), kind.name()));
    let told: BTreeSet<Kind> = kinds.iter().copied().collect();
    let mut rows = Vec::new();
    for kind in kinds.into_iter().map(Some).chain([None]) {
        // Where each rank has it: in several places only what is not told apart.
        let places = ranks.iter().map(|rank| match kind {
            Some(kind) => rank.kinds().filter(|&(other, _)| other == kind).map(|(_, place)| place).collect(),
            None => rank.kinds().filter(|(other, _)| !told.contains(other)).map(|(_, p)| p).chain([None]).collect(),
        });
        let places: Vec<Vec<Option<usize>>> = places.collect();
        for (collective, nagare) in outcomes() {
            let calls = ranks.iter().zip(&places).map(|(rank, places)| {
                Counted::sum(places.iter().map(|&place| rank.on_kind(place, collective, nagare)))
            });
            let Some(ranks) = Ranks::over(calls) else { continue };
            rows.push(CommunicatorRow {
                name: kind.and_then(|kind| kind.name()),
                communicator_ranks: kind.map(|kind| kind.ranks),
                collective: Collective::ALL[collective].name(),
                nagare,
                ranks,
            });
        }
    }
    rows
}

fn outcomes() -> impl Iterator<Item = (usize, bool)> {
    (0..Collective::ALL.len()).flat_map(|collective| [false, true].map(|nagare| (collective, nagare)))
}

/// The same as a table, where the program has named a communicator.
pub fn text(rows: &[CommunicatorRow]) -> String {
    if !rows.iter().any(|row| row.name.as_ref().is_some_and(|name| !name.starts_with(STANDARD))) {
        return String::new();
    }
    let lines: Vec<[String; 6]> = rows
        .iter()
        .map(|row| {
            let of = match (&row.name, row.communicator_ranks) {
                (Some(name), _) => quoted(name),
                (None, Some(_)) => "without a name".to_owned(),
                (None, None) => "others".to_owned(),
            };
            let ranks = row.communicator_ranks.map_or_else(String::new, |ranks| ranks.to_string());
            let ran = if row.nagare { "Nagare" } else { "stock" }.to_owned();
            let (calls, time) = (row.ranks.calls.to_string(), format!("{:.6}", row.ranks.max_seconds));
            [of, ranks, row.collective.to_owned(), ran, calls, time]
        })
        .collect();
    table(["communicator", "ranks", "collective", "ran", "calls", "s"], &lines, &[1, 4, 5])
}
