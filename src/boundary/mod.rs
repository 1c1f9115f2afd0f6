//! The border to the program and to its system: panics, failures, standard error, stacks, threads.
//!
//! May enter: what our code needs for every kind of call. May not: anything that knows collectives, communicators or
//! settings.

pub mod failure;
pub mod panics;
pub mod stack;
pub mod thread_list;
pub mod threads;

/// Writes to standard error; a closed or full one is no reason to stop a job.
pub fn say(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(text.as_bytes());
}
