//! Halving and doubling along dimensions: of Cartesian communicators, and as `NAGARE_TORUS` says.

use nagare_harness::{Job, Mpi, Outcome, compile};

/// `program` on the grid of one rank per pretended node, every Allreduce by halving and doubling.
fn on_grid(mpi: Mpi, grid: &[u32], machine: &str) -> Job {
    let sizes: Vec<String> = grid.iter().map(u32::to_string).collect();
    let program = compile(mpi, "tests/programs/cartesian.c");
    Job::nagare(&program, grid.iter().product())
        .set("NAGARE_ALGORITHM", "allreduce=halving_doubling")
        .set("NAGARE_TOPOLOGY", machine)
        .set("NAGARE_SEGMENT", "1K")
        .set("NAGARE_LOG", "debug")
        .arguments(&[&format!("grid={}", sizes.join(","))])
}

/// Asserts that results are right, that nothing but communicators of one rank was left to the library, and that a
/// communicator's dimensions were told as each of `dimensions`.
#[track_caller]
fn assert_halved(outcome: Outcome, dimensions: &[&str]) {
    let outcome = outcome.verified("cartesian");
    let report = outcome.report();
    assert!(report.calls("allreduce", "halving_doubling") > 0, "{report:?}");
    assert_eq!(report.ours("allreduce"), report.calls("allreduce", "halving_doubling"), "{report:?}");
    assert!(report.reasons().iter().all(|reason| reason == "one rank"), "{report:?}");
    let messages = outcome.messages();
    for told in dimensions {
        assert!(messages.iter().any(|m| m.ends_with(told)), "no line ends with {told}: {messages:?}");
    }
}

const GRIDS: [(Mpi, &[u32], &[&str]); 4] = [
    (Mpi::OpenMpi4, &[2, 2], &["4 nodes, dimensions x 2, y 2", "2 nodes, dimensions x 2"]),
    (Mpi::OpenMpi4, &[3, 4], &["12 nodes, dimensions x 3, y 4", "3 nodes, dimensions x 3", "4 nodes, dimensions x 4"]),
    (
        Mpi::OpenMpi4,
        &[2, 3, 2],
        &["12 nodes, dimensions x 2, y 3, z 2", "6 nodes, dimensions x 2, y 3", "3 nodes, dimensions x 3"],
    ),
    (Mpi::Mpich4, &[2, 2], &["4 nodes, dimensions x 2, y 2", "2 nodes, dimensions x 2"]),
];

#[test]
fn cartesian_communicators_with_reordered_ranks_their_lines_and_planes() {
    for (mpi, grid, told) in GRIDS {
        let told: Vec<String> = told.iter().map(|t| format!("{t} (from the Cartesian communicator)")).collect();
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        assert_halved(on_grid(mpi, grid, "synthetic:node:16").run(), &told);
    }
}

/// Nodes of two ranks are blocks of the grid where its last dimension is even, as ranks are dealt out in order.
#[test]
fn cartesian_communicators_with_several_ranks_per_node() {
    let blocks = "4 nodes, dimensions x 2, y 2 (from the Cartesian communicator)";
    assert_halved(on_grid(Mpi::OpenMpi4, &[2, 4], "synthetic:node:4 core:2").run(), &[blocks]);
    let uneven = "3 nodes, dimensions node 3 (from the number of nodes)";
    assert_halved(on_grid(Mpi::OpenMpi4, &[2, 4], "synthetic:node:3 core:3").run(), &[uneven]);
}

#[test]
fn the_dimensions_of_the_user() {
    for (mpi, grid, torus, told) in [
        (Mpi::OpenMpi4, &[2, 2, 2][..], "A4xB2", ["8 nodes, dimensions A 4, B 2", "4 nodes, dimensions A 4, B 1"]),
        (Mpi::Mpich4, &[2, 2], "4", ["4 nodes, dimensions x 4", "2 nodes, dimensions x 2"]),
    ] {
        let told = told.map(|t| format!("{t} (from the dimensions given)"));
        let job = on_grid(mpi, grid, "synthetic:node:16").set("NAGARE_TORUS", torus);
        let options = [("NAGARE_TORUS_ORDER", "given"), ("NAGARE_TORUS_PARTNERS", "bits"), ("NAGARE_AGGREGATORS", "2")];
        let outcome = options.iter().fold(job, |job, (name, value)| job.set(name, value)).run();
        assert_halved(outcome, &told.each_ref().map(String::as_str));
    }
}

#[test]
fn dimensions_that_do_not_fit_are_one_line() {
    for (mpi, ranks) in [(Mpi::OpenMpi4, 4), (Mpi::Mpich4, 2)] {
        let job = || Job::forced(&compile(mpi, "examples/hello.c"), ranks).set("NAGARE_TOPOLOGY", "synthetic:node:16");
        let outcome = job().set("NAGARE_TORUS", "3x2").run().passed();
        let line = format!(
            "nagare: NAGARE_TORUS: 3x2 has 6 nodes, the job has {ranks}; expected sizes whose product is the number of \
             nodes; all calls run on the MPI library's own collectives"
        );
        assert_eq!(outcome.messages(), [line.as_str()], "{}", outcome.ended.output());
        assert_eq!(outcome.ended.stdout, "OK\n");
        assert_eq!(outcome.report().ours(""), 0);

        let outcome = job().set("NAGARE_TORUS", "3x2").set("NAGARE_STRICT", "1").run();
        assert!(outcome.ended.status.is_some_and(|s| !s.success()), "{}", outcome.ended.output());
        assert_eq!(outcome.messages().len(), 1, "{}", outcome.ended.output());

        let outcome = job().set("NAGARE_TORUS", "4by2").run().passed();
        let wrong = "nagare: NAGARE_TORUS=4by2: 'b' at character 2; expected x between sizes, as in 4x4x2 or W4xX2";
        assert_eq!(outcome.messages()[0], wrong, "{}", outcome.ended.output());
        assert_eq!(outcome.report().ours(""), 0);

        let outcome = job().set("NAGARE_TORUS", &ranks.to_string()).run().passed();
        assert!(outcome.messages().is_empty(), "{}", outcome.ended.output());
    }
}
