//! `nagare-verify tests`: the integration tests, and a row for every MPI and binding whose programs have compared their
//! results.

use crate::record::{self, Row};
use anyhow::{Context, Result, ensure};
use clap::Args;
use nagare_harness::{Mpi, RECORD, Verified, root_directory, scratch_directory, verified};
use nagare_plan::counted;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// What to run.
#[derive(Args, Debug)]
pub struct Options {
    /// Tests by the names of their files, such as matrix; all of them where none is named
    pub only: Vec<String>,
}

/// Whether all tests passed. The rows are replaced where all of them ran.
pub fn run(options: &Options) -> Result<bool> {
    let scratch = scratch_directory();
    let file = scratch.path().join("verified");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root_directory()).env(RECORD, &file).env("MPICC", "mpicc.openmpi").env("TEST_ALL", "yes");
    cargo.args(["test", "--no-fail-fast", "--package", "nagare", "--target-dir", "target/openmpi"]);
    // Files are modules of one program.
    cargo.args(["--test", "jobs", "--", "--include-ignored"]).args(options.only.iter().map(|file| format!("{file}::")));
    let passed = cargo.status().context("cargo test")?.success();
    let rows = rows(&verified(&file), Mpi::version)?;
    rows.iter().for_each(|row| println!("{}, {}: {} ({})", row.mpi, row.binding, row.ran, row.what));
    if passed && options.only.is_empty() {
        record::write("tests", &rows)?;
    }
    Ok(passed)
}

/// One row for every MPI and binding.
fn rows(jobs: &[Verified], version: impl Fn(Mpi) -> String) -> Result<Vec<Row>> {
    ensure!(!jobs.is_empty(), "no job has verified anything");
    let mut groups: BTreeMap<(usize, &str), Vec<&Verified>> = BTreeMap::new();
    for job in jobs {
        let mpi = Mpi::ALL
            .iter()
            .position(|mpi| mpi.name() == job.mpi)
            .with_context(|| format!("no MPI is called {}", job.mpi))?;
        groups.entry((mpi, job.binding)).or_default().push(job);
    }
    let rows = groups.into_iter().map(|((mpi, binding), jobs)| {
        let programs: BTreeSet<&str> = jobs.iter().map(|job| job.program.as_str()).collect();
        let cases: u64 = jobs.iter().map(|job| job.cases).sum();
        Row {
            mpi: version(Mpi::ALL[mpi]),
            binding: binding.to_owned(),
            what: format!("integration tests: {}", programs.into_iter().collect::<Vec<_>>().join(", ")),
            ran: format!("{}, {} compared", counted(jobs.len(), "job"), counted(cases, "call")),
            result: "every result as each rank computes it for itself".to_owned(),
        }
    });
    Ok(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_counted_by_mpi_and_binding() {
        let job = |mpi: Mpi, binding, program: &str, cases| Verified {
            mpi: mpi.name().to_owned(),
            program: program.to_owned(),
            binding,
            cases,
        };
        let jobs = [
            job(Mpi::Mpich4, "C", "collectives", 10),
            job(Mpi::OpenMpi4, "Python", "buffers", 3),
            job(Mpi::OpenMpi4, "C", "collectives", 5),
            job(Mpi::OpenMpi4, "C", "cartesian", 7),
        ];
        let rows = rows(&jobs, |mpi| mpi.name().to_uppercase()).unwrap();
        let short: Vec<_> = rows
            .iter()
            .map(|row| (row.mpi.as_str(), row.binding.as_str(), row.what.as_str(), row.ran.as_str()))
            .collect();
        assert_eq!(
            short,
            [
                ("OPENMPI4", "C", "integration tests: cartesian, collectives", "2 jobs, 12 calls compared"),
                ("OPENMPI4", "Python", "integration tests: buffers", "1 job, 3 calls compared"),
                ("MPICH4", "C", "integration tests: collectives", "1 job, 10 calls compared"),
            ]
        );
        assert!(super::rows(&[], |_| String::new()).is_err());
    }
}
