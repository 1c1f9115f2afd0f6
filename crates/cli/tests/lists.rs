//! `nagare algorithms`, `fabrics` and `env`, and the help texts.

use crate::common::{nagare, rows, stdout, stdout_of};

#[test]
fn every_command_explains_itself_with_an_example() {
    let overview = stdout_of(&["--help"]);
    for command in ["plan", "check", "algorithms", "fabrics", "env", "run", "doctor"] {
        assert!(overview.contains(&format!("\n  {command} ")), "{command} is not in\n{overview}");
        let help = stdout_of(&[command, "--help"]);
        assert!(help.contains("Example") && help.contains(&format!("\n  nagare {command}")), "{help}");
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
