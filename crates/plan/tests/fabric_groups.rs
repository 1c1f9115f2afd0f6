//! Groups derived from networks.

use nagare_plan::fabric::{Fabric, Generator, Level, LevelChoice, TierRates, shipped};

fn load(name: &str) -> Fabric {
    Fabric::from_toml(shipped(name).unwrap(), name).unwrap()
}

/// Name and group sizes per level, outermost first.
fn shape(fabric: &Fabric) -> Vec<(String, Vec<usize>)> {
    shape_of(fabric.levels())
}

/// The same of all levels that there are.
fn whole_shape(fabric: &Fabric) -> Vec<(String, Vec<usize>)> {
    shape_of(fabric.levels_by(&LevelChoice::All))
}

fn shape_of(levels: Vec<Level>) -> Vec<(String, Vec<usize>)> {
    levels.iter().map(|l| (l.name.clone(), l.sizes())).collect()
}

fn level(name: &str, sizes: &[usize]) -> (String, Vec<usize>) {
    (name.to_owned(), sizes.to_vec())
}

fn generated(generator: Generator, mbit: &[f64]) -> Fabric {
    let rates = TierRates { mbit: mbit.to_vec(), latency_us: vec![1.0] };
    generator.builder("test", &rates).unwrap().build().unwrap()
}

#[test]
fn shipped_fabrics() {
    assert_eq!(shape(&load("tree8")), [level("leaf", &[4, 4])]);
    assert_eq!(shape(&load("star16")), []);
    assert_eq!(shape(&load("mlfm36")), [level("group", &[9; 4])]);
    assert_eq!(shape(&load("wan2x8")), [level("leaf", &[8, 8])]);
    assert_eq!(shape(&load("torus16")), []);
    assert_eq!(shape(&load("fattree")), [level("pod", &[4; 4])]);
}

#[test]
fn all_levels_of_shipped_fabrics() {
    assert_eq!(whole_shape(&load("tree8")), [level("leaf", &[4, 4])]);
    assert_eq!(whole_shape(&load("star16")), []);
    assert_eq!(whole_shape(&load("mlfm36")), [level("group", &[9; 4]), level("leaf", &[3; 12])]);
    assert_eq!(whole_shape(&load("wan2x8")), [level("leaf", &[8, 8])]);
    assert_eq!(whole_shape(&load("torus16")), []);
    assert_eq!(whole_shape(&load("fattree")), [level("pod", &[4; 4]), level("leaf", &[2; 8])]);
}

/// By name, in any order; names that are not there change nothing.
#[test]
fn levels_are_chosen() {
    let tree = Generator::Tree { children: vec![2, 2, 2, 2] };
    let mut fabric = generated(tree, &[10.0, 20.0, 40.0]);
    let [pod2, pod, leaf] = [level("pod2", &[8; 2]), level("pod", &[4; 4]), level("leaf", &[2; 8])];
    assert_eq!(shape(&fabric), [pod2.clone(), pod.clone()]);
    for (choice, expected) in [
        ("all", vec![pod2.clone(), pod.clone(), leaf.clone()]),
        ("none", vec![]),
        ("leaf", vec![leaf.clone()]),
        ("leaf, pod2", vec![pod2.clone(), leaf]),
        ("default", vec![pod2, pod]),
    ] {
        fabric.choose_levels(LevelChoice::from(choice)).unwrap();
        assert_eq!(shape(&fabric), expected, "{choice}");
        let error = fabric.choose_levels(LevelChoice::from("leaf,rack")).unwrap_err().to_string();
        let expected_error = "the fabric has no level 'rack'; expected all, none or default alone, or some of \
                              pod2, pod, leaf";
        assert_eq!((error.as_str(), shape(&fabric)), (expected_error, expected));
    }
    let error = load("star16").choose_levels(LevelChoice::from("leaf")).unwrap_err().to_string();
    assert_eq!(error, "the fabric has no level 'leaf'; expected all, none or default, for none divides its hosts");
}

#[test]
fn groups_of_the_mesh_are_its_leaf_positions() {
    let fabric = load("mlfm36");
    let of_host = &fabric.levels()[0].of_host;
    let expected: Vec<u32> = (0..36).map(|h| h / 9).collect();
    assert_eq!(*of_host, expected);
}

#[test]
fn leaf_and_spine() {
    let leaf_spine = |hosts_per_leaf| Generator::FatTree { ports: 4, levels: 2, hosts_per_leaf: Some(hosts_per_leaf) };
    // Every leaf reaches the same spines and carries all its hosts: the hosts are all alike.
    assert_eq!(shape(&generated(leaf_spine(2), &[10.0])), []);
    assert_eq!(whole_shape(&generated(leaf_spine(2), &[10.0])), [level("leaf", &[2; 4])]);
    // With 3 hosts on 2 uplinks the leaf matters, and not if the uplinks are faster.
    let leaves = [level("leaf", &[3; 4])];
    assert_eq!(shape(&generated(leaf_spine(3), &[10.0])), leaves);
    assert_eq!(shape(&generated(leaf_spine(3), &[10.0, 15.0])), []);
}

#[test]
fn three_tiers() {
    let fat = |hosts_per_leaf| Generator::FatTree { ports: 4, levels: 3, hosts_per_leaf };
    assert_eq!(shape(&generated(fat(None), &[10.0])), [level("pod", &[4; 4])]);
    let pods_and_leaves = [level("pod", &[6; 4]), level("leaf", &[3; 8])];
    assert_eq!(shape(&generated(fat(Some(3)), &[10.0])), pods_and_leaves);

    let tree = Generator::Tree { children: vec![4, 3, 2] };
    let thin = [level("pod", &[12; 2]), level("leaf", &[4; 6])];
    assert_eq!(shape(&generated(tree.clone(), &[10.0])), thin);
    let fat_uplinks = [level("pod", &[12; 2])];
    assert_eq!(shape(&generated(tree, &[10.0, 40.0])), fat_uplinks);
}

#[test]
fn four_tiers() {
    let tree = Generator::Tree { children: vec![2, 2, 2, 2] };
    let all = [level("pod2", &[8; 2]), level("pod", &[4; 4]), level("leaf", &[2; 8])];
    assert_eq!(shape(&generated(tree, &[10.0])), all);
}

#[test]
fn only_the_groups_with_thin_leaves_are_divided() {
    let text = r#"
        hosts = ["n[0-11]"]
        switches = ["x[0-1]", "y[0-1]", "X", "Y", "core"]
        bandwidth = 10
        link = [
            { from = "n[0-2]", to = "x0" },
            { from = "n[3-5]", to = "x1" },
            { from = "n[6-8]", to = "y0" },
            { from = "n[9-11]", to = "y1" },
            { from = "x[0-1]", to = "X" },
            { from = "y[0-1]", to = "Y", parallel = 3 },
            { from = ["X", "Y"], to = "core" },
        ]
    "#;
    let fabric = Fabric::from_toml(text, "test").unwrap();
    assert_eq!(shape(&fabric), [level("pod", &[6, 6]), level("leaf", &[3, 3, 6])]);
    assert_eq!(whole_shape(&fabric), [level("pod", &[6, 6]), level("leaf", &[3; 4])]);
}

#[test]
fn hosts_with_two_leaves_count_once() {
    // Two rails: every host on one leaf of each; racks of three hosts, each rail's leaf with one uplink of its own.
    let text = r#"
        hosts = ["n[0-5]"]
        switches = ["p[0-1]", "q[0-1]", "P", "Q"]
        bandwidth = 10
        link = [
            { from = "n[0-2]", to = ["p0", "q0"] },
            { from = "n[3-5]", to = ["p1", "q1"] },
            { from = "p[0-1]", to = "P" },
            { from = "q[0-1]", to = "Q" },
        ]
    "#;
    let fabric = Fabric::from_toml(text, "test").unwrap();
    assert_eq!(shape(&fabric), [level("leaf", &[3, 3])]);
}

#[test]
fn a_torus_with_several_hosts_per_switch_groups_by_switch() {
    let torus = Generator::Torus { dims: vec![3, 2], hosts_per_switch: 2 };
    assert_eq!(shape(&generated(torus, &[10.0])), [level("leaf", &[2; 6])]);
}
