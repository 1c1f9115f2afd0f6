//! Links that have a delay line: packets arrive as much later as the file says, all of them and in order.
//! Needs root or user namespaces, and /dev/net/tun; without, each test prints why it does nothing.

use crate::common::bed::{Bed, OrdinaryUser, holder, namespaces, processes_in, records, refused, survivors};
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
    let echoed = echo.wait().unwrap().success();
    assert!(output.status.success() && echoed, "{}", stdout(&output));
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

/// Sends back what comes, until that is nothing, or nothing comes for five minutes.
fn echo() {
    let socket = UdpSocket::bind(("0.0.0.0", PORT)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
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
    socket.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    socket
}

/// The length of the next answer but those to the questions of [`connected`], of which some may come late.
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> usize {
    loop {
        let length = socket.recv(buffer).unwrap();
        if buffer[..length] != *b"?" {
            return length;
        }
    }
}

fn ping(host: &str) {
    let socket = connected(host);
    let trips = (0..200).map(|_| {
        let start = Instant::now();
        socket.send(b"ping").unwrap();
        assert_eq!(receive(&socket, &mut [0; 8]), 4);
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
            let length = receive(&socket, &mut got);
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
        let expected = 2.0 * links;
        let mut tries = Vec::new();
        // Where the machine is busy, the fastest of a try may be late, as that over links without delay is; it is early
        // by no more than what a delay line takes waking up to be.
        let is_late = |&(over, without): &(f64, f64)| over > 1.05 * expected + 2.0 * without;
        while tries.len() < 8 && tries.last().is_none_or(is_late) {
            tries.push((least(&bed, from, to), least(&bed, "n2", "n3")));
        }
        let last = tries[tries.len() - 1];
        assert!(last.0 >= 0.95 * expected && !is_late(&last), "{from} to {to}: {tries:?} ms, not {expected}");
    }
    // Shorter latencies are not emulated: no process is in the way.
    let tap = |node: &str| bed.try_on(node, &["ls", "/sys/class/net/data0/tun_flags"]).status.success();
    assert_eq!(["n0", "n1", "n2", "n3"].map(tap), [true, true, false, false]);
}

#[test]
fn nothing_is_lost_changed_or_overtaken() {
    let Some(bed) = far("stream") else { return };
    assert!(exchange(&bed, "n0", "n1", "stream").contains("all came"));
}

/// The delay lines of the testbed of that name.
fn lines(name: &str) -> Vec<(String, String)> {
    let is_line = |(pid, _): &(String, String)| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).replace('\0', " ").contains(" testbed delay n")
    };
    processes_in(&namespaces(&holder(name))).into_iter().filter(is_line).collect()
}

#[test]
fn delay_lines_end_with_their_testbed_and_the_testbed_with_them() {
    let Some(bed) = far("ends") else { return };
    let first = lines(&bed.name);
    assert_eq!(first.len(), 2, "{first:?}");
    stdout_of(&["testbed", "down", &bed.name]);
    assert_eq!(survivors(&first), Vec::<&String>::new());
    let output = nagare(&["testbed", "up", &bed.file()]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let second = lines(&bed.name);
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

#[test]
fn a_run_ends_with_a_delay_line_and_says_why() {
    if far("run-probe").is_none() {
        return;
    }
    let bed = Bed::of(FAR, "far-run");
    let (ready, file) = (bed.path("ready"), bed.file());
    let program = format!("touch {}; exec sleep 1000", ready.display());
    let words = ["testbed", "run", &file, "--stock", "--mpi", "openmpi", "--np", "1", "--", "sh", "-c", &program];
    let mut run = nagare(&words).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while !ready.exists() {
        if run.try_wait().unwrap().is_some() {
            eprintln!("skipped: {}", stderr(&run.wait_with_output().unwrap()));
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(300), "the program has not started within five minutes");
        std::thread::sleep(Duration::from_millis(20));
    }
    let name = format!("{}.{}", bed.name, run.id());
    let inside = lines(&name);
    assert!(Command::new("kill").args(["-9", &inside[0].0]).status().unwrap().success());
    let output = run.wait_with_output().unwrap();
    assert!(!output.status.success());
    assert!(stderr(&output).contains("nagare: a delay line has ended; it may have been killed"), "{}", stderr(&output));
    assert_eq!(survivors(&inside), Vec::<&String>::new());
    assert!(!records().join(&name).exists());
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
    let (user, runtime) = (OrdinaryUser::new(&bed), tempfile::tempdir().unwrap());
    std::fs::set_permissions(runtime.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let as_user = |arguments: &[&str]| user.run(Some(runtime.path()), arguments);
    let output = as_user(&["testbed", "up", &bed.file()]);
    if refused(&output) {
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
