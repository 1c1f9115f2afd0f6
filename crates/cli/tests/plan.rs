//! `nagare plan` prints the worked examples of docs/algorithms.md.

use crate::common::{failure_of, nagare, rows, stderr, stdout, stdout_of};
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective;
use serde_json::Value;
use std::collections::BTreeSet;

/// The transfers of the line that begins with `label`.
fn moves<'t>(text: &'t str, label: &str) -> BTreeSet<&'t str> {
    let mut found = text.lines().filter_map(|line| line.strip_prefix(label)?.strip_prefix(": "));
    let line = found.next().unwrap_or_else(|| panic!("no line `{label}` in\n{text}"));
    assert_eq!(found.next(), None);
    line.split(' ').collect()
}

fn set(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

#[test]
fn two_tree_of_eight() {
    let text = stdout_of(&["plan", "reduce", "--algorithm", "two_tree", "--np", "8"]);
    assert_eq!(moves(&text, "rank reduce 0"), set("1→2  2→4  7→6  5→0  3→5  4→3  6→7"));
    assert_eq!(moves(&text, "rank reduce 1"), set("3→2  5→6  6→4  4→0  2→3  1→7  7→5"));
    let text = stdout_of(&["plan", "bcast", "--algorithm", "two_tree", "--np", "8"]);
    assert_eq!(moves(&text, "rank bcast 0"), set("2→1  4→2  6→7  0→5  5→3  3→4  7→6"));
}

#[test]
fn grouped_two_tree_of_four_groups() {
    let plan =
        ["plan", "reduce", "--algorithm", "grouped_two_tree", "--fabric", "mlfm36", "--np", "32", "--map", "balanced"];
    let text = stdout_of(&[&plan[..], &["--tables"]].concat());
    assert!(text.contains("levels: group 4, node 32\n"), "{text}");
    assert_eq!(moves(&text, "group reduce 0"), set("24→16  8→24  16→0"));
    assert_eq!(moves(&text, "group reduce 1"), set("8→16  16→24  24→0"));
    let local = |text: &str| -> BTreeSet<String> {
        let pairs = text.split_whitespace().map(|m| m.split_once('→').unwrap());
        let pairs: Vec<(u32, u32)> = pairs.map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap())).collect();
        (0..4).flat_map(|g| pairs.iter().map(move |(a, b)| format!("{}→{}", a + 8 * g, b + 8 * g))).collect()
    };
    let printed = |label| moves(&text, label).into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(printed("rank reduce 0"), local("1→2 2→4 7→6 5→0 3→5 4→3 6→7"));
    assert_eq!(printed("rank reduce 1"), local("3→2 5→6 6→4 4→0 2→3 1→7 7→5"));

    // Send and receive tables: the local one comes first, then the global one, with "none" for ranks that take no part.
    let rows = rows(&text);
    let header = ["rank", "colour 0 →", "colour 1 →", "colour 0 ←", "colour 1 ←"];
    let starts: Vec<usize> = (0..rows.len()).filter(|&i| rows[i] == header).collect();
    let (local, global) = (&rows[starts[0] + 1..starts[1]], &rows[starts[1] + 1..]);
    assert_eq!((local.len(), global.len()), (32, 32));
    assert_eq!(local[1], ["1", "2", "7", "none", "none"]);
    assert_eq!(local[0], ["0", "none", "none", "5", "4"]);
    assert_eq!(global[8][..3], ["8", "24", "16"]);
    assert_eq!(global[0], ["0", "none", "none", "16", "24"]);
    assert_eq!(global[1], ["1", "none", "none", "none", "none"]);

    // One rank alone is told the same.
    let alone = crate::common::rows(&stdout_of(&[&plan[..], &["--rank", "8"]].concat()));
    assert_eq!((&alone[1], &alone[3]), (&local[8], &global[8]));
}

#[test]
fn pretended_levels_and_exchange_steps() {
    // Two nodes of two: in every step the ranks of a node talk to one node.
    let text = stdout_of(&["plan", "alltoall", "-a", "xor", "--topology", "synthetic:node:2 core:2"]);
    assert_eq!(moves(&text, "step 1"), set("0→1 1→0 2→3 3→2"));
    assert_eq!(moves(&text, "step 2"), set("0→2 1→3 2→0 3→1"));
    assert_eq!(moves(&text, "step 3"), set("0→3 1→2 2→1 3→0"));
    let rank = stdout_of(&["plan", "alltoall", "-a", "xor", "--topology", "synthetic:node:8 core:2", "--rank", "5"]);
    let steps: Vec<Vec<String>> = rows(&rank).split_off(1);
    assert_eq!(steps.len(), 15);
    assert!(steps.iter().all(|row| row[2] == row[3] && row[0] == "5"), "{rank}");
    let partners: BTreeSet<&String> = steps.iter().map(|row| &row[2]).collect();
    assert_eq!(partners.len(), 15);
    // Two NUMA nodes of three: all ranks of one talk to the other.
    let text = stdout_of(&["plan", "alltoall", "-a", "xor", "--topology", "synthetic:node:1 numa:2 core:3"]);
    assert_eq!(moves(&text, "step 4"), set("0→3 1→4 2→5 3→0 4→1 5→2"));
}

/// After every step but the last the ranks tell each other, in two rounds of tokens.
#[test]
fn steps_of_all_ranks_together() {
    let plan = ["plan", "alltoall", "-a", "two_level_ring", "-n", "4"];
    let text = stdout_of(&[&plan[..], &["--steps", "together"]].concat());
    assert_eq!(moves(&text, "step 1"), set("0→1 1→2 2→3 3→0"));
    assert_eq!(moves(&text, "token +1 1-2"), set("0→1 1→2 2→3 3→0"));
    assert_eq!(moves(&text, "token +2 1-2"), set("0→2 1→3 2→0 3→1"));
    let said = nagare(&plan).env("NAGARE_STEPS", "together").output().unwrap();
    assert_eq!((stdout(&said), stderr(&said)), (text, String::new()));
    let (status, error) = failure_of(&[&plan[..], &["--steps", "33"]].concat());
    assert!(status == 2 && error.contains("expected a number between 1 and 32, or together"), "{error}");
}

/// Nodes 0 to 3 in one row, and 2 and 3 below 0 and 1: who talks to whom in the halvings.
#[test]
fn dimensions_are_those_asked_for() {
    let owned = |words: &str| set(words).into_iter().map(str::to_owned).collect::<BTreeSet<String>>();
    let plan = ["plan", "allreduce", "-a", "halving_doubling", "-n", "4"];
    let with = |options: &[&str]| stdout_of(&[&plan[..], options].concat());
    let partners = |text: &str| {
        let lines = text.lines().filter(|l| l.starts_with("halving "));
        let moves = lines.flat_map(|l| l.split(": ").nth(1).unwrap_or_default().split(' '));
        moves.map(str::to_owned).collect::<BTreeSet<String>>()
    };
    let line = with(&[]);
    assert!(line.contains("\ndimensions: node 4 (from the number of nodes)\n"), "{line}");
    let plane = with(&["--torus", "P2xQ2"]);
    assert!(plane.contains("\ndimensions: P 2, Q 2 (from the dimensions given)\n"), "{plane}");
    assert_eq!(partners(&plane), owned("0→1 1→0 2→3 3→2 0→2 2→0 1→3 3→1"));
    // On one line partners are neighbours, also around its ends.
    assert_eq!(partners(&line), owned("0→3 3→0 1→2 2→1 0→1 1→0 2→3 3→2"));
    let ring = with(&["-f", "torus16", "--torus", "X2xY2"]);
    assert!(ring.contains("X 2, Y 2 (from the dimensions given)"), "{ring}");
    let fabric = stdout_of(&["plan", "allreduce", "-a", "halving_doubling", "-f", "torus16", "--rank", "0"]);
    assert!(fabric.contains("\ndimensions: x 4, y 4 (from the torus of the fabric)\n"), "{fabric}");
    // With two aggregators both ranks of a node talk to other nodes, with one only the first.
    let speakers = |aggregators: &str| {
        let plan = ["plan", "allreduce", "-a", "halving_doubling", "-n", "4", "--ppn", "2"];
        let text = stdout_of(&[&plan[..], &["--aggregators", aggregators]].concat());
        partners(&text).into_iter().filter_map(|m| m.split('→').next().map(str::to_owned)).collect::<BTreeSet<_>>()
    };
    assert_eq!(speakers("1"), owned("0 2"));
    assert_eq!(speakers("64"), owned("0 1 2 3"));
}

#[test]
fn an_aggregated_exchange_has_few_messages() {
    let machine = ["--topology", "synthetic:node:2 core:2"];
    let text = stdout_of(&[&["plan", "alltoall", "-a", "aggregated"], &machine[..]].concat());
    assert_eq!(moves(&text, "inside nodes 1"), set("0→1 1→0 2→3 3→2"));
    assert_eq!(moves(&text, "between nodes 2"), set("0→2 1→3 2→0 3→1"));
    let text = stdout_of(
        &[&["plan", "alltoall", "-a", "aggregated", "--aggregators", "1", "--tables"], &machine[..]].concat(),
    );
    assert_eq!(moves(&text, "collect 1"), set("1→0 3→2"));
    assert_eq!(moves(&text, "exchange 1"), set("0→2 2→0"));
    assert_eq!(moves(&text, "distribute 1"), set("0→1 2→3"));
    // What is copied inside a rank is no row of its tables, but the JSON form has it and is read back.
    let json =
        stdout_of(&[&["plan", "alltoall", "-a", "aggregated", "--aggregators", "1", "--json"], &machine[..]].concat());
    let plan: Value = serde_json::from_str(&json).unwrap();
    assert!(json.contains(r#""action":"shuffle""#) || json.contains(r#""action": "shuffle""#), "{json}");
    let schedule: nagare_plan::schedule::Schedule = serde_json::from_value(plan).unwrap();
    assert_eq!(schedule.plans[0].staged, 20);
}

#[test]
fn halves_of_an_allreduce_are_planned_alone() {
    // A gathering is a scattering backwards: around a ring every node sends to the one before it, and there to the
    // next.
    let machine = ["--topology", "synthetic:node:4"];
    let text = stdout_of(&[&["plan", "allgather", "-a", "ring"], &machine[..]].concat());
    assert_eq!(moves(&text, "allgather 0-2"), set("0→3 1→0 2→1 3→2"));
    let text = stdout_of(&[&["plan", "reduce_scatter", "-a", "ring"], &machine[..]].concat());
    assert_eq!(moves(&text, "reduce-scatter 0-2"), set("0→1 1→2 2→3 3→0"));
    // The order of the stage is part of the JSON form: all blocks, each slice once.
    let halving = ["plan", "reduce_scatter_block", "-a", "halving_doubling", "--json"];
    let plan: Value = serde_json::from_str(&stdout_of(&[&halving[..], &machine[..]].concat())).unwrap();
    let schedule: nagare_plan::schedule::Schedule = serde_json::from_value(plan).unwrap();
    for plan in &schedule.plans {
        let staged: BTreeSet<u32> = plan.order.iter().copied().collect();
        assert_eq!((staged, plan.order.len() as u32), ((0..plan.parts).collect(), plan.staged));
    }
}

#[test]
fn a_million_ranks_can_be_planned_one_at_a_time() {
    let machine = ["--topology", "synthetic:pod:64 rack:64 node:32 core:8"];
    let plan = [&["plan", "bcast", "-a", "grouped_two_tree"], &machine[..]].concat();
    let text = stdout_of(&[&plan[..], &["--rank", "777777"]].concat());
    assert!(text.starts_with("bcast by grouped_two_tree, 1048576 ranks, root 0\n"), "{text}");
    let exchange = [&["plan", "alltoall", "-a", "xor"], &machine[..]].concat();
    let (status, error) = failure_of(&exchange);
    assert_eq!(status, 2);
    assert!(error.contains("`nagare plan --rank R` shows one rank"), "{error}");
}

#[test]
fn json_has_every_hop() {
    let text = stdout_of(&["plan", "allreduce", "-a", "grouped_two_tree", "-f", "tree8", "--ppn", "2", "--json"]);
    let plan: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&plan["schema"], &plan["ranks"], &plan["collective"]), (&1.into(), &16.into(), &"allreduce".into()));
    assert_eq!(plan["topology"]["names"], serde_json::json!(["leaf", "node"]));
    let plans = plan["plans"].as_array().unwrap();
    assert_eq!(plans.len(), 16);
    // Two half vectors over 15 edges, up and down, each hop seen from both ends.
    let hops: usize = plans.iter().map(|p| p["hops"].as_array().unwrap().len()).sum();
    assert_eq!(hops, 2 * 2 * 2 * 15);
    // The library reads back what the command writes.
    let schedule: nagare_plan::schedule::Schedule = serde_json::from_value(plan).unwrap();
    assert_eq!(schedule.moves().len(), 2 * 2 * 15);
}

#[test]
fn mistakes_are_one_clear_line() {
    let able = Algorithm::names(Some(Collective::Bcast)).join(" or ");
    let cases: &[(&[&str], &str)] = &[
        (&["bcast", "-a", "xor", "-n", "3"], &format!("xor does not implement bcast; expected {able}")),
        (
            &["bcast", "-a", "two_tree"],
            "--np is missing: without --fabric and --topology the number of ranks is not known",
        ),
        (&["bcast", "-a", "two_tree", "-n", "4", "--root", "4"], "--root 4: there are 4 ranks, expected 0 to 3"),
        (&["bcast", "-a", "two_tree", "-n", "4", "--rank", "9"], "--rank 9: there are 4 ranks, expected 0 to 3"),
        (
            &["bcast", "-a", "two_tree", "-n", "6", "--ppn", "2", "--torus", "2x3"],
            "--torus: 2x3 has 6 nodes, the job has 3; expected sizes whose product is the number of nodes",
        ),
        (
            &["bcast", "-a", "two_tree", "-f", "tree8", "-n", "100"],
            "fabric tree8: 100 ranks do not fit on 8 hosts with 1 per host; expected at most 8",
        ),
    ];
    for (arguments, line) in cases {
        let failed = failure_of(&[&["plan"], *arguments].concat());
        assert_eq!(failed, (2, format!("nagare: {line}\n")));
    }
    let (status, error) = failure_of(&["plan", "bcast", "-a", "two_tree", "-f", "nowhere.toml"]);
    assert!(status == 2 && error.lines().count() == 1, "{error}");
    assert!(error.starts_with("nagare: no fabric 'nowhere.toml': there is no such file") && error.contains("mlfm36"));
    assert!(error.contains("[generator]"), "{error}");
}

/// Rounds in which the same ranks send to the same ones are one line.
#[test]
fn equal_rounds_are_one_line() {
    let text = stdout_of(&["plan", "allreduce", "--algorithm", "ring", "--np", "4"]);
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.is_empty()).skip(1).collect();
    assert_eq!(lines, ["reduce-scatter 0-2: 0→1 1→2 2→3 3→0", "allgather 0-2: 0→1 1→2 2→3 3→0"], "{text}");
}

/// What is shown is what a job with these variables runs; what is typed comes before them.
#[test]
fn variables_hold_as_in_a_job() {
    let words = ["plan", "alltoall", "-a", "xor", "-f", "tree8", "--json"];
    let typed = stdout_of(&[&words[..], &["--steps", "1"]].concat());
    let run = |variables: &[(&str, &str)], words: &[&str]| {
        let output = nagare(words).envs(variables.iter().copied()).output().unwrap();
        (stdout(&output), stderr(&output))
    };
    assert_eq!(run(&[("NAGARE_STEPS", "1")], &words), (typed.clone(), String::new()));
    assert_eq!(run(&[("NAGARE_STEPS", "2")], &[&words[..], &["--steps", "1"]].concat()).0, typed);
    assert_ne!(stdout_of(&words), typed);
    // Without a number of steps queues that are too short ask for tokens, as in a job.
    let shallow = stdout_of(&["plan", "alltoall", "-a", "contention_free", "-f", "tree8-shallow", "--json"]);
    let tokens = |text: &str| text.matches(r#""count": 0"#).count();
    let deep = stdout_of(&["plan", "alltoall", "-a", "contention_free", "-f", "tree8", "--json"]);
    assert!(tokens(&shallow) > 0 && tokens(&deep) == 0, "{} {}", tokens(&shallow), tokens(&deep));
    // A longer vector is cut into other chunks.
    let words = ["plan", "allreduce", "-a", "halving_doubling", "-f", "torus16", "--json", "--bytes"];
    assert_ne!(stdout_of(&[&words[..], &["16K"]].concat()), stdout_of(&[&words[..], &["64M"]].concat()));

    let (text, problem) = run(&[("NAGARE_ALGORITHM", "bcast=ring_of_fire")], &["predict", "bcast", "-f", "tree8"]);
    assert!(text.contains("chain") && problem.contains("unknown algorithm `ring_of_fire`"), "{problem}");
    // What is wrong is told once.
    for words in [
        &["plan", "bcast", "-a", "chain", "-f", "tree8"][..],
        &["check", "bcast", "-a", "chain", "-f", "tree8"],
        &["predict", "bcast", "-f", "tree8"],
    ] {
        let (_, problem) = run(&[("NAGARE_STEPS", "many"), ("NAGARE_TORUS", "2x4")], words);
        assert_eq!(problem.matches("NAGARE_STEPS").count(), 1, "{words:?}: {problem}");
    }
    let forced = [("NAGARE_ALGORITHM", "bcast=two_tree")];
    let forced = run(&forced, &["predict", "bcast", "-f", "tree8", "--sizes", "1K", "--json"]).0;
    assert!(forced.contains(r#""runs": "two_tree""#), "{forced}");
}
