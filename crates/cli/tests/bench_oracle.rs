//! `nagare bench --oracle`: the settings of stock MPI that are tried beside Nagare. Needs what `bench.rs` needs.

use crate::common::bench::{Bench, assert_well_formed, list, missing, text};
use crate::common::{stdout, stdout_of};
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn the_oracle_tries_what_the_library_can_be_told() {
    let bench = Bench::new("oracle");
    if missing() {
        return;
    }
    let collectives = "bcast,alltoallv,gather,scatter,allgather,reduce_scatter_block,reduce_scatter";
    let options = ["--sizes", "16K", "--collectives", collectives, "--budget", "0.2", "--name", "o"];
    let Some(output) = bench.run(&[&options[..], &["--oracle", "--oracle-budget", "5"]].concat()) else { return };
    bench.assert_nothing_stays();
    let results = bench.json("o.json");
    for cell in list(&results, "cells") {
        let tried = list(&cell["oracle"], "tried");
        let names: BTreeSet<&str> = tried.iter().map(|tried| text(tried, "setting")).collect();
        let wanted: &[&str] = match text(cell, "collective") {
            "bcast" => &["pipeline 8K", "chain 4K chain_fanout=4", "scatter_allgather", "binomial", "han"],
            "alltoallv" => &["pairwise", "basic_linear"],
            "scatter" => &["basic_linear", "binomial", "linear_nb max_requests=2", "han"],
            "allgather" => &["ring", "neighbor", "recursive_doubling", "bruck", "linear", "han"],
            "reduce_scatter_block" => &["recursive_halving", "butterfly", "recursive_doubling", "basic_linear"],
            "reduce_scatter" => &["ring", "recursive_halving", "butterfly", "non-overlapping"],
            _ => &["basic_linear", "binomial", "linear_sync", "han"],
        };
        // A block is a quarter of what all have.
        assert!(wanted.iter().all(|name| names.contains(name)), "{names:?}");
        assert!(!names.iter().any(|name| name.contains("16K")), "a segment as long as the message: {names:?}");
        for tried in tried {
            // The library took every setting, or there was a reason of ours not to try it.
            match tried["seconds"].as_f64() {
                Some(seconds) => assert!(seconds > 0.0, "{tried}"),
                None => {
                    assert!(["no time", "times the fastest"].iter().any(|why| text(tried, "left_out").contains(why)))
                }
            }
        }
        let count = tried.iter().filter(|tried| tried["seconds"].is_number()).count();
        let timings = list(cell, "timings");
        let forced: Vec<&Value> =
            timings.iter().filter(|timing| text(timing, "configuration").starts_with("stock: ")).collect();
        assert!((1..=count.min(3)).contains(&forced.len()), "{cell}");
        for timing in forced {
            // As many iterations as the others had, and nothing of Nagare's in them.
            assert_eq!(timing["iterations"], timings[0]["iterations"], "{timing}");
            assert!(text(timing, "ran").starts_with("stock"), "{timing}");
            let setting = &text(timing, "configuration")["stock: ".len()..];
            let variables = cell["oracle"]["fastest"][setting].as_object().unwrap();
            assert!(!variables.is_empty(), "{cell}");
        }
        let svg = std::fs::read_to_string(bench.bed.path(&format!("o-{}.svg", text(cell, "collective")))).unwrap();
        assert_well_formed(&svg);
        assert!(svg.contains("best stock"), "{svg}");
    }
    let shown = stdout(&output);
    assert!(shown.contains("best stock") && shown.contains("× best stock"), "{shown}");
    let path = bench.bed.path("o.json");
    let path = path.to_str().unwrap();
    let compared = crate::common::rows(&stdout_of(&["bench", "compare", path, path]));
    assert!(compared.iter().any(|row| row[..3] == ["bcast", "16K", "best stock"]), "{compared:?}");
    // The plots, drawn again from the file.
    let svg = bench.bed.path("o-bcast.svg");
    let drawn = std::fs::read_to_string(&svg).unwrap();
    std::fs::remove_file(&svg).unwrap();
    stdout_of(&["bench", "table", "--draw", path]);
    assert_eq!(std::fs::read_to_string(&svg).unwrap(), drawn);
}
