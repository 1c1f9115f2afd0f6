//! What tests need of Debian's two MPIs: whether they are there, and programs that are built for them.

use crate::common::bed::Bed;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the libraries are that `make` builds.
pub const LIBRARIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");

/// What --mpi takes, and the compiler of its programs.
pub const MPIS: [(&str, &str); 2] = [("openmpi", "mpicc.openmpi"), ("mpich", "mpicc.mpich")];

/// Whether there is such a launcher; if not, that is printed.
pub fn has(compiler: &str) -> bool {
    let found =
        Command::new("sh").args(["-c", r#"command -v "$1""#, "sh", compiler]).output().unwrap().status.success();
    if !found {
        eprintln!("skipped: no {compiler}");
    }
    found
}

/// Whether an MPI is there, and the library that `make` builds for it; if not, that is printed.
pub fn is_built((mpi, compiler): (&str, &str)) -> bool {
    let is_built = has(compiler) && Path::new(LIBRARIES).join(mpi).join("release/libnagare.so").is_file();
    if !is_built {
        eprintln!("skipped: {mpi} or its target/{mpi}/release/libnagare.so is missing (`make` builds it)");
    }
    is_built
}

/// A program in C of this project, built.
pub fn compiled(bed: &Bed, source: &str, mpi: &str, compiler: &str) -> PathBuf {
    let program = bed.path(&format!("program.{mpi}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(source);
    let built = Command::new(compiler).args(["-std=c11", "-O2", "-o"]).arg(&program).arg(source).status();
    assert!(built.unwrap().success());
    program
}
