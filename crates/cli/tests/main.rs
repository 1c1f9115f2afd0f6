//! One program for all of these tests: it is linked once, and tests of different files run at the same time.

mod common;

mod bench;
mod bench_launcher;
mod bench_oracle;
mod bench_script;
mod check;
mod doctor;
mod install;
mod lists;
mod plan;
mod predict;
mod ps;
mod run;
mod run_programs;
mod testbed;
mod testbed_bindings;
mod testbed_congestion;
mod testbed_delay;
mod testbed_ecmp;
mod testbed_learning;
mod testbed_mpi;
mod testbed_shown;
mod tune;
