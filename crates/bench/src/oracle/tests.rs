use super::mpich::{IGATHER_FANOUT, ISCATTER_FANOUT};
use super::open_mpi::WHOLE;
use super::*;
use std::collections::BTreeSet;

#[test]
fn names_are_unique_and_segments_are_shorter_than_the_message() {
    for family in [Family::OpenMpi, Family::Mpich] {
        for operation in Operation::ALL {
            let settings = family.settings(operation, 16 << 10);
            let names: BTreeSet<&str> = settings.iter().map(|setting| setting.name.as_str()).collect();
            assert_eq!(names.len(), settings.len(), "{operation}");
            assert!(!names.iter().any(|name| name.contains("16K") || name.contains("32K")), "{names:?}");
        }
    }
}

#[test]
fn variables_are_those_of_open_mpi() {
    let settings = Family::OpenMpi.settings(Operation::Bcast, 1 << 20);
    let chain = settings.iter().find(|setting| setting.name == "chain 32K chain_fanout=2");
    let variables = chain.map(|setting| setting.variables.clone()).unwrap_or_default();
    let expected = [
        ("coll_tuned_bcast_algorithm", "chain"),
        ("coll_tuned_bcast_algorithm_segmentsize", "32768"),
        ("coll_tuned_bcast_algorithm_chain_fanout", "2"),
    ];
    let variables: Vec<(&str, String)> = variables.iter().map(|(n, v)| (n.as_str(), v.to_string())).collect();
    assert_eq!(variables, expected.map(|(name, value)| (name, value.to_owned())));
    assert!(settings.iter().any(|setting| setting.component == Some("han")));
}

#[test]
fn whole_vectors_one_after_the_other_are_for_short_ones() {
    let names = |bytes| {
        let settings = Family::OpenMpi.settings(Operation::Bcast, bytes).into_iter();
        settings.map(|setting| setting.name).collect::<Vec<_>>()
    };
    let (short, long) = (names(WHOLE), names(2 * WHOLE));
    for whole in ["pipeline", "chain chain_fanout=2", "basic_linear"] {
        assert!(short.iter().any(|name| name == whole) && !long.iter().any(|name| name == whole), "{whole}");
    }
    // The tree of whole vectors takes log P times as long, not P times.
    assert!(long.iter().any(|name| name == "binomial"));
    assert_eq!(long[..2], ["pipeline 8K", "pipeline 32K"]);
    assert_eq!(short.last().map(String::as_str), Some("basic_linear"));
}

#[test]
fn gather_scatter_and_alltoallv_have_variables_of_their_own() {
    let first = |family: Family, operation| family.settings(operation, 1 << 20).swap_remove(0).variables;
    for operation in [Operation::Alltoallv, Operation::AlltoallvSparse, Operation::AlltoallvSkewed] {
        let open_mpi = [("coll_tuned_alltoallv_algorithm".to_owned(), Value::Item("pairwise"))];
        assert_eq!(first(Family::OpenMpi, operation), open_mpi);
        let mpich = [("MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM".to_owned(), Value::Item("scattered"))];
        assert_eq!(first(Family::Mpich, operation), mpich);
    }
    assert_eq!(first(Family::OpenMpi, Operation::Gather)[0].0, "coll_tuned_gather_algorithm");
    assert_eq!(first(Family::OpenMpi, Operation::Scatter)[0].0, "coll_tuned_scatter_algorithm");
    for (operation, fanout) in [(Operation::Gather, IGATHER_FANOUT), (Operation::Scatter, ISCATTER_FANOUT)] {
        let trees = Family::Mpich.settings(operation, 1 << 20);
        let trees = trees.iter().filter(|setting| setting.name.starts_with("nb tsp_tree tree_kval=8"));
        assert!(trees.clone().all(|tree| tree.variables.contains(&(fanout.to_owned(), Value::Number(8)))));
        assert_eq!(trees.count(), 2);
    }
}

#[test]
fn the_halves_of_allreduce_have_variables_of_their_own() {
    for (operation, open_mpi, mpich) in [
        (Operation::Allgather, "coll_tuned_allgather_algorithm", "MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM"),
        (
            Operation::ReduceScatterBlock,
            "coll_tuned_reduce_scatter_block_algorithm",
            "MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM",
        ),
        (Operation::ReduceScatter, "coll_tuned_reduce_scatter_algorithm", "MPIR_CVAR_REDUCE_SCATTER_INTRA_ALGORITHM"),
    ] {
        for bytes in [64, 64 << 10, 1 << 20] {
            for (family, variable) in [(Family::OpenMpi, open_mpi), (Family::Mpich, mpich)] {
                let settings = family.settings(operation, bytes);
                let own = settings.iter().filter(|setting| setting.component.is_none());
                assert!(own.clone().all(|setting| setting.variables[0].0 == variable), "{operation}");
                assert!(own.count() >= 4, "{operation}");
            }
        }
    }
    let han =
        |operation| Family::OpenMpi.settings(operation, 1024).iter().any(|setting| setting.component == Some("han"));
    assert!(han(Operation::Allgather) && !han(Operation::ReduceScatter) && !han(Operation::ReduceScatterBlock));
}

#[test]
fn numbers_of_mpich_are_the_places_in_its_description() {
    // As MPICH 4.0.2 tells it, without line breaks.
    let text = "Variable to select bcast algorithmauto - Internal algorithm selection (can be overridden with \
                MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE)binomial        - Force Binomial Treenb     - Force \
                nonblocking algorithmsmp         - Force smp algorithmscatter_ring_allgather     - Force Scatter \
                Ring";
    let items = items_in_description(text);
    let expected = [("auto", 0), ("binomial", 1), ("nb", 2), ("smp", 3), ("scatter_ring_allgather", 4)];
    assert_eq!(items, expected.map(|(name, number)| (name.to_owned(), number)));
    let lines = "Selects\nnovel - Internal\npipelined_tree - Force a tree\ntree - Force a tree";
    let items = items_in_description(lines);
    assert_eq!(items, [("pipelined_tree".to_owned(), 1), ("tree".to_owned(), 2)]);
    let text = "Variable to select iallgather algorithmauto - Internal algorithm selectionsched_auto - Internal \
        algorithm selection for sched-based algorithmssched_ring               - Force ring \
        algorithmsched_brucks             - Force brucks algorithmsched_recursive_doubling - Force recursive \
        doubling algorithmtsp_ring       - Force generic transport ring algorithmtsp_brucks     - Force generic \
        transport based brucks algorithmtsp_recexch_doubling - Force generic transport recursive \
        exchangetsp_recexch_halving  - Force generic transport recursive exchange";
    let items = items_in_description(text);
    let number = |name: &str| items.iter().find(|item| item.0 == name).map(|item| item.1);
    let transport = ["tsp_ring", "tsp_brucks", "tsp_recexch_doubling", "tsp_recexch_halving"].map(number);
    assert_eq!(transport, [Some(5), Some(6), Some(7), Some(8)]);
    let text = "Variable to select reduce_scatter algorithmauto - Internal algorithm selectionnb                 - \
        Force nonblocking algorithmnoncommutative     - Force noncommutative algorithmpairwise           - Force \
        pairwise algorithmrecursive_doubling - Force recursive doubling algorithmrecursive_halving  - Force \
        recursive halving";
    let expected = ["auto", "nb", "noncommutative", "pairwise", "recursive_doubling", "recursive_halving"];
    let expected: Vec<(String, i32)> = expected.map(str::to_owned).into_iter().zip(0..).collect();
    assert_eq!(items_in_description(text), expected);
    let text = "Variable to select ialltoallv algorithmauto - Internal algorithm selectionsched_auto - Internal \
        algorithm selection for sched-based algorithmssched_blocked           - Force blocked \
        algorithmsched_inplace           - Force inplace algorithmtsp_scattered       - Force generic transport \
        based scattered algorithmtsp_blocked         - Force generic transport blocked algorithm";
    let items = items_in_description(text);
    let expected = [("auto", 0), ("sched_auto", 1), ("sched_blocked", 2), ("tsp_scattered", 4), ("tsp_blocked", 5)];
    assert_eq!(items, expected.map(|(name, number)| (name.to_owned(), number)));
}
