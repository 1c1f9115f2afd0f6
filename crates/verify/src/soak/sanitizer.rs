//! The address and the thread sanitizer of the Rust toolchain on programs with Nagare.
//!
//! The library is built with the sanitizer's checks, and the program is linked to the toolchain's runtime: the
//! sanitizer checks all of Nagare's reads and writes, and every allocation of the process. The MPI library and Rust's
//! standard library are built without checks: the thread sanitizer does not see how their threads wait for each other,
//! and takes much of what they do for races. A race is Nagare's if both sides are in its code.
//!
//! Before a clean result counts, the sanitizer must find the fault of `tests/programs/faulty.c` inside Nagare's code.

use super::Found;
use super::cases::{Case, cases};
use crate::record::Row;
use anyhow::{Context, Result, ensure};
use nagare_harness::{Family, Job, Mpi, Program, compile_with, root_directory, scratch_directory};
use nagare_plan::counted;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sanitizer {
    /// Reads and writes outside of what is allocated, or of what was freed.
    Address,
    /// Two threads at the same memory, one of them writing, with nothing between them.
    Thread,
}

/// A library with checks in it.
struct Checked {
    sanitizer: Sanitizer,
    mpi: Mpi,
    library: PathBuf,
    /// The runtime, for the linker.
    runtime: Vec<String>,
}

impl Sanitizer {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Address, Self::Thread];

    const fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Thread => "thread",
        }
    }

    /// The end of its runtime's name in the toolchain.
    const fn runtime(self) -> &'static str {
        match self {
            Self::Address => "_rt.asan.a",
            Self::Thread => "_rt.tsan.a",
        }
    }

    /// Flags of the compiler. The standard library comes without the thread sanitizer's checks.
    const fn flags(self) -> &'static str {
        match self {
            Self::Address => "-Zsanitizer=address",
            Self::Thread => "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer",
        }
    }

    /// Its variable, and what is in it; reports go to files that start with `log`.
    fn options(self, log: &Path) -> (&'static str, String) {
        let log = log.display();
        match self {
            // memcheck looks for leaks, and tells whose they are.
            Self::Address => ("ASAN_OPTIONS", format!("log_path={log}:symbolize=0:detect_leaks=0")),
            Self::Thread => (
                "TSAN_OPTIONS",
                format!("log_path={log}:symbolize=0:exitcode=0:report_thread_leaks=0:detect_deadlocks=0"),
            ),
        }
    }

    /// What it must see.
    const fn fault(self) -> Case {
        let arguments: &[&str] = match self {
            Self::Address => &["fault=short"],
            Self::Thread => &["fault=shared"],
        };
        Case { source: "tests/programs/faulty.c", arguments, name: "faulty" }
    }
}

/// Runs all programs under `sanitizer`, and says how each went.
///
/// # Errors
/// If the library cannot be built with the sanitizer, or the sanitizer does not see a fault.
pub fn run(sanitizer: Sanitizer, mpi: Mpi, name: &str, note: &mut dyn FnMut(Found)) -> Result<()> {
    let checked = Checked::build(sanitizer, mpi)?;
    let (output, reports) = checked.look(&sanitizer.fault())?;
    ensure!(
        reports.own.iter().any(|report| report.contains("libnagare.so")),
        "{name}: the {} sanitizer does not see a fault in libnagare.so\n{}",
        sanitizer.name(),
        output.unwrap_or_default()
    );
    const STORM: Case =
        Case { source: "tests/programs/storm.c", arguments: &["threads=8", "seconds=20"], name: "storm" };
    for case in cases(false).iter().chain([&STORM]) {
        let (failed, reports) = checked.look(case)?;
        let mut result =
            format!("{} of Nagare; {} of the MPI library", counted(reports.own.len(), "report"), reports.foreign);
        result += &reports.own.iter().fold(String::new(), |text, report| text + "\n" + report);
        result += failed.as_deref().unwrap_or_default();
        let what = format!("soak: {} sanitizer on {}; {RANKS} processes; forced", sanitizer.name(), case.name);
        let row = Row { mpi: name.to_owned(), binding: "C".to_owned(), what, ran: case.arguments.join(" "), result };
        note(Found { good: failed.is_none() && reports.own.is_empty(), row });
    }
    Ok(())
}

const RANKS: u32 = 2;

impl Checked {
    fn build(sanitizer: Sanitizer, mpi: Mpi) -> Result<Self> {
        let target = answer("rustc", &["--print", "host-tuple"])?;
        let libraries = PathBuf::from(answer("rustc", &["--print", "target-libdir"])?);
        let runtime = fs::read_dir(&libraries)
            .with_context(|| libraries.display().to_string())?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.to_string_lossy().ends_with(sanitizer.runtime()))
            .with_context(|| format!("{}: no {} runtime", libraries.display(), sanitizer.name()))?;
        let runtime = format!("-Wl,--whole-archive,{},--no-whole-archive,--export-dynamic", runtime.display());
        let family = match mpi.family() {
            Family::OpenMpi => "openmpi",
            Family::Mpich => "mpich",
        };
        let directory = root_directory().join(format!("target/{}-{family}", sanitizer.name()));
        let mut command = Command::new("cargo");
        command
            .args(["build", "--quiet", "-p", "nagare", "--lib", "--target", &target, "--target-dir"])
            .arg(&directory);
        command.current_dir(root_directory()).env("MPICC", format!("mpicc.{family}"));
        // Sanitizers are among what a stable compiler keeps for those who ask.
        command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", sanitizer.flags());
        let status = command.status().context("cargo")?;
        ensure!(status.success(), "{command:?}: {status}");
        let library = directory.join(target).join("debug/libnagare.so");
        let runtime = vec![runtime, "-lrt".to_owned(), "-lgcc_s".to_owned()];
        Ok(Self { sanitizer, mpi, library, runtime })
    }

    /// Runs a program: what it said if it did not pass, and what the sanitizer said.
    fn look(&self, case: &Case) -> Result<(Option<String>, Reports)> {
        let (sanitizer, scratch) = (self.sanitizer, scratch_directory());
        let program = compile_with(self.mpi, case.source, &format!("_{}", sanitizer.name()), &self.runtime);
        let (variable, options) = sanitizer.options(&scratch.path().join("log"));
        // Fixed addresses leave the thread sanitizer its own.
        let mut words: Vec<OsString> = vec!["setarch".into(), "--addr-no-randomize".into(), "env".into()];
        words.push(format!("LD_PRELOAD={}", self.library.display()).into());
        words.push(format!("{variable}={options}").into());
        // UCX, under MPICH, puts itself in the way of the same functions as the runtime.
        words.push("UCX_MEM_EVENTS=no".into());
        words.extend(program.words.iter().cloned());
        let job = Job::forced(&Program { words, ..program }, RANKS).arguments(case.arguments);
        let outcome = job.arguments(&["watchdog=1000"]).limit(1200).run();
        let ours = outcome.report.as_ref().map_or(0, |report| report.ours(""));
        let passed = outcome.ended.success() && outcome.ended.stdout.contains(&format!("PASS {} ", case.name));
        let mut reports = Reports::default();
        for entry in fs::read_dir(scratch.path()).with_context(|| scratch.path().display().to_string())?.flatten() {
            reports.add(&fs::read_to_string(entry.path()).with_context(|| entry.path().display().to_string())?);
        }
        Ok(((!passed || ours == 0).then(|| outcome.ended.output()), reports))
    }
}

/// What a sanitizer said of all ranks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Reports {
    /// Of Nagare.
    own: Vec<String>,
    /// How many others.
    foreign: usize,
}

impl Reports {
    /// The reports of one process.
    fn add(&mut self, text: &str) {
        let of_address = text.split("ERROR: AddressSanitizer").skip(1).map(|report| (report, true));
        let of_thread = text.split("WARNING: ThreadSanitizer").skip(1).map(|report| (report, is_own_race(report)));
        for (report, own) in of_address.chain(of_thread) {
            if own {
                self.own.push(report.to_owned());
            } else {
                self.foreign += 1;
            }
        }
    }
}

/// Whether both sides of a race are in Nagare's code: the first frame of each that is not one of the sanitizer's
/// runtime, which is in the program.
fn is_own_race(report: &str) -> bool {
    let object =
        |frame: &str| Some(frame.trim_start().strip_prefix('#')?.split_once("+0x")?.0.rsplit_once('(')?.1.to_owned());
    const SIDES: [&str; 4] = ["  Write of", "  Read of", "  Atomic", "  Previous"];
    let is_side = |stack: &&str| stack.lines().any(|line| SIDES.iter().any(|start| line.starts_with(start)));
    let cause =
        |stack: &str| stack.lines().filter_map(object).find(|object| !object.ends_with(Sanitizer::Thread.name()));
    let sides: Vec<_> = report.split("\n\n").filter(is_side).map(cause).collect();
    sides.len() == 2 && sides.iter().all(|side| side.as_deref() == Some("libnagare.so"))
}

fn answer(program: &str, words: &[&str]) -> Result<String> {
    let output = Command::new(program).args(words).output().with_context(|| program.to_owned())?;
    ensure!(output.status.success(), "{program} {}: {}", words.join(" "), output.status);
    Ok(String::from_utf8(output.stdout).with_context(|| program.to_owned())?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn race(objects: [&[&str]; 2]) -> String {
        let stack = |objects: &[&str]| {
            objects
                .iter()
                .fold(String::new(), |text, o| text + &format!("    #0 <null> <null> ({o}+0x12ab) (BuildId: 1)\n"))
        };
        format!(
            "==================\nWARNING: ThreadSanitizer: data race (pid=1)\n  Write of size 8 at 0x7f00 by thread \
             T4:\n{}\n  Previous write of size 8 at 0x7f00 by main thread:\n{}\n  Location is heap block of size 512 \
             at 0x7f00 allocated by main thread:\n{}\nSUMMARY: ThreadSanitizer: data race \
             (x+0x1)\n==================\n",
            stack(objects[0]),
            stack(objects[1]),
            stack(&["storm_c_thread", "libmpi.so.40"])
        )
    }

    #[test]
    fn a_race_is_ours_if_both_sides_are() {
        let ours: &[&str] = &["storm_c_thread", "libnagare.so", "storm_c_thread"];
        let theirs: &[&str] = &["storm_c_thread", "libmpi.so.40", "libnagare.so", "storm_c_thread"];
        let mut reports = Reports::default();
        reports.add(&(race([ours, ours]) + &race([ours, theirs]) + &race([theirs, ours]) + &race([theirs, theirs])));
        assert_eq!((reports.own.len(), reports.foreign), (1, 3));
        reports.add("==7==ERROR: AddressSanitizer: heap-buffer-overflow");
        assert_eq!((reports.own.len(), reports.foreign), (2, 3));
    }
}
