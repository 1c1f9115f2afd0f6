//! What is said about a call that does not end.

use crate::ranks::{MOST, counted, ranges};
use crate::said::{Answer, Awaited, Call, Now};
use nagare_plan::quoted;
use nagare_plan::schedule::Rank;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The call with which a rank's watch ends.
pub const FINALIZE: &str = "finalize";

/// What is passed on the way between two ranks, where that is known.
pub type Route<'a> = &'a dyn Fn(Rank, Rank) -> Option<String>;

/// A call that does not end.
pub struct Overdue<'a> {
    /// Which.
    pub call: &'a Call,
    /// Since so long.
    pub seconds: f64,
    /// The ranks of its communicator.
    pub members: &'a [Rank],
    /// Whether that is the world's, of which there is one. Ranks tell others of the same ranks apart by the order in
    /// which they have used them first, so that a rank may be in another one.
    pub is_world: bool,
}

/// Who is in the call, of those who should be; `answers` has the members that answered.
pub fn overdue(overdue: &Overdue, answers: &[Answer], route: Route<'_>) -> String {
    let &Overdue { call, seconds, members, is_world } = overdue;
    let mut text = format!(
        "nagare: NAGARE_WATCH: {} on {} ({}) has not ended after {seconds:.0} s\n",
        named(call),
        counted(members.len(), "rank"),
        ranges(members)
    );
    let answer = |rank: Rank| answers.iter().find(|answer| answer.rank == rank);
    let within = |rank: Rank| answer(rank).and_then(|a| a.now.iter().find(|now| now.call.is_place_of(call)));
    let here: Vec<(Rank, &Now)> = members.iter().filter_map(|&rank| Some((rank, within(rank)?))).collect();
    let is_same = |now: &Now| now.call.function == call.function;
    let arrived: Vec<Rank> = here.iter().filter(|(_, now)| is_same(now)).map(|&(rank, _)| rank).collect();
    let is_past = |other: &Call| call.is_before(other);
    let is_through = |rank: Rank| {
        answer(rank).is_some_and(|a| {
            a.now.iter().any(|now| is_past(&now.call)) || a.ended.is_some_and(|number| number >= call.number)
        })
    };
    let (through, missing): (Vec<Rank>, Vec<Rank>) =
        members.iter().copied().filter(|rank| !arrived.contains(rank)).partition(|&rank| is_through(rank));
    let perhaps = if is_world { "" } else { "perhaps " };
    if !is_world {
        text += "nagare:   perhaps, where ranks have used several communicators of the same ranks in different orders: \
                 then some may be in another one\n";
    }
    let _ = match missing.len() {
        0 => writeln!(text, "nagare:   {perhaps}all ranks have arrived"),
        _ => writeln!(text, "nagare:   {perhaps}arrived: {}", ranges(&arrived)),
    };
    if !through.is_empty() {
        let _ = writeln!(text, "nagare:   {perhaps}through with it: {}", ranges(&through));
    }
    let mut silent = Vec::new();
    let mut lines = Vec::new();
    for &rank in &missing {
        let Some(answer) = answer(rank) else {
            silent.push(rank);
            continue;
        };
        let what = match (within(rank), answer.now.first(), &answer.last) {
            (Some(now), ..) => format!("in {} instead, for {:.0} s", now.call.function, now.seconds),
            (None, Some(now), _) => {
                let other = if now.call.comm == call.comm { "" } else { " on another communicator" };
                format!("in {}{other}, for {:.0} s", named(&now.call), now.seconds)
            }
            (None, None, Some((last, ago))) => {
                let other = if last.comm == call.comm { "" } else { " on another communicator" };
                format!("in no collective since {}{other}, which ended {ago:.0} s ago", named(last))
            }
            (None, None, None) => "has not called a collective yet".to_owned(),
        };
        lines.push(format!("{perhaps}not there: {}: {what}", place(answer)));
    }
    if !silent.is_empty() {
        let through = if call.function == FINALIZE { "through with it, " } else { "" };
        lines.push(format!(
            "{perhaps}not there: {}: no answer: {through}ended, stopped, or out of reach for datagrams",
            ranges(&silent)
        ));
    }
    let mut arguments: BTreeMap<&str, Vec<Rank>> = BTreeMap::new();
    here.iter()
        .filter(|(_, now)| is_same(now))
        .for_each(|(rank, now)| arguments.entry(&now.call.arguments).or_default().push(*rank));
    let mut differing = Vec::new();
    if arguments.len() > 1 {
        differing
            .extend(arguments.iter().map(|(of, ranks)| format!("{perhaps}arguments differ: {}: {of}", ranges(ranks))));
    }
    let mut waiting: Vec<(bool, String)> = Vec::new();
    for (rank, now) in &here {
        if let Some(answer) = answer(*rank).filter(|_| !now.awaited.is_empty()) {
            let for_missing = now.awaited.iter().any(|awaited| missing.contains(&awaited.peer));
            let runs = now.runs.as_deref().unwrap_or("nothing yet");
            let line =
                format!("{} runs {}, and waits {}", place(answer), quoted(runs), waits(*rank, &now.awaited, route));
            waiting.push((!for_missing, line));
        }
    }
    // Those who wait for a rank that is missing come first.
    waiting.sort_by_key(|(other, _)| *other);
    for (lines, what) in [
        (lines, "ranks that are not there"),
        (differing, "arguments"),
        (waiting.into_iter().map(|(_, line)| line).collect(), "ranks that wait"),
    ] {
        lines.iter().take(MOST).for_each(|line| text += &format!("nagare:   {line}\n"));
        if lines.len() > MOST {
            let _ = writeln!(text, "nagare:   and {} more {what}", lines.len() - MOST);
        }
    }
    text
}

pub(crate) fn named(call: &Call) -> String {
    let arguments = if call.arguments.is_empty() { String::new() } else { format!(" ({})", quoted(&call.arguments)) };
    format!("{}{arguments}, collective number {}", quoted(&call.function), call.number)
}

pub(crate) fn place(answer: &Answer) -> String {
    format!("rank {} on {}, process {}", answer.rank, quoted(&answer.host), answer.process)
}

fn waits(rank: Rank, awaited: &[Awaited], route: Route<'_>) -> String {
    let of = |receives: bool| -> Vec<Rank> {
        let mut peers: Vec<Rank> = awaited.iter().filter(|a| a.receives == receives).map(|a| a.peer).collect();
        peers.sort_unstable();
        peers.dedup();
        peers
    };
    // The way of one message is worth reading.
    let way = |peers: &[Rank], receives: bool| match *peers {
        [peer] if receives => route(peer, rank),
        [peer] => route(rank, peer),
        _ => None,
    };
    let part = |receives: bool| {
        let peers = of(receives);
        let way = way(&peers, receives).map_or_else(String::new, |way| format!(" ({})", quoted(&way)));
        match receives {
            _ if peers.is_empty() => None,
            true => Some(format!("to receive from {}{way}", ranges(&peers))),
            false => Some(format!("for {} to receive{way}", ranges(&peers))),
        }
    };
    [part(true), part(false)].into_iter().flatten().collect::<Vec<_>>().join(", and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(function: &str, arguments: &str, number: u64) -> Call {
        Call { function: function.to_owned(), arguments: arguments.to_owned(), comm: 7, number }
    }

    fn answer(rank: Rank, now: Option<Call>, last: Option<Call>, awaited: &[(Rank, bool)]) -> Answer {
        let awaited = awaited.iter().map(|&(peer, receives)| Awaited { peer, receives }).collect();
        let now = now.map(|call| Now { call, seconds: 61.0, runs: Some("chain".to_owned()), awaited, told: false });
        let ended = last.as_ref().filter(|last| last.comm == 7).map(|last| last.number);
        let last = last.map(|call| (call, 12.0));
        Answer { rank, host: format!("n{rank}"), process: 100 + rank, now: now.into_iter().collect(), last, ended }
    }

    #[test]
    fn what_is_known_is_told() {
        let bcast = || call("bcast", "8 bytes, root 0", 3);
        let before = || Some(call("barrier", "", 2));
        let elsewhere = Call { comm: 9, ..call("scan", "", 1) };
        let answers = [
            answer(0, Some(bcast()), before(), &[(1, false), (2, true)]),
            answer(1, Some(call("bcast", "16 bytes, root 0", 3)), before(), &[(0, true), (5, false)]),
            answer(2, None, Some(bcast()), &[]),
            answer(3, Some(call("scan", "", 4)), Some(bcast()), &[]),
            answer(4, Some(call("reduce", "", 3)), before(), &[]),
            answer(5, Some(elsewhere), before(), &[]),
            answer(6, None, before(), &[]),
            answer(7, None, None, &[]),
        ];
        let expected = "\
nagare: NAGARE_WATCH: bcast (8 bytes, root 0), collective number 3 on 10 ranks (ranks 0-9) has not ended after 60 s
nagare:   arrived: ranks 0-1
nagare:   through with it: ranks 2-3
nagare:   not there: rank 4 on n4, process 104: in reduce instead, for 61 s
nagare:   not there: rank 5 on n5, process 105: in scan, collective number 1 on another communicator, for 61 s
nagare:   not there: rank 6 on n6, process 106: in no collective since barrier, collective number 2, which ended 12 s ago
nagare:   not there: rank 7 on n7, process 107: has not called a collective yet
nagare:   not there: ranks 8-9: no answer: ended, stopped, or out of reach for datagrams
nagare:   arguments differ: rank 1: 16 bytes, root 0
nagare:   arguments differ: rank 0: 8 bytes, root 0
nagare:   rank 1 on n1, process 101 runs chain, and waits to receive from rank 0, and for rank 5 to receive (n1 > s0 > n5)
nagare:   rank 0 on n0, process 100 runs chain, and waits to receive from rank 2, and for rank 1 to receive
";
        let route = |from: Rank, to: Rank| (from == 5 || to == 5).then(|| format!("n{from} > s0 > n{to}"));
        let members: Vec<Rank> = (0..10).collect();
        let overdue_call = |is_world| {
            overdue(&Overdue { call: &bcast(), seconds: 60.2, members: &members, is_world }, &answers, &route)
        };
        assert_eq!(overdue_call(true), expected);
        let arrived = |is_world, line| {
            let answers = &answers[..2];
            let told = overdue(&Overdue { call: &bcast(), seconds: 60.0, members: &[0, 1], is_world }, answers, &route);
            told.lines().nth(line).map(str::to_owned)
        };
        assert_eq!(arrived(true, 1).as_deref(), Some("nagare:   all ranks have arrived"));
        assert_eq!(arrived(false, 2).as_deref(), Some("nagare:   perhaps all ranks have arrived"));
        // What a rank is in is known; whether that is the communicator at hand is not, but for the world's.
        let doubtful = overdue_call(false);
        let lines: Vec<&str> = doubtful.lines().collect();
        assert!(lines[1].contains("in different orders: then some may be in another one"), "{doubtful}");
        assert_eq!(lines.len(), expected.lines().count() + 1, "{doubtful}");
        for (line, known) in lines[2..].iter().zip(expected.lines().skip(1)) {
            let known = known.trim_start_matches("nagare:   ");
            let said = if known.contains(" runs ") { known.to_owned() } else { format!("perhaps {known}") };
            assert_eq!(*line, format!("nagare:   {said}"));
        }
    }

    /// What a rank has been in on other communicators says nothing of this one.
    #[test]
    fn ranks_that_have_been_elsewhere() {
        let call = call("finalize", "", 3);
        let elsewhere = || Some(Call { comm: 9, ..call.clone() });
        let through = Answer { ended: Some(3), ..answer(1, None, elsewhere(), &[]) };
        let late = Answer { ended: Some(2), ..answer(2, elsewhere(), elsewhere(), &[]) };
        let answers = [answer(0, Some(call.clone()), None, &[]), through, late];
        let told = overdue(
            &Overdue { call: &call, seconds: 60.0, members: &[0, 1, 2, 3], is_world: true },
            &answers,
            &|_, _| None,
        );
        for line in [
            "arrived: rank 0",
            "through with it: rank 1",
            "not there: rank 2 on n2, process 102: in finalize, collective number 3 on another communicator, for 61 s",
            "not there: rank 3: no answer: through with it, ended, stopped, or out of reach for datagrams",
        ] {
            assert!(told.lines().any(|other| other == format!("nagare:   {line}")), "{line}: {told}");
        }
    }
}
