//! The `NAGARE_*` environment variables: one table drives parsing, `nagare env`, and `docs/environment.md`.
//!
//! ```text
//!   VARIABLES ──► Config::from_vars ──► Config, and Problems of one line each
//!       └───────► nagare env, docs/environment.md
//! ```
//!
//! Nothing here reads the environment: callers pass the variables, so that parsing can be tested and both the library
//! and the command share it. [`read_text`] reads the files that variables name, [`read_topology`] and [`profile_files`]
//! find them.
#![forbid(unsafe_code)]

mod config;
mod files;
mod profiles;
mod table;
mod topology;

pub use config::{Config, DeviceMemory, Learn, LogLevel, Problem, ProfileSource, ReportTarget, Wait};
pub use files::read_text;
pub use profiles::{profile_files, profiles_at_home};
pub use table::{VARIABLES, Variable, markdown};
pub use topology::read_topology;
