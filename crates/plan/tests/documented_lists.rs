//! The lists of `docs/algorithms.md`, read from its text, against the code: of all algorithms, of the least sizes that
//! collectives run for, and of what runs by predicted time.

use nagare_plan::Planner;
use nagare_plan::algorithm::{ALGORITHMS, Algorithm, Candidacy, Spec};
use nagare_plan::choice::{Call, Choice, DEFAULTS, Prescription, Reason, Rules, usual};
use nagare_plan::collective::Collective;
use nagare_plan::fabric::{Fabric, SHIPPED};
use std::sync::Arc;

use crate::support::document::{number, table};
use crate::support::network;

#[test]
fn the_table_of_algorithms_is_the_code_s() {
    let names = |c: &[Collective]| c.iter().map(|c| c.name()).collect::<Vec<_>>().join(", ");
    let row = |s: &Spec| [&format!("`{}`", s.name), &names(s.collectives), s.needs, s.summary, s.source].join(" | ");
    let documented = table("algorithm");
    for (place, row) in ALGORITHMS.iter().map(row).enumerate() {
        let found = documented.get(place).map(|cells| cells.join(" | "));
        assert_eq!(found, Some(row.replace('`', "")), "docs/algorithms.md, row {} must be\n| {row} |", place + 1);
    }
    assert_eq!(documented.len(), ALGORITHMS.len());
}

#[test]
fn the_thresholds_are_the_code_s() {
    let bytes = |cell: &str| match cell.strip_suffix(" KiB") {
        Some(kibibytes) => 1024 * number::<u64>(kibibytes),
        None => number(cell.trim_end_matches(" bytes")),
    };
    let documented: Vec<(String, String, u64, u64)> =
        table("collective").iter().map(|r| (r[0].clone(), r[1].clone(), bytes(&r[2]), bytes(&r[3]))).collect();
    // A switch whose first host has a wide link, and those that come with Nagare.
    let wide = "name = \"wide\"\nhosts = [\"n[0-4]\"]\nswitches = [\"s\"]\nbandwidth = 100\nlatency = 5\n\
                [[link]]\nfrom = \"n0\"\nto = \"s\"\nbandwidth = 400\n[[link]]\nfrom = \"n[1-4]\"\nto = \"s\"\n";
    let wide = Arc::new(Fabric::from_toml(wide, "wide").expect("valid"));
    let fabrics = SHIPPED.iter().map(|&(name, _)| network::load(name)).chain([wide]);
    let on =
        |fabric: Arc<Fabric>| network::planner(&fabric, &network::place(&fabric, "by slot", fabric.host_count(), 1));
    let networks: Vec<Planner> = fabrics.map(on).collect();
    let known: Vec<(String, String, u64, u64)> = DEFAULTS
        .iter()
        .map(|rule| {
            assert_eq!(rule.max, u64::MAX, "the document names no upper bound");
            assert_eq!(rule.prescription, Prescription::Fitting);
            let collective = rule.collective.expect("one collective");
            let able = || ALGORITHMS.iter().filter(|spec| spec.collectives.contains(&collective));
            let fits_one = |spec: &&Spec| networks.iter().any(|planner| planner.suits(spec, collective, 64 << 10));
            let fit: Vec<&str> = able().filter(fits_one).map(|spec| spec.name).collect();
            let by_time = able().any(|spec| spec.candidacy == Candidacy::Default);
            let algorithm = match (by_time, fit.is_empty()) {
                (true, _) => "by predicted time".to_owned(),
                (false, true) => "nothing".to_owned(),
                (false, false) => fit.join(" or "),
            };
            (collective.name().to_owned(), algorithm, usual(collective).max(rule.min), rule.min)
        })
        .collect();
    assert_eq!(documented, known);
    // The rows that fit are the choice: one byte below the threshold nothing of ours runs.
    for (collective, _, _, min) in documented {
        let call = |bytes| {
            let collective = Collective::from_name(&collective).expect("a collective");
            Rules::default().choose(&Call { collective, bytes, ranks: 16, nodes: 2 }, || Some(Algorithm::Chain))
        };
        if let Some(below) = u64::checked_sub(min, 1) {
            assert_eq!(call(below), Choice::Library(Reason::Small));
        }
        assert_eq!(call(min), Choice::Run(Algorithm::Chain));
        assert_eq!(call(u64::MAX), Choice::Run(Algorithm::Chain));
    }
}

#[test]
fn the_candidates_by_predicted_time_are_the_code_s() {
    let text = include_str!("../../../docs/algorithms.md");
    let text = text.replace('\n', " ");
    let from = text.find("**By predicted time**: of ").expect("the sentence");
    let to = text[from..].find("as far").expect("its end");
    let documented: Vec<&str> = text[from..from + to].split('`').skip(1).step_by(2).collect();
    let known: Vec<&str> = ALGORITHMS.iter().filter(|s| s.candidacy == Candidacy::Default).map(|s| s.name).collect();
    assert_eq!(documented, known);
}
