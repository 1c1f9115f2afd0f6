//! Calls by the communicator that they are on: its name, if the program gave it one, and its number of ranks.
//!
//! ```text
//!   call ─► counters of its communicator ─► kinds of this rank ─► the 32 with most time, and the rest ─► report
//!                                        when it is freed, or for a report
//! ```
//!
//! A communicator has its own counters, because its name may be given after its calls.

use super::counter::{self, Calls};
use nagare_plan::collective::Collective;
use std::collections::BTreeMap;

/// Most kinds that a rank tells of.
pub const KINDS: usize = 32;
/// Most kinds that a rank keeps.
const MOST: usize = 1024;
/// Numbers that a name takes: 64 bytes, which is the most in Open MPI.
const NAME: usize = 8;
/// Numbers that a kind takes.
pub const KIND: usize = 1 + NAME;
/// Numbers that the calls on one kind take.
pub const NUMBERS: usize = Collective::ALL.len() * 2 * 2;

/// Communicators with the same name and number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// Ranks.
    pub ranks: u64,
    name: [u64; NAME],
}

impl Kind {
    /// Of communicators with so many ranks; `name`: empty if they have none.
    pub fn new(ranks: u32, name: &str) -> Self {
        Self { ranks: ranks.into(), name: counter::words(name) }
    }

    /// The one that these numbers are; `None` if they are none.
    pub fn of(words: &[u64]) -> Option<Self> {
        let (&ranks, name) = words.split_first()?;
        Some(Self { ranks, name: name.try_into().ok()? }).filter(|kind| kind.ranks > 0)
    }

    /// The name.
    pub fn name(&self) -> Option<String> {
        Some(counter::name(&self.name)).filter(|name| !name.is_empty())
    }
}

/// The timed calls on one communicator: by collective, what ran on the MPI library and on Nagare.
pub struct Counters([Calls; Collective::ALL.len() * 2]);

impl Default for Counters {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Calls::default()))
    }
}

impl Counters {
    /// Counts one call.
    pub fn count(&self, collective: Collective, on_nagare: bool, nanoseconds: u64) {
        self.0[index(collective as usize, on_nagare)].count(nanoseconds);
    }
}

/// Where calls of a collective are counted.
pub fn index(collective: usize, on_nagare: bool) -> usize {
    collective * 2 + usize::from(on_nagare)
}

/// The calls of one rank by kinds of communicators.
#[derive(Clone, Default)]
pub struct Kinds {
    known: BTreeMap<Kind, Vec<u64>>,
    /// Of all other kinds.
    others: Vec<u64>,
}

impl Kinds {
    /// Adds the calls on a communicator, of a kind unless it is not known.
    pub fn add(&mut self, kind: Option<Kind>, calls: &Counters) {
        let has_room = self.known.len() < MOST;
        let sums = match kind.filter(|kind| has_room || self.known.contains_key(kind)) {
            Some(kind) => self.known.entry(kind).or_default(),
            None => &mut self.others,
        };
        add(sums, Calls::numbers(&calls.0));
    }

    /// As a rank tells of them: the kinds in which it was longest, what was called on each, and on all others.
    pub fn words(&self) -> Vec<u64> {
        let time = |calls: &[u64]| calls.iter().skip(1).step_by(2).sum::<u64>();
        let mut kinds: Vec<(&Kind, &Vec<u64>)> = self.known.iter().collect();
        kinds.sort_by_key(|(_, calls)| std::cmp::Reverse(time(calls)));
        let mut others = self.others.clone();
        kinds.iter().skip(KINDS).for_each(|(_, calls)| add(&mut others, calls.iter().copied()));
        others.resize(NUMBERS, 0);
        kinds.truncate(KINDS);
        let mut words: Vec<u64> =
            kinds.iter().flat_map(|(kind, _)| [kind.ranks].into_iter().chain(kind.name)).collect();
        words.resize(KINDS * KIND, 0);
        words.extend(kinds.iter().flat_map(|(_, calls)| calls.iter().copied()));
        words.resize(KINDS * (KIND + NUMBERS), 0);
        words.extend(others);
        words
    }
}

fn add(sums: &mut Vec<u64>, numbers: impl Iterator<Item = u64>) {
    sums.resize(NUMBERS, 0);
    sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
}
