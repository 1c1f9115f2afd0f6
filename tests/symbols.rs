//! What the built libraries show to the dynamic linker.

use nagare_harness::{Family, run_limited};
use std::process::Command;
use std::time::Duration;

/// Output of a tool of binutils about the library.
fn tool(name: &str, options: &[&str], family: Family) -> String {
    let mut command = Command::new(name);
    command.args(options).arg(family.library());
    let ended = run_limited(&mut command, Duration::from_secs(300));
    assert!(ended.success(), "{command:?}\n{}", ended.output());
    ended.stdout
}

/// Names a library defines: `nm` prints address, kind and name.
fn exported(family: Family) -> Vec<String> {
    let text = tool("nm", &["--dynamic", "--defined-only"], family);
    let mut names: Vec<String> = text.lines().filter_map(|l| l.split_whitespace().nth(2).map(str::to_owned)).collect();
    names.sort();
    names
}

/// Collectives that Nagare handles: with counts, blocking.
const HANDLED: [&str; 14] = [
    "Allgather",
    "Allgatherv",
    "Allreduce",
    "Alltoall",
    "Alltoallv",
    "Alltoallw",
    "Bcast",
    "Gather",
    "Gatherv",
    "Reduce",
    "Reduce_scatter",
    "Reduce_scatter_block",
    "Scatter",
    "Scatterv",
];

/// Those that it passes on and counts, with counts; nonblocking ones beside them.
const PASSED_ON: [&str; 2] = ["Exscan", "Scan"];
const NEIGHBORS: [&str; 5] = ["allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"];

fn expected(large_count: bool) -> Vec<String> {
    let nonblocking = HANDLED.iter().chain(&PASSED_ON).map(|name| format!("I{}", name.to_lowercase()));
    let neighbors = NEIGHBORS.iter().flat_map(|name| [format!("Neighbor_{name}"), format!("Ineighbor_{name}")]);
    let blocking = HANDLED.iter().chain(&PASSED_ON).map(ToString::to_string);
    let counted: Vec<String> = blocking.chain(nonblocking).chain(neighbors).collect();
    let others = ["Barrier", "Ibarrier", "Comm_disconnect", "Comm_free", "Finalize", "Init", "Init_thread"];
    let mut names: Vec<String> = ["active", "describe", "diagnose", "report", "set_algorithm", "version"]
        .map(|n| format!("nagare_{n}"))
        .to_vec();
    // By which ranks of Open MPI know who has the library.
    if !large_count {
        names.extend(["PMIx_Commit", "PMIx_Put"].map(str::to_owned));
    }
    for prefix in ["MPI", "PMPI"] {
        names.extend(others.map(|n| format!("{prefix}_{n}")));
        names.extend(counted.iter().map(|n| format!("{prefix}_{n}")));
        // What an MPI library lacks may not be there: Open MPI 4 has no MPI_Comm_idup_with_info.
        if large_count {
            names.extend(counted.iter().map(|n| format!("{prefix}_{n}_c")));
        } else {
            names.push(format!("{prefix}_Comm_idup"));
        }
    }
    names.sort();
    names
}

/// Programs probe for `MPI_Bcast_c`: it may exist only where the MPI library has it.
#[test]
fn exported_names() {
    assert_eq!(exported(Family::OpenMpi), expected(false));
    assert_eq!(exported(Family::Mpich), expected(true));
}

/// Neither a second MPI nor another hwloc may come into a process with the library.
#[test]
fn needed_libraries() {
    let of_the_system = ["libc.so", "libgcc_s.so", "ld-linux", "libm.so", "libdl.so", "libpthread.so"];
    for family in [Family::OpenMpi, Family::Mpich] {
        let text = tool("readelf", &["--dynamic", "--wide"], family);
        let needed: Vec<&str> = text
            .lines()
            .filter(|l| l.contains("(NEEDED)"))
            .filter_map(|l| l.split('[').nth(1)?.split(']').next())
            .collect();
        assert!(!needed.is_empty(), "{text}");
        for name in needed {
            assert!(of_the_system.iter().any(|s| name.starts_with(s)), "{} needs {name}", family.name());
        }
        assert!(!text.contains("RPATH") && !text.contains("RUNPATH"), "{text}");
    }
}
