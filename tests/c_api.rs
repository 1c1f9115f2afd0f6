//! The C interface, by its example.

use nagare_harness::{Family, Job, Mpi, compile};
use serde_json::Value;

const MPIS: [(Mpi, u32); 4] = [(Mpi::OpenMpi4, 4), (Mpi::Mpich4, 2), (Mpi::OpenMpi5, 3), (Mpi::Mpich5, 2)];

/// A node for every rank.
const NODES: &str = "synthetic:group:4 node:2 core:1";

#[test]
fn the_example_runs_without_nagare() {
    for (mpi, ranks) in MPIS {
        let outcome = Job::stock(&compile(mpi, "c_api/example.c"), ranks).run().passed();
        assert_eq!(outcome.ended.stdout, "correct, without Nagare\n", "{}", outcome.ended.output());
    }
}

#[test]
fn the_example_runs_where_nagare_is_not_active() {
    for (mpi, ranks) in MPIS {
        let program = compile(mpi, "c_api/example.c");
        let off = Job::nagare(&program, ranks).set("NAGARE_ENABLE", "0");
        let differing = Job::nagare(&program, ranks - 1).and_ranks(1, "NAGARE_SEGMENT", "1K");
        // The other way round the job ends.
        let unfitting = Job::nagare(&program, ranks).preload(Family::OpenMpi);
        for job in [off, differing].into_iter().chain((mpi.family() == Family::Mpich).then_some(unfitting)) {
            let outcome = job.run().passed();
            assert_eq!(outcome.ended.stdout, "correct, without Nagare\n", "{}", outcome.ended.output());
        }
    }
}

#[test]
fn algorithms_change_while_the_job_runs() {
    for (mpi, ranks) in MPIS {
        let job = Job::nagare(&compile(mpi, "c_api/example.c"), ranks).set("NAGARE_TOPOLOGY", NODES);
        let outcome = job.run().passed();
        let text = &outcome.ended.stdout;
        assert!(text.contains(concat!("correct, with Nagare ", env!("CARGO_PKG_VERSION"), "\n")), "{text}");
        assert!(text.starts_with(&format!("rank 0 of {ranks}, ")), "{text}");
        for level in ["level group: ", "level node: "] {
            assert!(text.contains(level), "{text}");
        }
        // One call each: the library's own, the two-tree, the grouped two-tree.
        let report = outcome.report();
        assert_eq!(report.forwarded("allreduce", "asked for"), 1, "{report:?}");
        assert_eq!(report.calls("allreduce", "two_tree"), 1, "{report:?}");
        assert_eq!(report.calls("allreduce", "grouped_two_tree"), 1, "{report:?}");
    }
}

#[test]
fn descriptions_and_reports_as_json() {
    for (mpi, ranks) in MPIS {
        let job = Job::nagare(&compile(mpi, "c_api/example.c"), ranks).set("NAGARE_TOPOLOGY", NODES);
        let outcome = job.arguments(&["json"]).run().passed();
        let mut values = serde_json::Deserializer::from_str(&outcome.ended.stdout).into_iter::<Value>();
        let mut next = || values.next().and_then(Result::ok).unwrap_or_else(|| panic!("{}", outcome.ended.output()));
        let (description, report) = (next(), next());
        assert_eq!(description["ranks"], ranks);
        assert_eq!(description["rank"], 0);
        assert!(description["topology"].is_object(), "{description}");
        // MPICH's messages between nodes go over UCX or libfabric, which tell MPI nothing.
        let remote = &description["eager"]["remote"];
        let is_known = remote.as_u64().is_some_and(|bytes| bytes >= 512);
        assert!(if mpi.family() == Family::OpenMpi { is_known } else { remote.is_null() }, "{description}");
        assert_eq!(description["plans"].as_array().map(Vec::len), Some(2), "{description}");
        assert_eq!(report["schema"], 1);
        assert!(report["rows"].as_array().is_some_and(|r| r.len() == 3), "{report}");
    }
}

#[test]
fn an_algorithm_that_no_call_could_run_is_refused() {
    for (mpi, ranks) in MPIS {
        let program = compile(mpi, "tests/programs/set_rules.c");
        let one_node = Job::nagare(&program, ranks).run().passed();
        assert_eq!(one_node.ended.stdout, "-1\n", "{}", one_node.ended.output());
        assert!(one_node.ended.stderr.contains("with MPI_THREAD_MULTIPLE and all ranks on one node"));
        assert_eq!(one_node.report().calls("bcast", "chain"), 0, "{:?}", one_node.report());
        let nodes = Job::nagare(&program, ranks).set("NAGARE_TOPOLOGY", NODES).run().passed();
        assert_eq!(nodes.ended.stdout, "0\n", "{}", nodes.ended.output());
        assert_eq!(nodes.report().calls("bcast", "chain"), 1, "{:?}", nodes.report());
    }
}
