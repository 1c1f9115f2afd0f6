//! The example and the table of `docs/fabrics.md`, against the code and the fabrics that come with it.

use nagare_plan::fabric::{Fabric, Level, LevelChoice, SHIPPED, shipped};
use std::collections::BTreeSet;

use crate::support::document::table_of;

const FABRICS: &str = include_str!("../../../docs/fabrics.md");

fn levels_of(fabric: &Fabric) -> String {
    shown_levels(&fabric.levels())
}

fn shown_levels(levels: &[Level]) -> String {
    let shown: Vec<String> = levels.iter().map(|l| format!("{} {}", l.name, l.group_count())).collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

#[test]
fn the_fabric_file_of_the_document_is_one() {
    let text = FABRICS.split("```toml\n").nth(1).and_then(|t| t.split("```").next()).expect("an example");
    let fabric = Fabric::from_toml(text, "docs/fabrics.md").unwrap();
    assert_eq!((fabric.host_count(), fabric.switch_count(), levels_of(&fabric).as_str()), (8, 3, "leaf 2"));
    // Four hosts of 100 Mbit/s per leaf, two cables of 200: else there is no leaf level, and one group over all.
    assert_eq!(fabric.levels_by(&LevelChoice::Default), []);
}

#[test]
fn the_shipped_fabrics_are_listed_with_their_levels() {
    let mut documented = BTreeSet::new();
    for row in table_of(FABRICS, "name") {
        for name in row[0].split(", ") {
            let fabric = Fabric::from_toml(shipped(name).expect("shipped"), name).unwrap();
            if row[2] != "as above" {
                assert_eq!(levels_of(&fabric), row[2], "{name}");
            }
            let counts = fabric.levels();
            let mut further = fabric.levels_by(&LevelChoice::All);
            further.retain(|level| !counts.contains(level));
            assert_eq!(shown_levels(&further), row[3], "{name}");
            documented.insert(name.to_owned());
        }
    }
    assert_eq!(documented, SHIPPED.iter().map(|s| s.0.to_owned()).collect());
}
