//! The schemes of reductions.

use super::{COMBINING, sent};
use crate::stock::scheme::{Scheme, rounds};
use std::collections::BTreeSet;

/// Which members' numbers every member's have been combined with at the end, where a transfer hands on all that the
/// sender had before its round.
fn combined(scheme: Scheme, members: u32) -> Vec<BTreeSet<u32>> {
    let mut known: Vec<BTreeSet<u32>> = (0..members).map(|member| BTreeSet::from([member])).collect();
    for round in rounds(scheme, members, usize::MAX).expect("rounds") {
        for _ in 0..round.times {
            let before = known.clone();
            for transfer in &round.transfers {
                known[transfer.to as usize].extend(&before[transfer.from as usize]);
            }
        }
    }
    known
}

#[test]
fn what_all_have_reaches_who_is_to_have_it() {
    for members in 2..40 {
        let all: BTreeSet<u32> = (0..members).collect();
        for scheme in COMBINING {
            let known = combined(scheme, members);
            match scheme {
                Scheme::Linear | Scheme::Chain | Scheme::Binomial => assert_eq!(known[0], all, "{scheme:?} {members}"),
                Scheme::Scatter => assert!(known.iter().all(|known| known.contains(&0))),
                _ => assert!(known.iter().all(|known| *known == all), "{scheme:?} {members}"),
            }
        }
    }
}

#[test]
fn volumes_are_those_of_the_papers() {
    let close = |scheme, members, expected: f64| {
        let found = sent(scheme, members);
        assert!((found - expected).abs() < 1e-9, "{scheme:?} of {members}: {found}, expected {expected}");
    };
    // Thakur, Rabenseifner, Gropp 2005, section 4: 2 n (p - 1) / p, and half of it; lg p n.
    close(Scheme::Rabenseifner, 16, 2.0 * 15.0 / 16.0);
    close(Scheme::RabenseifnerOfAll, 16, 2.0 * 15.0 / 16.0);
    // Four of twelve give half of theirs to neighbours, which give half back, or all; at the end they get the result.
    close(Scheme::Rabenseifner, 12, 0.5 + 2.0 * 7.0 / 8.0 + 1.0);
    close(Scheme::RabenseifnerOfAll, 12, 2.0 * 7.0 / 8.0 + 1.0);
    close(Scheme::Ring, 12, 2.0 * 11.0 / 12.0);
    close(Scheme::Halving, 8, 7.0 / 8.0);
    close(Scheme::RingOnce, 7, 6.0 / 7.0);
    close(Scheme::Pairwise, 9, 8.0 / 9.0);
    close(Scheme::Doubling, 16, 4.0);
    // The butterfly's last round sends a block to where it belongs.
    close(Scheme::Butterfly, 8, 1.0);
    close(Scheme::Binomial, 11, 1.0);
}
