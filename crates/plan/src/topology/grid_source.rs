//! Where the dimensions of a communicator's nodes come from.
//!
//! The first of these that gives every node a point of a full box: what the user says, the torus of the fabric, the
//! Cartesian communicator, equally large groups, and in the end one line of all nodes.
//!
//! ```text
//!   torus 4 × 4, nodes of a sub-communicator:     . # # .   a box of 2 × 2, not closed: columns 1, 2, rows 0, 3
//!                                                 . . . .
//!                                                 . . . .
//!                                                 . # # .
//! ```

use super::{Dimension, Grid, Hierarchy, Line, Origin, Topology};
use crate::fabric::{Fabric, HostId, NodeId, Torus};

impl Grid {
    /// The grid of the communicator that `topology` describes.
    pub fn new(hierarchy: &Hierarchy, topology: &Topology) -> Self {
        // Nodes as the topology numbers them, in the order of the hierarchy's numbers.
        let node = |node| topology.nodes()[hierarchy.leader(node, 0) as usize];
        let nodes: Vec<u32> = (0..hierarchy.node_count()).map(node).collect();
        given(topology, &nodes)
            .or_else(|| of_fabric(topology, &nodes))
            .or_else(|| of_cartesian(topology, &nodes))
            .or_else(|| of_levels(hierarchy))
            .unwrap_or_else(|| of_line(hierarchy, topology))
    }
}

fn given(topology: &Topology, nodes: &[u32]) -> Option<Grid> {
    let (dims, points) = topology.given_torus()?;
    let whole = dims.named().iter();
    let whole = whole.map(|(name, size)| Dimension { name: name.clone(), size: *size, mbit: 0.0, closed: true });
    let coordinates = nodes.iter().map(|&node| dims.coordinates(points[node as usize]));
    filled(whole.collect(), &coordinates.collect::<Vec<_>>(), Origin::Given)
}

fn of_fabric(topology: &Topology, nodes: &[u32]) -> Option<Grid> {
    let network = topology.network()?;
    let fabric = network.fabric();
    let torus = fabric.torus()?;
    let hosts: Vec<HostId> = nodes.iter().map(|&node| network.host(node)).collect();
    let mut coordinates: Vec<Vec<u32>> =
        hosts.iter().map(|host| torus_coordinates(torus, host.0 / torus.hosts_per_switch)).collect();
    let mut whole = dimensions_of(fabric, torus, &hosts, &coordinates)?;
    if torus.hosts_per_switch > 1 {
        let mbit = hosts.iter().map(|&host| fabric.host_mbit(host)).fold(f64::INFINITY, f64::min);
        whole.push(Dimension { name: "host".to_owned(), size: torus.hosts_per_switch, mbit, closed: false });
        for (at, host) in coordinates.iter_mut().zip(&hosts) {
            at.push(host.0 % torus.hosts_per_switch);
        }
    }
    filled(whole, &coordinates, Origin::Fabric)
}

/// The dimensions of a torus, with what the links at the switches of these hosts can do. A dimension is closed only if
/// there are links that close it.
fn dimensions_of(fabric: &Fabric, torus: &Torus, hosts: &[HostId], coordinates: &[Vec<u32>]) -> Option<Vec<Dimension>> {
    let named = super::Dims::of_sizes(&torus.dims)?;
    let switch = |host: HostId| fabric.links_of(host).first().map(|&link| fabric.end(link));
    let at = |coordinates: &[u32]| {
        let point = torus.dims.iter().zip(coordinates).fold(0, |point, (size, at)| point * size + at);
        switch(HostId(point * torus.hosts_per_switch))
    };
    let mut dimensions = Vec::with_capacity(torus.dims.len());
    for (d, (name, size)) in named.named().iter().enumerate() {
        let (mut mbit, mut closed) = (f64::INFINITY, true);
        for (&host, own) in hosts.iter().zip(coordinates).filter(|_| *size > 1) {
            let mut next = own.clone();
            next[d] = (own[d] + 1) % size;
            let link = |from: NodeId, to: NodeId| fabric.link_between(from, to);
            match switch(host).zip(at(&next)).and_then(|(from, to)| link(from, to)) {
                // The two links between the neighbours of a dimension of size 2 are one entry in the file.
                Some(link) => mbit = mbit.min(fabric.mbit(link) / if *size == 2 { 2.0 } else { 1.0 }),
                None => closed = false,
            }
        }
        let mbit = if mbit.is_finite() { mbit } else { 0.0 };
        dimensions.push(Dimension { name: name.clone(), size: *size, mbit, closed });
    }
    Some(dimensions)
}

fn torus_coordinates(torus: &Torus, mut switch: u32) -> Vec<u32> {
    let mut coordinates = vec![0; torus.dims.len()];
    for (coordinate, size) in coordinates.iter_mut().zip(&torus.dims).rev() {
        *coordinate = switch % size;
        switch /= size;
    }
    coordinates
}

fn of_cartesian(topology: &Topology, nodes: &[u32]) -> Option<Grid> {
    let cartesian = topology.cartesian()?;
    let (sizes, of_node) = cartesian.of_nodes(topology.nodes(), nodes.len() as u32)?;
    let named = cartesian.dims().named().iter().zip(&sizes).zip(cartesian.closed());
    let whole = named.map(|(((name, _), &size), &closed)| Dimension { name: name.clone(), size, mbit: 0.0, closed });
    let coordinates: Vec<Vec<u32>> = nodes.iter().map(|&node| of_node[node as usize].clone()).collect();
    filled(whole.collect(), &coordinates, Origin::Cartesian)
}

/// Nodes at the points of the box that they fill: in each dimension the coordinates that are there, in order. `None` if
/// some point has no node or several. `coordinates[node]` are those of a node in the whole.
fn filled(whole: Vec<Dimension>, coordinates: &[Vec<u32>], origin: Origin) -> Option<Grid> {
    let mut point_of = vec![0u32; coordinates.len()];
    let mut dimensions = Vec::with_capacity(whole.len());
    let mut points = 1usize;
    for (d, dimension) in whole.into_iter().enumerate() {
        let mut present: Vec<u32> = coordinates.iter().map(|at| at[d]).collect();
        present.sort_unstable();
        present.dedup();
        points = points.checked_mul(present.len()).filter(|&points| points <= coordinates.len())?;
        for (point, at) in point_of.iter_mut().zip(coordinates) {
            *point = *point * present.len() as u32 + present.partition_point(|&other| other < at[d]) as u32;
        }
        let size = present.len() as u32;
        dimensions.push(Dimension { size, closed: dimension.closed && size == dimension.size, ..dimension });
    }
    let mut nodes = vec![u32::MAX; coordinates.len()];
    for (node, &point) in (0..).zip(&point_of) {
        *nodes.get_mut(point as usize)? = node;
    }
    (points == nodes.len() && !nodes.contains(&u32::MAX)).then(|| Grid::of_nodes(dimensions, nodes).from(origin))
}

/// One dimension for every level, where there are several and the groups of each are equally large.
fn of_levels(hierarchy: &Hierarchy) -> Option<Grid> {
    let levels = hierarchy.depth_between_nodes();
    if levels < 2 {
        return None;
    }
    let mut dimensions = Vec::new();
    let mut wider = 1;
    for level in 0..levels {
        let size = |group| hierarchy.family_within(level, group, 0).members() + 1;
        let first = size(0);
        if (1..wider).any(|group| size(group) != first) {
            return None;
        }
        wider = hierarchy.group_count(level) as u32;
        // The innermost groups are the nodes, also where each is one rank.
        let name = if level + 1 == levels { "node" } else { hierarchy.level_name(level) };
        dimensions.extend(cut(name, first));
    }
    // Groups of a level are numbered side by side, so nodes are in row-major order.
    Some(Grid::of_nodes(dimensions, (0..hierarchy.node_count()).collect()).from(Origin::Levels).switched())
}

fn of_line(hierarchy: &Hierarchy, topology: &Topology) -> Grid {
    let line = Line::new(hierarchy, topology);
    let nodes = (0..line.nodes()).map(|place| line.after(line.first(), place, 0)).collect();
    let grid = Grid::of_nodes(cut("node", line.nodes()), nodes).from(Origin::Line);
    // On a torus the line follows its links.
    let is_torus = topology.network().is_some_and(|network| network.fabric().torus().is_some());
    if is_torus { grid } else { grid.switched() }
}

/// `size` nodes side by side as dimensions: the largest power of two, which is halved, and the odd rest inside it.
fn cut(name: &str, size: u32) -> Vec<Dimension> {
    let dimension = |name: String, size| Dimension { name, size, mbit: 0.0, closed: false };
    let odd = size >> size.trailing_zeros();
    if odd == 1 || odd == size {
        return vec![dimension(name.to_owned(), size)];
    }
    vec![dimension(format!("{name}/{odd}"), size / odd), dimension(format!("{name}%{odd}"), odd)]
}
