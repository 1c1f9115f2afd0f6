//! What `nagare plan` and `nagare predict` show is what a job on a testbed runs. Needs what `testbed_mpi.rs` needs.

use crate::common::bed::Bed;
use crate::common::mpi::{LIBRARIES, MPIS, compiled, is_built};
use crate::common::{nagare, stderr, stdout_of};
use nagare_plan::algorithm::ALGORITHMS;
use nagare_plan::collective::Collective;

/// Fabrics with ranks and ranks per host: short queues, a torus, a fat tree; and the others.
const SHOWN: [(&str, &str, &str); 3] = [("tree8-shallow", "16", "2"), ("torus16", "16", "1"), ("fattree", "16", "1")];
const SHOWN_TOO: [(&str, &str, &str); 5] = [
    ("tree8", "13", "2"),
    ("star16", "16", "1"),
    ("star16-shallow", "32", "2"),
    ("wan2x8", "16", "1"),
    ("mlfm36", "32", "1"),
];

#[test]
fn what_is_shown_is_what_runs() {
    SHOWN.into_iter().for_each(|(fabric, ranks, ppn)| shown_and_run("", fabric, ranks, ppn));
}

/// Leaves count beside pods, as the file of the job says.
#[test]
fn what_is_shown_is_what_runs_with_the_levels_of_the_file() {
    shown_and_run("levels = ['pod', 'leaf']\n", "fattree", "16", "1");
}

#[test]
#[ignore = "long: make test-all"]
fn what_is_shown_is_what_runs_on_the_other_fabrics() {
    SHOWN_TOO.into_iter().for_each(|(fabric, ranks, ppn)| shown_and_run("", fabric, ranks, ppn));
}

/// A job and the command: by every algorithm the plans of the first and the last rank and what it runs with, and what
/// runs by default.
/// `lines` come before those of the fabric's file.
fn shown_and_run(lines: &str, fabric: &str, ranks: &str, ppn: &str) {
    let test = if lines.is_empty() { "shown" } else { "chosen" };
    let Some(bed) = Bed::up_with(lines, fabric, test) else { return };
    if !is_built(MPIS[0]) {
        return;
    }
    let program = compiled(&bed, "tests/programs/shown.c", "openmpi", "mpicc.openmpi");
    let (file, report) = (bed.file(), bed.path("report.json"));
    let job = |words: &[String]| {
        let options = ["testbed", "run", &file, "--lib", LIBRARIES, "--np", ranks, "--ppn", ppn, "--"];
        let mut job = nagare(&[&options[..], &[program.to_str().unwrap()]].concat());
        job.arg(bed.path("said"))
            .args(words)
            .env("NAGARE_REPORT", &report)
            .env("NAGARE_LEARN", "off")
            .env_remove("NAGARE_TOPOLOGY");
        let output = job.output().unwrap();
        assert!(output.status.success(), "{fabric}: {}", stderr(&output));
    };
    let place = ["--fabric", &file, "--np", ranks, "--ppn", ppn, "--json"];
    let json = |words: &[&str]| -> serde_json::Value {
        serde_json::from_str(&stdout_of(&[words, &place[..]].concat())).unwrap()
    };
    // What runs by size, with segment and window, as the command says with `rule` and as a job did.
    let predicted = |collective: &str, rule: Option<&str>| {
        let words = ["predict", collective, "--sizes", "1K,4K,16K,64K,256K,1M,4M,16M"];
        let mut command = nagare(&[&words[..], &place[..]].concat());
        let output = command.envs(rule.map(|rule| ("NAGARE_ALGORITHM", rule))).output().unwrap();
        assert!(output.status.success(), "{rule:?}: {}", stderr(&output));
        unmeasured(&serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["sizes"])
    };

    let pairs = ALGORITHMS.iter().flat_map(|spec| spec.collectives.iter().map(|collective| (collective, spec.name)));
    let rules: Vec<String> = pairs.map(|(collective, name)| format!("{collective}={name}:16384")).collect();
    job(&rules);
    let last: u32 = ranks.parse().unwrap();
    let said = [0, last - 1].map(|rank| std::fs::read_to_string(bed.path(&format!("said.{rank}"))).unwrap());
    let lines: Vec<&str> = said.iter().flat_map(|said| said.lines()).collect();
    assert_eq!(lines.len(), 2 * rules.len(), "{fabric}");
    for line in lines {
        let [collective, algorithm, rank, text] = line.splitn(4, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let run: serde_json::Value = serde_json::from_str(text).unwrap();
        let words = ["plan", collective, "--algorithm", algorithm, "--rank", rank, "--bytes", "16K"];
        assert_eq!(run["plans"].as_array().map(Vec::len), Some(1), "{fabric}: {words:?}");
        assert_eq!(run["plans"], json(&words)["plans"], "{fabric}: {words:?}");
        if rank == "0" {
            let expected = predicted(collective, Some(&format!("{collective}={algorithm}")));
            assert!(expected.iter().all(|[_, runs, ..]| runs == algorithm), "{fabric}: {expected:?}");
            assert_eq!(unmeasured(&run["by_size"][collective]), expected, "{fabric}: {collective} by {algorithm}");
        }
    }

    // On a communicator without rules of its own: algorithm or reason, segment and window.
    job(&["bcast:16384".to_owned()]);
    let said = std::fs::read_to_string(bed.path("said.0")).unwrap();
    let run: serde_json::Value = serde_json::from_str(said.splitn(4, ' ').last().unwrap()).unwrap();
    for collective in Collective::ALL {
        let name = collective.name();
        assert_eq!(unmeasured(&run["by_size"][name]), predicted(name, None), "{fabric}: {name}");
    }

    let sizes = ["4K", "64K"];
    let calls = |collective: &Collective| [4096, 65536].map(|bytes| format!("{collective}:{bytes}"));
    let all: Vec<Collective> =
        Collective::ALL.into_iter().filter(|&c| c != Collective::Alltoallv && c != Collective::Alltoallw).collect();
    job(&all.iter().flat_map(calls).collect::<Vec<_>>());
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(bed.path("report.3.json")).unwrap()).unwrap();
    let mut ran: Vec<[String; 3]> = Vec::new();
    for row in report["rows"].as_array().unwrap() {
        let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let row_of = [word("collective"), word("algorithm"), word("reason")];
        ran.extend((0..row["calls"].as_u64().unwrap()).map(|_| row_of.clone()));
    }
    let mut shown: Vec<[String; 3]> = Vec::new();
    for collective in all {
        let found = json(&["predict", collective.name(), "--sizes", &sizes.join(",")]);
        for size in found["sizes"].as_array().unwrap() {
            let word = |key: &str| size[key].as_str().unwrap_or_default().to_owned();
            let algorithm = size["runs"].as_str().unwrap_or("stock").to_owned();
            shown.push([collective.name().to_owned(), algorithm, word("reason")]);
        }
    }
    ran.sort();
    shown.sort();
    assert_eq!(ran, shown, "{fabric}");
}

/// Bytes, what runs, why not ours, segment and window of every size.
fn unmeasured(sizes: &serde_json::Value) -> Vec<[serde_json::Value; 5]> {
    let of = |size: &serde_json::Value| {
        ["bytes", "runs", "reason", "segment", "window"].map(|key| size.get(key).cloned().expect(key))
    };
    sizes.as_array().unwrap().iter().map(of).collect()
}
