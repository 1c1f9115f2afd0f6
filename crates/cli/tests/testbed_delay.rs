//! Links that have a delay line: packets arrive as much later as the file says, all of them and in order.
//! Needs root or user namespaces, and /dev/net/tun; without, each test prints why it does nothing.

use crate::common::bed::{Bed, holder, namespaces, processes_in, records, skipped, survivors};
use crate::common::{nagare, stderr, stdout, stdout_of};
use std::fs::OpenOptions;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a helper process shall do: this test program runs itself inside testbeds.
const ROLE: &str = "TESTBED_DELAY_TEST_ROLE";
const PORT: u16 = 5002;

/// Two hosts behind links of 2 ms, two behind links of less than half a millisecond.
const FAR: &str = "hosts = [\"n[0-3]\"]\nswitches = [\"s0\"]\nbandwidth = 100\n\
    [[link]]\nfrom = \"n[0-1]\"\nto = \"s0\"\nlatency = 2000\n\
    [[link]]\nfrom = \"n[2-3]\"\nto = \"s0\"\nlatency = 499\n";

/// A testbed of these hosts, where this user may have delay lines.
fn far(test: &str) -> Option<Bed> {
    if let Err(error) = OpenOptions::new().read(true).write(true).open("/dev/net/tun") {
        eprintln!("skipped: /dev/net/tun: {error}");
        return None;
    }
    Bed::of(FAR, &format!("far-{test}")).brought_up()
}

/// Runs [`helper`] with `role` on a host.
fn helper_on(bed: &Bed, node: &str, role: &str) -> Command {
    let this = std::env::current_exe().unwrap();
    let program = [this.to_str().unwrap(), "testbed_delay::helper", "--exact", "--nocapture"];
    let mut helper = nagare(&[&["testbed", "exec", &bed.name, "--on", node, "--"], &program[..]].concat());
    helper.env(ROLE, role).stdout(Stdio::piped());
    helper
}

/// What the helper `role` on one host says, while that on another answers.
fn exchange(bed: &Bed, from: &str, to: &str, role: &str) -> String {
    let mut echo = helper_on(bed, to, "echo").spawn().unwrap();
    let output = helper_on(bed, from, &format!("{role} {to}")).output().unwrap();
    assert!(output.status.success() && echo.wait().unwrap().success(), "{}", stdout(&output));
    stdout(&output)
}

/// Not a test by itself: sends and answers datagrams inside a testbed.
#[test]
fn helper() {
    let Ok(role) = std::env::var(ROLE) else { return };
    match role.split_once(' ') {
        Some(("ping", host)) => ping(host),
        Some(("stream", host)) => stream(host),
        _ => echo(),
    }
}

/// Sends back what comes, until that is nothing.
fn echo() {
    let socket = UdpSocket::bind(("0.0.0.0", PORT)).unwrap();
    let mut datagram = [0; 2000];
    while let Ok((length @ 1.., from)) = socket.recv_from(&mut datagram) {
        socket.send_to(&datagram[..length], from).unwrap();
    }
}

/// A socket to an echo that answers.
fn connected(host: &str) -> UdpSocket {
    let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
    socket.connect((host, PORT)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let start = Instant::now();
    // Until it is there, nothing or a refusal comes back.
    while socket.send(b"?").is_err() || socket.recv(&mut [0; 8]).is_err() {
        assert!(start.elapsed() < Duration::from_secs(300), "{host} does not answer");
        std::thread::sleep(Duration::from_millis(20));
    }
    // Answers to earlier questions.
    while socket.recv(&mut [0; 8]).is_ok() {}
    socket.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    socket
}

fn ping(host: &str) {
    let socket = connected(host);
    let trips = (0..200).map(|_| {
        let start = Instant::now();
        socket.send(b"ping").unwrap();
        assert_eq!(socket.recv(&mut [0; 8]).unwrap(), 4);
        start.elapsed()
    });
    println!("least {}", trips.min().unwrap().as_secs_f64() * 1e3);
    socket.send(b"").unwrap();
}

/// Datagrams with a number and bytes that follow from it, so many at a time that queues and sockets have room for them.
fn stream(host: &str) {
    let socket = connected(host);
    let datagram = |number: u32| {
        let bytes = (0..1400 / 4).map(|word| (number.wrapping_mul(2_654_435_761) ^ word).to_le_bytes());
        [number.to_le_bytes()].into_iter().chain(bytes).flatten().collect::<Vec<u8>>()
    };
    let mut got = [0; 2000];
    for first in (0..3200).step_by(32) {
        for number in first..first + 32 {
            socket.send(&datagram(number)).unwrap();
        }
        for number in first..first + 32 {
            let length = socket.recv(&mut got).unwrap();
            assert!(got[..length] == datagram(number), "datagram {number} is missing, changed or late");
        }
    }
    println!("all came");
    socket.send(b"").unwrap();
}

/// Milliseconds of the fastest of many round trips. Other programs can make any of them longer, but hardly all.
fn least(bed: &Bed, from: &str, to: &str) -> f64 {
    let said = exchange(bed, from, to, "ping");
    let least = said.lines().find_map(|line| line.split("least ").nth(1));
    least.unwrap_or_else(|| panic!("{said}")).parse().unwrap()
}

#[test]
fn a_round_trip_takes_twice_the_latencies_of_its_links() {
    let Some(bed) = far("ping") else { return };
    for (from, to, links) in [("n0", "n1", 4.0), ("n2", "n1", 2.0)] {
        let mut tries = Vec::new();
        // Where the machine is busy, the fastest of a try may be late; none can be early.
        while tries.len() < 8 && tries.last().is_none_or(|least| *least > 2.0 * links * 1.05) {
            tries.push(least(&bed, from, to));
        }
        let (least, expected) = (tries[tries.len() - 1], 2.0 * links);
        assert!((0.97 * expected..1.05 * expected).contains(&least), "{from} to {to}: {tries:?} ms, not {expected}");
    }
    // Shorter latencies are not emulated: no process is in the way.
    let tap = |node: &str| bed.try_on(node, &["ls", "/sys/class/net/data0/tun_flags"]).status.success();
    assert_eq!(["n0", "n1", "n2", "n3"].map(tap), [true, true, false, false]);
    assert!(least(&bed, "n2", "n3") < 2.0);
}

#[test]
fn nothing_is_lost_changed_or_overtaken() {
    let Some(bed) = far("stream") else { return };
    assert!(exchange(&bed, "n0", "n1", "stream").contains("all came"));
}

#[test]
fn delay_lines_end_with_their_testbed_and_the_testbed_with_them() {
    let Some(bed) = far("ends") else { return };
    let lines = |bed: &Bed| {
        let inside = processes_in(&namespaces(&holder(&bed.name)));
        let is_line = |pid: &str| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let found = inside.into_iter().filter(|(pid, _)| {
            let words = String::from_utf8_lossy(&is_line(pid)).replace('\0', " ");
            words.contains(" testbed delay n")
        });
        found.collect::<Vec<_>>()
    };
    let first = lines(&bed);
    assert_eq!(first.len(), 2, "{first:?}");
    stdout_of(&["testbed", "down", &bed.name]);
    assert_eq!(survivors(&first), Vec::<&String>::new());
    let output = nagare(&["testbed", "up", &bed.file()]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let second = lines(&bed);
    assert!(Command::new("kill").args(["-9", &second[0].0]).status().unwrap().success());
    let start = Instant::now();
    // A network with a hole is not the fabric.
    while !stdout_of(&["testbed", "list"]).lines().any(|line| line.contains(&bed.name) && line.contains("crash")) {
        assert!(start.elapsed() < Duration::from_secs(300));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(survivors(&second), Vec::<&String>::new());
    stdout_of(&["testbed", "down", &bed.name]);
    assert!(!records().join(&bed.name).exists());
}

/// One line says so, and the testbed is there.
#[test]
fn without_tap_devices_no_link_is_delayed() {
    let mode = std::fs::metadata("/dev/net/tun").map(|tun| tun.permissions().mode());
    if mode.is_ok_and(|mode| mode & 6 == 6) {
        eprintln!("skipped: anybody may have TAP devices here");
        return;
    }
    let bed = Bed::of(FAR, "far-refused");
    let program = bed.path("nagare");
    crate::common::copy_of_nagare(&program);
    let open = ["chmod", "-R", "a+rX", program.parent().unwrap().to_str().unwrap()];
    assert!(Command::new(open[0]).args(&open[1..]).status().unwrap().success());
    let runtime = tempfile::tempdir().unwrap();
    std::fs::set_permissions(runtime.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let as_user = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program).args(arguments);
        command.env("XDG_RUNTIME_DIR", runtime.path()).output().unwrap()
    };
    let output = as_user(&["testbed", "up", &bed.file()]);
    if stderr(&output).contains("setpriv: ") {
        eprintln!("skipped: not root, so this test cannot become another user");
        return;
    }
    if skipped(&output) {
        return;
    }
    let said = stderr(&output);
    assert!(
        output.status.success() && said.contains("no link of the testbed has its latency: /dev/net/tun: "),
        "{said}"
    );
    let kind = as_user(&["testbed", "exec", &bed.name, "--on", "n0", "--", "ls", "/sys/class/net/data0"]);
    assert!(kind.status.success() && !stdout(&kind).contains("tun_flags"), "{}", stderr(&kind));
    assert!(as_user(&["testbed", "down", &bed.name]).status.success());
}
