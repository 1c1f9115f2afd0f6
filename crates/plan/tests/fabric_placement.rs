//! Placements, and what the checker counts.

use nagare_plan::fabric::{
    CheckError, Fabric, Generator, HostId, Placement, PlacementError, Round, TierRates, Transfer, check, shipped,
};

fn load(name: &str) -> Fabric {
    Fabric::from_toml(shipped(name).unwrap(), name).unwrap()
}

fn numbers(placement: &Placement) -> Vec<u32> {
    placement.hosts().iter().map(|h| h.0).collect()
}

#[test]
fn by_slot_and_by_node() {
    let fabric = load("tree8");
    assert_eq!(numbers(&Placement::by_slot(&fabric, 5, 2).unwrap()), [0, 0, 1, 1, 2]);
    let by_node = numbers(&Placement::by_node(&fabric, 10, 2).unwrap());
    assert_eq!(by_node, [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]);
    let many = Placement::by_slot(&fabric, 17, 2).unwrap_err();
    assert_eq!(many.to_string(), "17 ranks do not fit on 8 hosts with 2 per host; expected at most 16");
    assert!(Placement::by_node(&fabric, 17, 2).is_err() && Placement::balanced(&fabric, 17, 2).is_err());
    assert!(Placement::by_slot(&fabric, 0, 0).is_ok() && Placement::by_slot(&fabric, 1, 0).is_err());
}

#[test]
fn balanced_on_the_mesh() {
    let fabric = load("mlfm36");
    let expect = |ranks: usize, per_group: &[u32]| {
        let hosts = per_group.iter().zip(0..).flat_map(|(&n, g)| 9 * g..9 * g + n);
        assert_eq!(numbers(&Placement::balanced(&fabric, ranks, 1).unwrap()), hosts.collect::<Vec<u32>>());
    };
    expect(32, &[8, 8, 8, 8]);
    expect(31, &[8, 8, 8, 7]);
    expect(10, &[5, 5]);
    expect(9, &[9]);
    expect(36, &[9, 9, 9, 9]);
    // Four ranks per host: 40 ranks need two groups of 36 places, 20 ranks on 5 hosts each.
    let two = numbers(&Placement::balanced(&fabric, 40, 4).unwrap());
    assert_eq!(two, (0..40).map(|r| if r < 20 { r / 4 } else { 9 + (r - 20) / 4 }).collect::<Vec<u32>>());
}

#[test]
fn balanced_over_several_levels_and_uneven_groups() {
    let tree = Generator::Tree { children: vec![4, 3, 2] };
    let fabric = tree.builder("test", &TierRates::uniform(10.0, 1.0)).unwrap().build().unwrap();
    // 14 ranks: both pods of 12, 7 each, in every pod two leaves of 4 with 4 and 3.
    let expected = [0, 1, 2, 3, 4, 5, 6, 12, 13, 14, 15, 16, 17, 18];
    assert_eq!(numbers(&Placement::balanced(&fabric, 14, 1).unwrap()), expected);

    let uneven = r#"
        hosts = ["n[0-7]"]
        switches = ["c[0-1]"]
        bandwidth = 10
        link = [{ from = "n[0-1]", to = "c0" }, { from = "n[2-7]", to = "c1" }, { from = "c0", to = "c1" }]
    "#;
    let fabric = Fabric::from_toml(uneven, "test").unwrap();
    assert_eq!(numbers(&Placement::balanced(&fabric, 7, 1).unwrap()), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(numbers(&Placement::balanced(&fabric, 4, 1).unwrap()), [0, 1, 2, 3]);
}

#[test]
fn listed_hosts() {
    let fabric = load("tree8");
    let placement = Placement::listed(&fabric, &["n7", "n0", "n7"]).unwrap();
    assert_eq!(numbers(&placement), [7, 0, 7]);
    assert_eq!((placement.host(1), placement.host(3)), (Some(HostId(0)), None));
    for name in ["n8", "l0"] {
        let error = Placement::listed(&fabric, &["n0", name]).unwrap_err();
        let expected = PlacementError::UnknownHost { name: name.into(), rank: 1, fabric: "tree8".into() };
        assert_eq!(error, expected);
    }
}

fn transfer(from: u32, to: u32, bytes: u64) -> Transfer {
    Transfer { from, to, bytes }
}

#[test]
fn bytes_are_counted_per_link_and_direction() {
    let fabric = load("tree8");
    // Two ranks per host: 0 and 1 on n0, 2 and 3 on n1, 8 and 9 on n4.
    let placement = Placement::by_slot(&fabric, 16, 2).unwrap();
    let rounds = [
        Round { label: "one".into(), transfers: vec![transfer(0, 8, 100), transfer(8, 2, 10), transfer(0, 1, 5)] },
        Round { label: "two".into(), transfers: vec![transfer(3, 9, 1000)] },
    ];
    let report = check(&fabric, &placement, &rounds).unwrap();
    let mut load: Vec<_> =
        report.links.iter().map(|l| (format!("{} {}", l.from, l.to), l.bytes, l.transfers)).collect();
    load.sort();
    let mut expected = [
        ("n0 l0", 100, 1),
        ("n1 l0", 1000, 1),
        ("l0 s0", 1100, 2),
        ("s0 l1", 1100, 2),
        ("l1 n4", 1100, 2),
        ("n4 l1", 10, 1),
        ("l1 s0", 10, 1),
        ("s0 l0", 10, 1),
        ("l0 n1", 10, 1),
    ]
    .map(|(name, bytes, transfers)| (name.to_owned(), bytes, transfers));
    expected.sort();
    assert_eq!(load, expected);
    // The transfer inside n0 uses no link; in no round do two go the same way.
    assert_eq!((report.rounds, report.transfers), (2, 3));
    assert_eq!(report.conflicts, []);
    assert!(report.links.iter().all(|l| l.most_at_once == 1));
}

#[test]
fn a_conflict_names_round_transfers_and_links() {
    let fabric = load("tree8");
    let placement = Placement::by_slot(&fabric, 8, 1).unwrap();
    let transfers = vec![transfer(0, 4, 1), transfer(1, 5, 1), transfer(5, 1, 1), transfer(2, 4, 1)];
    let report = check(&fabric, &placement, &[Round { label: "colour 0".into(), transfers }]).unwrap();
    let found: Vec<_> = report.conflicts.iter().map(|c| (c.first.from, c.second.from, c.links.join(", "))).collect();
    let expected = [(0, 1, "l0 -> s0, s0 -> l1"), (0, 2, "l0 -> s0, s0 -> l1, l1 -> n4"), (1, 2, "l0 -> s0, s0 -> l1")];
    assert_eq!(found, expected.map(|(a, b, links)| (a, b, links.to_owned())));
    assert!(report.conflicts.iter().all(|c| c.round == 0 && c.label == "colour 0"));
    assert!(!report.more);
}

#[test]
fn as_many_transfers_as_cables_do_not_conflict() {
    let torus = Generator::Torus { dims: vec![2], hosts_per_switch: 3 };
    let fabric = torus.builder("test", &TierRates::uniform(10.0, 1.0)).unwrap().build().unwrap();
    let placement = Placement::by_slot(&fabric, 6, 1).unwrap();
    let mut transfers = vec![transfer(0, 3, 1), transfer(1, 4, 1)];
    let conflicts = |transfers: &[Transfer]| {
        let round = Round { label: "r".into(), transfers: transfers.to_vec() };
        check(&fabric, &placement, &[round]).unwrap().conflicts.len()
    };
    assert_eq!(conflicts(&transfers), 0);
    transfers.push(transfer(2, 5, 1));
    assert_eq!(conflicts(&transfers), 3);
}

#[test]
fn a_report_of_very_many_conflicts_is_cut_and_says_so() {
    let star = Generator::Star { hosts: 600 };
    let fabric = star.builder("test", &TierRates::uniform(10.0, 1.0)).unwrap().build().unwrap();
    let placement = Placement::by_slot(&fabric, 600, 1).unwrap();
    let transfers = (1..600).map(|r| transfer(r, 0, 1)).collect();
    let report = check(&fabric, &placement, &[Round { label: "gather".into(), transfers }]).unwrap();
    assert_eq!((report.conflicts.len(), report.more), (100_000, true));
}

#[test]
fn ranks_and_hosts_that_do_not_exist() {
    let fabric = load("tree8");
    let placement = Placement::by_slot(&fabric, 2, 1).unwrap();
    let round = Round { label: "x".into(), transfers: vec![transfer(0, 2, 1)] };
    let error = check(&fabric, &placement, &[round]).unwrap_err();
    assert_eq!(error, CheckError::UnknownRank { label: "x".into(), rank: 2, ranks: 2 });
    let stray = Placement::from_hosts(vec![HostId(0), HostId(8)]);
    let error = check(&fabric, &stray, &[]).unwrap_err();
    assert_eq!(error, CheckError::UnknownHost { rank: 1, host: 8, hosts: 8 });
}
