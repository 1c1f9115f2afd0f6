//! Against schedules that are worked out here by hand, and against what was measured.

mod choices;
mod combining;
mod delivery;
mod times;

use super::scheme::{Scheme, rounds};

/// Those of reductions.
const COMBINING: [Scheme; 12] = [
    Scheme::Linear,
    Scheme::Chain,
    Scheme::Binomial,
    Scheme::Doubling,
    Scheme::Rabenseifner,
    Scheme::RabenseifnerOfAll,
    Scheme::Halving,
    Scheme::Butterfly,
    Scheme::RingOnce,
    Scheme::Ring,
    Scheme::Pairwise,
    Scheme::Scatter,
];

/// The others.
const MOVING: [Scheme; 19] = [
    Scheme::LinearBcast,
    Scheme::ChainBcast,
    Scheme::Binary,
    Scheme::SplitBinary,
    Scheme::BinomialAtOnce,
    Scheme::BinomialInTurn,
    Scheme::Knomial,
    Scheme::ScatterDoubling,
    Scheme::ScatterRing,
    Scheme::ScatterBinomial,
    Scheme::GatherLinear,
    Scheme::GatherBinomial,
    Scheme::GatherDoubling,
    Scheme::GatherBruck,
    Scheme::Neighbor,
    Scheme::AtOnce,
    Scheme::Batches,
    Scheme::PairwiseXor,
    Scheme::Bruck,
];

/// Vectors that the member that sends the most sends, over all rounds.
fn sent(scheme: Scheme, members: u32) -> f64 {
    let mut sent = vec![0.0; members as usize];
    for round in rounds(scheme, members, usize::MAX).expect("rounds") {
        round.transfers.iter().for_each(|t| sent[t.from as usize] += f64::from(round.times) * t.share);
    }
    sent.into_iter().fold(0.0, f64::max)
}

#[test]
fn a_large_communicator_is_not_looked_at() {
    assert_eq!(COMBINING.len() + MOVING.len(), Scheme::COUNT);
    for scheme in COMBINING.into_iter().chain(MOVING) {
        assert!(rounds(scheme, 1 << 20, 1 << 17).is_none(), "{scheme:?}");
        // A communicator of one rank has nothing to send.
        let transfers = rounds(scheme, 1, 1 << 17)
            .expect("rounds")
            .into_iter()
            .map(|round| round.transfers.iter().filter(|t| t.from != t.to).count() as u32 * round.times);
        assert_eq!(transfers.sum::<u32>(), 0, "{scheme:?}");
    }
    // Of an exchange in pairs some steps stand for all.
    let steps = rounds(Scheme::Pairwise, 1000, 1 << 17).expect("rounds");
    let times: u32 = steps.iter().map(|step| step.times).sum();
    assert_eq!((steps.len(), times), (131, 999));
    assert!(rounds(Scheme::Pairwise, 1, 1 << 17).expect("rounds").is_empty());
    // Of those all at once none may be left out.
    assert!(rounds(Scheme::AtOnce, 362, 1 << 17).is_some() && rounds(Scheme::AtOnce, 363, 1 << 17).is_none());
}
