//! `nagare bench` on a small part of a fabric: what it measures, what it writes, and that nothing stays behind.
//! Needs what `nagare testbed` needs, Open MPI, and the built program and library (`make`); without, tests print why
//! they do nothing. No times are asserted.

use crate::common::bench::{Bench, assert_well_formed, list, missing, number, text};
use crate::common::{failure_of, nagare, stderr, stdout, stdout_of, usual_congestion};
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn cells_are_measured_with_every_algorithm_and_have_the_limits_of_the_links() {
    let bench = Bench::new("cells");
    if missing() {
        return;
    }
    let Some(output) = bench.run(&["--sizes", "8,64K", "--budget", "0.2", "--name", "a"]) else { return };
    bench.assert_nothing_stays();
    let results = bench.json("a.json");
    assert_eq!((text(&results, "name"), &results["complete"], &results["schema"]), ("a", &true.into(), &1.into()));
    let job = &results["job"];
    assert_eq!(job["hosts"], serde_json::json!(["n0", "n1", "n4", "n5"]));
    assert!(text(job, "mpi").starts_with("Open MPI v"), "{job}");
    assert_eq!(text(job, "nagare"), env!("CARGO_PKG_VERSION"));
    assert!(usual_congestion().is_none_or(|usual| text(job, "congestion") == usual), "{job}");
    // Blocks of two bytes hold no element: what has blocks is measured with the larger size alone.
    let cells: Vec<(&str, u64, u64)> = list(&results, "cells")
        .iter()
        .map(|cell| (text(cell, "collective"), cell["bytes"].as_u64().unwrap(), cell["block"].as_u64().unwrap()))
        .collect();
    let (k, block) = (65536, 16384);
    let mut expected: Vec<(&str, u64, u64)> =
        ["bcast", "reduce", "allreduce"].iter().flat_map(|&name| [(name, 8, 8), (name, k, k)]).collect();
    let blocks = [
        "alltoall",
        "alltoallv",
        "alltoallw",
        "gather",
        "gatherv",
        "scatter",
        "scatterv",
        "allgather",
        "allgatherv",
        "reduce_scatter_block",
        "reduce_scatter",
    ];
    expected.extend(blocks.map(|name| (name, k, block)));
    assert_eq!(cells, expected);
    // Seconds for one byte at 100 Mbit/s with 1448 bytes of data in a frame of 1514.
    let byte = 8.0 / 100e6 * 1514.0 / 1448.0;
    for cell in list(&results, "cells") {
        let name = text(cell, "collective");
        let n = number(cell, "bytes");
        let links = match name {
            // The root's link, or the link between the leaves: all of the vector.
            "bcast" | "reduce" => n,
            // Three quarters of the vector out of and into every host, twice.
            "allreduce" => 1.5 * n,
            // From two ranks of a leaf to the two of the other: four of sixteen blocks, each a quarter of the vector.
            "alltoall" | "alltoallv" | "alltoallw" => n,
            // Into the root's host, or into or out of every host: all blocks but its own.
            _ => 0.75 * n,
        };
        // Each block of these is up to a tenth longer or shorter than the mean.
        let tolerance = if ["alltoallv", "gatherv", "scatterv", "allgatherv", "reduce_scatter"].contains(&name) {
            0.1
        } else {
            1e-6
        };
        assert!((number(cell, "limit") / (links * byte) - 1.0).abs() < tolerance, "{name}: {}", cell["limit"]);
        let mut configurations = BTreeSet::new();
        for timing in list(cell, "timings") {
            let (configuration, ran) = (text(timing, "configuration"), text(timing, "ran"));
            configurations.insert(configuration);
            assert!(timing["iterations"].as_u64().unwrap() >= 3 && number(timing, "median") > 0.0, "{timing}");
            match configuration {
                "stock" => assert!(ran.starts_with("stock") && !ran.contains('+'), "{name}: {ran}"),
                "default" => assert!(!ran.is_empty(), "{name}"),
                forced => assert_eq!(ran, forced, "{name}"),
            }
        }
        let wanted: &[&str] = match name {
            "gather" | "gatherv" | "scatter" | "scatterv" | "alltoallv" | "alltoallw" => &["stock"],
            "allgather" | "allgatherv" | "reduce_scatter_block" | "reduce_scatter" => {
                &["stock", "default", "halving_doubling", "ring"]
            }
            "alltoall" => &["stock", "default", "xor"],
            _ => &["stock", "default", "two_tree", "grouped_two_tree"],
        };
        assert!(wanted.iter().all(|name| configurations.contains(name)), "{name}: {configurations:?}");
    }
    let tests: Vec<&str> = list(&results, "goodput").iter().map(|goodput| text(goodput, "test")).collect();
    assert_eq!(tests, ["pair", "across", "next"]);
    let messages = list(&results, "messages");
    assert_eq!(messages.iter().map(|message| text(message, "test")).collect::<Vec<_>>(), ["latency", "gap"]);
    assert_eq!(messages[0]["flows"], serde_json::json!([[0, 2]]));
    assert_eq!(messages[1]["flows"], serde_json::json!([[0, 1], [1, 2], [2, 3], [3, 0]]));
    for operation in ["bcast", "reduce", "allreduce"].into_iter().chain(blocks) {
        let svg = std::fs::read_to_string(bench.bed.path(&format!("a-{operation}.svg"))).unwrap();
        assert_well_formed(&svg);
        assert!(svg.contains("stock MPI") && !svg.contains("best stock"), "{svg}");
        let axis = match operation {
            "bcast" | "reduce" | "allreduce" => ">bytes of the vector<",
            "alltoall" | "alltoallv" | "alltoallw" | "gather" | "gatherv" | "scatter" | "scatterv" => {
                ">bytes per rank pair<"
            }
            _ => ">bytes per rank<",
        };
        assert!(svg.contains(axis), "{operation}: {svg}");
    }
    let shown = stdout(&output);
    assert!(shown.contains("16K per pair (64K in all)") && shown.contains("16K per rank (64K in all)"), "{shown}");
    assert!(!shown.contains("ran where it was forced"), "{shown}");
    for key in ["message_latency", "message_gap"] {
        let line = shown.lines().find(|line| line.starts_with(key)).unwrap_or_else(|| panic!("no {key} in {shown}"));
        let value = line.strip_prefix(&format!("{key} = ")).and_then(|rest| rest.strip_suffix("   # microseconds"));
        assert!(value.unwrap().parse::<f64>().unwrap() > 0.0, "{line}");
    }
    compare_and_table(&bench);
}

/// A run beside itself, and as Markdown.
fn compare_and_table(bench: &Bench) {
    let path = bench.bed.path("a.json");
    let path = path.to_str().unwrap();
    let compared = stdout_of(&["bench", "compare", path, path]);
    let rows = crate::common::rows(&compared);
    assert!(rows.iter().any(|row| row[..3] == ["bcast", "64K", "two_tree"]), "{compared}");
    assert!(rows[1..].iter().all(|row| row[3] == row[4] && row[5] == "+0 %" && row[6].is_empty()), "{compared}");
    assert!(!compared.contains("different fabrics"), "{compared}");
    let compared: Value = serde_json::from_str(&stdout_of(&["bench", "compare", "--json", path, path])).unwrap();
    let compared = compared.as_array().unwrap();
    assert_eq!(compared.len(), rows.len() - 1);
    assert!(compared.iter().all(|row| row["a"] == row["b"] && row["verdict"] == ""), "{compared:?}");
    let page = stdout_of(&["bench", "table", "--plots", "plots", path]);
    assert!(page.starts_with("## tree8: 4 ranks, map "), "{page}");
    assert!(page.contains("![gather on tree8](plots/a-gather.svg)"), "{page}");
    // One header with its rule and a row per cell, all of the same width.
    let table: Vec<&str> = page.lines().skip_while(|line| !line.starts_with("| collective |")).collect();
    let table: Vec<usize> =
        table.iter().take_while(|line| line.starts_with('|')).map(|line| line.matches('|').count()).collect();
    let mut run: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let cells = run["cells"].as_array().unwrap().len();
    assert_eq!((table.len(), table.iter().collect::<BTreeSet<_>>().len()), (2 + cells, 1), "{page}");
    let allgathers = run["cells"].as_array_mut().unwrap().iter_mut().filter(|cell| cell["collective"] == "allgather");
    for timing in allgathers.flat_map(|cell| cell["timings"].as_array_mut().unwrap()) {
        for key in ["quartile1", "median", "quartile3"] {
            timing[key] = 1000.0.into();
        }
    }
    let slow = bench.bed.path("slow.json");
    std::fs::write(&slow, run.to_string()).unwrap();
    let output = nagare(&["bench", "guidelines", path, slow.to_str().unwrap()]).output().unwrap();
    let told =
        "a: allgather of 16K per rank (64K in all), 1000000 ms, is slower than alltoall of 16K per pair (64K in all)";
    assert!(output.status.code() == Some(1) && stdout(&output).contains(told), "{}", stdout(&output));
    let output = nagare(&["bench", "guidelines", "--json", slow.to_str().unwrap()]).output().unwrap();
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let of = |violation: &Value| violation["collective"] == "allgather" && violation["bound"][0][0] == "alltoall";
    let is_told = found[0]["violations"].as_array().unwrap().iter().any(of);
    assert!(output.status.code() == Some(1) && is_told, "{found}");
    let missing = bench.bed.path("none.json");
    let (code, error) = failure_of(&["bench", "table", missing.to_str().unwrap()]);
    assert!(code == 2 && error.contains("none.json") && error.lines().count() == 1, "{error}");
}

#[test]
fn only_what_is_asked_for_takes_turns_and_any_rank_is_the_root() {
    let bench = Bench::new("some");
    if missing() {
        return;
    }
    let options = ["--sizes", "16K", "--budget", "0.2", "--name", "s", "--root", "2", "--algorithms", "ring,stock"];
    let collectives = ["--collectives", "reduce,allreduce,alltoallv_sparse,gather"];
    let Some(output) = bench.run(&[&options[..], &collectives].concat()) else { return };
    bench.assert_nothing_stays();
    let results = bench.json("s.json");
    assert_eq!(results["job"]["root"], 2);
    assert!(stdout(&output).contains(", root 2;"), "{}", stdout(&output));
    let cells = list(&results, "cells");
    let measured: Vec<(&str, Vec<&str>)> = cells
        .iter()
        .map(|cell| {
            let timings = list(cell, "timings").iter().map(|timing| text(timing, "configuration"));
            (text(cell, "collective"), timings.collect())
        })
        .collect();
    let expected = [
        ("reduce", vec!["stock"]),
        ("allreduce", vec!["stock", "ring"]),
        ("alltoallv_sparse", vec!["stock"]),
        ("gather", vec!["stock"]),
    ];
    assert_eq!(measured, expected);
    // What an algorithm cannot do is told, and is no mistake.
    let gap = "nagare: ring is not measured with reduce, alltoallv_sparse, gather; it implements ";
    assert!(stderr(&output).lines().any(|line| line.starts_with(gap)), "{}", stderr(&output));
    // What is left is told from the second cell on.
    let is_progress = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit()) && line.contains(" of 4");
    let progress: Vec<String> = stderr(&output).lines().filter(is_progress).map(str::to_owned).collect();
    assert_eq!(progress.len(), 4, "{progress:?}");
    assert!(progress[0].starts_with("1 of 4: reduce") && !progress[0].contains("left"), "{progress:?}");
    assert!(progress[1..].iter().all(|line| line.contains(" left: ")), "{progress:?}");
}

/// The report counts every call; of the rows, the first warms up.
#[test]
fn calls_follow_one_another_and_a_time_is_the_mean_of_a_row() {
    let bench = Bench::new("row");
    if missing() {
        return;
    }
    let report = bench.bed.path("report.json");
    let options = ["--sizes", "64K", "--budget", "0.2", "--name", "r", "--algorithms", "ring", "--back-to-back", "5"];
    let report = [("NAGARE_REPORT", report.to_str().unwrap())];
    let Some(output) = bench.run_with(&[&options[..], &["--collectives", "allreduce"]].concat(), &report) else {
        return;
    };
    bench.assert_nothing_stays();
    let (results, report) = (bench.json("r.json"), bench.json("report.json"));
    assert_eq!((&results["job"]["series"], &results["job"]["back_to_back"]), (&1.into(), &5.into()));
    assert!(stdout(&output).contains(", 5 calls back to back;"), "{}", stdout(&output));
    let timing = &results["cells"][0]["timings"][0];
    let rows = timing["iterations"].as_u64().unwrap();
    let calls = &report["rows"][0]["calls"];
    // A row counts from the start where calls take a quarter of a second on a busy machine.
    assert!([5 * rows, 5 * (rows + 1)].map(Value::from).contains(calls), "{rows} rows, {calls} calls");
}

#[test]
fn mistakes_are_one_clear_line_before_anything_is_started() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    if missing() {
        return;
    }
    for (options, part) in [
        (&["--sizes", "8,6"][..], "'6'"),
        (
            &["--collectives", "scan"],
            "'scan' is not bcast, reduce, allreduce, alltoall, alltoallv, alltoallv_sparse, alltoallv_skewed, \
             alltoallw, alltoallw_skewed, gather, gatherv, scatter, scatterv, allgather, allgatherv, \
             reduce_scatter_block, reduce_scatter",
        ),
        (&["--algorithms", "circle"], "'circle' is not stock, default, two_tree"),
        (
            &["--algorithms", "stock,ring", "--collectives", "bcast,gather"],
            "ring implements none of bcast, gather; it implements ",
        ),
        (&["--map", "nowhere"], "nowhere"),
        (&["--congestion", "slow"], "'slow'"),
    ] {
        let (code, error) = failure_of(&[&["bench", "--fabric", "tree8", "--out", out], options].concat());
        assert!(code == 2 && error.contains(part), "{options:?}: {code} {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert_eq!(std::fs::read_dir(out).unwrap().count(), 0, "{options:?} left a file");
    }
}
