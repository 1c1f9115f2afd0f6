//! Benchmarks of collectives: what is measured, and what the links allow.
//!
//! * [`arguments`]: what is to be measured.
//! * [`record`]: results as data, written by the program `nagare-bench` and read by `nagare bench`.
//! * [`statistics`]: medians, quartiles, when there are enough iterations.
//! * [`operation`]: which collectives.
//! * [`oracle`]: what an MPI library can be told to run.
//! * [`limit`]: the least time a collective can take on a fabric; [`flow`] finds the thinnest cut.
//! * [`annotate`]: limits beside measurements.
//! * [`plot`]: time against size as SVG.
//!
//! The program itself is in `src/program` and is built once per MPI family, with the feature `program`.

#![forbid(unsafe_code)]

pub mod annotate;
pub mod arguments;
pub mod flow;
pub mod limit;
pub mod operation;
pub mod oracle;
pub mod plot;
pub mod record;
pub mod statistics;
