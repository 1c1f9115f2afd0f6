//! Short texts that users write, whatever is in them: machines, rules, sizes, dimensions, Slurm's addresses, name
//! patterns. Never a panic; an error is one clear line; what was understood is usable.

mod support {
    pub mod everything;
}

use nagare_mutate::{Counting, assert_helpful, cases, checked, texts};
use nagare_plan::choice::{Call, Rules, parse_bytes};
use nagare_plan::collective::Collective;
use nagare_plan::fabric::{SlurmAddress, Synthetic, expand};
use nagare_plan::topology::{Dims, Source, Topology};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use support::everything::{plans_of_everything, topology};

#[global_allocator]
static MEMORY: Counting = Counting;

const MACHINES: &[&str] = &[
    "synthetic:group:4 node:2 core:4",
    "synthetic:node:3",
    "synthetic:node:2 numa:2 core:2",
    "synthetic:rack:2 blade:3 socket:2 core:8",
    " synthetic: a:1 b:1 ",
];
const RULES: &[&str] = &[
    "bcast=grouped_two_tree:64K-;alltoall=xor;all=stock",
    "all=halving_doubling:1-1M;reduce=chain:-8K",
    "gather=relay;allgather=ring:1G-2G;alltoallv=contention_free",
    "reduce_scatter_block=ring;reduce_scatter=stock;;",
];
const RULE_WORDS: &[&str] = &["all", "stock", "bcast", "alltoallv", "xor", "two_tree", "aggregated", "reduce"];
const BYTES: &[&str] = &["0", "8K", "64k", "1M", "16G", "65536", " 4096 "];
const DIMS: &[&str] = &["4x4x2", "W4xX2xY1xZ4", "16", "x2xy3xbox4", "1x2x1x2x1x3", "4294967295"];
const ADDRESSES: &[&str] = &["s0.s4.node7", "s0.n7.site.org", "n7", "a.b.c.d.e"];
const PATTERNS: &[&str] = &["switch.switch.node", "switch.node", "node", "block.block.switch.switch.node"];
const NAMES: &[&str] = &["n[0-7]", "rack[a-c]-[00-15]", "n[0-3,7,a]", "n7", "[A-Z][0-9][0-9]"];

fn machine(text: &str) {
    let Ok(machine) = text.parse::<Synthetic>().map_err(|e| assert_helpful(&e.to_string())) else { return };
    let places = machine.places();
    assert!(places >= 1 && machine.fit(places).is_ok() && machine.fit(places + 1).is_err(), "{places}");
    assert_helpful(&machine.path(u64::MAX).expect_err("beyond the last place").to_string());
    let last = machine.path(places - 1).expect("the last place");
    assert_eq!(last.len(), machine.levels().len());
    // Written as it is read.
    let written: Vec<String> = machine.levels().iter().map(|l| format!("{}:{}", l.name, l.count)).collect();
    assert_eq!(format!("synthetic:{}", written.join(" ")).parse(), Ok(machine));
}

fn rules(text: &str) {
    let Ok(rules) = Rules::parse(text).map_err(|e| assert_helpful(&e.to_string())) else { return };
    for collective in Collective::ALL {
        for bytes in [0, 1, 65536, u64::MAX] {
            for nodes in [1, 2] {
                rules.choose(&Call { collective, bytes, ranks: 4, nodes }, || None);
                assert!(rules.floor(collective) <= rules.floor_on(collective, nodes, 0));
            }
        }
    }
}

fn names(text: &str) {
    match expand(text) {
        // As many as there are names, and never more than a network may have.
        Ok(names) => assert!((1..=1 << 20).contains(&names.len()), "{}", names.len()),
        Err(error) => assert_helpful(&error.to_string()),
    }
}

fn dims(text: &str) {
    let Ok(dims) = text.parse::<Dims>().map_err(|e| assert_helpful(&e.to_string())) else { return };
    let points = dims.named().iter().map(|&(_, size)| u64::from(size)).product::<u64>();
    assert_eq!(u64::from(dims.points()), points);
    let names: BTreeSet<&str> = dims.named().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), dims.named().len(), "names differ");
    let last: Vec<u32> = dims.named().iter().map(|(_, size)| size - 1).collect();
    assert_eq!(dims.coordinates(dims.points() - 1), last);
    let sizes = |dims: &Dims| dims.named().iter().map(|&(_, size)| size).collect::<Vec<_>>();
    let again: Dims = dims.to_string().parse().expect("what was printed");
    assert_eq!(sizes(&again), sizes(&dims));
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn machines(text in texts(MACHINES, &["synthetic:", "node", "core", ":2"])) {
        checked(text.as_str(), machine);
    }

    #[test]
    fn rules_of_algorithms(text in texts(RULES, RULE_WORDS)) {
        checked(text.as_str(), rules);
    }

    #[test]
    fn numbers_of_bytes(text in texts(BYTES, &["K", "M", "G", "k"])) {
        checked(text.as_str(), parse_bytes);
    }

    #[test]
    fn dimensions(text in texts(DIMS, &["x", "4x", "xX2"])) {
        checked(text.as_str(), dims);
    }

    #[test]
    fn name_patterns(text in texts(NAMES, &["[0-9]", "[a-z]", ","])) {
        checked(text.as_str(), names);
    }

    #[test]
    fn addresses_of_slurm(
        address in texts(ADDRESSES, &[".", "s0", "node"]),
        pattern in texts(PATTERNS, &[".", "switch", "node"]),
    ) {
        checked(&(address, pattern), |(address, pattern)| match SlurmAddress::parse(address, pattern) {
            Ok(parsed) => {
                assert_eq!(parsed.switches().chain([parsed.node()]).collect::<Vec<_>>().join("."), *address);
                let source = Source::slurm(address, pattern).expect("the same");
                let place = source.place(0, "").expect("a place");
                assert_eq!(place.groups.len(), source.level_names().len());
            }
            Err(error) => assert_helpful(&error.to_string()),
        });
    }
}

proptest! {
    #![proptest_config(cases(300))]

    /// Whatever machine was understood, and whatever torus the nodes are said to be on: every rank has its plans.
    #[test]
    fn plans_on_any_machine(
        machine in texts(MACHINES, &["node", "core", ":2"]),
        torus in texts(DIMS, &["x", "2"]),
        ranks in 1u32..9,
    ) {
        checked(&(machine, torus, ranks), |(machine, torus, ranks)| {
            let Ok(source) = Source::synthetic(machine) else { return };
            let ranks = u64::from(*ranks).min(source.place(u64::from(*ranks) - 1, "").map_or(1, |_| u64::from(*ranks)));
            let Ok(topology) = topology(&source, ranks as u32, |_| String::new()) else { return };
            let given = torus.parse::<Dims>().ok().and_then(|dims| topology.clone().on_torus(Arc::new(dims)).ok());
            plans_of_everything(given.unwrap_or(topology));
        });
    }
}

/// What once failed, or could have.
#[test]
fn texts_that_once_failed() {
    // Quoted as they were, these broke the line in two, coloured the terminal, or filled it.
    let long = "x".repeat(1 << 20);
    for text in ["synthetic:no\u{1b}[31mde:2", "synthetic:node:2\n x", &format!("synthetic:{long}:0"), &long] {
        checked(text, machine);
    }
    for text in
        ["bcast=two\ntree", "\u{7}=xor", &format!("bcast={long}"), &format!("all=xor:{long}-"), &format!("{long}=xor")]
    {
        checked(text, rules);
    }
    for text in ["4\n4", "4x\u{1b}2", &format!("4x{long}"), &format!("{long}2x{long}2"), &"1x".repeat(1 << 19)] {
        checked(text, dims);
    }
    for text in [
        "n[0-\n7]",
        "n\u{0}[",
        &format!("n[{long}]"),
        &format!("{long}["),
        &"[0-9]".repeat(1 << 16),
        &format!("{long}[0-1048575]"),
        &format!("[0-1048575]{long}"),
        &format!("n[{}]", "a,".repeat(1 << 23)),
    ] {
        checked(text, names);
    }
    for (address, pattern) in
        [("s0\n.n7", "switch.node.node"), ("s0..n\u{1b}", "switch.switch.node"), (&*long, "a.node"), ("a", &*long)]
    {
        assert_helpful(&SlurmAddress::parse(address, pattern).expect_err(address).to_string());
    }
    assert!(Topology::of_nodes(Vec::new()).is_ok());
}
