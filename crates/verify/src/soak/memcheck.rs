//! valgrind's memcheck on programs with Nagare: errors and definite leaks that come from its code.
//!
//! MPI libraries have findings of their own. A finding is Nagare's if its innermost frame outside the allocator and the
//! C library is in `libnagare.so`; findings that only pass through it on the way into the MPI library are counted
//! separately, and compared with a run without Nagare.

use super::Found;
use super::cases::Case;
use crate::record::Row;
use anyhow::{Context, Result};
use nagare_harness::{Job, Mpi, Program, compile, scratch_directory};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Findings of all ranks of a job, each once.
#[derive(Debug, Default, PartialEq, Eq)]
struct Findings {
    /// Ranks that wrote a report.
    ranks: usize,
    /// Nagare's own: kind and frames.
    own: BTreeSet<String>,
    /// The MPI library's and the program's, by kind and frames outside Nagare.
    foreign: BTreeSet<String>,
}

/// Runs the case without Nagare and with it.
///
/// # Errors
/// If a report of valgrind cannot be read.
pub fn run(mpi: Mpi, name: &str, case: &Case) -> Result<Found> {
    const RANKS: u32 = 2;
    let program = compile(mpi, case.source);
    let look = |forced: bool| -> Result<(bool, Findings, String)> {
        let scratch = scratch_directory();
        let mut words = vec!["valgrind".into(), "--xml=yes".into(), "--leak-check=full".into()];
        words.extend(["--num-callers=40".into(), "--show-leak-kinds=definite".into(), "--fair-sched=yes".into()]);
        words.push(format!("--xml-file={}/%p.xml", scratch.path().display()).into());
        words.extend(program.words.iter().cloned());
        let under = Program { words, ..program.clone() };
        let job = if forced { Job::forced(&under, RANKS) } else { Job::stock(&under, RANKS) };
        let outcome = job.arguments(case.arguments).arguments(&["watchdog=1000"]).limit(1200).run();
        let passed = outcome.ended.success() && outcome.ended.stdout.contains(&format!("PASS {} ", case.name));
        Ok((passed, read(scratch.path())?, outcome.ended.output()))
    };
    let (stock_passed, stock, _) = look(false)?;
    let (passed, found, output) = look(true)?;
    let good = stock_passed && passed && found.own.is_empty() && found.ranks == RANKS as usize;
    let more = found.foreign.difference(&stock.foreign).count();
    let mut result = format!(
        "{} errors or definite leaks of Nagare; of the MPI library {} without it, {} with it ({more} by other ways)",
        found.own.len(),
        stock.foreign.len(),
        found.foreign.len()
    );
    if !good {
        result += &found.own.iter().fold(String::new(), |text, own| text + "\n" + own);
        result += if passed && stock_passed { "" } else { &output };
    }
    let what = format!("soak: valgrind memcheck of {}; {RANKS} processes; forced", case.name);
    let ran = case.arguments.join(" ");
    Ok(Found { good, row: Row { mpi: name.to_owned(), binding: "C".to_owned(), what, ran, result } })
}

/// All reports in a directory.
fn read(directory: &Path) -> Result<Findings> {
    let mut findings = Findings::default();
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())?.flatten() {
        let text = fs::read_to_string(entry.path()).with_context(|| entry.path().display().to_string())?;
        // Only a process that came to its end counts.
        findings.ranks += usize::from(text.contains("<state>FINISHED</state>"));
        findings.add(&text);
    }
    Ok(findings)
}

/// What is between `<tag>` and `</tag>` the first time.
fn element<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, after) = text.split_once(&format!("<{tag}>"))?;
    after.split_once(&format!("</{tag}>")).map(|(inside, _)| inside)
}

/// Objects that stand between a cause and what memcheck sees: its own replacements, the C library, the loader.
fn is_between(object: &str) -> bool {
    let file = object.rsplit('/').next().unwrap_or_default();
    ["vgpreload", "libc.so", "libc-", "ld-linux", "libpthread"].iter().any(|start| file.starts_with(start))
}

impl Findings {
    fn add(&mut self, text: &str) {
        for error in text.split("<error>").skip(1).filter_map(|part| part.split("</error>").next()) {
            let kind = element(error, "kind").unwrap_or("?");
            if kind.starts_with("Leak_") && kind != "Leak_DefinitelyLost" {
                continue;
            }
            // The first stack says where it was seen; others say where memory comes from.
            let stack = element(error, "stack").unwrap_or_default();
            let frames: Vec<(&str, &str)> = stack
                .split("<frame>")
                .skip(1)
                .map(|frame| (element(frame, "obj").unwrap_or("?"), element(frame, "fn").unwrap_or("?")))
                .collect();
            let is_ours = |object: &str| object.ends_with("/libnagare.so");
            let cause = frames.iter().find(|(object, _)| !is_between(object));
            let words = |own: bool| {
                let kept = frames.iter().filter(|(object, _)| own || !is_ours(object));
                kept.fold(kind.to_owned(), |text, (_, function)| text + " < " + function)
            };
            if cause.is_some_and(|(object, _)| is_ours(object)) {
                self.own.insert(words(true));
            } else {
                self.foreign.insert(words(false));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: &str, frames: &[(&str, &str)]) -> String {
        let frames: String =
            frames.iter().map(|(o, f)| format!("<frame>\n<obj>{o}</obj><fn>{f}</fn></frame>\n")).collect();
        format!("<error>\n<kind>{kind}</kind>\n<stack>\n{frames}</stack>\n</error>\n")
    }

    #[test]
    fn a_finding_belongs_to_the_innermost_object_that_is_no_allocator() {
        let vg = ("/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so", "malloc");
        let own = error("Leak_DefinitelyLost", &[vg, ("/x/libnagare.so", "attach"), ("/x/program", "main")]);
        let through =
            error("UninitCondition", &[("/lib/libmpi.so.40", "PMPI_Bcast"), ("/x/libnagare.so", "MPI_Bcast")]);
        let reachable = error("Leak_StillReachable", &[vg, ("/x/libnagare.so", "attach")]);
        let mut findings = Findings::default();
        findings.add(&(own + &through + &reachable));
        assert_eq!(findings.own, BTreeSet::from(["Leak_DefinitelyLost < malloc < attach < main".to_owned()]));
        assert_eq!(findings.foreign, BTreeSet::from(["UninitCondition < PMPI_Bcast".to_owned()]));
    }
}
