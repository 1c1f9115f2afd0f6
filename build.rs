//! Asks the MPI at hand (`MPICC`, else `mpicc`) what it is: sets `mpi_family = "openmpi" | "mpich"` and
//! `mpi_large_count`; and numbers the build by its sources, so that ranks notice that theirs differ (`NAGARE_BUILD`).

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(mpi_family, values(\"openmpi\", \"mpich\"))");
    println!("cargo::rustc-check-cfg=cfg(mpi_large_count)");
    println!("cargo::rerun-if-env-changed=MPICC");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/mpi_header.h");
    let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".into());
    let header = preprocess(&mpicc, &[]);
    let macros = preprocess(&mpicc, &["-dM"]);
    let family = if macros.contains("#define OMPI_MAJOR_VERSION") {
        "openmpi"
    } else if macros.contains("#define MPICH_VERSION") {
        "mpich"
    } else {
        fail(&format!("{mpicc}: neither Open MPI nor MPICH; set MPICC to the compiler wrapper of one of them"))
    };
    println!("cargo::rustc-cfg=mpi_family=\"{family}\"");
    if header.contains("MPI_Bcast_c(") {
        println!("cargo::rustc-cfg=mpi_large_count");
    }
    let mut build = DefaultHasher::new();
    for directory in DECIDING {
        println!("cargo::rerun-if-changed={directory}");
        number(Path::new(directory), &mut build);
    }
    println!("cargo::rustc-env=NAGARE_BUILD={:016x}", build.finish());
}

/// Sources by which ranks decide.
const DECIDING: [&str; 4] = ["src", "crates/plan/src", "crates/config/src", "fabrics"];

/// Hashes the names and contents of all sources of a directory, not of what editors leave beside them.
fn number(directory: &Path, build: &mut DefaultHasher) {
    let entries =
        fs::read_dir(directory).unwrap_or_else(|e| fail(&format!("cannot read {}: {e}", directory.display())));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let is_source = path.extension().is_some_and(|end| ["rs", "h", "toml"].iter().any(|of| end == *of));
        let is_hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with(['.', '#']));
        if path.is_dir() {
            number(&path, build);
        } else if is_source && !is_hidden {
            path.hash(build);
            let contents = fs::read(&path).unwrap_or_else(|e| fail(&format!("cannot read {}: {e}", path.display())));
            contents.hash(build);
        }
    }
}

fn preprocess(mpicc: &str, extra: &[&str]) -> String {
    match Command::new(mpicc).args(["-E", "-P"]).args(extra).arg("src/mpi_header.h").output() {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        Ok(output) => fail(&format!("{mpicc} cannot preprocess mpi.h: {}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => fail(&format!("cannot run the MPI compiler wrapper `{mpicc}` (set MPICC): {error}")),
    }
}

fn fail(message: &str) -> ! {
    println!("cargo::error={message}");
    exit(1)
}
