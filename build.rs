//! Asks the MPI at hand (`MPICC`, else `mpicc`) what it is: sets `mpi_family = "openmpi" | "mpich"` and `mpi_large_count`.

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
