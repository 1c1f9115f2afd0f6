//! Datatypes of every constructor: what each names is sent, received and nothing else touched, however it was made.

use nagare_harness::{Job, MACHINE, Mpi, Outcome, Program, compile};

const MOVED: [&str; 6] = ["bcast", "gather", "scatter", "allgather", "alltoall", "alltoallv"];

/// On two nodes of [`MACHINE`].
const RANKS: u32 = 4;

/// By the default rules for several nodes, without the measurements that begin with the library's own, and every call
/// by us, also where the library's own would go wrong.
fn both_ways(program: &Program, types: &str) -> [Outcome; 2] {
    let default = Job::nagare(program, RANKS).set("NAGARE_TOPOLOGY", MACHINE).set("NAGARE_LEARN", "off");
    let forced = Job::forced(program, RANKS).set("NAGARE_SEGMENT", "4K").arguments(&["avoid=none"]);
    [default, forced].map(|job| job.arguments(&[&format!("types={types}")]).run())
}

fn assert_ran([default, forced]: &[Outcome; 2]) {
    assert!(default.report().ours("") > 0, "{:?}", default.report());
    for collective in MOVED {
        assert!(forced.report().ours(collective) > 0, "{collective}: {:?}", forced.report());
        assert_eq!(forced.report().forwarded(collective, "arguments"), 0, "{collective}: {:?}", forced.report());
    }
}

#[test]
fn of_every_constructor() {
    for &mpi in Mpi::in_turn(0) {
        let program = compile(mpi, "tests/programs/typemaps.c");
        Job::stock(&program, RANKS).run().verified("typemaps");
        assert_ran(&both_ways(&program, "all").map(|outcome| outcome.verified("typemaps")));
    }
}

/// One by one, so that one that ends the job does not hide the next.
#[test]
fn overlapping_large_parametrised_and_deep() {
    for &mpi in Mpi::in_turn(1) {
        let program = compile(mpi, "tests/programs/typemaps.c");
        let large = match mpi {
            Mpi::Mpich4 | Mpi::Mpich5 => &["dense_vector_c", "dense_of_contiguous_c"][..],
            Mpi::OpenMpi4 | Mpi::OpenMpi5 => &[],
        };
        for name in [&["indexed_overlap", "dense_nested_f90_real", "bottomless"], large].concat() {
            assert_ran(&both_ways(&program, name).map(|outcome| outcome.verified("typemaps")));
        }
    }
}

#[test]
fn of_parametrised_types_in_fortran() {
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        let program = compile(mpi, "tests/programs/typemaps_f.f90");
        Job::stock(&program, RANKS).run().verified("typemaps_f");
        assert_ran(&both_ways(&program, "all").map(|outcome| outcome.verified("typemaps_f")));
    }
}

/// Types that name consecutive bytes are sent from where they are: no memory is taken for a copy, as it is for others.
#[test]
fn dense_types_are_not_copied() {
    for &mpi in Mpi::in_turn(0) {
        let program = compile(mpi, "tests/programs/typemaps.c");
        let outcome = Job::forced(&program, 2).arguments(&["mode=packed"]).run().verified("typemaps");
        assert!(outcome.report().ours("bcast") > 0, "{:?}", outcome.report());
        let packed = |line: &&str| line.ends_with("packed=1");
        let (dense, others): (Vec<&str>, Vec<&str>) =
            outcome.ended.stdout.lines().filter(|line| line.contains(" packed=")).partition(|l| l.starts_with("dense"));
        assert!(dense.len() > 30, "{dense:?}");
        assert_eq!(dense.into_iter().filter(packed).collect::<Vec<_>>(), Vec::<&str>::new());
        let overlapping: Vec<&str> = others.into_iter().filter(|line| line.contains("overlap")).collect();
        assert!(overlapping.len() > 10 && overlapping.iter().all(packed), "{overlapping:?}");
    }
}
