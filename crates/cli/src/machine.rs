//! Where the ranks of a schedule are: a network with a placement, pretended levels, or nothing known but nodes.

use crate::args::{Map, RanksArgs};
use anyhow::{Context, anyhow, bail, ensure};
use nagare_config::Config;
use nagare_plan::Planner;
use nagare_plan::context::Context as PlanContext;
use nagare_plan::counted;
use nagare_plan::fabric::{Fabric, LevelChoice, MAX_FILE_BYTES, Placement, SHIPPED, Synthetic, shipped};
use nagare_plan::topology::{Costs, Grid, Source, Topology};
use std::sync::Arc;

/// Most ranks a pretended machine is filled with unasked, as many as --np takes.
const MOST_RANKS: u64 = 1 << 24;

/// Ranks and where they are.
pub struct Machine {
    /// The network and the host of every rank, where there is a network.
    pub network: Option<(Fabric, Placement)>,
    /// The levels the ranks are in.
    pub topology: Topology,
    /// The same in one line.
    pub description: String,
}

impl Machine {
    /// What `args` and `synthetic` ask for, and the variables where those say nothing.
    pub fn new(config: &Config, args: &RanksArgs, synthetic: Option<&str>) -> anyhow::Result<Self> {
        let machine = match (&args.fabric, synthetic) {
            (Some(fabric), _) => Self::on_fabric(load_with_levels(fabric, args.levels.as_ref())?, args)?,
            (None, Some(text)) => Self::pretended(text, args.np)?,
            (None, None) => Self::of_nodes(args)?,
        };
        let machine = Self { topology: crowded(machine.topology, args.processors), ..machine };
        let typed = args.torus.clone().map(|dims| ("--torus", dims));
        let said = || config.torus.clone().map(|dims| ("NAGARE_TORUS", dims));
        let Some((origin, dims)) = typed.or_else(said) else { return Ok(machine) };
        let topology = machine.topology.on_torus(Arc::new(dims)).context(origin)?;
        Ok(Self { topology, ..machine })
    }

    fn on_fabric(fabric: Fabric, args: &RanksArgs) -> anyhow::Result<Self> {
        let ppn = args.ppn.unwrap_or(1) as usize;
        let ranks = args.np.map_or(fabric.host_count().saturating_mul(ppn), |np| np as usize);
        let (placement, order) = match args.map {
            Map::Slot => (Placement::by_slot(&fabric, ranks, ppn), "by slot"),
            Map::Node => (Placement::by_node(&fabric, ranks, ppn), "by node"),
            Map::Balanced => (Placement::balanced(&fabric, ranks, ppn), "balanced over groups"),
        };
        let placement = placement.with_context(|| format!("fabric {}", fabric.name()))?;
        let description = format!(
            "fabric {} ({}, {}), {order}, at most {ppn} per host",
            fabric.name(),
            counted(fabric.host_count(), "host"),
            counted(fabric.switch_count(), "switch")
        );
        let levels = fabric.levels();
        let source = Source::Fabric { fabric: Arc::new(fabric.clone()), levels };
        let host = |rank| placement.host(rank).map_or("", |host| fabric.node_name(host));
        let topology = topology_of(&source, ranks as u32, host)?;
        Ok(Self { network: Some((fabric, placement)), topology, description })
    }

    fn pretended(text: &str, np: Option<u32>) -> anyhow::Result<Self> {
        let synthetic: Synthetic = text.parse()?;
        let ranks = np.map_or(synthetic.places(), u64::from);
        ensure!(ranks <= MOST_RANKS, "'{text}' has {ranks} places, more than {MOST_RANKS}; --np N takes the first N");
        synthetic.fit(ranks)?;
        let topology = topology_of(&Source::Synthetic(synthetic), ranks as u32, |_| "")?;
        Ok(Self { network: None, topology, description: text.trim().to_owned() })
    }

    fn of_nodes(args: &RanksArgs) -> anyhow::Result<Self> {
        let ranks =
            args.np.context("--np is missing: without --fabric and --topology the number of ranks is not known")?;
        let ppn = args.ppn.unwrap_or(1);
        let topology = Topology::of_nodes((0..ranks).map(|rank| rank / ppn).collect())?;
        Ok(Self { network: None, topology, description: format!("no network, {ppn} per node") })
    }

    /// Refuses a root that does not exist.
    pub fn check_root(&self, root: u32) -> anyhow::Result<()> {
        let ranks = self.topology.ranks();
        ensure!(root < ranks, "--root {root}: there are {ranks} ranks, expected 0 to {}", ranks - 1);
        Ok(())
    }
}

/// The same ranks on so many processors.
fn crowded(topology: Topology, processors: Option<u32>) -> Topology {
    let each = processors.map(|processors| f64::from(topology.ranks()) / f64::from(processors));
    let costs = Costs { crowding: each.filter(|&each| each > 1.0), ..topology.costs() };
    topology.with_costs(costs)
}

/// The dimensions of the nodes, and where they come from.
pub fn dimensions(planner: &Planner) -> String {
    Grid::new(planner.context().grouped(), planner.context().topology()).to_string()
}

/// The levels that count with the number of groups of each, such as `group 4, node 32`.
pub fn levels(context: &PlanContext) -> String {
    let topology = context.topology();
    let names = topology.level_names().iter().enumerate();
    let counts = names.map(|(level, name)| {
        let groups = topology.groups(level).iter().max().map_or(0, |&last| last + 1);
        format!("{name} {groups}")
    });
    counts.collect::<Vec<_>>().join(", ")
}

/// The network called `name`: one that comes with Nagare, or a file.
pub fn load_fabric(name: &str) -> anyhow::Result<Fabric> {
    if let Some(text) = shipped(name.strip_prefix("shipped:").unwrap_or(name)) {
        return Ok(Fabric::from_toml(text, name)?);
    }
    match read_bounded(name) {
        Ok(text) => Ok(Fabric::from_toml(&text, name)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
            Err(anyhow!(
                "no fabric '{name}': there is no such file, and those that come with Nagare are {}; a file with a \
                 [generator] describes another in three lines (`nagare fabrics --help`)",
                names.join(", ")
            ))
        }
        Err(error) => bail!("{name}: {error}"),
    }
}

/// The same with other levels than its file says, if any are asked for.
pub fn load_with_levels(name: &str, levels: Option<&LevelChoice>) -> anyhow::Result<Fabric> {
    let mut fabric = load_fabric(name)?;
    if let Some(levels) = levels {
        fabric.choose_levels(levels.clone()).with_context(|| format!("--levels: {name}"))?;
    }
    Ok(fabric)
}

/// The text of a regular file of acceptable size: a pipe or device could block or never end.
fn read_bounded(name: &str) -> std::io::Result<String> {
    use std::io::{Error, Read};
    if !std::fs::metadata(name)?.is_file() {
        return Err(Error::other("not a regular file, expected a fabric file (TOML)"));
    }
    let mut text = String::new();
    std::fs::File::open(name)?.take(MAX_FILE_BYTES as u64 + 1).read_to_string(&mut text)?;
    if text.len() > MAX_FILE_BYTES {
        return Err(Error::other(format!("larger than {MAX_FILE_BYTES} bytes, expected a fabric file (TOML)")));
    }
    Ok(text)
}

/// The levels of `ranks` ranks as `source` tells each of them on its host.
fn topology_of<'h>(source: &Source, ranks: u32, host: impl Fn(u32) -> &'h str) -> anyhow::Result<Topology> {
    let names: Vec<String> = source.level_names().into_iter().chain(["node".to_owned()]).collect();
    let mut groups: Vec<Vec<u32>> = vec![Vec::with_capacity(ranks as usize); names.len()];
    let (mut numas, mut cores) = (Vec::new(), Vec::with_capacity(ranks as usize));
    let mut node_of = Vec::with_capacity(ranks as usize);
    for rank in 0..ranks {
        let place = source.place(u64::from(rank), host(rank))?;
        let node = place.node.unwrap_or(u64::from(rank));
        node_of.push(node);
        // Networks and pretended machines count groups, nodes, NUMA nodes and cores: none is above the number of hosts
        // or ranks.
        for (of_rank, group) in groups.iter_mut().zip(place.groups.into_iter().chain([node])) {
            of_rank.push(group as u32);
        }
        numas.extend(place.numa.map(|numa| numa as u32));
        cores.push(place.core.unwrap_or(0) as u32);
    }
    // All ranks have a NUMA node, or none has.
    Ok(source.on_network(Topology::new(names, groups, cores)?, &node_of).with_numa(numas))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_a_network_are_nodes_in_its_groups() {
        let fabric = load_fabric("tree8").unwrap();
        let hosts: Vec<String> = fabric.hosts().map(|h| fabric.node_name(h).to_owned()).collect();
        let source = Source::fabric(shipped("tree8").unwrap(), "tree8").unwrap();
        let t = topology_of(&source, 10, |rank| &hosts[rank as usize % 8]).unwrap();
        assert_eq!(t.level_names().last().map(String::as_str), Some("node"));
        // Eight hosts, four per leaf; ranks 8 and 9 share hosts with ranks 0 and 1.
        assert_eq!(t.groups(0), [0, 0, 0, 0, 1, 1, 1, 1, 0, 0]);
        assert_eq!(t.nodes(), [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]);
    }

    #[test]
    fn pretended_levels_inside_the_node_only_order_its_ranks() {
        let t = topology_of(&Source::synthetic("synthetic:group:2 node:2 core:3").unwrap(), 11, |_| "").unwrap();
        assert_eq!(t.level_names(), ["group", "node"]);
        assert_eq!(t.groups(0), [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
        assert_eq!(t.nodes(), [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3]);
        assert_eq!(t.slots(), [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]);
    }
}
