//! What a running job is in (`nagare ps`).

use crate::overdue::{named, place};
use crate::ranks::{MOST, counted, ranges};
use crate::said::{Answer, Call, Job, Now};
use nagare_plan::quoted;
use nagare_plan::schedule::Rank;
use std::collections::HashSet;
use std::fmt::Write;

/// Ranks that are in the same call, or have last ended the same one.
struct Group<'a> {
    call: Option<&'a Call>,
    ranks: Vec<Rank>,
    /// How long the longest has been there, or has ended it.
    seconds: f64,
    runs: Option<&'a str>,
    one: &'a Answer,
}

/// What the ranks of a job are in: `answers` of those that answered.
pub fn running(job: &Job, answers: &[Answer]) -> String {
    let name = job.job.as_ref().map_or_else(String::new, |name| format!(", job {}", quoted(name)));
    let mut text = format!("{}{name}, {}\n", quoted(&job.program), counted(job.ranks as usize, "rank"));
    let within = || answers.iter().flat_map(|answer| answer.now.iter().map(move |now| (answer, now)));
    let mut inside = grouped(
        within().map(|(answer, now): (&Answer, &Now)| (answer, Some(&now.call), now.seconds, now.runs.as_deref())),
    );
    let idle = answers.iter().filter(|answer| answer.now.is_empty());
    let mut outside = grouped(idle.map(|answer| {
        let last = answer.last.as_ref();
        (answer, last.map(|(call, _)| call), last.map_or(0.0, |(_, ago)| *ago), None)
    }));
    for groups in [&mut inside, &mut outside] {
        groups.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    }
    for Group { call, ranks, seconds, runs, one } in inside.iter().take(MOST) {
        let runs = runs.map_or_else(String::new, |runs| format!(", {}", quoted(runs)));
        let call = call.map(named).unwrap_or_default();
        let _ = writeln!(text, "  in {call}, for {seconds:.1} s{runs}: {}", who(ranks, one));
    }
    for Group { call, ranks, seconds, one, .. } in outside.iter().take(MOST) {
        let since = match call {
            Some(call) => format!("in no collective since {}, {seconds:.1} s ago", named(call)),
            None => "no collective yet".to_owned(),
        };
        let _ = writeln!(text, "  {since}: {}", who(ranks, one));
    }
    let more = inside.len().saturating_sub(MOST) + outside.len().saturating_sub(MOST);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more places");
    }
    let heard: HashSet<Rank> = answers.iter().map(|answer| answer.rank).collect();
    let silent: Vec<Rank> = (0..job.ranks).filter(|rank| !heard.contains(rank)).collect();
    if !silent.is_empty() {
        let _ = writeln!(text, "  no answer: {}", ranges(&silent));
    }
    text
}

/// Ranks, and where the only one is.
fn who(ranks: &[Rank], one: &Answer) -> String {
    if ranks.len() == 1 { place(one) } else { ranges(ranks) }
}

fn grouped<'a>(all: impl Iterator<Item = (&'a Answer, Option<&'a Call>, f64, Option<&'a str>)>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = Vec::new();
    for (answer, call, seconds, runs) in all {
        match groups.iter_mut().find(|group| (group.call, group.runs) == (call, runs)) {
            Some(group) => {
                group.ranks.push(answer.rank);
                group.seconds = group.seconds.max(seconds);
            }
            None => groups.push(Group { call, ranks: vec![answer.rank], seconds, runs, one: answer }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_shown_by_what_they_are_in() {
        let call = |function: &str, number| Call {
            function: function.to_owned(),
            arguments: if function == "bcast" { "8 bytes, root 0".to_owned() } else { String::new() },
            comm: 7,
            number,
        };
        let answer = |rank: Rank, now: Option<(Call, f64)>, last: Option<(Call, f64)>| Answer {
            rank,
            host: "n".to_owned() + &rank.to_string(),
            process: 100 + rank,
            now: now
                .map(|(call, seconds)| Now {
                    call,
                    seconds,
                    runs: Some("chain".to_owned()),
                    awaited: Vec::new(),
                    told: false,
                })
                .into_iter()
                .collect(),
            last,
            ended: None,
        };
        let answers = [
            answer(0, Some((call("bcast", 3), 2.0)), None),
            answer(1, Some((call("bcast", 3), 7.25)), None),
            answer(2, Some((call("scan", 3), 1.0)), None),
            answer(3, None, Some((call("barrier", 2), 9.0))),
            answer(4, None, None),
            answer(6, None, None),
        ];
        let job = Job { world: 1, program: "ft".to_owned(), job: Some("17".to_owned()), ranks: 8, rank: 0 };
        let expected = "\
ft, job 17, 8 ranks
  in bcast (8 bytes, root 0), collective number 3, for 7.2 s, chain: ranks 0-1
  in scan, collective number 3, for 1.0 s, chain: rank 2 on n2, process 102
  in no collective since barrier, collective number 2, 9.0 s ago: rank 3 on n3, process 103
  no collective yet: ranks 4, 6
  no answer: ranks 5, 7
";
        assert_eq!(running(&job, &answers), expected);
    }
}
