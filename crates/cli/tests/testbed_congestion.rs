//! TCP's congestion control in the namespaces of a testbed. Needs what `testbed.rs` needs.

use crate::common::bed::{Bed, skipped};
use crate::common::{failure_of, nagare, stderr, usual_congestion};

#[test]
fn the_congestion_control_is_the_one_asked_for_in_every_namespace() {
    let bed = Bed::prepared("tree8", "congestion");
    let up = |congestion: &[&str]| nagare(&[&["testbed", "up", &bed.file()], congestion].concat()).output().unwrap();
    let output = up(&["--congestion", "reno"]);
    if skipped(&output) {
        return;
    }
    assert!(output.status.success(), "{}", stderr(&output));
    for node in ["n0", "n7", "l1", "s0"] {
        assert_eq!(bed.on(node, &["cat", "/proc/sys/net/ipv4/tcp_congestion_control"]), "reno\n", "{node}");
    }
    let (code, error) = failure_of(&["testbed", "run", &bed.file(), "--congestion", "cubic", "--", "true"]);
    assert!(code == 125 && error.lines().count() == 1, "{error}");
    let available = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    let (code, error) = failure_of(&["testbed", "up", "tree8", "--congestion", "slow"]);
    let list = available.split_whitespace().collect::<Vec<_>>().join(", ");
    assert!(code == 2 && error.contains("'slow'") && error.contains(&list) && error.lines().count() == 1, "{error}");
}

#[test]
fn a_testbed_has_cubic_or_reno_whatever_the_machines_own() {
    let bed = Bed::prepared("tree8", "usual");
    let output = nagare(&["testbed", "up", &bed.file()]).output().unwrap();
    if skipped(&output) {
        return;
    }
    let setting = bed.on("n0", &["cat", "/proc/sys/net/ipv4/tcp_congestion_control"]);
    assert!(usual_congestion().is_none_or(|usual| usual == setting.trim_end()), "{setting}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        told.lines().filter(|line| line.contains("TCP's congestion control is reno")).count(),
        usize::from(setting == "reno\n"),
        "{told}"
    );
}
