//! The collectives on every number of ranks, over communicators, types, operations, roots and sizes, in C and through
//! the three Fortran bindings; results are compared by the programs with what each rank computes for itself.

use nagare_harness::{FORCED, Job, MACHINE, Mpi, Program, compile, everything};
use nagare_plan::algorithm::ALGORITHMS;

/// The world, its ranks in other orders, a part of them, a grid: where it matters who is in a communicator, not which
/// call has made it. All calls that make one have their turn in the tests that do not say this.
const MEMBERS: &str = "comms=world,reversed,part,merged,cart";

/// [`MEMBERS`], or all communicators where everything is tested.
fn members() -> &'static str {
    if everything() { "comms=all" } else { MEMBERS }
}

fn collectives(mpi: Mpi) -> Program {
    compile(mpi, "tests/programs/collectives.c")
}

/// Every call carried out by Nagare; few of many types and operations where there are more ranks than cores.
fn forced(mpi: Mpi, ranks: u32, segment: &str, options: &[&str]) {
    let job = Job::forced(&collectives(mpi), ranks).set("NAGARE_SEGMENT", segment);
    let outcome = job.arguments(&["avoid=none"]).arguments(options).run().verified("collectives");
    outcome.report().assert_ran("grouped_two_tree", Some("xor"));
    outcome.report().assert_ran_blocks();
}

#[test]
fn openmpi_few_ranks() {
    forced(Mpi::OpenMpi4, 2, "1K", &["thin=16", "sizes=0,1,3,1000,4095,4096,4097,65536"]);
    forced(Mpi::OpenMpi4, 3, "8K", &["thin=16", "sizes=0,1,3,1000,4096,65536"]);
    forced(Mpi::OpenMpi4, 5, "256", &["thin=16", "sizes=0,1,3,1000,4095,4096,4097,20000"]);
}

/// Every type and operation at every size.
#[test]
#[ignore = "long: make test-all"]
fn openmpi_few_ranks_with_everything() {
    forced(Mpi::OpenMpi4, 2, "1K", &[]);
    forced(Mpi::OpenMpi4, 3, "8K", &[]);
    forced(Mpi::OpenMpi4, 4, "1K", &["thin=4"]);
    forced(Mpi::OpenMpi4, 5, "256", &["thin=4", "sizes=0,1,3,1000,4095,4096,4097,20000"]);
}

#[test]
fn openmpi_more_ranks() {
    forced(Mpi::OpenMpi4, 13, "1K", &["thin=16", "sizes=0,1,3,1000"]);
}

#[test]
#[ignore = "long: make test-all"]
fn openmpi_most_ranks() {
    forced(Mpi::OpenMpi4, 7, "4K", &["thin=8", "sizes=0,1,3,1000,4097,65536,300001"]);
    forced(Mpi::OpenMpi4, 13, "1K", &["thin=16", "sizes=0,1,3,1000,20000"]);
    forced(Mpi::OpenMpi4, 16, "8K", &["thin=16", "sizes=0,1,3,4097,65536", MEMBERS]);
}

#[test]
fn openmpi_all_roots() {
    forced(Mpi::OpenMpi4, 7, "64", &["roots=all", "sizes=1,300", "thin=8", members()]);
}

#[test]
#[ignore = "long: make test-all"]
fn openmpi_all_roots_of_more_ranks() {
    forced(Mpi::OpenMpi4, 7, "64", &["roots=all", "sizes=1,1000", "thin=4"]);
    forced(Mpi::OpenMpi4, 13, "1K", &["roots=all", "sizes=2,4097", "thin=8", "comms=world,part"]);
}

/// One sweep where waiting ranks do not yield, as MPICH's never do for its users.
#[test]
fn mpich_that_does_not_yield() {
    let job = Job::forced(&collectives(Mpi::Mpich4), 2).without_yielding();
    let outcome = job.arguments(&["avoid=none", "thin=16", "sizes=1,1000,4097"]).run().verified("collectives");
    outcome.report().assert_ran("grouped_two_tree", Some("xor"));
    outcome.report().assert_ran_blocks();
}

#[test]
fn mpich() {
    forced(Mpi::Mpich4, 2, "1K", &["thin=16"]);
    forced(Mpi::Mpich4, 3, "8K", &["thin=16", "sizes=0,1,3,1000,4097"]);
    forced(Mpi::Mpich4, 4, "1K", &["thin=12", "sizes=0,1,3,1000,20000", MEMBERS]);
}

#[test]
#[ignore = "long: make test-all"]
fn mpich_with_more_types() {
    forced(Mpi::Mpich4, 2, "1K", &["thin=4"]);
    forced(Mpi::Mpich4, 3, "8K", &["thin=8", "sizes=0,1,3,1000,4097,65536"]);
}

/// Every algorithm on each of its collectives, all roots: those that scatter reductions, and the others. Ranks switch
/// while the job runs.
fn every_algorithm(mpi: Mpi, ranks: u32, segment: &str, [sizes, thin]: [&str; 2]) {
    let pairs =
        ALGORITHMS.iter().flat_map(|spec| spec.collectives.iter().map(move |collective| (*collective, spec.name)));
    // Types times operations times ways to share are many.
    let (scatter, others): (Vec<_>, Vec<_>) = pairs.partition(|(collective, _)| collective.scatters());
    for (pairs, thin) in [(scatter, "thin=24"), (others, thin)] {
        let rules: Vec<String> =
            pairs.iter().map(|(collective, name)| format!("{}={name}", collective.name())).collect();
        let job = Job::forced(&collectives(mpi), ranks).set("NAGARE_SEGMENT", segment);
        let words = [&format!("rules={}", rules.join("/")), "avoid=none", "roots=all", members(), sizes, thin];
        let outcome = job.arguments(&words).run().verified("collectives");
        let report = outcome.report();
        for (collective, algorithm) in &pairs {
            let name = collective.name();
            assert!(report.calls(name, algorithm) > 0, "no {name} on {algorithm}: {report:?}");
            let reason = "operation does not commute";
            assert_eq!(report.forwarded(name, reason) > 0, collective.reduces(), "{name}: {report:?}");
            // The same calls of all algorithms: none of them has left more to the library than another.
            let first = pairs.iter().find(|(other, _)| other == collective).map_or("", |(_, first)| first);
            assert_eq!(
                report.calls(name, algorithm),
                report.calls(name, first),
                "{name}: {algorithm}, {first}: {report:?}"
            );
        }
        let known = ["one rank", "no data", "operation does not commute"];
        assert!(report.reasons().iter().all(|reason| known.contains(&reason.as_str())), "{report:?}");
    }
}

#[test]
fn every_algorithm_of_three_ranks() {
    every_algorithm(Mpi::OpenMpi4, 3, "256", ["sizes=0,1,63,64,65,1000", "thin=8"]);
    every_algorithm(Mpi::Mpich4, 3, "1K", ["sizes=0,1,256,1000", "thin=8"]);
}

#[test]
#[ignore = "long: make test-all"]
fn every_algorithm_with_more_types() {
    every_algorithm(Mpi::OpenMpi4, 3, "256", ["sizes=0,1,63,64,65,1000", "thin=2"]);
}

#[test]
fn every_algorithm_of_eight_ranks() {
    every_algorithm(Mpi::OpenMpi4, 8, "1K", ["sizes=2,257,1000", "thin=16"]);
}

#[test]
#[ignore = "long: make test-all"]
fn every_algorithm_of_eight_ranks_with_longer_vectors() {
    every_algorithm(Mpi::OpenMpi4, 8, "1K", ["sizes=2,255,257,20000", "thin=12"]);
}

#[test]
fn every_algorithm_under_newer_mpis() {
    every_algorithm(Mpi::OpenMpi5, 4, "1K", ["sizes=1,257,1000", "thin=16"]);
    every_algorithm(Mpi::Mpich5, 3, "1K", ["sizes=1,257,1000", "thin=16"]);
}

/// Halves of a vector along the dimensions of a network, on nodes of several and of unequally many ranks.
#[test]
fn halves_on_tori() {
    // The longest vectors are cut in chunks.
    for (mpi, ranks, machine, torus, aggregators, sizes) in [
        (Mpi::OpenMpi4, 12, "synthetic:node:6 core:2", "3x2", "1", "sizes=0,1,3,1000"),
        (Mpi::OpenMpi4, 11, "synthetic:node:4 core:3", "2x2", "2", "sizes=0,1,3,1000,20000"),
        (Mpi::OpenMpi4, 5, "synthetic:node:5 core:1", "5", "1", "sizes=0,1,3,1000"),
        (Mpi::Mpich4, 3, "synthetic:node:2 core:2", "2", "1", "sizes=0,1,3,1000,20000"),
        (Mpi::Mpich4, 4, "synthetic:node:2 core:2", "2", "2", "sizes=0,1,3,1000"),
    ] {
        let job = Job::forced(&collectives(mpi), ranks).set("NAGARE_TOPOLOGY", machine);
        let job = job.set("NAGARE_TORUS", torus).set("NAGARE_AGGREGATORS", aggregators).set("NAGARE_SEGMENT", "1K");
        let only = "only=allreduce,allgather,allgatherv,reduce_scatter_block,reduce_scatter";
        let job =
            job.set("NAGARE_ALGORITHM", "all=halving_doubling").arguments(&["avoid=none", only, "thin=32", sizes]);
        let outcome = job.arguments(&[members()]).run().verified("collectives");
        for collective in ["allreduce", "allgather", "allgatherv", "reduce_scatter_block", "reduce_scatter"] {
            assert!(outcome.report().calls(collective, "halving_doubling") > 0, "{:?}", outcome.report());
        }
        let left = outcome.report().reasons().into_iter().filter(|r| r != "one rank" && r != "no data");
        assert_eq!(left.collect::<Vec<_>>(), ["operation does not commute"], "{:?}", outcome.report());
    }
}

#[test]
fn one_rank_is_left_to_the_library() {
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        let job = Job::nagare(&collectives(mpi), 1).set("NAGARE_ALGORITHM", FORCED);
        let outcome = job.arguments(&["thin=4"]).run().verified("collectives");
        let report = outcome.report();
        assert!(report.forwarded("", "one rank") > 0);
        assert_eq!(report.reasons(), ["no data", "one rank"], "{report:?}");
        assert_eq!(report.ours(""), 0, "{report:?}");
    }
}

#[test]
fn options_of_the_exchange() {
    const NUMA: &str = "synthetic:node:2 numa:2 core:3";
    for (mpi, ranks, algorithm, machine, steps, partners) in [
        (Mpi::OpenMpi4, 7, "xor", MACHINE, "1", "1"),
        (Mpi::OpenMpi4, 8, "xor", MACHINE, "1", "2"),
        (Mpi::OpenMpi4, 7, "xor", MACHINE, "4", "2"),
        (Mpi::OpenMpi4, 8, "xor", NUMA, "2", "1"),
        (Mpi::OpenMpi4, 8, "xor", NUMA, "together", "2"),
        (Mpi::OpenMpi4, 5, "two_level_ring", MACHINE, "together", "1"),
        (Mpi::OpenMpi4, 6, "ring_exchange", MACHINE, "1", "1"),
        (Mpi::Mpich4, 3, "xor", MACHINE, "1", "2"),
        (Mpi::Mpich4, 3, "ring_exchange", MACHINE, "together", "1"),
    ] {
        let rules = format!("alltoall={algorithm};all=stock");
        let job = Job::nagare(&collectives(mpi), ranks).set("NAGARE_ALGORITHM", &rules);
        let job = job.set("NAGARE_TOPOLOGY", machine).set("NAGARE_STEPS", steps).set("NAGARE_PARTNERS", partners);
        let outcome = job
            .arguments(&["only=alltoall", "thin=8", "sizes=0,1,1000,4097,65536", "comms=world,reversed,part"])
            .run()
            .verified("collectives");
        assert!(outcome.report().calls("alltoall", algorithm) > 0, "{:?}", outcome.report());
    }
}

/// One rank or two of a node talk to other nodes; nodes of unequally many ranks, and fewer than there are leaders.
#[test]
fn leaders_of_an_aggregated_exchange() {
    for (mpi, ranks, leaders) in [(Mpi::OpenMpi4, 7, "1"), (Mpi::OpenMpi4, 5, "2"), (Mpi::Mpich4, 4, "1")] {
        let job = Job::nagare(&collectives(mpi), ranks).set("NAGARE_ALGORITHM", "alltoall=aggregated;all=stock");
        let job = job.set("NAGARE_TOPOLOGY", "synthetic:node:4 core:3").set("NAGARE_AGGREGATORS", leaders);
        let options = ["only=alltoall", "thin=8", "sizes=0,1,63,1000,4097", "comms=world,reversed,part"];
        let outcome = job.arguments(&options).run().verified("collectives");
        assert!(outcome.report().calls("alltoall", "aggregated") > 0, "{:?}", outcome.report());
    }
}

#[test]
fn one_two_tree_over_all_ranks() {
    for (mpi, ranks, options) in [
        (Mpi::OpenMpi4, 5, ["thin=8", "sizes=1,3,4097,65536"]),
        (Mpi::OpenMpi4, 8, ["thin=16", "sizes=1,4097"]),
        (Mpi::Mpich4, 3, ["thin=16", "sizes=1,3,4097"]),
    ] {
        let only = "only=reduce,bcast,allreduce,alltoall";
        let job =
            Job::nagare(&collectives(mpi), ranks).set("NAGARE_ALGORITHM", "all=two_tree").set("NAGARE_SEGMENT", "1K");
        let outcome = job.arguments(&[only, members()]).arguments(&options).run().verified("collectives");
        outcome.report().assert_ran("two_tree", None);
        assert!(outcome.report().forwarded("alltoall", "below threshold") > 0, "{:?}", outcome.report());
    }
}

#[test]
fn the_default_choice_takes_large_messages_between_nodes() {
    for (mpi, ranks) in [(Mpi::OpenMpi4, 6), (Mpi::Mpich4, 4)] {
        let program = collectives(mpi);
        // Two nodes to a group: the exchange is a default only there, for blocks of 16 to 64 KiB.
        let options = ["thin=8", "sizes=1000,8000,65536", "comms=world,part"];
        let job = Job::nagare(&program, ranks).set("NAGARE_TOPOLOGY", "synthetic:group:4 node:2 core:1");
        let outcome = job.set("NAGARE_LEARN", "off").arguments(&options).run().verified("collectives");
        let report = outcome.report();
        // In an Allreduce MPICH's own is predicted to be as fast in shared memory.
        assert!(["reduce", "bcast", "alltoall"].iter().all(|c| report.ours(c) > 0), "{report:?}");
        // Sums that round: the ranks share memory.
        assert!(["reduce", "allreduce"].iter().all(|c| report.forwarded(c, "stock as fast") > 0), "{report:?}");
        assert!(report.forwarded("bcast", "below threshold") > 0, "{report:?}");

        // On one node the library keeps everything.
        let outcome = Job::nagare(&program, ranks).arguments(&options).run().verified("collectives");
        let report = outcome.report();
        assert!(report.forwarded("bcast", "one node") > 0, "{report:?}");
        assert_eq!(report.ours(""), 0, "{report:?}");
    }
}

#[test]
fn fortran_bindings() {
    in_fortran(Mpi::OpenMpi4, &[3], "sizes=0,1,3,1000,40000");
    in_fortran(Mpi::OpenMpi4, &[6, 7, 9], "sizes=1,3,1000");
    in_fortran(Mpi::Mpich4, &[3], "sizes=0,1,3,1000,40000");
}

#[test]
#[ignore = "long: make test-all"]
fn fortran_bindings_of_other_numbers_of_ranks() {
    in_fortran(Mpi::OpenMpi4, &[1, 2, 7, 13, 16], "sizes=0,1,3,1000,40000");
    in_fortran(Mpi::Mpich4, &[1, 2], "sizes=0,1,3,1000,40000");
}

/// The three bindings on these numbers of ranks; large jobs take turns among them.
fn in_fortran(mpi: Mpi, rank_counts: &[u32], sizes: &str) {
    let bindings = ["coll_mpif", "coll_use_mpi", "coll_f08"];
    for (index, binding) in bindings.iter().enumerate() {
        let program = compile(mpi, &format!("tests/programs/{binding}.f90"));
        for (step, &ranks) in rank_counts.iter().enumerate() {
            if ranks > 5 && step % bindings.len() != index {
                continue;
            }
            let job = Job::nagare(&program, ranks).set("NAGARE_ALGORITHM", FORCED).set("NAGARE_TOPOLOGY", MACHINE);
            let outcome = job.set("NAGARE_SEGMENT", "4K").arguments(&[sizes]).run().verified(binding);
            if ranks > 1 {
                outcome.report().assert_ran("grouped_two_tree", Some("xor"));
                outcome.report().assert_ran_blocks();
            }
        }
    }
}
