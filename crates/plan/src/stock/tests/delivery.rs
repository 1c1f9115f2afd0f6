//! The schemes that move data, played: a transfer hands over no more than its share of the vector, in the order in
//! which the algorithm sends pieces, and of what the sender had before its round.

use super::{MOVING, sent};
use crate::cost::Transfer;
use crate::stock::scheme::{Scheme, rounds};
use std::collections::BTreeSet;

/// Pieces of the vector that each member has.
type Pieces = Vec<BTreeSet<u32>>;

/// Pieces of a block, so that there are halves.
const CUT: u32 = 2;

/// What is to be where.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Purpose {
    Bcast,
    Gather,
    Scatter,
    Allgather,
    Alltoall,
}

fn purpose(scheme: Scheme) -> Purpose {
    match scheme {
        Scheme::GatherLinear | Scheme::GatherBinomial => Purpose::Gather,
        Scheme::ScatterBinomial | Scheme::Scatter => Purpose::Scatter,
        Scheme::RingOnce | Scheme::GatherDoubling | Scheme::GatherBruck | Scheme::Neighbor => Purpose::Allgather,
        Scheme::AtOnce | Scheme::Batches | Scheme::Pairwise | Scheme::PairwiseXor | Scheme::Bruck => Purpose::Alltoall,
        _ => Purpose::Bcast,
    }
}

/// Numbers of members for which a library chooses it.
fn is_for(scheme: Scheme, members: u32) -> bool {
    match scheme {
        Scheme::PairwiseXor => members.is_power_of_two(),
        Scheme::Neighbor => members % 2 == 0,
        _ => true,
    }
}

/// What every member has before, and is to have after. An Alltoall has a piece for each pair, `from * members + to`.
fn before_and_after(purpose: Purpose, members: u32) -> (Pieces, Pieces) {
    let all: BTreeSet<u32> = (0..CUT * members).collect();
    let own = |m: u32| (CUT * m..CUT * (m + 1)).collect();
    let root = |m: u32| if m == 0 { all.clone() } else { BTreeSet::new() };
    let each = |of: &dyn Fn(u32) -> BTreeSet<u32>| (0..members).map(of).collect();
    match purpose {
        Purpose::Bcast => (each(&root), each(&|_| all.clone())),
        Purpose::Gather => (each(&own), each(&root)),
        Purpose::Scatter => (each(&root), each(&own)),
        Purpose::Allgather => (each(&own), each(&|_| all.clone())),
        Purpose::Alltoall => (
            each(&|m| (0..members).map(|to| m * members + to).collect()),
            each(&|m| (0..members).map(|from| from * members + m).collect()),
        ),
    }
}

/// In which order `scheme` sends pieces in round `nth`; `None`: not at all.
fn order(scheme: Scheme, members: u32, nth: usize, transfer: &Transfer, piece: u32) -> Option<u32> {
    let &Transfer { from, to, .. } = transfer;
    let block = piece / CUT;
    let after = |first: u32| (block + members - first) % members;
    let levels = members.next_power_of_two().ilog2() as usize;
    match scheme {
        // The blocks of who is below the receiver.
        Scheme::ScatterBinomial | Scheme::Scatter => Some(after(to)),
        Scheme::ScatterDoubling | Scheme::ScatterRing if nth < levels => Some(after(to)),
        Scheme::ScatterDoubling | Scheme::GatherDoubling => Some(block ^ from),
        Scheme::ScatterRing | Scheme::RingOnce => Some((from + members - block) % members),
        Scheme::GatherBinomial | Scheme::GatherLinear | Scheme::GatherBruck => Some(after(from)),
        // The first half to the odd members.
        Scheme::SplitBinary => Some(if to % 2 == 1 { piece } else { CUT * members - 1 - piece }),
        Scheme::Bruck => {
            let way = (piece % members + members - from) % members;
            (way >> nth & 1 == 1).then_some(way)
        }
        _ if purpose(scheme) == Purpose::Alltoall => (piece == from * members + to).then_some(0),
        _ => Some(block),
    }
}

/// Plays it, and returns what all have.
fn played(scheme: Scheme, members: u32) -> Pieces {
    let (mut has, _) = before_and_after(purpose(scheme), members);
    // An Alltoall's vector is one member's.
    let vector = if purpose(scheme) == Purpose::Alltoall { members } else { CUT * members };
    let mut left: Vec<_> = rounds(scheme, members, usize::MAX).expect("rounds");
    while left.iter().any(|round| round.times > 0) {
        for (nth, round) in left.iter_mut().enumerate().filter(|(_, round)| round.times > 0) {
            round.times -= 1;
            let before = has.clone();
            for transfer in &round.transfers {
                let (from, to) = (transfer.from as usize, transfer.to as usize);
                let sends = before[from].difference(&before[to]);
                let mut sends: Vec<(u32, u32)> =
                    sends.filter_map(|&piece| Some((order(scheme, members, nth, transfer, piece)?, piece))).collect();
                sends.sort_unstable();
                sends.truncate((transfer.share * f64::from(vector)).round() as usize);
                for (_, piece) in sends {
                    has[to].insert(piece);
                    // What goes on its way is no longer there.
                    if scheme == Scheme::Bruck {
                        has[from].remove(&piece);
                    }
                }
            }
        }
    }
    has
}

#[test]
fn all_have_what_they_need() {
    let both_kinds = [Scheme::RingOnce, Scheme::Pairwise, Scheme::Scatter];
    for members in 2..40 {
        for scheme in MOVING.into_iter().chain(both_kinds).filter(|&scheme| is_for(scheme, members)) {
            let (_, needed) = before_and_after(purpose(scheme), members);
            let has = played(scheme, members);
            for (member, (has, needed)) in has.iter().zip(&needed).enumerate() {
                assert!(has.is_superset(needed), "{scheme:?}, member {member} of {members}: {has:?}");
            }
        }
    }
}

/// Blocks of all transfers together.
#[test]
fn nothing_is_sent_that_is_not_needed() {
    for (scheme, members, blocks) in [
        (Scheme::GatherLinear, 7, 6),
        // The members below 1, 2, 3 …: 1 + 2 + 1 + 4 + 1 + 2 + 1.
        (Scheme::GatherBinomial, 8, 12),
        // 8 passes 3 on, of which 9 and 10 have sent it one each.
        (Scheme::GatherBinomial, 11, 12 + 3 + 1 + 1),
        (Scheme::Scatter, 7, 6),
        // A Gather's, the other way.
        (Scheme::ScatterBinomial, 8, 12),
        (Scheme::ScatterBinomial, 11, 12 + 3 + 1 + 1),
        (Scheme::GatherDoubling, 16, 16 * 15),
        (Scheme::GatherBruck, 16, 16 * 15),
        (Scheme::GatherBruck, 13, 13 * 12),
        (Scheme::RingOnce, 13, 13 * 12),
        (Scheme::Neighbor, 14, 14 * 13),
        (Scheme::AtOnce, 9, 9 * 8),
        (Scheme::Batches, 70, 70 * 69),
        (Scheme::PairwiseXor, 16, 16 * 15),
        // Of 5 ways 1, 2, 3, 4: five digits that are 1.
        (Scheme::Bruck, 5, 5 * 5),
        (Scheme::BinomialAtOnce, 9, 9 * 8),
        (Scheme::BinomialInTurn, 9, 9 * 8),
        (Scheme::Binary, 9, 9 * 8),
        (Scheme::Knomial, 9, 9 * 8),
        (Scheme::ChainBcast, 9, 9 * 8),
        (Scheme::SplitBinary, 9, 9 * 8),
    ] {
        let rounds = rounds(scheme, members, usize::MAX).expect("rounds");
        let all = rounds.iter().flat_map(|round| round.transfers.iter().map(|t| t.share * f64::from(round.times)));
        let found = all.sum::<f64>() * f64::from(members);
        assert!((found - f64::from(blocks)).abs() < 1e-6, "{scheme:?} of {members}: {found} blocks, not {blocks}");
    }
}

#[test]
fn the_busiest_member_sends_what_the_papers_say() {
    let close = |scheme, members, expected: f64| {
        let found = sent(scheme, members);
        assert!((found - expected).abs() < 1e-9, "{scheme:?} of {members}: {found}, expected {expected}");
    };
    // lg p n, and (radix - 1) log_radix p n.
    close(Scheme::BinomialAtOnce, 16, 4.0);
    close(Scheme::BinomialInTurn, 16, 4.0);
    close(Scheme::Knomial, 64, 9.0);
    close(Scheme::Binary, 15, 2.0);
    // 2 n (p - 1) / p at the root.
    close(Scheme::ScatterDoubling, 16, 2.0 * 15.0 / 16.0);
    close(Scheme::ScatterRing, 12, 2.0 * 11.0 / 12.0);
    // p / 2 blocks in each of lg p rounds.
    close(Scheme::Bruck, 16, 0.5 * 4.0);
    close(Scheme::GatherBinomial, 16, 0.5);
    close(Scheme::ScatterBinomial, 16, 15.0 / 16.0);
}

#[test]
fn batches_are_of_so_many() {
    let rounds = rounds(Scheme::Batches, 70, usize::MAX).expect("rounds");
    let of_member_3 =
        rounds.iter().map(|round| round.transfers.iter().filter(|t| t.from == 3).map(|t| (t.to + 67) % 70).collect());
    let ways: Vec<Vec<u32>> = of_member_3.collect();
    assert_eq!(ways, [(1..32).collect::<Vec<u32>>(), (32..64).collect(), (64..70).collect()]);
}
