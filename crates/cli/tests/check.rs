//! `nagare check` finds the conflicts that docs/fabrics.md tells of the p = 6 mesh, and counts bytes.

use crate::common::{failure_of, nagare, rows, stdout, stdout_of};
use serde_json::Value;
use std::collections::BTreeSet;

const FLAT: &[&str] = &["check", "reduce", "--algorithm", "two_tree", "--fabric", "mlfm36", "--np", "32"];

#[test]
fn the_flat_two_tree_meets_on_the_mesh() {
    for (map, links) in [("slot", ["c3 → D", "D → b3"]), ("balanced", ["d1 → F", "F → c1"])] {
        let text = stdout_of(&[FLAT, &["--map", map]].concat());
        assert!(text.contains("right: it ends"), "{text}");
        let rows = rows(&text);
        let is_pair = |row: &&Vec<String>| row.len() == 4 && row[1..3] == ["24→16", "25→17"];
        let conflict = rows.iter().find(is_pair).unwrap_or_else(|| panic!("24→16 and 25→17 do not meet:\n{text}"));
        let mut shared: Vec<&str> = conflict[3].split(", ").collect();
        shared.sort_unstable();
        let mut expected = links;
        expected.sort_unstable();
        assert_eq!(shared, expected);
    }
}

#[test]
fn conflicts_fail_only_when_denied() {
    let denied = nagare(&[FLAT, &["--deny-conflicts"]].concat()).output().unwrap();
    assert_eq!(denied.status.code(), Some(1));
    assert!(stdout(&denied).contains("right: it ends"));
    // On one switch every host has its own link and a rank sends and receives once per round.
    let star = stdout_of(&["check", "allreduce", "-a", "two_tree", "-f", "star16", "--deny-conflicts"]);
    assert!(star.ends_with("\nno conflicts\n"), "{star}");
}

#[test]
fn bytes_per_link_and_direction() {
    // A broadcast brings every host but the root the whole vector, once.
    let text = stdout_of(&["check", "bcast", "-a", "grouped_two_tree", "-f", "tree8", "--bytes", "1001", "--json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&report["right"], &report["wrong"], &report["bytes"]), (&true.into(), &Value::Null, &1001.into()));
    let links = report["network"]["links"].as_array().unwrap();
    for host in 1..8 {
        let name = format!("n{host}");
        let into = links.iter().find(|l| l["to"] == name.as_str()).unwrap();
        assert_eq!(into["bytes"], 1001, "{name}");
    }
    assert!(links.iter().all(|l| l["to"] != "n0"), "{text}");
    // Everything the second leaf needs crosses its uplink once per direction of need: the vector down, nothing up.
    let downlink = links.iter().find(|l| l["from"] == "s0" && l["to"] == "l1").unwrap();
    assert_eq!(downlink["bytes"], 1001);

    // An exchange sends a block to each of the four hosts of the other leaf, from four hosts.
    let words = ["check", "alltoall", "-a", "xor", "-f", "tree8", "--bytes", "64K"];
    let text = stdout_of(&words);
    assert!(rows(&text).iter().all(|row| row[0] != "l0 — s0"), "only what is asked for: {text}");
    let text = stdout_of(&[&words[..], &["--links"]].concat());
    let rows = rows(&text);
    let uplink = rows.iter().find(|row| row[0] == "l0 — s0").unwrap();
    assert_eq!(uplink[2..], ["1M", "1M", "4", "4"]);
    assert!(text.contains("(16.00 × 64K)"), "{text}");
}

#[test]
fn halves_of_an_allreduce_move_each_block_once() {
    // Every host sends and receives the 15 blocks of the others, whichever way around or in whichever steps.
    for collective in ["allgather", "reduce_scatter_block", "reduce_scatter"] {
        for algorithm in ["ring", "halving_doubling"] {
            let text = stdout_of(&["check", collective, "-a", algorithm, "-f", "torus16", "--bytes", "64K", "--json"]);
            let report: Value = serde_json::from_str(&text).unwrap();
            assert_eq!((&report["right"], &report["wrong"]), (&true.into(), &Value::Null));
            let links = report["network"]["links"].as_array().unwrap();
            let named = |link: &Value, end: &str| link[end].as_str().unwrap().to_owned();
            for link in links.iter().filter(|l| named(l, "from").starts_with('n') || named(l, "to").starts_with('n')) {
                assert_eq!(link["bytes"], 15 * 65536, "{collective} {algorithm} {link}");
            }
        }
    }
}

#[test]
fn an_exchange_is_played_in_time() {
    // On one switch nothing meets: 15 blocks of 64 KiB at 50 Mbit/s, the next one started while three are to be
    // received, so four at a time, and four times a message's 90 µs.
    let star = stdout_of(&["check", "alltoall", "-a", "xor", "-f", "star16", "--bytes", "64K", "--deny-conflicts"]);
    let seconds = 15.0 * 65536.0 * 8.0 / 50e6 + 4.0 * 90e-6;
    assert!(star.contains(&format!("in time: 240 messages take {seconds:.6} s, 1.00 times")), "{star}");
    assert!(star.contains("blocking makes the steps 1.000 times as long at most"), "{star}");
    assert!(star.ends_with("\nno conflicts\n"), "{star}");

    // Four hosts of a leaf talk to those of the other at once over an uplink as fast as one of them.
    let tree = ["check", "alltoall", "-a", "xor", "-f", "tree8", "--bytes", "64K"];
    let text = stdout_of(&tree);
    let found = rows(&text);
    let conflicts: Vec<_> = found.iter().filter(|row| row[0].contains('→')).collect();
    assert_eq!(conflicts.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), ["l0 → s0", "l1 → s0"], "{text}");
    assert!(conflicts.iter().all(|row| row[4] == "4.00"), "{text}");
    assert_eq!(nagare(&[&tree[..], &["--deny-conflicts"]].concat()).output().unwrap().status.code(), Some(1));

    let report: Value = serde_json::from_str(&stdout_of(&[&tree[..], &["--json"]].concat())).unwrap();
    let timeline = &report["timeline"];
    assert_eq!(report["head_of_line"], serde_json::json!([1.0, 1.0]));
    assert_eq!(timeline["messages"], 56);
    // Sixteen blocks over 100 Mbit/s are the least; three steps inside the leaves come on top of the four through the
    // uplink.
    assert!((timeline["bound"].as_f64().unwrap() - 16.0 * 65536.0 * 8.0 / 1e8).abs() < 1e-12);
    assert!(timeline["finish"].as_f64() > timeline["bound"].as_f64());
    let links = timeline["links"].as_array().unwrap();
    let overloaded = links.iter().filter(|l| !l["overloads"].as_array().unwrap().is_empty()).count();
    assert_eq!((links.len(), overloaded), (20, 2));

    // A pipeline has no timeline of whole messages.
    let bcast = stdout_of(&["check", "bcast", "-a", "two_tree", "-f", "tree8", "--json"]);
    let bcast: Value = serde_json::from_str(&bcast).unwrap();
    assert_eq!((&bcast["timeline"], &bcast["head_of_line"]), (&Value::Null, &Value::Null));
}

#[test]
fn steps_and_partners_of_an_exchange() {
    let finish = |steps: &str, partners: &str| {
        let exchange = ["check", "alltoall", "-a", "xor", "-f", "star16", "--bytes", "64K", "--json"];
        let text = stdout_of(&[&exchange[..], &["--steps", steps, "--partners", partners]].concat());
        let report: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(report["right"], true);
        report["timeline"]["finish"].as_f64().unwrap()
    };
    // One step at a time waits for a message's 90 µs fifteen times, two at a time eight times.
    for partners in ["1", "2"] {
        assert!((finish("1", partners) - finish("2", partners) - 7.0 * 90e-6).abs() < 1e-9);
    }
    // After each but the last, tokens in four rounds.
    assert!((finish("together", "1") - finish("1", "1") - 14.0 * 4.0 * 90e-6).abs() < 1e-9);
    let exchange = ["plan", "alltoall", "-a", "xor", "-n", "8", "--partners", "2"];
    assert!(stdout_of(&exchange).contains("step 4: 0→4 1→5 2→6 3→7 4→1 5→0 6→3 7→2\n"));
}

#[test]
fn long_lists_are_cut_unless_asked_for() {
    let count = |check: &[&str], limit: &str, listed: &str| {
        let text = stdout_of(&[check, &["--limit", limit]].concat());
        let rows = rows(&text).iter().filter(|row| row[0].contains(listed)).count();
        (rows, text.contains("more; --limit 0 prints all"))
    };
    // Conflicts of rounds, and links of an exchange.
    let exchange = ["check", "alltoall", "-a", "xor", "-f", "mlfm36", "--ppn", "2"];
    for (check, listed) in [(FLAT, "rank reduce"), (&exchange, "→")] {
        assert_eq!(count(check, "3", listed), (3, true));
        let (all, cut) = count(check, "0", listed);
        assert!(all > 3 && !cut, "{check:?}");
    }
}

#[test]
fn a_network_is_needed() {
    let (status, error) = failure_of(&["check", "bcast", "-a", "two_tree", "-n", "4"]);
    assert_eq!((status, error.as_str()), (2, "nagare: --fabric is missing: a schedule is checked on a network\n"));
}

#[test]
fn lines_fit_a_terminal_and_one_is_singular() {
    let text = stdout_of(&["check", "bcast", "-a", "chain", "-f", "star16", "--np", "2"]);
    assert!(text.contains("(16 hosts, 1 switch)") && text.contains("\n1 round, 1 transfer between hosts,"), "{text}");
    let exchange = stdout_of(&["check", "alltoall", "-a", "xor", "-f", "tree8"]);
    for line in text.lines().chain(exchange.lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let whole = exchange.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        whole.contains("waits for its receive, and every contribution arrives exactly once 7 rounds,"),
        "{exchange}"
    );
}

/// The certificate says what the whole check says: in how many rounds messages meet, and two that do.
#[test]
fn a_certificate_says_what_the_check_says() {
    let mut with_conflicts = 0;
    for (collective, algorithm, fabric) in [
        ("reduce", "two_tree", "mlfm36"),
        ("bcast", "circulant", "fattree"),
        ("bcast", "circulant", "torus16"),
        ("alltoall", "two_level_ring", "fattree"),
        ("alltoall", "xor", "torus16"),
        ("allgather", "halving_doubling", "wan2x8"),
        ("allreduce", "ring", "tree8"),
    ] {
        let words = ["check", collective, "-a", algorithm, "-f", fabric];
        let json = |more: &[&str]| -> Value {
            serde_json::from_str(&stdout_of(&[&words[..], &["--json"], more].concat())).expect("JSON")
        };
        let (whole, certificate) = (json(&[]), json(&["--certificate"]));
        let network = &whole["network"];
        assert_eq!(certificate["rounds"], network["rounds"], "{words:?}");
        assert_eq!(certificate["messages"], network["transfers"], "{words:?}");
        let conflicts = network["conflicts"].as_array().unwrap();
        let rounds: BTreeSet<u64> = conflicts.iter().map(|c| c["round"].as_u64().unwrap()).collect();
        assert_eq!(certificate["in_conflict"], rounds.len(), "{words:?}");
        let text = stdout_of(&[&words[..], &["--certificate"]].concat());
        let Some(first) = rounds.first() else {
            assert_eq!(certificate["counterexample"], Value::Null);
            assert!(text.contains("every round without conflict: "), "{text}");
            continue;
        };
        with_conflicts += 1;
        let ends = |transfer: &Value| serde_json::json!([transfer["from"], transfer["to"]]);
        let example = &certificate["counterexample"];
        let is_example = |c: &&Value| ends(&c["first"]) == example["first"] && ends(&c["second"]) == example["second"];
        let known = conflicts.iter().find(is_example);
        let known = known.unwrap_or_else(|| panic!("{words:?}: {example} is no conflict"));
        assert_eq!((known["round"].as_u64(), &known["links"]), (Some(*first), &example["links"]), "{words:?}");
        assert!(text.contains("\nthe first: "), "{text}");
        let denied = nagare(&[&words[..], &["--certificate", "--deny-conflicts"]].concat()).output().unwrap();
        assert_eq!(denied.status.code(), Some(1));
    }
    assert!((2..=5).contains(&with_conflicts), "{with_conflicts} have conflicts");
}

/// On a whole fat tree of 4394 hosts, whose ways up are chosen by the destination: a circulant graph and halving are
/// free of conflicts, a tree in the order of ranks is not.
#[test]
fn a_certificate_holds_for_thousands_of_hosts() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("large.toml");
    let text = "queue = 128\n[generator]\nkind = \"fat-tree\"\nports = 26\nbandwidth = 100\nlatency = 1\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let certificate = |collective, algorithm| -> Value {
        let words = ["check", collective, "-a", algorithm, "-f", file, "--certificate", "--json"];
        serde_json::from_str(&stdout_of(&words)).expect("JSON")
    };
    let graph = certificate("bcast", "circulant");
    // In each of ⌈log2 4394⌉ rounds every rank but the root receives once.
    assert_eq!((&graph["rounds"], &graph["messages"]), (&Value::from(13), &Value::from(13 * 4393)));
    for certificate in [&graph, &certificate("allreduce", "halving_doubling")] {
        assert_eq!((&certificate["in_conflict"], &certificate["counterexample"]), (&Value::from(0), &Value::Null));
    }
    let tree = certificate("bcast", "two_tree");
    // 13 hosts on a leaf, 13 ways up.
    let ends = |which: &str| [0, 1].map(|end| tree["counterexample"][which][end].as_u64().expect("a rank"));
    let [[from, to], [other_from, other_to]] = ["first", "second"].map(ends);
    assert_eq!((from / 13, to % 13), (other_from / 13, other_to % 13), "{tree}");
    assert!(from != other_from && [to, other_to].iter().all(|to| to / 13 != from / 13), "{tree}");
}

/// Where a hash picks ways: what is to be expected, what may meet at worst, and no promise.
#[test]
fn hashed_ways_are_checked_as_far_as_they_are_known() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("hashed.toml");
    let text = nagare_plan::fabric::shipped("fattree").unwrap();
    std::fs::write(&file, format!("routing = \"ecmp\"\n{text}")).unwrap();
    let file = file.to_str().unwrap();
    let exchange = ["check", "alltoall", "-a", "two_level_ring", "-f", file, "--bytes", "16K"];
    let whole = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    // By D-mod-K this is free of conflicts.
    let text = whole(stdout_of(&exchange));
    assert!(
        text.contains("a hash may bring 4 transfers of a round together on a0 → c0, where 1.00 are to be"),
        "{text}"
    );
    assert!(text.contains("in time: 240 messages on ways drawn by a hash take"), "{text}");
    let report: Value = serde_json::from_str(&stdout_of(&[&exchange[..], &["--json"]].concat())).unwrap();
    let links = report["network"]["links"].as_array().unwrap();
    let up: Vec<&Value> = links.iter().filter(|link| link["from"] == "a0" && link["to"] == "c0").collect();
    assert_eq!((&up[0]["bytes"], &up[0]["most_at_once"]), (&Value::from(12 * 16384), &Value::from(4)));
    assert_eq!(report["network"]["conflicts"], Value::Array(Vec::new()));
    let certificate = stdout_of(&[&exchange[..6], &["--certificate"]].concat());
    let promise = "\nno promise: routing = \"ecmp\" leaves ways to a hash, which may bring messages together in 13 of \
                   15 rounds, 240 messages between hosts\nthe first: step 2, 0→2 and 1→3 may share l0 → a0, ";
    assert!(certificate.contains(promise), "{certificate}");
    let denied = |words: &[&str]| nagare(&[words, &["--deny-conflicts"]].concat()).output().unwrap().status.code();
    assert_eq!(denied(&[&exchange[..6], &["--certificate"]].concat()), Some(1));
    // Pipelines: one message out of a leaf at a time is safe whatever the hash does, two are not.
    let pipeline = |algorithm| ["check", "bcast", "-a", algorithm, "-f", file];
    let (safe, other) = (pipeline("grouped_two_tree"), pipeline("two_tree"));
    assert!(stdout_of(&safe).ends_with("\nno conflicts\n"));
    assert!(stdout_of(&other).ends_with("\nno conflict for certain\n"));
    assert_eq!((denied(&safe), denied(&other)), (Some(0), Some(1)));
}
