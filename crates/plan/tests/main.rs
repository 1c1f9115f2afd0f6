//! One program for all of these tests: it is linked once, and tests of different files run at the same time. Only the
//! tests of parsers are programs of their own, since they count the memory that is taken.

mod adapters;
mod aggregated;
mod between_nodes;
mod bine;
mod contention_free;
mod copies;
mod cost;
mod cost_exchange;
mod cost_pipelines;
mod cost_stepwise;
mod credits;
mod documented_exchanges;
mod documented_fabrics;
mod documented_halving;
mod documented_levels;
mod documented_lists;
mod documented_network;
mod documented_segments;
mod documented_trees;
mod executor;
mod executor_inconsistent;
mod executor_order;
mod fabric_conflicts;
mod fabric_ecmp;
mod fabric_file;
mod fabric_groups;
mod fabric_levels;
mod fabric_placement;
mod fabric_routes;
mod full_rate;
mod gather_turns;
mod grid;
mod halves;
mod halving_doubling;
mod head_of_line;
mod incast;
mod level_choice;
mod mesh_orders;
mod mirrored;
mod numa_nodes;
mod overwritten;
mod pictures;
mod ring_bus;
mod schedules;
mod short_queues;
mod short_vectors;
mod steps_together;
mod task_groups;
mod thesis_figures;
mod timeline;
mod torus_orders;
mod turns;
mod worked_examples;
mod xor;

/// What several files use.
mod support {
    pub mod amount;
    pub mod by_hand;
    pub mod document;
    pub mod formulas;
    pub mod halving;
    pub mod hops;
    pub mod ideal;
    pub mod network;
    pub mod rounds;
    pub mod segments;
    pub mod wire;
}
