//! Benchmarks of collectives: what is measured, and what the links allow.
//!
//! ```text
//!   nagare bench ──► testbed ──► mpirun nagare-bench ──► records (JSON lines) ──► tables, plots
//!                                                                                   ▲
//!                    fabric ──► limit: the least time that its links allow ─────────┘
//! ```
//!
//! * [`arguments`]: what is to be measured.
//! * [`record`]: results as data, written by the program `nagare-bench` and read by `nagare bench`.
//! * [`statistics`]: medians, quartiles, when there are enough iterations; [`turns`](mod@turns): in which order.
//! * [`operation`]: which collectives; [`counts`]: the blocks of those where they differ.
//! * [`oracle`]: what an MPI library can be told to run; [`search`]: what of it is tried in the time there is.
//! * [`rules`]: files that tell the library what was the fastest; [`library`]: where the library is.
//! * [`race`]: what falls behind is measured no further; [`tuning`]: a profile of what was the fastest.
//! * [`pairs`]: pairs of ranks that stand for all.
//! * [`load`]: what other programs use of the processors; [`progress`]: how long it will still take.
//! * [`draw`](mod@draw): small networks drawn at random, which nothing was fitted to.
//! * [`limit`]: the least time a collective can take on a fabric; [`flow`] finds the thinnest cut.
//! * [`annotate`]: limits beside measurements; [`guidelines`]: what a collective should not be slower than.
//! * [`plot`]: time against size as SVG.
//!
//! The program itself is in `src/program` and is built once per MPI family, with the feature `program`.

#![forbid(unsafe_code)]

pub mod annotate;
pub mod arguments;
pub mod counts;
pub mod draw;
pub mod flow;
pub mod guidelines;
pub mod library;
pub mod limit;
pub mod load;
pub mod operation;
pub mod oracle;
pub mod pairs;
pub mod plot;
pub mod progress;
pub mod race;
pub mod record;
pub mod rules;
pub mod search;
pub mod statistics;
pub mod tuning;
pub mod turns;
