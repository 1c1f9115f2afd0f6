//! Where the ranks of a communicator are, and what plans for them.

use super::cartesian;
use crate::real::eager;
use crate::transport::agreement;
use crate::transport::tags::Tags;
use crate::world::disagreement::Disagreement;
use crate::world::shim::Shim;
use mpi::ffi::MPI_Comm;
use nagare_plan::Planner;
use nagare_plan::choice::{Reason, Rule, Rules};
use nagare_plan::context::Options;
use nagare_plan::schedule::Rank;
use nagare_plan::stock::{Library, Stock};
use nagare_plan::topology::{Grid, Topology, Transport};
use once_cell::sync::OnceCell;
use std::ffi::c_int;
use std::sync::Arc;

/// What a call is planned with.
#[derive(Clone, Copy)]
pub struct Planning<'p> {
    /// Makes the plan.
    pub planner: &'p Arc<Planner>,
    /// Whether it knows what a self-test of the network has found.
    pub is_tested: bool,
}

/// Where the ranks are.
pub struct Placement {
    /// Makes the plans. On the heap: a placement is found on the stacks of programs, which may be small.
    pub planner: Arc<Planner>,
    /// The same by what a self-test of the network has found, once there was one.
    tested: OnceCell<Option<Arc<Planner>>>,
    /// Nodes of the communicator.
    pub nodes: u32,
    /// Largest message that the transport carries well, bytes.
    pub message: u64,
    /// Whether its ranks are on one machine, also where they are told to be on several nodes.
    pub shares_memory: bool,
    /// Whether ranks ask each other for buffers in the memory of devices before a call.
    pub asks_for_devices: bool,
    /// What its ranks are called in the world.
    pub world_ranks: Arc<[Rank]>,
    /// How messages on the private communicator are told apart.
    pub tags: Tags,
    /// What a profile found for as many ranks and nodes.
    pub measured: Vec<Rule>,
    /// The rules of the environment, then these.
    pub rules: Rules,
}

impl Placement {
    /// Of the `size` ranks of `comm`, an intercommunicator or not; this one is `rank`. Local: the world's facts say
    /// it, or nothing does.
    ///
    /// # Errors
    /// Why calls on it are the library's.
    pub fn find(shim: &Shim, comm: MPI_Comm, (size, rank): (u32, Rank), inter: bool) -> Result<Self, Reason> {
        // The verdict on the world holds for all communicators within it. Others are not asked: a rank that has other
        // settings, or no Nagare, would not take part.
        let world = shim.world().ok_or(Reason::Outside)?;
        let facts = world.facts.as_ref().map_err(Disagreement::reason)?;
        let ranks = agreement::translate(shim.real, comm, shim.real.handles.comm_world, size as c_int);
        let tags = facts.tags;
        let world_ranks: Arc<[Rank]> = ranks.ok_or(Reason::Outside)?.into();
        let (topology, limits) = (facts.restricted(&world_ranks), facts.eager);
        let cartesian = if inter { None } else { cartesian::of(shim.real, comm) };
        let nodes = topology.node_count();
        let shares_memory = facts.share_memory(&world_ranks);
        // Nodes may be pretended: where ranks do not share memory, messages go between machines.
        let message = u64::from(if shares_memory { eager::IN_MEMORY } else { limits.message() });
        let config = &shim.setup().config;
        let options = config.options(facts.lossless || shares_memory);
        let make = |topology| {
            let planner = planner(topology, options, facts.stock);
            // Predictions are about networks, not about memory.
            Arc::new(if shares_memory { planner.trying_what_fits() } else { planner })
        };
        let planner = match cartesian {
            Some(cartesian) => make(Arc::new(Topology::clone(&topology).with_cartesian(cartesian))),
            None => world.planners.of(&world_ranks, false, || make(topology)),
        };
        if rank == 0 && nodes > 1 && log::log_enabled!(log::Level::Debug) {
            log_grid(&planner, size);
        }
        let measured = facts.profiles.rules(planner.topology());
        let rules = config.rules.before(&measured);
        let asks_for_devices = facts.devices;
        let tested = OnceCell::new();
        Ok(Self {
            shares_memory,
            asks_for_devices,
            planner,
            tested,
            nodes,
            message,
            world_ranks,
            tags,
            measured,
            rules,
        })
    }

    /// What calls are planned with: `by_test`, by what a self-test has found, if there is anything.
    #[inline]
    pub fn planning(&self, shim: &Shim, by_test: bool) -> Planning<'_> {
        let tested = if by_test { self.tested(shim) } else { None };
        Planning { planner: tested.unwrap_or(&self.planner), is_tested: tested.is_some() }
    }

    /// Not where ranks share memory: the test is of the network.
    #[cold]
    fn tested(&self, shim: &Shim) -> Option<&Arc<Planner>> {
        let make = || {
            let world = shim.world().filter(|_| !self.shares_memory)?;
            let found = world.self_test.costs()?;
            let facts = world.facts.as_ref().ok()?;
            let topology = self.planner.topology();
            let make = || {
                let costs = topology.costs().or_else(found);
                let topology = Topology::clone(topology).with_costs(costs);
                let options = shim.setup().config.options(facts.lossless);
                Arc::new(planner(Arc::new(topology), options, facts.stock))
            };
            // The dimensions of a grid are the communicator's own.
            let is_own = topology.cartesian().is_some();
            Some(if is_own { make() } else { world.planners.of(&self.world_ranks, true, make) })
        };
        self.tested.get_or_init(make).as_ref()
    }
}

/// Not inlined, and below not either: what is moved there takes no stack in what follows.
#[inline(never)]
fn planner(topology: Arc<Topology>, options: Options, stock: Option<(Library, Option<Transport>, u64)>) -> Planner {
    let planner = Planner::with_options(topology, options);
    match stock {
        Some((library, transport, carried)) => planner.with_stock(Stock::new(library, transport, carried)),
        None => planner,
    }
}

#[inline(never)]
fn log_grid(planner: &Planner, ranks: u32) {
    let grid = Grid::new(planner.context().grouped(), planner.topology());
    let nodes = planner.topology().node_count();
    log::debug!("a communicator of {ranks} ranks on {nodes} nodes, dimensions {grid}");
}
