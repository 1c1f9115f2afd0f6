//! Nagare: preloaded into an MPI program, it carries out the program's collectives by schedules that are planned for
//! the network.
//!
//! ```text
//!   program ─► MPI_X, PMPI_X (interpose) ─► call: guard, decide, run ─► transport ─► the real PMPI_Isend, …
//!                                             │          │
//!                                             │          └─ comm ─► nagare_plan: topology, schedule, executor
//!                                             └─ the real PMPI_X, with a counted reason
//! ```
//!
//! Each module is a room, whose first lines say what may enter. A room imports those below it only:
//!
//! ```text
//!   c_api, interpose
//!   call
//!   comm            of each communicator
//!   world           of the process and its world
//!   transport, report
//!   watch           over calls that do not end
//!   buffers
//!   boundary
//!   real            the MPI library
//! ```

mod boundary;
mod buffers;
mod c_api;
mod call;
mod comm;
mod interpose;
mod real;
mod report;
mod transport;
mod watch;
mod world;
