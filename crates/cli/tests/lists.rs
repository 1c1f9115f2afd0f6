//! `nagare algorithms`, `fabrics` and `env`, and the help texts.

use crate::common::{nagare, rows, stderr, stdout, stdout_of};

#[test]
fn every_command_explains_itself_with_an_example() {
    let overview = stdout_of(&["--help"]);
    let commands = ["plan", "check", "predict", "algorithms", "fabrics", "env", "run", "doctor", "testbed", "bench"];
    for command in commands.into_iter().chain(["tune", "profile", "report"]) {
        assert!(overview.contains(&format!("\n  {command} ")), "{command} is not in\n{overview}");
        let help = stdout_of(&[command, "--help"]);
        assert!(help.contains("Example") && help.contains(&format!("\n  nagare {command}")), "{help}");
    }
}

/// One line, that names the file and what was expected.
#[test]
fn what_is_no_report_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("words"), "bcast \u{1b}[31m").unwrap();
    std::fs::write(
        path("later.json"),
        r#"{"schema": 2, "nagare": "9", "mpi": "", "ranks": 1, "levels": [],
        "topology_from": "", "rows": []}"#,
    )
    .unwrap();
    for (name, part) in [
        ("words", "expected a report that NAGARE_REPORT=NAME.json has written"),
        ("later.json", "schema 2; expected 1"),
        (".", "not a regular file; expected a report in JSON"),
        ("missing", "No such file"),
    ] {
        let output = nagare(&["report", "show", &path(name)]).output().unwrap();
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(part) && error.lines().count() == 1 && !error.contains('\u{1b}'), "{error}");
    }
}

#[test]
fn fabrics_with_hosts_switches_and_levels() {
    let rows = rows(&stdout_of(&["fabrics"]));
    let mesh = rows.iter().find(|row| row[0] == "mlfm36").unwrap();
    // docs/fabrics.md: 36 hosts, 18 switches, four groups.
    assert_eq!(mesh[1..5], ["36", "18", "72", "group 4"]);
}

#[test]
fn algorithms_with_what_they_implement() {
    let rows = rows(&stdout_of(&["algorithms"]));
    let implements = |name: &str| rows.iter().find(|row| row[0] == name).unwrap()[1].clone();
    assert_eq!(implements("grouped_two_tree"), "reduce, bcast, allreduce");
    assert_eq!(implements("xor"), "alltoall, alltoallv");
    for halved in ["ring", "halving_doubling"] {
        assert_eq!(implements(halved), "allreduce, allgather, reduce_scatter_block, reduce_scatter");
    }
    assert_eq!(implements("aggregated"), "alltoall");
    assert_eq!(implements("contention_free"), "alltoall, alltoallv");
}

#[test]
fn variables_are_shown_as_they_are_set_here() {
    let output = nagare(&["env"]).env("NAGARE_WINDOW", "8").output().unwrap();
    assert!(output.status.success());
    let rows = rows(&stdout(&output));
    let here = |name: &str| rows.iter().find(|row| row[0] == name).unwrap()[1].clone();
    assert_eq!((here("NAGARE_WINDOW").as_str(), here("NAGARE_LOG").as_str()), ("8", "not set"));

    let wrong = nagare(&["env"]).env("NAGARE_WINDOW", "many").env("NAGARE_WINDOWS", "4").output().unwrap();
    assert_eq!(wrong.status.code(), Some(1));
    let text = stdout(&wrong);
    assert!(text.contains("problem: NAGARE_WINDOW=many: expected"), "{text}");
    assert!(text.contains("problem: NAGARE_WINDOWS is not a variable"), "{text}");
    assert!(stdout_of(&["env", "--markdown"]).contains("| `NAGARE_WINDOW` |"));
}
