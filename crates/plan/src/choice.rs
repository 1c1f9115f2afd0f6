//! Which algorithm a call runs on: from facts all ranks share, before the first message.

use crate::algorithm::{Algorithm, FORMER};
use crate::collective::Collective;
use crate::quoted;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What a call is, as far as every rank knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The collective.
    pub collective: Collective,
    /// Bytes of the vector; for Alltoall bytes per rank pair, for Gather, Scatter and Allgather per rank, for
    /// Allgatherv and Reduce_scatter of the mean block of a rank. Of no meaning for Alltoallv, Alltoallw, Gatherv and
    /// Scatterv: a rank may know its own counts only.
    pub bytes: u64,
    /// Ranks of the communicator.
    pub ranks: u32,
    /// Nodes they are on.
    pub nodes: u32,
}

/// Why a call is left to the MPI library. Every valid call that is not accelerated has one of these, and it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Less data than the threshold of the table.
    Small,
    /// All ranks are on one node and no algorithm is forced.
    OneNode,
    /// `stock` was asked for.
    Asked,
    /// A communicator of one rank.
    OneRank,
    /// An intercommunicator.
    Intercommunicator,
    /// Zero elements.
    Empty,
    /// An operation that does not commute.
    NonCommutative,
    /// A predefined operation on a type it is not known to be defined for.
    TypeOfOperation,
    /// One element is larger than a segment.
    LargeElement,
    /// An argument the library is to judge.
    Argument,
    /// Facts about the ranks are missing or contradictory.
    Topology,
    /// The configuration of some rank cannot be used, or differs from that of the others.
    Configuration,
    /// A buffer of some rank is in the memory of a device.
    Device,
    /// Too many communicators already have a private one, or the library has none to give.
    Communicators,
    /// Nagare is switched off.
    Disabled,
    /// The library's own was measured, or is predicted, to be as fast or faster.
    Faster,
    /// A communicator that is being freed, used by a callback that deletes an attribute of it.
    BeingFreed,
    /// Calls like it have not yet taken so long that it is worth finding out what is faster (docs/decisions/0017).
    Early,
    /// The library's own is being measured (docs/decisions/0017).
    Tried,
    /// Ranks outside `MPI_COMM_WORLD`, or no such communicator (yet, or any more): sessions, spawned processes.
    Outside,
}

impl Reason {
    /// Every reason, in report order.
    pub const ALL: [Reason; 20] = [
        Self::Small,
        Self::OneNode,
        Self::Asked,
        Self::OneRank,
        Self::Intercommunicator,
        Self::Empty,
        Self::NonCommutative,
        Self::TypeOfOperation,
        Self::LargeElement,
        Self::Argument,
        Self::Topology,
        Self::Configuration,
        Self::Device,
        Self::Communicators,
        Self::Disabled,
        Self::Faster,
        Self::BeingFreed,
        Self::Early,
        Self::Tried,
        Self::Outside,
    ];

    /// Words for the report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "below threshold",
            Self::OneNode => "one node",
            Self::Asked => "asked for",
            Self::OneRank => "one rank",
            Self::Intercommunicator => "intercommunicator",
            Self::Empty => "no data",
            Self::NonCommutative => "operation does not commute",
            Self::TypeOfOperation => "type of operation",
            Self::LargeElement => "element larger than a segment",
            Self::Argument => "arguments",
            Self::Topology => "topology unknown",
            Self::Configuration => "configuration",
            Self::Device => "device memory",
            Self::Communicators => "too many communicators",
            Self::Disabled => "switched off",
            Self::Faster => "stock as fast",
            Self::BeingFreed => "being freed",
            Self::Early => "not yet worth trying",
            Self::Tried => "being measured",
            Self::Outside => "outside the world",
        }
    }

    /// What that means, in a few words, for people.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Small => "too little data to gain anything",
            Self::OneNode => "all ranks are on one node",
            Self::Asked => "a rule says so",
            Self::OneRank => "there is nobody else",
            Self::Intercommunicator => "two groups of ranks, which Nagare leaves alone",
            Self::Empty => "zero elements",
            Self::NonCommutative => "ranks must be combined in their order",
            Self::TypeOfOperation => "the operation is not known to be defined for the type",
            Self::LargeElement => "an element is never split",
            Self::Argument => "the library is to judge them",
            Self::Topology => "facts about the ranks are missing or contradictory",
            Self::Configuration => "that of some rank cannot be used, or differs from the others'",
            Self::Device => "a buffer of some rank is in the memory of a GPU",
            Self::Communicators => "the library has none to give for Nagare's messages",
            Self::Disabled => "NAGARE_ENABLE=0",
            Self::Faster => "measured, predicted or known to be as fast as anything of Nagare's",
            Self::BeingFreed => "called inside MPI_Comm_free or MPI_Comm_disconnect",
            Self::Early => "such calls have not yet taken enough time to measure candidates",
            Self::Tried => "its turn among the candidates",
            Self::Outside => "ranks of sessions or spawned processes",
        }
    }
}

/// The outcome of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Run this algorithm.
    Run(Algorithm),
    /// Leave the call to the MPI library.
    Library(Reason),
}

/// What a rule prescribes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prescription {
    /// An algorithm of ours, on any number of nodes.
    Force(Algorithm),
    /// What fits the network, where there are several nodes.
    Fitting,
    /// The MPI library.
    Stock,
    /// What a profile found to be the fastest: an algorithm of ours, or the MPI library (none).
    Measured(Option<Algorithm>),
}

/// For which calls a prescription holds. `min ≤ bytes ≤ max`; a rule with bounds never holds where ranks know
/// their own counts only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The collective, `None` for all.
    pub collective: Option<Collective>,
    /// What to do.
    pub prescription: Prescription,
    /// Smallest number of bytes.
    pub min: u64,
    /// Largest number of bytes.
    pub max: u64,
}

/// The thresholds: from `min` bytes on (as [`Call::bytes`] counts them) and with several nodes, an algorithm of ours;
/// below [`usual`] only one that is predicted to be far faster than the library's own.
pub const DEFAULTS: &[Rule] = &[
    default(Collective::Reduce, 8 << 10),
    default(Collective::Bcast, 8 << 10),
    default(Collective::Allreduce, 8 << 10),
    default(Collective::Alltoall, 4 << 10),
    default(Collective::Alltoallv, 0),
    default(Collective::Alltoallw, 0),
    default(Collective::Gather, 4 << 10),
    default(Collective::Gatherv, 0),
    default(Collective::Scatter, 32 << 10),
    default(Collective::Scatterv, 0),
    default(Collective::Allgather, 1 << 10),
    default(Collective::Allgatherv, 1 << 10),
    default(Collective::ReduceScatterBlock, 1 << 10),
    default(Collective::ReduceScatter, 1 << 10),
];

/// The size from which the library's own algorithms are usually slower, whatever is predicted; 0 where the threshold of
/// [`DEFAULTS`] is that. Measured on the emulated clusters.
pub const fn usual(collective: Collective) -> u64 {
    match collective {
        Collective::Reduce => 32 << 10,
        Collective::Allreduce => 64 << 10,
        _ => 0,
    }
}

const fn default(collective: Collective, min: u64) -> Rule {
    Rule { collective: Some(collective), prescription: Prescription::Fitting, min, max: u64::MAX }
}

/// Rules in order of precedence, before [`DEFAULTS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<Rule>);

/// What is wrong with a rule text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{item}`: {problem}; expected {expected}")]
pub struct RuleError {
    item: String,
    problem: String,
    expected: String,
}

impl Rules {
    /// Reads `collective=algorithm[:min-max]` items separated by `;`, such as
    /// `bcast=grouped_two_tree:64K-;alltoall=xor;all=stock`. Bytes take the suffixes K, M and G; earlier items come
    /// first.
    ///
    /// # Errors
    /// [`RuleError`] names the item, what is wrong with it and what was expected.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let items = text.split(';').map(str::trim).filter(|item| !item.is_empty());
        items.map(parse_rule).collect::<Result<Vec<Rule>, RuleError>>().map(Self)
    }

    /// Whether nothing is prescribed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first rule that no call can meet, because an earlier one holds for all of its calls; their numbers.
    pub fn hidden(&self) -> Option<(usize, usize)> {
        let covers = |earlier: &Rule, rule: &Rule, collective| {
            earlier.holds_for(collective) && earlier.min <= rule.min && rule.max <= earlier.max
        };
        self.0.iter().enumerate().find_map(|(at, rule)| {
            let held: Vec<Collective> = Collective::ALL.into_iter().filter(|&c| rule.holds_for(c)).collect();
            let hider = |&c: &Collective| self.0[..at].iter().position(|earlier| covers(earlier, rule, c));
            let all: Option<Vec<usize>> = held.iter().map(hider).collect();
            Some((at, *all?.first()?))
        })
    }

    /// These rules, and where they say nothing, `others`.
    pub fn before(&self, others: &[Rule]) -> Self {
        Self([&self.0, others].concat())
    }

    /// The smallest number of bytes from which on a call of `collective` may run on one of our algorithms.
    pub fn floor(&self, collective: Collective) -> u64 {
        let may_be_ours = |r: &&Rule| !matches!(r.prescription, Prescription::Stock | Prescription::Measured(None));
        let ours = self.0.iter().filter(may_be_ours).chain(DEFAULTS);
        ours.filter(|r| r.holds_for(collective)).map(|r| r.min).min().unwrap_or(u64::MAX)
    }

    /// The same for a communicator on `nodes` nodes, for which defaults may not hold; `u64::MAX` if no size runs on
    /// ours.
    pub fn floor_on(&self, collective: Collective, nodes: u32) -> u64 {
        let holds = |r: &&Rule| match r.prescription {
            Prescription::Stock | Prescription::Measured(None) => false,
            Prescription::Force(_) | Prescription::Measured(Some(_)) => true,
            Prescription::Fitting => nodes > 1,
        };
        let ours = self.0.iter().chain(DEFAULTS).filter(holds);
        ours.filter(|r| r.holds_for(collective)).map(|r| r.min).min().unwrap_or(u64::MAX)
    }

    /// What holds for a call, none if it is too small.
    pub fn prescription(&self, call: &Call) -> Option<Prescription> {
        let sized = !call.collective.has_own_sizes();
        let fits = |r: &&Rule| r.holds_for(call.collective) && (!sized || (r.min..=r.max).contains(&call.bytes));
        self.0.iter().chain(DEFAULTS).find(fits).map(|r| r.prescription)
    }

    /// The decision about one call. `fitting`: the algorithm that fits the network, none where the library's own is as
    /// fast.
    pub fn choose(&self, call: &Call, fitting: impl FnOnce() -> Option<Algorithm>) -> Choice {
        match self.prescription(call) {
            None => Choice::Library(Reason::Small),
            Some(Prescription::Stock) => Choice::Library(Reason::Asked),
            Some(Prescription::Force(algorithm) | Prescription::Measured(Some(algorithm))) => Choice::Run(algorithm),
            Some(Prescription::Measured(None)) => Choice::Library(Reason::Faster),
            Some(Prescription::Fitting) if call.nodes < 2 => Choice::Library(Reason::OneNode),
            Some(Prescription::Fitting) => fitting().map_or(Choice::Library(Reason::Faster), Choice::Run),
        }
    }
}

impl Rule {
    /// `all=two_tree` means: wherever the algorithm can do it.
    fn holds_for(&self, collective: Collective) -> bool {
        let bounded = self.min > 0 || self.max < u64::MAX;
        match (self.collective, self.prescription) {
            _ if bounded && collective.has_own_sizes() => false,
            (Some(c), _) => c == collective,
            (None, Prescription::Stock | Prescription::Fitting | Prescription::Measured(None)) => true,
            (None, Prescription::Force(a) | Prescription::Measured(Some(a))) => a.implements(collective),
        }
    }
}

fn parse_rule(item: &str) -> Result<Rule, RuleError> {
    let error = |problem: String, expected: String| RuleError { item: quoted(item), problem, expected };
    let Some((collective, rest)) = item.split_once('=') else {
        return Err(error("no `=`".into(), "collective=algorithm[:min-max]".into()));
    };
    let (algorithm, range) = rest.split_once(':').map_or((rest, None), |(a, r)| (a, Some(r)));
    let (name, algorithm) = (collective.trim(), algorithm.trim());
    let collective = match name {
        "all" => None,
        name => Some(Collective::from_name(name).ok_or_else(|| {
            let names: Vec<&str> = Collective::ALL.iter().map(|c| c.name()).collect();
            error(format!("unknown collective `{}`", quoted(name)), format!("all, {}", names.join(", ")))
        })?),
    };
    let prescription = match algorithm {
        "stock" => Prescription::Stock,
        name => {
            let names = || [Algorithm::names(collective), vec!["stock"]].concat().join(", ");
            let algorithm = Algorithm::from_name(name).ok_or_else(|| {
                let former = FORMER.iter().find(|(former, _)| *former == name);
                let unknown = || format!("unknown algorithm `{}`", quoted(name));
                error(former.map_or_else(unknown, |(former, now)| format!("`{former}` is now {now}")), names())
            })?;
            if let Some(c) = collective.filter(|&c| !algorithm.implements(c)) {
                return Err(error(format!("`{name}` does not implement {c}"), names()));
            }
            Prescription::Force(algorithm)
        }
    };
    let (min, max) = match range.map(str::trim) {
        None => (0, u64::MAX),
        Some(range) if collective.is_some_and(Collective::has_own_sizes) => {
            let problem = format!("{name} has no `{}`: a rank knows its own counts only", quoted(range));
            return Err(error(problem, format!("{name}=algorithm")));
        }
        Some(range) => {
            let expected = || "bytes as min-max, min- or -max, such as 64K-1M".to_owned();
            let (min, max) =
                range.split_once('-').ok_or_else(|| error(format!("no `-` in `{}`", quoted(range)), expected()))?;
            let bound = |text: &str, default| match text.trim() {
                "" => Ok(default),
                text => parse_bytes(text)
                    .ok_or_else(|| error(format!("`{}` is no number of bytes", quoted(text)), expected())),
            };
            let (min, max) = (bound(min, 0)?, bound(max, u64::MAX)?);
            if min > max {
                return Err(error(format!("{min} is above {max}"), expected()));
            }
            (min, max)
        }
    };
    Ok(Rule { collective, prescription, min, max })
}

/// A number of bytes with an optional suffix K, M or G (powers of 1024).
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let shift = match text.chars().last()?.to_ascii_uppercase() {
        'K' => 10,
        'M' => 20,
        'G' => 30,
        _ => 0,
    };
    let digits = if shift == 0 { text } else { &text[..text.len() - 1] };
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests;
