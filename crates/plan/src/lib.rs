//! Schedules of collective communication as data: who sends what to whom, and after what. This crate plans them for one
//! communicator, predicts their time on its network, checks them, and carries them out over any [transport].
//!
//! ```text
//!   Topology (nodes, groups) ─┐
//!   Fabric (hosts, links) ────┴─► Planner ─► RankPlan { hops } ─► Program ─► Executor ─► Transport
//!                                    │
//!                                    └─► Demand ─► predicted time ─► Choice (rules, defaults, reasons)
//! ```
//!
//! It knows no MPI, no pointers, no environment and no clock: a plan is a function of what all ranks know, so each rank
//! plans for itself and the plans fit. Bytes are bytes, rates Mbit/s, times nanoseconds unless a name says otherwise.
//!
//! * [`topology`], [`fabric`]: where ranks are, and what connects them.
//! * [`collective`], [`algorithm`]: what can be planned, one file for each algorithm; [`pattern`], [`tree`] and
//!   [`tasks`] are what these are built from.
//! * [`Planner`]: plans, and [`cost`]s; [`choice`]: rules, thresholds and reasons; [`decision`]: the algorithm of one
//!   call, its segment and window; [`learn`]: which candidate is the fastest by measured times; [`self_test`]: what to
//!   measure of the network in a job; [`profile`]: what was measured before, at a site.
//! * [`schedule`]: the plans; [`execute`]: carrying them out, between threads for tests.
//!
//! A Bcast from rank 0 of 64 ranks, four to a node, and what rank 4 does in it:
//!
//! ```
//! use nagare_plan::{Planner, algorithm::Algorithm, collective::Collective, topology::Topology};
//!
//! let topology = Topology::of_nodes((0..64).map(|rank| rank / 4).collect())?;
//! let planner = Planner::new(topology);
//! let plan = planner.plan(Collective::Bcast, Algorithm::GroupedTwoTree, 0, 4).expect("a Bcast");
//! for hop in &plan.hops {
//!     println!("{:?} part {} of {}, peer {}", hop.action, hop.parts.first, plan.parts, hop.peer);
//! }
//! // Each half of the vector comes once, along its own tree.
//! let received = plan.hops.iter().filter(|hop| hop.action == nagare_plan::schedule::Action::Recv);
//! let mut halves: Vec<u32> = received.map(|hop| hop.parts.first).collect();
//! halves.sort_unstable();
//! assert_eq!(halves, [0, 1]);
//! # Ok::<(), nagare_plan::topology::TopologyError>(())
//! ```
//!
//! [transport]: execute::Transport
#![forbid(unsafe_code)]

pub mod algorithm;
pub mod by_size;
pub mod choice;
pub mod collective;
pub mod context;
pub mod cost;
mod counted;
pub mod decision;
pub mod execute;
pub mod fabric;
pub mod learn;
mod levels;
pub mod pattern;
mod planner;
pub mod profile;
mod quoted;
mod recent;
pub mod schedule;
mod scrambled;
pub mod self_test;
pub mod stock;
pub mod tasks;
pub mod text;
pub mod topology;
pub mod tree;

pub use counted::counted;
pub use planner::Planner;
pub use quoted::quoted;
pub use scrambled::scrambled;
