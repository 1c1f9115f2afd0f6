//! Messages of this process (`NAGARE_LOG`).

use nagare_config::LogLevel;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;

/// This process in the world that it last had, for messages; before one, or in none.
static RANK: AtomicI32 = AtomicI32::new(NO_RANK);
const NO_RANK: c_int = -1;

/// This process is `rank` of a world.
pub fn in_world(rank: c_int) {
    RANK.store(rank, Ordering::Relaxed);
}

/// From now on messages of that level, and those above it, are written to standard error.
pub fn start(level: LogLevel) {
    let start = Instant::now();
    let level = match level {
        LogLevel::Error => log::LevelFilter::Error,
        LogLevel::Warn => log::LevelFilter::Warn,
        LogLevel::Info => log::LevelFilter::Info,
        LogLevel::Debug => log::LevelFilter::Debug,
    };
    // A program that is itself in Rust has its own logger, but not our copy of the `log` crate: this cannot clash.
    let _ = env_logger::Builder::new()
        .filter_level(level)
        .format(move |out, record| {
            use std::io::Write;
            if record.level() < log::Level::Debug {
                return writeln!(out, "nagare: {}", record.args());
            }
            // Of these all ranks have many.
            let seconds = start.elapsed().as_secs_f64();
            match RANK.load(Ordering::Relaxed) {
                NO_RANK => writeln!(out, "nagare: {seconds:.3} s: {}", record.args()),
                rank => writeln!(out, "nagare: {seconds:.3} s, rank {rank}: {}", record.args()),
            }
        })
        .try_init();
}
