//! Ranks that are bound to processors, on hosts of a testbed that pretend two NUMA nodes: numbering by host, NUMA node
//! and processor, from the kernel's masks to the plan. Needs what `testbed_mpi.rs` needs, two processors, and
//! util-linux (`unshare`, `taskset`).

use crate::common::bed::Bed;
use crate::common::mpi::{LIBRARIES, MPIS, compiled, is_built};
use crate::common::{nagare, stderr};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// `NODES FIRST SECOND PROGRAM…`: becomes a program that sees the processors in that directory, bound to the second one
/// as the first and the fourth rank of its host, to the first one as the others.
const BOUND: &str = r#"
nodes=$1 processor=$2
case $OMPI_COMM_WORLD_LOCAL_RANK in 0|3) processor=$3 ;; esac
shift 3
exec unshare --mount sh -c 'mount --bind "$0" /sys/devices/system/cpu && exec taskset --cpu-list "$@"' \
    "$nodes" $processor "$@"
"#;

/// Two processors that this process may use, in ascending order; `None` if there is one only.
fn two_processors() -> Option<[usize; 2]> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let mut allowed = allowed.trim().split(',').flat_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        first.parse::<usize>().unwrap()..=last.parse().unwrap()
    });
    Some([allowed.next()?, allowed.next()?])
}

/// A directory of processors as Linux has it, up to the second of these two: the first on NUMA node 8, all others on
/// node 0.
fn two_numa_nodes(bed: &Bed, [first, second]: [usize; 2]) -> PathBuf {
    let directory = bed.path("processors");
    for processor in 0..=second {
        for entry in ["topology", if processor == first { "node8" } else { "node0" }] {
            std::fs::create_dir_all(directory.join(format!("cpu{processor}")).join(entry)).unwrap();
        }
    }
    directory
}

/// Peers of a rank in its plan, in the order of its sends.
fn sends_to(run: &Value) -> Vec<u64> {
    let hops = run["plans"][0]["hops"].as_array().unwrap().iter();
    hops.filter(|hop| hop["action"] == "send").map(|hop| hop["peer"].as_u64().unwrap()).collect()
}

#[test]
fn ranks_are_numbered_by_the_processors_that_they_are_bound_to() {
    let Some(bed) = Bed::up("tree8", "bindings") else { return };
    let (mpi, compiler) = MPIS[0];
    if !is_built((mpi, compiler)) {
        return;
    }
    let Some(processors) = two_processors() else {
        eprintln!("skipped: one processor only");
        return;
    };
    let program = compiled(&bed, "tests/programs/shown.c", mpi, compiler);
    let nodes = two_numa_nodes(&bed, processors);
    let said = bed.path("said");
    let [first, second] = processors.map(|processor| processor.to_string());
    let bound = ["sh", "-c", BOUND, "sh", nodes.to_str().unwrap(), &first, &second];
    let job = |command: &[&str]| -> [Vec<Value>; 2] {
        let file = bed.file();
        let options = ["testbed", "run", &file, "--lib", LIBRARIES, "--mpi", mpi, "--np", "8", "--ppn", "4", "--"];
        let shown = [program.to_str().unwrap(), said.to_str().unwrap()];
        let calls = ["alltoall=xor:16384", "allreduce=halving_doubling:65536"];
        let mut job = nagare(&[&options[..], command, &shown, &calls].concat());
        let output = job.env("NAGARE_LEARN", "off").env_remove("NAGARE_TOPOLOGY").output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        ["said.0", "said.7"].map(|name| {
            let text = std::fs::read_to_string(bed.path(name)).unwrap();
            text.lines().map(|line| serde_json::from_str(line.splitn(4, ' ').last().unwrap()).unwrap()).collect()
        })
    };

    let [of_first, of_last] = job(&bound);
    // NUMA node 0 has the ranks 0 and 3 of a host, NUMA node 8 the others, although its processor has the lower number.
    let cores = serde_json::json!([0, 1, 1, 0, 0, 1, 1, 0]);
    assert_eq!((&of_first[0]["topology"]["cores"], &of_last[0]["topology"]["cores"]), (&cores, &cores));
    // Virtual ranks: 0 3 | 1 2 || 4 7 | 5 6. In step s each sends to the one whose number is its own XOR s.
    let by_number = [0, 3, 1, 2, 4, 7, 5, 6];
    for (run, number) in [(&of_first[0], 0), (&of_last[0], 5)] {
        let expected: Vec<u64> = (1..8).map(|step| by_number[number ^ step]).collect();
        assert_eq!(sends_to(run), expected, "{run:#}");
    }
    // The first rank of each NUMA node is an aggregator: the last rank of the job, which is none, reduces to both.
    assert_eq!(BTreeSet::from_iter(sends_to(&of_last[1])), BTreeSet::from([4, 5]));

    let [of_first, of_last] = job(&[]);
    assert_eq!(of_first[0]["topology"]["cores"], Value::from(vec![0; 8]));
    assert_eq!(sends_to(&of_first[0]), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(BTreeSet::from_iter(sends_to(&of_last[1])), BTreeSet::from([6]));
}
