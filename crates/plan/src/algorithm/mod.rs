//! The one table of algorithms. Each is one file, which declares its row: a [`Spec`].

mod aggregated;
mod chain;
mod circulant;
mod contention_free;
mod direct;
mod gateway_two_tree;
mod grouped_two_tree;
mod halving_doubling;
mod relay;
mod ring;
mod ring_exchange;
mod spec;
mod tree;
mod two_level_ring;
mod two_tree;
mod xor;

pub use contention_free::{contention_free, contention_free_stages};
pub use halving_doubling::halving_doubling;
pub use spec::{Candidacy, Role, Senders, Spec};

use crate::collective::Collective;
use serde::{Deserialize, Serialize};

/// Makes the names of the algorithms and the table of their rows from one list.
macro_rules! algorithms {
    ($($algorithm:ident: $file:ident,)*) => {
        /// An algorithm Nagare can run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Algorithm {
            $(
                #[doc = concat!("`", stringify!($file), "`, see its [`Spec`].")]
                $algorithm,
            )*
        }

        /// All algorithms, in the order of lists: of those that fit alike the first is taken, but for some sums
        /// (`planner/fitting.rs`).
        pub const ALGORITHMS: &[Spec] = &[$($file::SPEC,)*];
    };
}

algorithms! {
    TwoTree: two_tree,
    GroupedTwoTree: grouped_two_tree,
    GatewayTwoTree: gateway_two_tree,
    Chain: chain,
    Circulant: circulant,
    Ring: ring,
    HalvingDoubling: halving_doubling,
    TwoLevelRing: two_level_ring,
    ContentionFree: contention_free,
    Xor: xor,
    Aggregated: aggregated,
    RingExchange: ring_exchange,
    Direct: direct,
    Relay: relay,
    Tree: tree,
}

/// Names that algorithms had before they became a part of another one, and what does the same.
pub const FORMER: [(&str, &str); 1] = [("aggregated_leader", "`aggregated` with NAGARE_AGGREGATORS=1")];

impl Algorithm {
    /// The algorithm's row.
    pub fn spec(self) -> &'static Spec {
        &ALGORITHMS[self as usize]
    }

    /// Name in configuration, reports and on the command line.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// The algorithm of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        ALGORITHMS.iter().find(|s| s.name == name).map(|s| s.algorithm)
    }

    /// Whether it can implement `collective`.
    pub fn implements(self, collective: Collective) -> bool {
        self.spec().collectives.contains(&collective)
    }

    /// Whether it is a pipeline that branches out, so that streams of children, or of parents, meet before a host.
    pub fn branches(self) -> bool {
        self.is_two_tree() || self == Self::Circulant
    }

    /// Whether it is two trees with half of the vector along each.
    pub fn is_two_tree(self) -> bool {
        matches!(self, Self::TwoTree | Self::GroupedTwoTree | Self::GatewayTwoTree)
    }

    /// Names of the algorithms that implement `collective`, of all for none.
    pub fn names(collective: Option<Collective>) -> Vec<&'static str> {
        let able = |spec: &&Spec| collective.is_none_or(|c| spec.collectives.contains(&c));
        ALGORITHMS.iter().filter(able).map(|spec| spec.name).collect()
    }
}

impl std::fmt::Display for Algorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_at_the_place_of_its_algorithm_and_names_are_unique() {
        for (place, spec) in ALGORITHMS.iter().enumerate() {
            assert_eq!(spec.algorithm as usize, place, "{}", spec.name);
            assert_eq!(Algorithm::from_name(spec.name), Some(spec.algorithm));
        }
    }
}
