//! `routing = "ecmp"` in a testbed: connections between the same two hosts take different ways. Needs root or user
//! namespaces, and a kernel with multipath routes; without, the test prints why it does nothing.

use crate::common::bed::Bed;
use crate::common::{nagare, stderr, stdout};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a helper process shall do: this test program runs itself inside testbeds.
const ROLE: &str = "ECMP_TEST_ROLE";

/// Connections, and bytes of each. That all of some thirty go the same way happens once in 2^30 runs.
const CONNECTIONS: usize = 64;
const BYTES: usize = 8192;

/// Bytes that the first host's leaf has sent up, and both switches above it, by port.
fn sent_up(bed: &Bed) -> Vec<u64> {
    let of = |switch| bed.on(switch, &["sh", "-c", "cat /sys/class/net/p[23]/statistics/tx_bytes"]);
    let texts = ["l0", "a0", "a1"].map(of);
    texts.iter().flat_map(|text| text.split_whitespace()).map(|number| number.parse().unwrap()).collect()
}

/// What these links have carried for connections from the first host to the last: to a0, a1, c0, c1, c2 and c3.
fn carried(bed: &Bed) -> Vec<u64> {
    let this = std::env::current_exe().unwrap();
    let helper = |node: &str, role: &str| {
        let program = [this.to_str().unwrap(), "testbed_ecmp::helper", "--exact", "--nocapture"];
        let mut helper = nagare(&[&["testbed", "exec", &bed.name, "--on", node, "--"], &program[..]].concat());
        helper.env(ROLE, role).stdout(Stdio::piped());
        helper
    };
    let before = sent_up(bed);
    let listener = helper("n15", "listen").spawn().unwrap();
    let sender = helper("n0", "connect").output().unwrap();
    assert!(sender.status.success(), "{}", stderr(&sender));
    let listener = listener.wait_with_output().unwrap();
    assert!(listener.status.success(), "{}", stdout(&listener));
    sent_up(bed).iter().zip(&before).map(|(after, before)| after - before).collect()
}

#[test]
fn connections_take_all_ways_by_ecmp_and_one_by_dmodk() {
    let Some(fixed) = Bed::up("fattree", "fixed") else { return };
    let links = carried(&fixed);
    let all = (CONNECTIONS * BYTES) as u64;
    assert!(links[1] > all && links[5] > all, "{links:?}");
    assert_eq!([links[0], links[2], links[3], links[4]], [0; 4], "{links:?}");
    drop(fixed);
    if !Path::new("/proc/sys/net/ipv4/fib_multipath_hash_fields").exists() {
        eprintln!("skipped: this kernel has no multipath routes");
        return;
    }
    let Some(hashed) = Bed::up_with("routing = \"ecmp\"\n", "fattree", "hashed") else { return };
    let links = carried(&hashed);
    assert!(links.iter().all(|&bytes| bytes > BYTES as u64), "{links:?}");
    let (first, second) = (links[..2].iter().sum::<u64>(), links[2..].iter().sum::<u64>());
    assert!(first == second && first > all, "what goes up once goes up twice: {links:?}");
}

/// Where the kernel cannot do it, one line says so, and nothing is made.
#[test]
fn without_multipath_routes_it_says_so() {
    let text = format!("routing = \"ecmp\"\n{}", nagare_plan::fabric::shipped("fattree").unwrap());
    let bed = Bed::of(&text, "fattree-refused");
    // In place of a kernel without: an empty directory over its settings.
    let up = nagare(&["testbed", "up", &bed.file()]);
    let line = r#"mount -t tmpfs none /proc/sys/net/ipv4 && exec "$@""#;
    let mut inside = Command::new("unshare");
    inside.args(["-m", "sh", "-c", line, "sh"]).arg(up.get_program()).args(up.get_args());
    let output = inside.output().unwrap();
    let error = stderr(&output);
    if !error.contains("nagare: ") {
        eprintln!("skipped: cannot hide the kernel's settings: {error}");
        return;
    }
    let said = error.lines().last().unwrap();
    assert!(said.starts_with("nagare: fabric ") && said.contains("this kernel has no multipath routes"), "{error}");
    assert_eq!(output.status.code(), Some(2));
}

/// Not a test by itself: sends or receives inside a testbed.
#[test]
fn helper() {
    let Ok(role) = std::env::var(ROLE) else { return };
    if role == "listen" {
        let listener = TcpListener::bind(("0.0.0.0", 5002)).unwrap();
        for _ in 0..CONNECTIONS {
            let mut all = Vec::new();
            listener.accept().unwrap().0.read_to_end(&mut all).unwrap();
            assert_eq!(all.len(), BYTES);
        }
        return;
    }
    let start = Instant::now();
    for _ in 0..CONNECTIONS {
        let mut stream = loop {
            match TcpStream::connect(("n15", 5002)) {
                Ok(stream) => break stream,
                Err(error) => assert!(start.elapsed() < Duration::from_secs(300), "{error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        stream.write_all(&[7; BYTES]).unwrap();
    }
}
