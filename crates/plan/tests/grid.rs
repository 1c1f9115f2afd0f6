//! Where the dimensions of a communicator come from.

use nagare_plan::fabric::{Fabric, HostId};
use nagare_plan::schedule::Rank;
use nagare_plan::topology::{Cartesian, Dims, Grid, Hierarchy, Origin, Topology};
use std::sync::Arc;

/// Nodes of `ppn` ranks each, in rank order.
fn nodes(nodes: u32, ppn: u32) -> Topology {
    Topology::of_nodes((0..nodes * ppn).map(|rank| rank / ppn).collect()).unwrap()
}

fn on_torus(topology: Topology, dims: &str) -> Topology {
    topology.on_torus(Arc::new(dims.parse::<Dims>().unwrap())).unwrap()
}

/// One rank on each of these hosts of a torus with links of 100 Mbit/s between switches and 200 to hosts.
fn on_fabric(dims: &str, hosts_per_switch: u32, hosts: &[u32]) -> Topology {
    let text = format!(
        "[generator]\nkind = \"torus\"\ndims = [{dims}]\nhosts_per_switch = {hosts_per_switch}\nbandwidth = [200, \
         100]\n"
    );
    let fabric = Fabric::from_toml(&text, "torus").unwrap();
    let hosts: Vec<HostId> = hosts.iter().map(|&host| HostId(host)).collect();
    nodes(hosts.len() as u32, 1).on_network(Arc::new(fabric), &hosts)
}

fn grid(topology: &Topology) -> Grid {
    Grid::new(&Hierarchy::new(topology), topology)
}

/// Names, sizes and whether closed.
fn dimensions(grid: &Grid) -> Vec<(&str, u32, bool)> {
    grid.dimensions().iter().map(|d| (d.name.as_str(), d.size, d.closed)).collect()
}

/// Coordinates of the node of a rank.
fn at(grid: &Grid, topology: &Topology, rank: Rank) -> Vec<u32> {
    let node = Hierarchy::new(topology).node_of(rank);
    (0..grid.dimensions().len()).map(|d| grid.coordinate(node, d)).collect()
}

/// Asserts that every point has one node and that all are there.
fn assert_full(grid: &Grid) {
    let points: u32 = grid.dimensions().iter().map(|d| d.size).product();
    assert_eq!(points, grid.nodes());
    let of_node = |node| (0..grid.dimensions().len()).map(|d| grid.coordinate(node, d)).collect::<Vec<u32>>();
    let mut all: Vec<Vec<u32>> = (0..points).map(of_node).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), points as usize);
}

/// Name, size and whether it is closed.
type Known = (&'static str, u32, bool);

#[test]
fn given_dimensions_count_nodes_row_after_row() {
    for ppn in [1, 3] {
        let topology = on_torus(nodes(24, ppn), "A2xB3xC4");
        let grid = grid(&topology);
        assert_full(&grid);
        assert_eq!(
            (grid.origin(), dimensions(&grid)),
            (Origin::Given, vec![("A", 2, true), ("B", 3, true), ("C", 4, true)])
        );
        for rank in 0..24 * ppn {
            let node = rank / ppn;
            assert_eq!(at(&grid, &topology, rank), [node / 12, node / 4 % 3, node % 4]);
        }
    }
    let wrong = nodes(5, 2).on_torus(Arc::new("2x3".parse().unwrap())).unwrap_err().to_string();
    assert_eq!(wrong, "2x3 has 6 nodes, the job has 5; expected sizes whose product is the number of nodes");
}

#[test]
fn given_dimensions_are_numbered_by_the_world_not_by_groups() {
    // Two groups, dealt out in turn: the hierarchy numbers the nodes 0 2 4 6 1 3 5 7.
    let groups = vec![vec![0, 1, 0, 1, 0, 1, 0, 1], (0..8).collect()];
    let topology = Topology::new(vec!["group".into(), "node".into()], groups, vec![0; 8]).unwrap();
    let hierarchy = Hierarchy::new(&topology);
    assert_eq!((0..8).map(|rank| hierarchy.node_of(rank)).collect::<Vec<_>>(), [0, 4, 1, 5, 2, 6, 3, 7]);
    let topology = on_torus(topology, "4x2");
    let grid = grid(&topology);
    for rank in 0..8 {
        assert_eq!(at(&grid, &topology, rank), [rank / 2, rank % 2]);
    }
}

#[test]
fn parts_of_a_torus_are_boxes_or_are_not_used() {
    let whole = on_torus(nodes(16, 2), "4x4");
    let of_nodes = |nodes: &[u32]| whole.restricted(&nodes.iter().flat_map(|n| [2 * n, 2 * n + 1]).collect::<Vec<_>>());
    // A row backwards, a column, a block of 2 × 3, and one over the border.
    let cases: [(&[u32], &[Known]); 5] = [
        (&[7, 6, 5, 4], &[("x", 1, false), ("y", 4, true)]),
        (&[13, 1, 9, 5], &[("x", 4, true), ("y", 1, false)]),
        (&[0, 1, 4, 5, 8, 9], &[("x", 3, false), ("y", 2, false)]),
        (&[0, 3, 12, 15], &[("x", 2, false), ("y", 2, false)]),
        (&[0, 1, 2, 3, 8, 9, 10, 11], &[("x", 2, false), ("y", 4, true)]),
    ];
    for (members, expected) in cases {
        let topology = of_nodes(members);
        let grid = grid(&topology);
        assert_full(&grid);
        assert_eq!((grid.origin(), dimensions(&grid)), (Origin::Given, expected.to_vec()), "{members:?}");
        // Order along each dimension is that of the whole.
        for (a, &first) in (0..).zip(members) {
            for (b, &second) in (0..).zip(members) {
                let order = |x: u32, y: u32| x.cmp(&y);
                let (here, there) = (at(&grid, &topology, 2 * a), at(&grid, &topology, 2 * b));
                assert_eq!(order(here[0], there[0]), order(first / 4, second / 4));
                assert_eq!(order(here[1], there[1]), order(first % 4, second % 4));
            }
        }
    }
    // An L, a diagonal, a block without a corner.
    for members in [&[0, 1, 4][..], &[0, 5, 10, 15], &[0, 1, 2, 4, 5]] {
        let grid = grid(&of_nodes(members));
        assert_full(&grid);
        assert_eq!(grid.origin(), Origin::Line, "{members:?}");
    }
    // A part of a part: two ranks of one node are one node.
    let twice = of_nodes(&[4, 5, 8, 9]).restricted(&[6, 7, 2, 3]);
    let grid = grid(&twice);
    assert_eq!(dimensions(&grid), [("x", 2, false), ("y", 1, false)]);
    assert_eq!((at(&grid, &twice, 0), at(&grid, &twice, 2)), (vec![1, 0], vec![0, 0]));
}

#[test]
fn the_fabrics_torus_with_its_rates() {
    let topology = on_fabric("4, 2", 1, &[3, 2, 1, 0, 7, 6, 5, 4]);
    let whole = grid(&topology);
    assert_full(&whole);
    assert_eq!((whole.origin(), dimensions(&whole)), (Origin::Fabric, vec![("x", 4, true), ("y", 2, true)]));
    // Two cables join the neighbours in a dimension of size 2.
    let rates = |grid: &Grid| grid.dimensions().iter().map(|d| (d.mbit, d.bandwidth())).collect::<Vec<_>>();
    assert_eq!(rates(&whole), [(100.0, 100.0), (100.0, 200.0)]);
    for (rank, host) in [3, 2, 1, 0, 7, 6, 5, 4].into_iter().enumerate() {
        assert_eq!(at(&whole, &topology, rank as Rank), [host / 2, host % 2]);
    }
    // Three of the four rows: an open line of 3.
    let part = grid(&topology.restricted(&[0, 1, 2, 3, 6, 7]));
    assert_eq!(dimensions(&part), [("x", 3, false), ("y", 2, true)]);
    let line = grid(&topology.restricted(&[0, 2, 5]));
    assert_eq!((line.origin(), dimensions(&line)), (Origin::Line, vec![("node", 3, false)]));
}

#[test]
fn several_hosts_of_a_switch_are_a_further_dimension() {
    let all: Vec<u32> = (0..24).collect();
    let topology = on_fabric("3, 4", 2, &all);
    let whole = grid(&topology);
    assert_full(&whole);
    assert_eq!(dimensions(&whole), [("x", 3, true), ("y", 4, true), ("host", 2, false)]);
    assert_eq!(whole.dimensions()[2].bandwidth(), 200.0);
    for host in 0..24 {
        assert_eq!(at(&whole, &topology, host), [host / 8, host / 2 % 4, host % 2]);
    }
    // One host of every switch, not the same one everywhere: no box.
    let mixed: Vec<u32> = (0..12).map(|switch| 2 * switch + u32::from(switch == 5)).collect();
    assert_eq!(grid(&topology.restricted(&mixed)).origin(), Origin::Line);
    let firsts: Vec<u32> = (0..12).map(|switch| 2 * switch + 1).collect();
    assert_eq!(dimensions(&grid(&topology.restricted(&firsts))), [("x", 3, true), ("y", 4, true), ("host", 1, false)]);
}

#[test]
fn a_mesh_is_not_closed() {
    let text = "torus = [3]\nbandwidth = 10\nhosts = [\"n[0-2]\"]\nswitches = [\"t[0-2]\"]\n\
        [[link]]\nfrom = \"n0\"\nto = \"t0\"\n[[link]]\nfrom = \"n1\"\nto = \"t1\"\n[[link]]\nfrom = \"n2\"\nto \
        = \"t2\"\n\
        [[link]]\nfrom = \"t0\"\nto = \"t1\"\n[[link]]\nfrom = \"t1\"\nto = \"t2\"\nparallel = 3\n";
    let fabric = Arc::new(Fabric::from_toml(text, "mesh").unwrap());
    let topology = nodes(3, 1).on_network(fabric, &[HostId(0), HostId(1), HostId(2)]);
    let grid = grid(&topology);
    assert_eq!(dimensions(&grid), [("x", 3, false)]);
    // The thinnest link of the line.
    assert_eq!(grid.dimensions()[0].mbit, 10.0);
}

#[test]
fn cartesian_communicators() {
    let cartesian = |sizes: &[u32], closed: &[bool]| Cartesian::new(sizes, closed).unwrap();
    let topology = nodes(6, 1).with_cartesian(cartesian(&[3, 2], &[true, false]));
    let whole = grid(&topology);
    assert_eq!((whole.origin(), dimensions(&whole)), (Origin::Cartesian, vec![("x", 3, true), ("y", 2, false)]));
    assert_eq!(at(&whole, &topology, 4), [2, 0]);
    // Ranks in another order of nodes, as after reordering.
    let reordered = nodes(6, 1).restricted(&[5, 0, 3, 1, 4, 2]).with_cartesian(cartesian(&[2, 3], &[false, true]));
    let grid_of_reordered = grid(&reordered);
    assert_full(&grid_of_reordered);
    for rank in 0..6 {
        assert_eq!(at(&grid_of_reordered, &reordered, rank), [rank / 3, rank % 3]);
    }
    // Nodes of four ranks each that are squares of 4 × 4.
    let squares = Topology::of_nodes(vec![0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3]).unwrap();
    let squares = squares.with_cartesian(cartesian(&[4, 4], &[true, true]));
    assert_eq!(dimensions(&grid(&squares)), [("x", 2, true), ("y", 2, true)]);
    assert_eq!(at(&grid(&squares), &squares, 10), [1, 1]);
    // Dealt out in turn, and uneven: the communicator's grid says nothing about nodes.
    for of_rank in [vec![0, 1, 2, 0, 1, 2], vec![0, 0, 0, 1, 1, 2]] {
        let topology = Topology::of_nodes(of_rank).unwrap().with_cartesian(cartesian(&[3, 2], &[true, true]));
        assert_eq!(grid(&topology).origin(), Origin::Line);
    }
    assert_eq!(Cartesian::new(&[], &[]), None);
    assert_eq!(Cartesian::new(&[4, 0], &[true, true]), None);
}

#[test]
fn what_is_said_goes_before_what_is_found() {
    let cartesian = Cartesian::new(&[2, 4], &[true, true]).unwrap();
    let fabric = on_fabric("4, 2", 1, &(0..8).collect::<Vec<_>>()).with_cartesian(cartesian);
    assert_eq!(grid(&fabric).origin(), Origin::Fabric);
    let given = on_torus(fabric.clone(), "2x2x2");
    assert_eq!(dimensions(&grid(&given)), [("x", 2, true), ("y", 2, true), ("z", 2, true)]);
    // Nodes that are a box of both, and such that are none of what is given but one of the fabric.
    let part = given.restricted(&[0, 1, 4, 5]);
    assert_eq!(
        (grid(&part).origin(), dimensions(&grid(&part))),
        (Origin::Given, vec![("x", 2, true), ("y", 1, false), ("z", 2, true)])
    );
    let part = given.restricted(&[2, 3, 4, 5]);
    assert_eq!(
        (grid(&part).origin(), dimensions(&grid(&part))),
        (Origin::Fabric, vec![("x", 2, false), ("y", 2, true)])
    );
}

#[test]
fn levels_of_equal_groups() {
    let levels = |groups: Vec<u32>, nodes: Vec<u32>| {
        let cores = vec![0; nodes.len()];
        Topology::new(vec!["leaf".into(), "node".into()], vec![groups, nodes], cores).unwrap()
    };
    let of = |leaves: u32, size: u32, ppn: u32| {
        let nodes: Vec<u32> = (0..leaves * size * ppn).map(|rank| rank / ppn).collect();
        levels(nodes.iter().map(|node| node / size).collect(), nodes)
    };
    for ppn in [1, 2] {
        let even = of(2, 4, ppn);
        let grid = grid(&even);
        assert_eq!((grid.origin(), dimensions(&grid)), (Origin::Levels, vec![("leaf", 2, false), ("node", 4, false)]));
        assert_eq!(at(&grid, &even, 6 * ppn), [1, 2]);
    }
    // Sizes that are no powers of two are cut, so that halving is used as far as it goes.
    let odd = of(3, 12, 1);
    let cut = grid(&odd);
    assert_full(&cut);
    assert_eq!(dimensions(&cut), [("leaf", 3, false), ("node/3", 4, false), ("node%3", 3, false)]);
    assert_eq!(at(&cut, &odd, 12 + 7), [1, 2, 1]);
    // A leaf with fewer nodes.
    let uneven = levels(vec![0, 0, 0, 1, 1], (0..5).collect());
    assert_eq!(dimensions(&grid(&uneven)), [("node", 5, false)]);
}

#[test]
fn otherwise_one_line() {
    let sizes = |count| grid(&nodes(count, 1)).dimensions().iter().map(|d| d.size).collect::<Vec<_>>();
    for count in 1..100u32 {
        let grid = grid(&nodes(count, 1));
        assert_full(&grid);
        assert_eq!(grid.origin(), Origin::Line);
        let odd = count >> count.trailing_zeros();
        let expected = if odd == 1 || odd == count { vec![count] } else { vec![count / odd, odd] };
        assert_eq!(sizes(count), expected);
    }
    // On a torus the line is the cycle of neighbours: 0 0, 0 1, 1 1 of 2 × 2.
    let torus = on_fabric("2, 2", 1, &[0, 1, 3]);
    let grid = grid(&torus);
    assert_eq!(dimensions(&grid), [("node", 3, false)]);
    assert_eq!((0..3).map(|rank| at(&grid, &torus, rank)[0]).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn several_ranks_of_one_node_are_one_point() {
    let one = grid(&nodes(1, 4));
    assert_eq!((one.nodes(), dimensions(&one)), (1, vec![("node", 1, false)]));
}

#[test]
fn aggregators_are_counted_on_the_node_with_the_fewest_numa_nodes() {
    let topology = nodes(2, 4);
    assert_eq!(topology.aggregators(), 1);
    let bound = topology.with_numa(vec![0, 0, 1, 1, 0, 1, 2, 3]);
    assert_eq!(bound.aggregators(), 2);
    // Of the ranks that are left.
    assert_eq!(bound.restricted(&[4, 5, 6, 7]).aggregators(), 4);
    assert_eq!(bound.restricted(&[0, 1, 4, 5]).aggregators(), 1);
    assert_eq!(bound.restricted(&[7, 2, 4, 0]).aggregators(), 2);
}
