//! The counters of one process as numbers, in the order in which ranks tell them to rank 0.
//!
//! ```text
//!   rows                  sizes                     kinds of communicators               others         elapsed  host
//!   collective × outcome  collective × class × two  32 names, 33 × collective × two      each           1        8
//!   × 5 values            × calls, time             × calls, time (kinds.rs)             × calls, time
//! ```

use super::counter;
use super::kinds::{self, KIND, KINDS, Kind, NUMBERS};
use crate::real::OTHERS;
use nagare_plan::algorithm::ALGORITHMS;
use nagare_plan::choice::{Choice, Reason};
use nagare_plan::collective::Collective;

/// Outcomes: one per algorithm, then one per reason.
pub const OUTCOMES: usize = ALGORITHMS.len() + Reason::ALL.len();

/// Values kept of one outcome of one collective.
const VALUES: usize = 5;

/// Classes of sizes: the bytes of one are at least a power of four, and less than the next.
pub const CLASSES: usize = 16;

/// What one rank has counted, as it tells rank 0: so many numbers.
#[derive(Clone, Copy)]
pub struct Snapshot<'a>(&'a [u64]);

const SIZES_AT: usize = Collective::ALL.len() * OUTCOMES * VALUES;
const KINDS_AT: usize = SIZES_AT + Collective::ALL.len() * CLASSES * 2 * 2;
const ON_KINDS_AT: usize = KINDS_AT + KINDS * KIND;
const OTHERS_AT: usize = ON_KINDS_AT + (KINDS + 1) * NUMBERS;
const ELAPSED_AT: usize = OTHERS_AT + OTHERS.len() * 2;
const HOST_AT: usize = ELAPSED_AT + 1;
const PER_RANK: usize = HOST_AT + HOST;

/// Numbers that the name of a host takes: Linux has none of more than 64 bytes (gethostname(2)).
pub const HOST: usize = 8;

/// Calls of one kind on one rank.
#[derive(Clone, Copy, Default)]
pub struct Counted {
    /// How many.
    pub calls: u64,
    /// Their bytes, where these are counted.
    pub bytes: u64,
    /// The smallest.
    pub least: u64,
    /// The largest.
    pub most: u64,
    /// Time in them.
    pub nanoseconds: u64,
}

impl Counted {
    /// Both together, where each is of the same rank.
    fn and(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            bytes: self.bytes + other.bytes,
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            nanoseconds: self.nanoseconds + other.nanoseconds,
        }
    }

    /// Several together; nothing of none.
    pub fn sum(several: impl Iterator<Item = Self>) -> Self {
        several.filter(|counted| counted.calls > 0).reduce(Self::and).unwrap_or_default()
    }
}

impl<'a> Snapshot<'a> {
    /// Of some ranks, one after another.
    pub fn each(numbers: &'a [u64]) -> impl Iterator<Item = Self> {
        numbers.chunks_exact(PER_RANK).map(Self)
    }

    /// Calls of a collective with an outcome.
    pub fn row(self, collective: usize, outcome: usize) -> Counted {
        let at = (collective * OUTCOMES + outcome) * VALUES;
        let [calls, bytes, least, most, nanoseconds] = [0, 1, 2, 3, 4].map(|value| self.0[at + value]);
        Counted { calls, bytes, least: least.saturating_sub(1), most, nanoseconds }
    }

    /// Calls of a collective, whatever their outcomes.
    pub fn collective(self, collective: usize) -> Counted {
        Counted::sum((0..OUTCOMES).map(|outcome| self.row(collective, outcome)))
    }

    /// Calls of all collectives, and those that are passed on.
    pub fn all(self) -> Counted {
        let handled = (0..Collective::ALL.len()).map(|collective| self.collective(collective));
        Counted::sum(handled.chain((0..OTHERS.len()).map(|index| self.other(index))))
    }

    /// Timed calls of a collective in a class of sizes, on Nagare or on the MPI library.
    pub fn size(self, collective: usize, class: usize, on_nagare: bool) -> Counted {
        self.calls(SIZES_AT + size_index(collective, class, on_nagare) * 2)
    }

    /// The kinds of this rank's communicators, and the place of each.
    pub fn kinds(self) -> impl Iterator<Item = (Kind, Option<usize>)> {
        let words = self.0[KINDS_AT..ON_KINDS_AT].chunks_exact(KIND);
        words.enumerate().filter_map(|(place, words)| Some((Kind::of(words)?, Some(place))))
    }

    /// Timed calls of a collective on communicators of the kind at a place, or on all that are not told apart, on
    /// Nagare or on the MPI library.
    pub fn on_kind(self, place: Option<usize>, collective: usize, on_nagare: bool) -> Counted {
        let at = ON_KINDS_AT + place.unwrap_or(KINDS) * NUMBERS;
        self.calls(at + kinds::index(collective, on_nagare) * 2)
    }

    /// Calls of one of the collectives that are passed on.
    pub fn other(self, index: usize) -> Counted {
        self.calls(OTHERS_AT + index * 2)
    }

    /// Nanoseconds since the world began.
    pub fn elapsed(self) -> u64 {
        self.0[ELAPSED_AT]
    }

    /// The rank's host.
    pub fn host(self) -> String {
        counter::name(&self.0[HOST_AT..PER_RANK])
    }

    fn calls(self, at: usize) -> Counted {
        Counted { calls: self.0[at], nanoseconds: self.0[at + 1], ..Counted::default() }
    }
}

/// Where calls of a class of sizes are counted.
pub fn size_index(collective: usize, class: usize, on_nagare: bool) -> usize {
    (collective * CLASSES + class) * 2 + usize::from(on_nagare)
}

/// Index of an outcome.
pub fn outcome(choice: Choice) -> usize {
    match choice {
        Choice::Run(algorithm) => ALGORITHMS.iter().position(|s| s.algorithm == algorithm).unwrap_or(0),
        Choice::Library(reason) => ALGORITHMS.len() + reason as usize,
    }
}

/// Algorithm name, or `stock` with the reason.
pub fn outcome_name(index: usize) -> (&'static str, Option<Reason>) {
    match ALGORITHMS.get(index) {
        Some(spec) => (spec.name, None),
        None => ("stock", Reason::ALL.get(index - ALGORITHMS.len()).copied()),
    }
}
