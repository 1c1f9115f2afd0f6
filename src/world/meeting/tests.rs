use super::*;

const OWN: u64 = 0x1234_5678_9abc_def0;

/// How a rank is after the rounds.
#[derive(Clone, Copy, Debug)]
enum Rank {
    /// Without the library.
    Without,
    /// It has heard of all.
    Met(Heard),
    /// It waits for ever; whether it says so.
    Waits { speaks: bool },
}

/// How these ranks, of which `None` is one without the library, are after the rounds. `knows(rank, other)`: whether
/// `rank` knows by itself whether `other` has the library.
fn meeting(ranks: &[Option<Heard>], knows: impl Fn(usize, usize) -> bool) -> Vec<Rank> {
    let size = ranks.len();
    let mut now: Vec<Rank> = ranks.iter().map(|rank| rank.map_or(Rank::Without, Rank::Met)).collect();
    for distance in distances(size as c_int) {
        let peers = |rank: usize| [rank + distance as usize, rank + size - distance as usize].map(|peer| peer % size);
        let mut receives = vec![false; size];
        for (rank, state) in now.iter_mut().enumerate() {
            let Rank::Met(heard) = state else { continue };
            let has = |other: c_int| !knows(rank, other as usize) || ranks[other as usize].is_some();
            receives[rank] = heard.meets(peers(rank).map(|peer| peer as c_int), has)[1];
        }
        let said = now.clone();
        for (rank, state) in now.iter_mut().enumerate().filter(|(rank, _)| receives[*rank]) {
            let Rank::Met(heard) = state else { continue };
            match said[peers(rank)[1]] {
                Rank::Met(other) => heard.hear(&other.message()),
                Rank::Without | Rank::Waits { .. } => *state = Rank::Waits { speaks: heard.speaks(distance) },
            }
        }
    }
    now
}

/// What each of these ranks has heard, where all know who has the library.
fn met(ranks: Vec<Option<Heard>>) -> Vec<Option<Heard>> {
    let heard = |rank: &Rank| if let Rank::Met(heard) = rank { Some(*heard) } else { None };
    meeting(&ranks, |_, _| true).iter().map(heard).collect()
}

fn own(on: bool, report: bool) -> Option<Heard> {
    Some(Heard::own(OWN, on, report, false))
}

/// Whether each rank takes all builds for the same.
fn agreed(builds: &[u64]) -> Vec<bool> {
    let ranks = builds.iter().map(|&build| Some(Heard::own(build, true, false, false)));
    met(ranks.collect()).into_iter().flatten().map(Heard::one).collect()
}

#[test]
fn every_rank_hears_of_one_that_is_on_or_wants_a_report_anywhere() {
    for size in 1..=33 {
        let off = vec![own(false, false); size];
        assert!(met(off.clone()).iter().flatten().all(|heard| !heard.on && !heard.report));
        for odd in 0..size {
            for (on, report) in [(true, false), (false, true)] {
                let mut ranks = off.clone();
                ranks[odd] = own(on, report);
                let all = met(ranks);
                let is_told = |heard: &Heard| (heard.on, heard.report) == (on, report);
                assert!(all.iter().flatten().all(is_told), "{odd} of {size}");
            }
        }
    }
}

/// Whoever is missing: all others know that some are.
#[test]
fn every_rank_hears_that_some_lack_the_library() {
    for size in 2..=9_usize {
        for missing in 1..(1_u32 << size) - 1 {
            let mut ranks = vec![own(true, false); size];
            (0..size).filter(|rank| missing >> rank & 1 == 1).for_each(|rank| ranks[rank] = None);
            for heard in met(ranks).into_iter().flatten() {
                let named = heard.missing.unwrap_or_else(|| panic!("none of {missing:b} of {size}"));
                assert!(missing >> named & 1 == 1, "rank {named} has it: {missing:b} of {size}");
            }
        }
    }
}

/// Ranks that know of those of their host alone: where some wait for ever, one of them says so.
#[test]
fn no_job_waits_in_silence() {
    let mut waiting = 0;
    for (size, host) in (2..=9_usize).flat_map(|size| [1, 2, 3].map(|host| (size, host))) {
        for missing in 1..(1_u32 << size) - 1 {
            let mut ranks = vec![own(true, false); size];
            (0..size).filter(|rank| missing >> rank & 1 == 1).for_each(|rank| ranks[rank] = None);
            let now = meeting(&ranks, |rank, other| rank / host == other / host);
            let waits = now.iter().any(|rank| matches!(rank, Rank::Waits { .. }));
            let speaks = now.iter().any(|rank| matches!(rank, Rank::Waits { speaks: true }));
            assert_eq!(waits, speaks, "{missing:b} of {size}, {host} on a host: {now:?}");
            waiting += u32::from(waits);
            let unaware = |rank: &Rank| matches!(rank, Rank::Met(heard) if heard.missing.is_none());
            assert!(waits || !now.iter().any(unaware), "{missing:b} of {size}, {host} on a host: {now:?}");
        }
    }
    assert!(waiting > 100, "{waiting}");
}

#[test]
fn every_rank_hears_of_another_build_anywhere() {
    for size in 1..=33 {
        assert_eq!(agreed(&vec![OWN; size]), vec![true; size]);
        for odd in (0..size).filter(|_| size > 1) {
            for build in [0, OWN + 1, u64::MAX] {
                let mut builds = vec![OWN; size];
                builds[odd] = build;
                assert_eq!(agreed(&builds), vec![false; size], "rank {odd} of {size} has build {build}");
            }
        }
    }
}
