//! `scripts/bench.sh`: its short form makes the page with tables and plots. Needs what `bench.rs` needs.

use crate::common::bed::skipped;
use crate::common::bench::{assert_well_formed, missing};
use crate::common::{limited, nagare, stderr};
use std::path::Path;
use std::process::Command;

#[test]
fn the_short_script_makes_its_page() {
    if missing() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut script = Command::new(root.join("scripts/bench.sh"));
    // An environment like that of the command under test.
    for (name, value) in nagare(&[]).get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    script.arg("--short").arg(directory.path()).env("NAGARE", env!("CARGO_BIN_EXE_nagare"));
    let output = limited(&script);
    if skipped(&output) {
        return;
    }
    assert!(output.status.success(), "{}", stderr(&output));
    let page = std::fs::read_to_string(directory.path().join("tables.md")).unwrap();
    for (fabric, ranks, map) in [("tree8", 4, "slot"), ("star16", 4, "node")] {
        assert!(page.contains(&format!("## {fabric}: {ranks} ranks, map {map}")), "{page}");
    }
    let plots = page.lines().filter_map(|line| line.strip_prefix("![")?.split_once("](")?.1.strip_suffix(')'));
    let plots: Vec<&str> = plots.collect();
    assert_eq!(plots.len(), 4, "{page}");
    for plot in plots {
        assert_well_formed(&std::fs::read_to_string(directory.path().join(plot)).unwrap());
    }
}
