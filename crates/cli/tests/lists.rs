//! `nagare algorithms`, `fabrics` and `env`, and the help texts.

use crate::common::{nagare, rows, stderr, stdout, stdout_of};
use serde_json::Value;

#[test]
fn every_command_explains_itself_with_an_example() {
    let overview = stdout_of(&["--help"]);
    let commands = ["plan", "check", "predict", "algorithms", "fabrics", "env", "run", "doctor", "testbed", "bench"];
    for command in commands.into_iter().chain(["tune", "profile", "report", "ps"]) {
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
        (".", "not a regular file, expected a report (JSON)"),
        ("missing", "No such file"),
    ] {
        let output = nagare(&["report", "show", &path(name)]).output().unwrap();
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(part) && error.lines().count() == 1 && !error.contains('\u{1b}'), "{error}");
    }
}

/// `nagare … 2>&1 | head`
#[test]
fn a_reader_of_errors_that_has_gone_away_changes_nothing() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = nagare(&["fabrics", "/no/such/file"]).stdout(writer.try_clone().unwrap()).stderr(writer).status();
    assert_eq!(status.unwrap().code(), Some(1));
}

/// One that is right is shown beside one that is wrong.
#[test]
fn fabric_files_are_checked() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (right, wrong) = (path("right.toml"), path("wrong.toml"));
    std::fs::write(&right, "# A rack.\n[generator]\nkind = \"star\"\nhosts = 5\nbandwidth = 100\n").unwrap();
    std::fs::write(&wrong, "hosts = [\"n0\"]\nswitch = [\"s0\"]\n").unwrap();
    let output = nagare(&["fabrics", &right, &wrong, "tree8"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let rows = rows(&stdout(&output));
    let row = |name: &str| rows.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("{rows:?}")).clone();
    assert_eq!(row(&right)[1..4], ["5", "1", "5"]);
    assert_eq!((row(&right)[6].as_str(), row("tree8")[1].as_str()), ("A rack.", "8"));
    let error = stderr(&output);
    assert!(error.lines().count() == 1 && error.contains("wrong.toml:2: "), "{error}");
    assert_eq!(nagare(&["fabrics", &right]).output().unwrap().status.code(), Some(0));
}

#[test]
fn fabrics_with_hosts_switches_and_levels() {
    let rows = rows(&stdout_of(&["fabrics"]));
    let mesh = rows.iter().find(|row| row[0] == "mlfm36").unwrap();
    // docs/fabrics.md: 36 hosts, 18 switches, four groups, of three leaves each.
    assert_eq!(mesh[1..6], ["36", "18", "72", "group 4", "leaf 12"]);
}

/// A file says which levels count, --levels says it of any network.
#[test]
fn levels_that_count_and_levels_that_could() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("site.toml").to_str().unwrap().to_owned();
    let write = |levels: &str| {
        let text = format!("levels = {levels}\n[generator]\nkind = \"fat-tree\"\nports = 4\nbandwidth = 100\n");
        std::fs::write(&file, text).unwrap();
    };
    write("[\"leaf\"]");
    let shown = |words: &[&str]| {
        let of_file = rows(&stdout_of(&[&["fabrics", &file], words].concat())).pop().unwrap();
        let data = [&["plan", "bcast", "-a", "grouped_two_tree", "-f", &file, "--json"], words].concat();
        let data: Value = serde_json::from_str(&stdout_of(&data)).unwrap();
        let names = data["topology"]["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned());
        (of_file[4].clone(), of_file[5].clone(), names.collect::<Vec<_>>().join(" "))
    };
    let expected = |count: &str, further: &str, names: &str| (count.to_owned(), further.to_owned(), names.to_owned());
    assert_eq!(shown(&[]), expected("leaf 8", "pod 4", "leaf node"));
    assert_eq!(shown(&["--levels", "all"]), expected("pod 4, leaf 8", "none", "pod leaf node"));
    assert_eq!(shown(&["--levels", "default"]), expected("pod 4", "leaf 8", "pod node"));
    assert_eq!(shown(&["--levels", "none"]), expected("none", "pod 4, leaf 8", "node"));
    let output = nagare(&["fabrics", &file, "--levels", "group"]).output().unwrap();
    let line = format!(
        "nagare: --levels: {file}: the fabric has no level 'group'; expected all, none or default alone, or some of \
         pod, leaf\n"
    );
    assert_eq!((output.status.code(), stderr(&output)), (Some(1), line));
    write("\"group\"");
    let output = nagare(&["predict", "bcast", "-f", &file]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(error.lines().count() == 1 && error.contains("site.toml:1: the fabric has no level 'group'; "), "{error}");
}

#[test]
fn algorithms_with_what_they_implement() {
    let rows = rows(&stdout_of(&["algorithms"]));
    let implements = |name: &str| rows.iter().find(|row| row[0] == name).unwrap()[1].clone();
    assert_eq!(implements("grouped_two_tree"), "reduce, bcast, allreduce");
    for exchange in ["xor", "ring_exchange"] {
        assert_eq!(implements(exchange), "alltoall, alltoallv, alltoallw");
    }
    for halved in ["ring", "halving_doubling"] {
        assert_eq!(implements(halved), "allreduce, allgather, allgatherv, reduce_scatter_block, reduce_scatter");
    }
    assert_eq!(implements("aggregated"), "alltoall");
    assert_eq!(implements("contention_free"), "alltoall, alltoallv, alltoallw");
}

#[test]
fn variables_are_shown_as_they_are_set_here() {
    let output = nagare(&["env"]).env("NAGARE_WINDOW", "8").output().unwrap();
    assert!(output.status.success());
    let text = stdout(&output);
    for line in ["NAGARE_WINDOW=8", "NAGARE_LOG is not set"] {
        assert!(text.lines().any(|shown| shown == line), "no {line} in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for variable in nagare_config::VARIABLES {
        let (words, help) = (text.split_whitespace().collect::<Vec<_>>().join(" "), variable.help.replace('`', ""));
        assert!(words.contains(&help.split_whitespace().collect::<Vec<_>>().join(" ")), "{}", variable.name);
    }

    let wrong = nagare(&["env"]).env("NAGARE_WINDOW", "many").env("NAGARE_WINDOWS", "4").output().unwrap();
    assert_eq!(wrong.status.code(), Some(1));
    let text = stdout(&wrong);
    assert!(text.contains("problem: NAGARE_WINDOW=many: expected"), "{text}");
    assert!(text.contains("problem: NAGARE_WINDOWS is not a variable"), "{text}");
    assert!(stdout_of(&["env", "--markdown"]).contains("| `NAGARE_WINDOW` |"));
}

/// What lists show, as data.
#[test]
fn lists_are_json_too() {
    let json = |words: &[&str]| -> Value { serde_json::from_str(&stdout_of(&[words, &["--json"]].concat())).unwrap() };
    let algorithms = json(&["algorithms"]);
    let chain = algorithms.as_array().unwrap().iter().find(|row| row["name"] == "chain").unwrap();
    assert_eq!(chain["implements"], serde_json::json!(["reduce", "bcast", "allreduce"]));
    let fabrics = json(&["fabrics"]);
    let tree = fabrics.as_array().unwrap().iter().find(|row| row["fabric"] == "tree8").unwrap();
    assert_eq!((&tree["hosts"], &tree["switches"], &tree["links"]), (&8.into(), &3.into(), &10.into()));
    let output = nagare(&["env", "--json"]).env("NAGARE_LOG", "loud").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let variables: Value = serde_json::from_slice(&output.stdout).unwrap();
    let log = variables["variables"].as_array().unwrap().iter().find(|row| row["name"] == "NAGARE_LOG").unwrap();
    assert_eq!(log["value"], "loud");
    assert!(variables["problems"][0].as_str().unwrap().contains("NAGARE_LOG=loud"), "{variables}");
}

/// Reports are a page that loads nothing.
#[test]
fn reports_are_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("r.json");
    std::fs::write(
        &file,
        r#"{"schema": 1, "nagare": "1", "mpi": "M", "ranks": 2, "levels": [], "topology_from": "", "program": "a<b",
        "rows": [{"collective": "bcast", "algorithm": "chain", "min_bytes": 8, "max_bytes": 8, "calls": 3,
        "max_seconds": 0.5, "min_seconds": 0.5}]}"#,
    )
    .unwrap();
    let page = stdout_of(&["report", "html", file.to_str().unwrap()]);
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<h1>a&lt;b</h1>"), "{page}");
    assert!(page.contains("500 ms"), "{page}");
}
