//! Which algorithm a call runs on: from facts all ranks share, before the first message.

mod parse;
mod reason;

pub use self::parse::{RuleError, parse_bytes};
pub use self::reason::Reason;
use crate::algorithm::Algorithm;
use crate::collective::Collective;

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
/// below [`usual`] only one that is predicted to be far faster than the library's own, or an exchange where what the
/// library sends at once would overflow queues. Where nothing fits, measured calls may try something, from `min` on.
pub const DEFAULTS: &[Rule] = &[
    default(Collective::Reduce, 8 << 10),
    default(Collective::Bcast, 2 << 10),
    default(Collective::Allreduce, 8 << 10),
    default(Collective::Alltoall, 64),
    default(Collective::Alltoallv, 0),
    default(Collective::Alltoallw, 0),
    default(Collective::Gather, 4 << 10),
    default(Collective::Gatherv, 0),
    default(Collective::Scatter, 4 << 10),
    default(Collective::Scatterv, 0),
    default(Collective::Allgather, 256),
    default(Collective::Allgatherv, 256),
    default(Collective::ReduceScatterBlock, 256),
    default(Collective::ReduceScatter, 256),
];

/// The size from which the library's own algorithms are usually slower, whatever is predicted; 0 where the threshold of
/// [`DEFAULTS`] is that. Measured on the emulated clusters.
pub const fn usual(collective: Collective) -> u64 {
    match collective {
        Collective::Reduce => 32 << 10,
        Collective::Bcast => 8 << 10,
        Collective::Allreduce => 64 << 10,
        Collective::Alltoall => 4 << 10,
        Collective::Scatter => 32 << 10,
        collective if collective.has_blocks_of_all() => 1 << 10,
        _ => 0,
    }
}

/// Whether blocks of `bytes` are shorter than [`usual`] in a collective that has blocks of all ranks.
pub const fn is_short_block(collective: Collective, bytes: u64) -> bool {
    collective.has_blocks_of_all() && bytes < usual(collective)
}

const fn default(collective: Collective, min: u64) -> Rule {
    Rule { collective: Some(collective), prescription: Prescription::Fitting, min, max: u64::MAX }
}

/// Rules in order of precedence, before [`DEFAULTS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<Rule>);

impl Rules {
    /// Reads `collective=algorithm[:min-max]` items separated by `;`, such as
    /// `bcast=grouped_two_tree:64K-;alltoall=xor;all=stock`. Bytes take the suffixes K, M and G; earlier items come
    /// first.
    ///
    /// # Errors
    /// [`RuleError`] names the item, what is wrong with it and what was expected.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let items = text.split(';').map(str::trim).filter(|item| !item.is_empty());
        items.map(parse::rule).collect::<Result<Vec<Rule>, RuleError>>().map(Self)
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

    /// The same for a communicator on `nodes` nodes, for which defaults may not hold, or from so many bytes on
    /// (`defaults_from`) only; `u64::MAX` if no size runs on ours.
    pub fn floor_on(&self, collective: Collective, nodes: u32, defaults_from: u64) -> u64 {
        let holds = |r: &&Rule| match r.prescription {
            Prescription::Stock | Prescription::Measured(None) => false,
            Prescription::Force(_) | Prescription::Measured(Some(_)) => true,
            Prescription::Fitting => nodes > 1,
        };
        let smallest = |rules: &[Rule]| {
            let ours = rules.iter().filter(holds).filter(|r| r.holds_for(collective));
            ours.map(|r| r.min).min().unwrap_or(u64::MAX)
        };
        let by_default = smallest(DEFAULTS).max(defaults_from);
        smallest(&self.0).min(by_default)
    }

    /// What holds for a call, none if it is too small.
    pub fn prescription(&self, call: &Call) -> Option<Prescription> {
        let sized = !call.collective.has_own_sizes();
        let fits = |r: &&Rule| r.holds_for(call.collective) && (!sized || (r.min..=r.max).contains(&call.bytes));
        self.0.iter().chain(DEFAULTS).find(fits).map(|r| r.prescription)
    }

    /// Why a call is the library's for which nothing of ours is forced or fits.
    pub fn reason(&self, call: &Call) -> Reason {
        match self.choose(call, || None) {
            Choice::Library(reason) => reason,
            Choice::Run(_) => Reason::Faster,
        }
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

#[cfg(test)]
mod tests;
