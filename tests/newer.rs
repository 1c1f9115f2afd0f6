//! The same two libraries under the newer versions of both MPIs: C and Python programs.

use nagare_harness::{FORCED, Job, MACHINE, Mpi, Program, compile, run_limited, scratch_directory};
use std::process::Command;
use std::time::Duration;

const NEWER: [(Mpi, &[u32]); 2] = [(Mpi::OpenMpi5, &[2, 5]), (Mpi::Mpich5, &[2, 3])];

#[test]
fn collectives_in_c() {
    for (mpi, rank_counts) in NEWER {
        let program = compile(mpi, "tests/programs/collectives.c");
        for &ranks in rank_counts {
            let job = Job::forced(&program, ranks).set("NAGARE_SEGMENT", "2K").arguments(&["thin=16", "avoid=none"]);
            // MPICH's ranks do not yield: few messages where they outnumber the cores.
            let few = mpi == Mpi::Mpich5 && ranks > 2;
            let sizes = if few { "sizes=0,1,1000,4097" } else { "sizes=0,1,1000,4097,65536" };
            let outcome = job.arguments(&[sizes]).run().verified("collectives");
            outcome.report().assert_ran("grouped_two_tree", Some("xor"));
            outcome.report().assert_ran_blocks();
            let version = if mpi == Mpi::OpenMpi5 { "Open MPI v5.0" } else { "MPICH Version" };
            let told = outcome.report().0["mpi"].as_str().unwrap_or_default();
            assert!(told.starts_with(version), "{told}");
        }
    }
}

#[test]
fn unusual_uses_in_c() {
    for (mpi, rank_counts) in NEWER {
        let program = compile(mpi, "tests/programs/edge.c");
        let outcome = Job::forced(&program, rank_counts[1]).run().verified("edge");
        assert_eq!(outcome.report().forwarded("bcast", "intercommunicator"), 1, "{:?}", outcome.report());
    }
}

/// The functions with counts of type `MPI_Count`, which only MPICH has.
#[test]
fn large_counts_in_c() {
    for mpi in [Mpi::Mpich4, Mpi::Mpich5] {
        let program = compile(mpi, "tests/programs/largecount.c");
        for ranks in [2, 3] {
            let job = Job::forced(&program, ranks).set("NAGARE_SEGMENT", "2K").arguments(&["thin=8"]);
            let outcome = job.arguments(&["sizes=0,1,1000,4097"]).run().verified("largecount");
            outcome.report().assert_ran("grouped_two_tree", Some("xor"));
            outcome.report().assert_ran_blocks();
        }
    }
}

#[test]
fn python() {
    for (mpi, rank_counts) in NEWER {
        for &ranks in rank_counts {
            let hello = Program::python(mpi, "examples/hello.py");
            let outcome = Job::forced(&hello, ranks).run().passed();
            assert_eq!(outcome.ended.stdout, "OK\n", "{}", outcome.ended.output());
            outcome.report().assert_ran("grouped_two_tree", Some("xor"));
            // Every call is seen exactly once (mpi4py broadcasts pickled objects as well).
            for (collective, algorithm) in
                [("reduce", "grouped_two_tree"), ("allreduce", "grouped_two_tree"), ("alltoall", "xor")]
            {
                assert_eq!(outcome.report().calls(collective, algorithm), 1, "{collective}: {:?}", outcome.report());
            }

            let buffers = Program::python(mpi, "tests/programs/buffers.py");
            let outcome = Job::forced(&buffers, ranks).set("NAGARE_SEGMENT", "2K").run().verified("buffers");
            outcome.report().assert_ran("grouped_two_tree", Some("xor"));
            outcome.report().assert_ran_blocks();
        }
    }
}

/// Which names mpi4py binds to Nagare, as the dynamic linker tells (`LD_DEBUG`, one file per process).
fn bound_to_nagare(mpi: Mpi) -> Vec<String> {
    let scratch = scratch_directory();
    let program = Program::python(mpi, "tests/programs/buffers.py");
    let mut command = Command::new(&program.words[0]);
    command.args(&program.words[1..]).env("LD_PRELOAD", mpi.family().library());
    command.env("LD_DEBUG", "bindings").env("LD_DEBUG_OUTPUT", scratch.path().join("bindings"));
    command.env("NAGARE_ALGORITHM", FORCED).env("NAGARE_TOPOLOGY", MACHINE);
    let ended = run_limited(&mut command, Duration::from_secs(300));
    assert!(ended.success(), "{}", ended.output());
    let mut names = Vec::new();
    for file in std::fs::read_dir(scratch.path()).expect("the files").flatten() {
        let text = std::fs::read_to_string(file.path()).expect("UTF-8");
        let bindings = text.lines().filter(|l| l.contains("/mpi4py/MPI.") && l.contains("libnagare.so"));
        // binding file A [0] to B [0]: normal symbol `NAME'
        names.extend(bindings.filter_map(|l| Some(l.split('`').nth(1)?.split('\'').next()?.to_owned())));
    }
    names.sort();
    names.dedup();
    names
}

/// mpi4py calls the functions with large counts where it finds them.
#[test]
fn python_calls_the_large_count_functions_of_mpich_only() {
    let names = bound_to_nagare(Mpi::Mpich5);
    for name in [
        "MPI_Bcast_c",
        "MPI_Reduce_c",
        "MPI_Allreduce_c",
        "MPI_Alltoall_c",
        "MPI_Alltoallv_c",
        "MPI_Gather_c",
        "MPI_Allgather_c",
        "MPI_Reduce_scatter_block_c",
        "MPI_Reduce_scatter_c",
        "MPI_Finalize",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} is not among {names:?}");
    }
    let names = bound_to_nagare(Mpi::OpenMpi5);
    for name in [
        "MPI_Bcast",
        "MPI_Reduce",
        "MPI_Allreduce",
        "MPI_Alltoall",
        "MPI_Alltoallv",
        "MPI_Gather",
        "MPI_Allgather",
        "MPI_Reduce_scatter_block",
        "MPI_Reduce_scatter",
        "MPI_Finalize",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} is not among {names:?}");
    }
    assert!(!names.iter().any(|n| n.ends_with("_c")), "{names:?}");
}
