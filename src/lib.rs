//! Nagare: preloaded under an MPI program, it runs the program's collectives on schedules that know the network.
//!
//! ```text
//!   program ─► MPI_X, PMPI_X (interpose) ─► call: guard, decide, run ─► transport ─► the real PMPI_Isend, …
//!                                             │          │
//!                                             │          └─ communicator ─► nagare_plan: topology, schedule, executor
//!                                             └─ the real PMPI_X, with a counted reason
//! ```

mod arguments;
mod blocks;
mod boundary;
mod c_api;
mod call;
mod cartesian;
mod communicator;
mod contents;
mod cvar;
mod datatype;
mod destination;
mod eager;
mod facts;
mod failure;
mod interpose;
mod locality;
mod meeting;
mod memory;
mod notice;
mod numbers;
mod packed;
mod pool;
mod private;
mod real;
mod report;
mod requests;
mod setup;
mod shim;
mod stack;
mod staged;
mod statistics;
mod tags;
mod transport;
mod typemap;
mod wait;
mod witness;
