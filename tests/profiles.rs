//! Profiles: what was measured before chooses, where library, network, ranks and nodes are the same (docs/profiles.md).

use nagare_harness::{Job, Mpi, Outcome, Program, compile, scratch_directory};
use std::path::{Path, PathBuf};

/// Four ranks on two pretended nodes.
fn job(program: &Program, words: &[&str]) -> Job {
    let job = Job::nagare(program, 4).set("NAGARE_TOPOLOGY", "synthetic:node:2 core:2");
    job.arguments(&["calls=10"]).arguments(words)
}

/// A profile for these jobs, and for Open MPI 4.1.4 or MPICH 4.0.2.
fn profile(mpi: &str, fastest: &[(&str, u64, &str)]) -> String {
    let cells = fastest.iter().map(|(collective, bytes, algorithm)| {
        format!(
            "[[fastest]]\ncollective = \"{collective}\"\nbytes = {bytes}\nalgorithm = \"{algorithm}\"\nus = 10\n\
             stock_us = 20\n"
        )
    });
    format!(
        "schema = 1\n[measured]\nmpi = \"{mpi}\"\nnetwork = \"levels node in shared memory\"\nranks = 4\nnodes = 2\n{}",
        cells.collect::<String>()
    )
}

fn write(path: &Path, text: &str) -> String {
    std::fs::write(path, text).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

/// The directory of a user's profiles, made below the home of a test.
fn directory_in(home: &Path) -> PathBuf {
    let directory = home.join("nagare/profiles");
    std::fs::create_dir_all(&directory).expect("a directory");
    directory
}

/// What Open MPI of Debian calls itself, as a job of it says.
fn name_of(mpi: Mpi) -> String {
    let program = compile(mpi, "tests/programs/learning.c");
    let report = job(&program, &["bytes=8"]).run().verified("learning").report().0.clone();
    report["mpi"].as_str().expect("a name").to_owned()
}

fn calls(outcome: &Outcome, collective: &str, algorithm: &str) -> u64 {
    outcome.report().calls(collective, algorithm)
}

/// Also for sums of floating-point numbers, below the thresholds, and from the first call on.
#[test]
fn the_fastest_of_a_profile_runs() {
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        let program = compile(mpi, "tests/programs/learning.c");
        let scratch = scratch_directory();
        let fastest = [("bcast", 1024, "chain"), ("bcast", 65536, "stock"), ("allreduce", 4096, "halving_doubling")];
        let text = profile(&name_of(mpi), &fastest);
        let file = write(&scratch.path().join("p.toml"), &text);
        let with = |words: &[&str]| job(&program, words).set("NAGARE_PROFILE", &file).run().verified("learning");

        let outcome = with(&["collective=bcast", "bytes=1024"]);
        assert_eq!(calls(&outcome, "bcast", "chain"), 10, "{:?}", outcome.report());
        assert_eq!(outcome.report().0["profiles"], serde_json::json!([file]));
        let outcome = with(&["collective=bcast", "bytes=65536"]);
        assert_eq!(outcome.report().forwarded("bcast", "stock as fast"), 10, "{:?}", outcome.report());
        for kind in ["kind=double", "kind=int"] {
            let outcome = with(&["collective=allreduce", "bytes=4096", kind]);
            assert_eq!(calls(&outcome, "allreduce", "halving_doubling"), 10, "{:?}", outcome.report());
        }
        // Where ranks are in another order, it says nothing.
        for (placement, expected) in [("node 2 x 2", 10), ("node 2 x 2 in turn", 0)] {
            let placed = text.replacen("ranks", &format!("placement = \"{placement}\"\nranks"), 1);
            let file = write(&scratch.path().join("placed.toml"), &placed);
            let job = job(&program, &["collective=bcast", "bytes=1024"]).set("NAGARE_PROFILE", &file);
            let outcome = job.run().verified("learning");
            assert_eq!(calls(&outcome, "bcast", "chain"), expected, "{:?}", outcome.report());
        }
        // On other nodes, and for sizes that were not measured, it says nothing.
        let elsewhere = job(&program, &["collective=bcast", "bytes=1024"]).set("NAGARE_PROFILE", &file);
        let outcome = elsewhere.set("NAGARE_TOPOLOGY", "synthetic:node:4 core:1").run().verified("learning");
        assert_eq!(outcome.report().ours("bcast"), 0, "{:?}", outcome.report());
        let outcome = with(&["collective=allreduce", "bytes=16384"]);
        assert_eq!(outcome.report().ours("allreduce"), 0, "{:?}", outcome.report());
        // A user's rule comes before it.
        let ruled = job(&program, &["collective=bcast", "bytes=1024"]).set("NAGARE_PROFILE", &file);
        let outcome = ruled.set("NAGARE_ALGORITHM", "bcast=two_tree").run().verified("learning");
        assert_eq!(calls(&outcome, "bcast", "two_tree"), 10, "{:?}", outcome.report());
    }
}

/// One line, and the job runs as without; with NAGARE_STRICT=1 it ends.
#[test]
fn a_profile_that_cannot_be_used_is_told_and_ignored() {
    let program = compile(Mpi::OpenMpi4, "tests/programs/learning.c");
    let scratch = scratch_directory();
    let other =
        write(&scratch.path().join("other.toml"), &profile("MPICH Version: 4.0.2", &[("bcast", 1024, "chain")]));
    let broken = write(&scratch.path().join("broken.toml"), "schema = 1\nmeasured = 7\n");
    let open = write(&scratch.path().join("open.toml"), "schema = 1\n");
    std::fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o666)).expect("permissions");
    let elsewhere = profile(&name_of(Mpi::OpenMpi4), &[("bcast", 1024, "chain")]);
    let elsewhere = elsewhere.replacen("ranks", "transport = \"ucx\"\nranks", 1);
    let elsewhere = write(&scratch.path().join("elsewhere.toml"), &elsewhere);
    for (file, part) in [
        (elsewhere.as_str(), "was measured over ucx, this is tcp"),
        (other.as_str(), "was measured with MPICH Version: 4.0.2, this is Open MPI v4."),
        (&broken, "broken.toml:2: "),
        (&open, "everybody may write to it"),
        ("/nonexistent/p.toml", "No such file"),
    ] {
        let job = || job(&program, &["collective=bcast", "bytes=1024"]).set("NAGARE_PROFILE", file);
        let outcome = job().run().verified("learning");
        let messages = outcome.messages();
        assert!(messages.len() == 1 && messages[0].contains(part), "{messages:?}");
        assert_eq!(outcome.report().ours("bcast"), 0, "{:?}", outcome.report());
        assert_eq!(outcome.report().0.get("profiles"), None);
        let strict = job().set("NAGARE_STRICT", "1").run();
        assert!(strict.ended.status.is_some_and(|status| !status.success()), "{}", strict.ended.output());
        assert!(strict.ended.stderr.contains(part), "{}", strict.ended.output());
    }
}

/// Beside nothing else: a file that editors leave, and one that cannot be read, which ends no job.
#[test]
fn what_is_beside_profiles_ends_no_job() {
    let program = compile(Mpi::OpenMpi4, "tests/programs/learning.c");
    let scratch = scratch_directory();
    let directory = scratch.path().join("nagare/profiles");
    std::fs::create_dir_all(directory.join("a.toml")).expect("a directory");
    std::os::unix::fs::symlink("someone@somewhere.123", directory.join(".#p.toml")).expect("a link");
    write(&directory.join("p.toml"), &profile(&name_of(Mpi::OpenMpi4), &[("bcast", 1024, "chain")]));
    let home = scratch.path().to_str().expect("UTF-8");
    let job = job(&program, &["collective=bcast", "bytes=1024"]).set("XDG_CONFIG_HOME", home);
    let outcome = job.set("NAGARE_PROFILE", "").set("NAGARE_STRICT", "1").run().verified("learning");
    assert_eq!(calls(&outcome, "bcast", "chain"), 10, "{:?}", outcome.report());
    let messages = outcome.messages();
    assert!(messages.len() == 1 && messages[0].contains("a.toml: not a regular file"), "{messages:?}");
}

/// Its costs come from another profile, and with threads its rules hold on one node too.
#[test]
fn profiles_of_one_node_hold_with_threads_and_take_no_costs_away() {
    let program = compile(Mpi::OpenMpi4, "tests/programs/learning.c");
    let scratch = scratch_directory();
    let directory = directory_in(scratch.path());
    let mpi = name_of(Mpi::OpenMpi4);
    let one_node = profile(&mpi, &[("bcast", 1024, "chain")]).replacen("nodes = 2", "nodes = 1", 1);
    write(&directory.join("a.toml"), &one_node.replacen(" in shared memory", "", 1));
    let with_costs = "[network]\nmessage_latency = 77.5\n[[fastest]]";
    let other = profile(&mpi, &[("gather", 1024, "stock")]).replacen("[[fastest]]", with_costs, 1);
    write(&directory.join("b.toml"), &other.replacen(" in shared memory", "", 1));
    let home = scratch.path().to_str().expect("UTF-8");
    let job = Job::nagare(&program, 4).arguments(&["calls=10", "collective=bcast", "bytes=1024", "threads=multiple"]);
    let job = job.set("XDG_CONFIG_HOME", home).set("NAGARE_PROFILE", "").set("NAGARE_LOG", "debug");
    let outcome = job.run().verified("learning");
    assert_eq!(calls(&outcome, "bcast", "chain"), 10, "{:?}", outcome.report());
    assert!(outcome.ended.stderr.contains("latency 77.5 us"), "{}", outcome.ended.output());
}

/// In the user's directory: one that does not fit is passed over without a word where another does, `off` leaves all.
#[test]
fn profiles_are_found() {
    let program = compile(Mpi::OpenMpi4, "tests/programs/learning.c");
    let scratch = scratch_directory();
    let directory = directory_in(scratch.path());
    write(&directory.join("a.toml"), &profile("MPICH Version: 4.0.2", &[("bcast", 1024, "two_tree")]));
    let found = write(&directory.join("b.toml"), &profile(&name_of(Mpi::OpenMpi4), &[("bcast", 1024, "chain")]));
    write(&directory.join("c.toml"), &profile(&name_of(Mpi::OpenMpi4), &[("bcast", 1024, "two_tree")]));
    write(&directory.join("notes.txt"), "not a profile");
    let home = scratch.path().to_str().expect("UTF-8");
    let run = |profile: &str| {
        let job = job(&program, &["collective=bcast", "bytes=1024"]).set("XDG_CONFIG_HOME", home);
        job.set("NAGARE_PROFILE", profile).run().verified("learning")
    };
    let outcome = run("");
    assert_eq!(calls(&outcome, "bcast", "chain"), 10, "{:?}", outcome.report());
    assert_eq!(outcome.report().0["profiles"][0], serde_json::json!(found));
    assert_eq!(outcome.messages(), Vec::<&str>::new());
    let outcome = run("off");
    assert_eq!(outcome.report().ours("bcast"), 0, "{:?}", outcome.report());
}

/// Where none of a directory fits, one line says why: not of a job on one node, nor of what a job has learnt, nor of
/// profiles of another product.
#[test]
fn that_none_fits_is_told() {
    let program = compile(Mpi::OpenMpi4, "tests/programs/learning.c");
    let scratch = scratch_directory();
    let directory = directory_in(scratch.path());
    let home = scratch.path().to_str().expect("UTF-8");
    let messages = |job: Job| -> Vec<String> {
        let job = job.set("XDG_CONFIG_HOME", home).set("NAGARE_PROFILE", "");
        job.run().verified("learning").messages().into_iter().map(str::to_owned).collect()
    };
    let several = || job(&program, &["collective=bcast", "bytes=1024"]);
    let of = |mpi: &str| profile(mpi, &[("bcast", 1024, "two_tree")]);
    write(&directory.join("a.toml"), &of("MPICH Version: 4.0.2"));
    write(&directory.join("learned-b.toml"), &of("Open MPI v4.0.0"));
    assert_eq!(messages(several()), Vec::<String>::new());
    let first = write(&directory.join("c.toml"), &of("Open MPI v4.0.0"));
    for (name, ending) in [("d", "nor is another profile"), ("e", "nor are 2 other profiles")] {
        write(&directory.join(format!("{name}.toml")), &of("Open MPI v4.0.0"));
        let told = messages(several());
        let [line] = &told[..] else { panic!("not one line: {told:?}") };
        assert!(
            line.contains(&format!("{first}: was measured with Open MPI v4.0.0, this is Open MPI v4.1.4")),
            "{line}"
        );
        assert!(line.ends_with(&format!("; it is not used, {ending}")), "{line}");
    }
    let one_node = several().set("NAGARE_TOPOLOGY", "synthetic:node:1 core:4");
    assert_eq!(messages(one_node), Vec::<String>::new());
}

/// What measured calls have settled is a profile for the next job, which measures nothing, and what that job learns of
/// others is added. The library is made slow by its own variables, so that calls earn trials soon on a busy machine
/// too.
#[test]
fn what_a_job_has_learnt_is_written() {
    let program = compile(Mpi::OpenMpi4, "tests/programs/learning.c");
    let scratch = scratch_directory();
    let home = scratch.path().to_str().expect("UTF-8");
    let run = |learn: &str, collective: &str, calls: &str| {
        let bytes = if calls == "3" { "bytes=1024" } else { "bytes=1048576" };
        let words = [&format!("collective={collective}"), bytes, &format!("calls={calls}")];
        let job = Job::nagare(&program, 4).set("NAGARE_TOPOLOGY", "synthetic:node:2 core:2").arguments(&words);
        let job = job.set("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
        let slow = [("bcast", "2"), ("allreduce", "5")].into_iter().fold(job, |job, (collective, chain)| {
            let variable = format!("OMPI_MCA_coll_tuned_{collective}_algorithm");
            job.set(&variable, chain).set(&format!("{variable}_segmentsize"), "512")
        });
        let job = slow.set("XDG_CONFIG_HOME", home).set("NAGARE_PROFILE", "").set("NAGARE_LEARN", learn);
        job.run().verified("learning")
    };
    let files = || -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(scratch.path().join("nagare/profiles")).expect("the directory");
        entries.map(|entry| entry.expect("a file").path()).collect()
    };
    // A job that ends while all candidates are measured once more, as a busy machine may cause, has settled nothing.
    let settled = |collective: &str| {
        let outcomes = (0..3).map(|_| run("write", collective, "60"));
        let runs = |outcome: Outcome| outcome.report().0["learned"][0]["runs"].as_str().map(str::to_owned);
        outcomes.filter_map(runs).next().expect("what was settled on")
    };
    let runs = settled("bcast");
    assert_eq!(files().len(), 1, "{:?}", files());
    let file = files().remove(0);
    let text = std::fs::read_to_string(&file).expect("the profile");
    for part in ["ranks = 4\nnodes = 2", "collective = \"bcast\"", &format!("algorithm = \"{runs}\"")] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }

    let second = run("on", "bcast", "10");
    assert_eq!(calls(&second, "bcast", &runs), 10, "{:?}", second.report());
    assert_eq!(second.report().0["profiles"], serde_json::json!([file]));
    assert_eq!(std::fs::read_to_string(&file).expect("the profile"), text);

    // One that says something about other sizes takes nothing away, and nothing is taken from it.
    let site = scratch.path().join("nagare/profiles/site.toml");
    write(&site, &profile(&name_of(Mpi::OpenMpi4), &[("bcast", 1024, "two_tree")]));
    assert_eq!(calls(&run("on", "bcast", "3"), "bcast", "two_tree"), 3);
    let third = run("on", "bcast", "10");
    assert_eq!(calls(&third, "bcast", &runs), 10, "{:?}", third.report());
    std::fs::remove_file(&site).expect("the site's");

    settled("allreduce");
    assert_eq!(files(), std::slice::from_ref(&file));
    let text = std::fs::read_to_string(&file).expect("the profile");
    for collective in ["bcast", "allreduce"] {
        assert_eq!(text.matches(&format!("collective = \"{collective}\"")).count(), 1, "{text}");
    }
}
