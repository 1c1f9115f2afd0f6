use super::*;
use crate::rules::tests::{forced, results};

/// Selections in the form of a library's, with conditions about the communicator before and after those about the call.
const ALGORITHMS: &str = r#"{
    "collective=bcast": {
        "comm_type=intra": {
            "comm_size<8": {"algorithm=MPIR_Bcast_intra_binomial": {}},
            "comm_size=any": {
                "comm_hierarchy=parent": {"avg_msg_size<=0": {"algorithm=MPIR_Bcast_intra_smp": {}},
                                          "avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_binomial": {}}},
                "comm_hierarchy=any": {"algorithm=MPIR_Bcast_intra_scatter_ring_allgather": {}}}},
        "comm_type=inter": {"algorithm=MPIR_Bcast_inter_flat": {}}},
    "collective=reduce": {"comm_type=intra": {"algorithm=MPIR_Reduce_intra_binomial": {}}},
    "collective=alltoall": {
        "comm_type=intra": {
            "is_sendbuf_inplace=yes": {"algorithm=MPIR_Alltoall_intra_pairwise_sendrecv_replace": {}},
            "is_sendbuf_inplace=no": {"comm_size<16": {"algorithm=MPIR_Alltoall_intra_brucks": {}},
                                      "comm_size=any": {"algorithm=MPIR_Alltoall_intra_scattered": {}}}}},
    "collective=allgather": {"comm_type=intra": {"total_msg_size<4096": {"algorithm=MPIR_Allgather_intra_brucks": {}},
                                                 "total_msg_size=any": {"algorithm=MPIR_Allgather_intra_ring": {}}}},
    "collective=barrier": {"algorithm=MPIR_Barrier_intra_x": {"k=2": {}}}
}"#;

const DEVICE: &str = r#"{
    "collective=bcast": {"comm_type=intra": {
        "comm_hierarchy=parent": {"composition=MPIDI_Bcast_intra_composition_alpha": {}},
        "comm_hierarchy=any": {"composition=MPIDI_Bcast_intra_composition_gamma": {}}}},
    "collective=reduce": {"comm_type=intra": {"composition=MPIDI_Reduce_intra_composition_alpha": {},
                                              "x": {}}},
    "collective=alltoall": {"comm_type=intra": {"composition=MPIDI_Alltoall_intra_composition_alpha": {}}}
}"#;

fn own() -> Selections {
    let names = [
        "algorithm=MPIR_Bcast_intra_binomial",
        "algorithm=MPIR_Bcast_intra_smp",
        "algorithm=MPIR_Bcast_allcomm_nb",
        "algorithm=MPIR_Bcast_intra_pipelined_tree",
        "algorithm=MPIR_Reduce_intra_reduce_scatter_gather",
        "algorithm=MPIR_Alltoall_intra_pairwise",
        "algorithm=MPIR_Allgather_intra_recursive_doubling",
        "composition=MPIDI_Bcast_intra_composition_gamma",
        "composition=MPIDI_Reduce_intra_composition_gamma",
    ];
    let one_line = |text: &str| text.split_whitespace().collect::<String>();
    let library = [&one_line(ALGORITHMS), "\0", &one_line(DEVICE), "\0", &names.join("\0"), "\0"].concat();
    Selections::of_library(library.as_bytes()).expect("selections")
}

/// A call as conditions see it.
#[derive(Clone, Copy)]
struct Call {
    ranks: u64,
    hierarchy: bool,
    average: u64,
    total: u64,
    in_place: bool,
    commutative: bool,
    built_in: bool,
    count: u64,
}

const CALL: Call = Call {
    ranks: 16,
    hierarchy: false,
    average: 1 << 16,
    total: 1 << 20,
    in_place: false,
    commutative: true,
    built_in: true,
    count: 1 << 14,
};

/// What the library selects: the first condition that holds, without a way back. `comm_size<` after a condition about
/// the call holds for the number itself too, as in the libraries.
fn selected<'a>(mut tree: &'a Tree, collective: &str, call: Call) -> Option<&'a str> {
    let mut of_call = false;
    tree = tree.under(&format!("collective={collective}"))?;
    loop {
        if let Some(name) = tree.name() {
            return Some(name);
        }
        let holds = |key: &str| {
            let (what, value) = key.split_once(['<', '=']).expect("a condition");
            let number = |value: &str| value.trim_start_matches('=').parse::<u64>().expect("a number");
            let below = |own: u64| if value.starts_with('=') { own <= number(value) } else { own < number(value) };
            let yes = |own: bool| (value == "yes") == own;
            match what {
                _ if value == "any" => true,
                "comm_type" => value == "intra",
                "comm_hierarchy" => (value == "parent") == call.hierarchy,
                "comm_size" if of_call => call.ranks <= number(value),
                "comm_size" => below(call.ranks),
                "avg_msg_size" => below(call.average),
                "total_msg_size" => below(call.total),
                "count" => call.count < 16,
                "is_commutative" => yes(call.commutative),
                "is_op_built_in" => yes(call.built_in),
                "is_sendbuf_inplace" => yes(call.in_place),
                _ => panic!("the library knows no {key}"),
            }
        };
        let (key, under) = tree.0.iter().find(|(key, _)| holds(key))?;
        of_call |= !key.starts_with("comm_");
        tree = under;
    }
}

/// A cell with settings of MPICH: `algorithm` is the collective's own variable, `device` that of the device.
fn cell(collective: Operation, bytes: u64, settings: &[crate::rules::tests::Forced]) -> crate::record::Cell {
    let block = if collective.unit() == Unit::Vector { bytes } else { bytes / 16 };
    forced(collective, bytes, block, settings, |name| match name {
        "algorithm" => format!("MPIR_CVAR_{}_INTRA_ALGORITHM", collective.function().to_uppercase()),
        "device" => "MPIR_CVAR_DEVICE_COLLECTIVES".to_owned(),
        other => other.to_owned(),
    })
}

/// Trees with what these cells say.
fn told(cells: Vec<crate::record::Cell>) -> (Tree, Tree, Vec<Told>) {
    let files = mpich(&results("MPICH Version: 4.0.2", cells), &own());
    let read = |text: &str| serde_json::from_str::<Tree>(text).expect("objects");
    (read(&files.algorithms), read(files.device.as_deref().expect("a device")), files.told)
}

const NO_DEVICE: (&str, &str) = ("device", "none");

#[test]
fn what_was_clearly_faster_is_selected_and_all_else_is_the_librarys() {
    let binomial: &[(&str, &str)] = &[("algorithm", "binomial"), NO_DEVICE];
    let (algorithms, device, told) = told(vec![
        cell(Operation::Bcast, 1 << 16, &[("binomial no-device", 0.5, binomial)]),
        cell(Operation::Bcast, 1 << 18, &[("binomial no-device", 0.97, binomial)]),
        cell(Operation::Alltoall, 1 << 20, &[("pairwise", 0.5, &[("algorithm", "pairwise")])]),
    ]);
    let bcast = |call| [selected(&algorithms, "bcast", call), selected(&device, "bcast", call)];
    let ring = "algorithm=MPIR_Bcast_intra_scatter_ring_allgather";
    let (binomial, gamma) = ("algorithm=MPIR_Bcast_intra_binomial", "composition=MPIDI_Bcast_intra_composition_gamma");
    assert_eq!(bcast(CALL), [Some(binomial), Some(gamma)]);
    for (average, name) in [(46340, ring), (46341, binomial), ((1 << 17) - 1, binomial), (1 << 17, ring)] {
        assert_eq!(bcast(Call { average, ..CALL })[0], Some(name), "{average}");
    }
    // Where nodes have several ranks, the device is told to leave it.
    assert_eq!(bcast(Call { hierarchy: true, ..CALL }), [Some(binomial), Some(gamma)]);
    let small = bcast(Call { hierarchy: true, average: 8, ..CALL });
    assert_eq!(small, [Some(binomial), Some("composition=MPIDI_Bcast_intra_composition_alpha")]);
    assert_eq!(selected(&algorithms, "alltoall", CALL), Some("algorithm=MPIR_Alltoall_intra_pairwise"));
    assert_eq!(told.iter().map(|told| told.bytes).collect::<Vec<_>>(), [1 << 16, 1 << 20]);

    // Everything that is not told is as it was.
    let own = own();
    let device_before = own.device.expect("a device");
    for ranks in [1, 7, 8, 15, 16, 17] {
        for (hierarchy, in_place) in [(false, false), (true, false), (false, true), (true, true)] {
            for average in [0, 8, 1 << 13, 1 << 17, 1 << 30] {
                let call = Call { ranks, hierarchy, in_place, average, total: average * ranks, ..CALL };
                for collective in ["bcast", "alltoall", "allgather", "barrier"] {
                    let (before, after) =
                        (selected(&own.algorithms, collective, call), selected(&algorithms, collective, call));
                    assert_eq!(before, after, "{collective} {ranks} {hierarchy} {in_place} {average}");
                    let [before, after] = [&device_before, &device].map(|tree| selected(tree, collective, call));
                    assert_eq!(before, after, "{collective} {ranks} {hierarchy} {in_place} {average}");
                }
            }
        }
    }
    let inter = |tree: &Tree| tree.under("collective=bcast").and_then(|tree| tree.under("comm_type=inter")).cloned();
    assert_eq!(inter(&algorithms), inter(&own.algorithms));
}

#[test]
fn an_algorithm_runs_only_calls_that_it_can_run() {
    let (algorithms, device, _) = told(vec![
        cell(
            Operation::Reduce,
            1 << 16,
            &[("reduce_scatter_gather no-device", 0.5, &[("algorithm", "reduce_scatter_gather"), NO_DEVICE])],
        ),
        cell(Operation::Alltoall, 1 << 20, &[("pairwise", 0.5, &[("algorithm", "pairwise")])]),
        cell(Operation::Bcast, 1 << 16, &[("smp no-device", 0.5, &[("algorithm", "smp"), NO_DEVICE])]),
    ]);
    let reduce = |call| selected(&algorithms, "reduce", call);
    assert_eq!(reduce(CALL), Some("algorithm=MPIR_Reduce_intra_reduce_scatter_gather"));
    for call in [Call { commutative: false, ..CALL }, Call { built_in: false, ..CALL }, Call { count: 15, ..CALL }] {
        assert_eq!(reduce(call), Some("algorithm=MPIR_Reduce_intra_binomial"));
    }
    let user_defined = Call { built_in: false, ..CALL };
    assert_eq!(selected(&device, "reduce", user_defined), Some("composition=MPIDI_Reduce_intra_composition_alpha"));
    let in_place = selected(&algorithms, "alltoall", Call { in_place: true, ..CALL });
    assert_eq!(in_place, Some("algorithm=MPIR_Alltoall_intra_pairwise_sendrecv_replace"));
    let bcast = |hierarchy| selected(&algorithms, "bcast", Call { hierarchy, ..CALL });
    assert_eq!(bcast(true), Some("algorithm=MPIR_Bcast_intra_smp"));
    assert_eq!(bcast(false), Some("algorithm=MPIR_Bcast_intra_scatter_ring_allgather"));
}

#[test]
fn what_a_file_cannot_say_is_not_told() {
    let (algorithms, device, told) = told(vec![
        // With compositions of the device around it; with a parameter for all calls; unknown to this library.
        cell(Operation::Bcast, 1 << 16, &[("binomial", 0.5, &[("algorithm", "binomial")])]),
        cell(
            Operation::Alltoall,
            1 << 20,
            &[
                ("pairwise throttle=2", 0.5, &[("algorithm", "pairwise"), ("MPIR_CVAR_ALLTOALL_THROTTLE", "2")]),
                ("scattered", 0.5, &[("algorithm", "scattered")]),
            ],
        ),
        // Ranks may see different sizes.
        cell(Operation::Gather, 1 << 20, &[("binomial", 0.5, &[("algorithm", "binomial"), NO_DEVICE])]),
    ]);
    let own = own();
    assert_eq!((algorithms, Some(device), told), (own.algorithms, own.device, Vec::new()));
}

#[test]
fn trees_are_told_with_all_their_parameters() {
    let settings = crate::oracle::Family::Mpich.settings(Operation::Bcast, 1 << 16);
    let chain =
        settings.iter().find(|setting| setting.name == "pipelined_tree chain 32K no-device").expect("a setting");
    let variables: Vec<_> = chain.variables.iter().map(|(name, value)| (name.as_str(), value.to_string())).collect();
    let told_of = |variables: &[(&str, String)]| {
        let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        told(vec![cell(Operation::Bcast, 1 << 16, &[("tree", 0.5, &variables)])]).0
    };
    let text = serde_json::to_string(&told_of(&variables)).expect("a tree");
    let selected = r#""algorithm=MPIR_Bcast_intra_pipelined_tree":{"#;
    let parameters = text.split(selected).nth(1).and_then(|rest| rest.split("}}").next()).expect("it is told");
    let mut parameters: Vec<_> = parameters.trim_end_matches(":{").split(":{},").collect();
    parameters.sort_unstable();
    let expected = [
        r#""chunk_size=32768""#,
        r#""is_non_blocking=1""#,
        r#""k=1""#,
        r#""recv_pre_posted=0""#,
        r#""tree_type=kary""#,
    ];
    assert_eq!(parameters, expected);
    // One of them is missing.
    let fewer: Vec<_> = variables.iter().filter(|(name, _)| !name.ends_with("_KVAL")).cloned().collect();
    assert_eq!(told_of(&fewer), own().algorithms);
}

#[test]
fn without_the_device_its_own_choice_can_be_faster() {
    let (algorithms, device, told) =
        told(vec![cell(Operation::Bcast, 1 << 16, &[("auto no-device", 0.5, &[("algorithm", "auto"), NO_DEVICE])])]);
    let call = Call { hierarchy: true, ..CALL };
    assert_eq!(selected(&algorithms, "bcast", call), selected(&own().algorithms, "bcast", call));
    assert_eq!(selected(&device, "bcast", call), Some("composition=MPIDI_Bcast_intra_composition_gamma"));
    assert_eq!(told.len(), 1);
}

/// One rank on each host: the device adds nothing, and no node has several ranks.
#[test]
fn with_one_rank_on_each_host_the_device_does_not_matter() {
    let told = |algorithm, device: &[(&'static str, &'static str)]| {
        let variables = [&[("algorithm", algorithm)], device].concat();
        let mut found = results("MPICH", vec![cell(Operation::Bcast, 1 << 16, &[("forced", 0.5, &variables)])]);
        found.job.hosts = (0..16).map(|rank| rank.to_string()).collect();
        let files = mpich(&found, &own());
        let device = files.device.and_then(|text| serde_json::from_str::<Tree>(&text).ok());
        assert_eq!(device, own().device, "as it was");
        files.told.len()
    };
    assert_eq!((told("binomial", &[]), told("binomial", &[NO_DEVICE])), (1, 1));
    assert_eq!((told("smp", &[NO_DEVICE]), told("auto", &[NO_DEVICE])), (0, 0));
}

#[test]
fn powers_of_two_are_needed_where_an_algorithm_needs_them() {
    let measured = |ranks: usize| {
        let doubling: &[(&str, &str)] = &[("algorithm", "recursive_doubling")];
        let mut found =
            results("MPICH", vec![cell(Operation::Allgather, 1 << 16, &[("recursive_doubling", 0.5, doubling)])]);
        found.job.hosts.truncate(ranks);
        mpich(&found, &own()).told.len()
    };
    assert_eq!((measured(16), measured(12)), (1, 0));
}

/// A library that maps the file reads on to a zero byte, and past the last page if that is full.
#[test]
fn no_file_ends_with_its_page() {
    for length in PAGE - 64..PAGE + 64 {
        let text = text(&Tree::one("x".repeat(length), Tree::default()));
        assert!(!text.len().is_multiple_of(PAGE), "{length}");
    }
}
