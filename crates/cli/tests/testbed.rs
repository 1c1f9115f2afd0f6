//! `nagare testbed` up, down, exec, list: the network is the planned one, and nothing stays behind.
//! Needs root or user namespaces; without, each test prints why it does nothing.

use crate::common::bed::{Bed, OrdinaryUser, holder, namespaces, processes_in, records, refused, skipped, survivors};
use crate::common::{failure_of, nagare, stderr, stdout, stdout_of};
use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a helper process shall do: this test program runs itself inside testbeds.
const ROLE: &str = "TESTBED_TEST_ROLE";

/// Address of every node, as the node tells.
fn addresses(bed: &Bed) -> HashMap<String, String> {
    let all = bed.fabric.hosts().map(Into::into).chain(bed.fabric.switches());
    let of = |node: &str| {
        let text = bed.on(node, &["ip", "-o", "-4", "address"]);
        let words: Vec<&str> = text.split_whitespace().collect();
        let found = words.iter().filter_map(|word| word.split('/').next());
        let found: Vec<&str> = found.filter(|word| word.starts_with("10.1.") || word.starts_with("10.2.")).collect();
        assert_eq!(found.len(), 1, "{text}");
        found[0].to_owned()
    };
    all.map(|id| bed.fabric.node_name(id)).map(|node| (of(node), node.to_owned())).collect()
}

#[test]
fn kernels_routes_are_the_planned_ones() {
    for shipped in ["tree8", "mlfm36"] {
        let Some(bed) = Bed::up(shipped, "routes") else { return };
        let node_at = addresses(&bed);
        let fabric = &bed.fabric;
        assert_eq!(node_at.len(), fabric.host_count() + fabric.switch_count());
        let mut hosts: Vec<&String> = node_at.keys().filter(|address| address.starts_with("10.1.")).collect();
        hosts.sort();
        let batch = bed.path("batch");
        let lines: String = hosts.iter().map(|address| format!("route get {address}\n")).collect();
        std::fs::write(&batch, lines).unwrap();
        // (node, destination) to the next node.
        let mut next: HashMap<(String, String), String> = HashMap::new();
        for node in node_at.values() {
            for line in bed.on(node, &["ip", "-batch", batch.to_str().unwrap()]).lines() {
                let words: Vec<&str> = line.split_whitespace().collect();
                let Some(destination) = words.first().and_then(|word| node_at.get(*word)) else { continue };
                let via = words.iter().position(|word| *word == "via").map(|at| words[at + 1]);
                let hop = via.map_or(destination, |gateway| &node_at[gateway]);
                next.insert((node.clone(), destination.clone()), hop.clone());
            }
        }
        let pairs = fabric.hosts().flat_map(|a| fabric.hosts().map(move |b| (a, b)));
        for (a, b) in pairs.filter(|(a, b)| a != b) {
            let mut here = fabric.node_name(a).to_owned();
            for link in fabric.route(a, b) {
                here = next[&(here, fabric.node_name(b).to_owned())].clone();
                assert_eq!(here, fabric.node_name(fabric.end(link)), "{shipped}: {}", fabric.link_name(link));
            }
        }
    }
}

#[test]
fn packets_leave_by_the_adapter_whose_address_they_have() {
    let text = "hosts = [\"n[0-1]\"]\nswitches = [\"a\", \"b\"]\nbandwidth = 10\n[[link]]\nfrom = \"n[0-1]\"\nto = [\"a\", \
                \"b\"]\n";
    let Some(bed) = Bed::of(text, "planes").brought_up() else { return };
    // Those of the other host, from each of its own, and from none.
    for (to, source, device) in [
        ("10.1.0.2", &["from", "10.1.0.1"][..], "data0"),
        ("10.1.4.2", &["from", "10.1.0.1"], "data0"),
        ("10.1.0.2", &["from", "10.1.4.1"], "data1"),
        ("10.1.4.2", &["from", "10.1.4.1"], "data1"),
        ("10.1.0.2", &[], "data0"),
        ("10.1.4.2", &[], "data1"),
    ] {
        let told = bed.on("n0", &[&["ip", "route", "get", to], source].concat());
        assert!(told.contains(&format!(" dev {device} ")), "to {to} {source:?}: {told}");
    }
}

/// Packets that every port of every switch has sent: (switch, neighbour's number among its links).
fn sent(bed: &Bed) -> HashMap<(String, usize), u64> {
    let mut counts = HashMap::new();
    for switch in bed.fabric.switches() {
        let name = bed.fabric.node_name(switch);
        for port in 0..bed.fabric.links_of(switch).len() {
            let file = format!("/sys/class/net/p{port}/statistics/tx_packets");
            counts.insert((name.to_owned(), port), bed.on(name, &["cat", &file]).trim().parse().unwrap());
        }
    }
    counts
}

#[test]
fn packets_pass_the_planned_links_and_no_others() {
    let Some(bed) = Bed::up("tree8", "packets") else { return };
    let address = |node: &str| {
        let all = addresses(&bed);
        all.into_iter().find(|(_, name)| name == node).unwrap().0
    };
    let (from, to) = (bed.fabric.find_host("n1").unwrap(), bed.fabric.find_host("n6").unwrap());
    let before = sent(&bed);
    // Nobody listens: every attempt is one packet there and one back.
    let there = format!("for i in 1 2 3; do (: </dev/tcp/{}/9) 2>&-; done; true", address("n6"));
    bed.on("n1", &["bash", "-c", &there]);
    let after = sent(&bed);
    let planned: Vec<_> = [bed.fabric.route(from, to), bed.fabric.route(to, from)].concat();
    for switch in bed.fabric.switches() {
        for (port, link) in bed.fabric.links_of(switch).iter().enumerate() {
            let key = (bed.fabric.node_name(switch).to_owned(), port);
            let expected = if planned.contains(link) { 3 } else { 0 };
            assert_eq!(after[&key] - before[&key], expected, "{}", bed.fabric.link_name(*link));
        }
    }
}

#[test]
fn links_have_the_rate_of_the_file() {
    // (fabric, from, to, Mbit/s of the thinnest link between them)
    for (shipped, from, to, mbit) in [("tree8", "n0", "n7", 100.0), ("mlfm36", "n0", "n35", 20.0)] {
        let Some(bed) = Bed::up(shipped, "rate") else { return };
        // 1448 bytes of data in a frame of 1514.
        let expected = mbit * 1448.0 / 1514.0;
        let mut measured = Vec::new();
        // The machine may be busy with something else for a while; the link cannot be faster than it is.
        while measured.len() < 8 {
            measured.push(rate(&bed, from, to));
            let last: f64 = measured[measured.len() - 1];
            assert!(last < 1.1 * expected, "{shipped}: {measured:?} Mbit/s, expected {expected}");
            if last > 0.9 * expected {
                break;
            }
        }
        assert!(measured.last().unwrap() > &(0.9 * expected), "{shipped}: {measured:?} Mbit/s, expected {expected}");
    }
}

/// Mbit/s of one stream for about one second.
fn rate(bed: &Bed, from: &str, to: &str) -> f64 {
    let this = std::env::current_exe().unwrap();
    let helper = |node: &str, role: &str| {
        let command = [
            "testbed",
            "exec",
            &bed.name,
            "--on",
            node,
            "--",
            this.to_str().unwrap(),
            "testbed::helper",
            "--exact",
            "--nocapture",
        ];
        let mut helper = nagare(&command);
        helper.env(ROLE, role).stdout(Stdio::piped());
        helper
    };
    let receiver = helper(to, "receive").spawn().unwrap();
    assert!(helper(from, &format!("send {to}")).output().unwrap().status.success());
    let text = stdout(&receiver.wait_with_output().unwrap());
    let result = text.lines().find_map(|line| line.split("measured ").nth(1));
    result.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
}

/// Not a test by itself: sends or receives inside a testbed.
#[test]
fn helper() {
    let Ok(role) = std::env::var(ROLE) else { return };
    if let Some(host) = role.strip_prefix("send ") {
        let start = Instant::now();
        let mut stream = loop {
            match TcpStream::connect((host, 5001)) {
                Ok(stream) => break stream,
                Err(error) => assert!(start.elapsed() < Duration::from_secs(300), "{error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(1500) {
            stream.write_all(&[7; 16384]).unwrap();
        }
        return;
    }
    let (mut stream, _) = TcpListener::bind(("0.0.0.0", 5001)).unwrap().accept().unwrap();
    let mut buffer = vec![0; 1 << 16];
    let mut arrived = Vec::new();
    let start = Instant::now();
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        arrived.push((start.elapsed().as_secs_f64(), count as f64));
    }
    // The first part fills queues, the last empties them.
    let middle: Vec<&(f64, f64)> = arrived.iter().filter(|(time, _)| (0.4..1.4).contains(time)).collect();
    let bytes: f64 = middle.iter().skip(1).map(|(_, count)| count).sum();
    let seconds = middle[middle.len() - 1].0 - middle[0].0;
    println!("measured {}", bytes * 8.0 / seconds / 1e6);
}

#[test]
fn hosts_have_their_own_names_and_do_not_see_the_machines_network() {
    let Some(bed) = Bed::up("star16", "names") else { return };
    assert_eq!(bed.on("n3", &["uname", "-n"]), "n3\n");
    let devices = bed.on("n3", &["ls", "/sys/class/net"]);
    assert_eq!(devices.split_whitespace().collect::<Vec<_>>(), ["data0", "lo", "mgmt"]);
    assert!(bed.on("n3", &["getent", "hosts", "n15"]).starts_with("10.1.0.16 "));
    assert!(bed.on("n3", &["ip", "-4", "route", "show", "default"]).is_empty());
    let (code, error) = failure_of(&["testbed", "exec", &bed.name, "--on", "n16", "--", "true"]);
    assert_eq!((code, error), (125, format!("nagare: testbed {} has no host or switch 'n16'\n", bed.name)));
    let status = bed.try_on("n3", &["sh", "-c", "exit 7"]).status;
    assert_eq!(status.code(), Some(7));
}

/// Relative paths name what they name outside.
#[test]
fn programs_start_in_the_callers_directory() {
    let Some(bed) = Bed::up("tree8", "here") else { return };
    let here = std::env::current_dir().unwrap();
    assert_eq!(bed.on("n3", &["pwd"]).trim(), here.to_str().unwrap());
    bed.on("n3", &["ls", "tests/testbed.rs"]);
}

#[test]
fn down_leaves_nothing() {
    let Some(bed) = Bed::up("mlfm36", "nothing") else { return };
    assert!(stdout_of(&["testbed", "list"]).contains(&bed.name));
    let own = namespaces(&holder(&bed.name));
    let mut sleeper = nagare(&["testbed", "exec", &bed.name, "--on", "n5", "--", "sleep", "1000"]).spawn().unwrap();
    let start = Instant::now();
    // The sleeper is in the testbed, but on a host with a network of its own, once it has got there.
    let (inside, networks) = loop {
        let inside = processes_in(&own);
        let networks: HashSet<_> =
            inside.iter().flat_map(|(pid, _)| std::fs::read_link(format!("/proc/{pid}/ns/net"))).collect();
        if networks.len() >= 2 {
            break (inside, networks);
        }
        assert!(start.elapsed() < Duration::from_secs(300), "{inside:?}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(
        networks.len() == 2 && !networks.contains(&std::fs::read_link("/proc/self/ns/net").unwrap()),
        "{networks:?}"
    );
    // Nothing of it is in the machine's own network.
    let links = stdout(&Command::new("ip").args(["-o", "link"]).output().unwrap());
    assert!(!links.contains("02:6e:67:") && !links.contains("mgmt:"), "{links}");
    assert_eq!(stdout_of(&["testbed", "down", &bed.name]), format!("{} is down\n", bed.name));
    assert_eq!(sleeper.wait().unwrap().code(), Some(137));
    assert_eq!(survivors(&inside), Vec::<&String>::new());
    assert!(!records().join(&bed.name).exists());
    assert!(!std::fs::read_to_string("/proc/self/mountinfo").unwrap().contains(&bed.name));
    let (code, error) = failure_of(&["testbed", "down", &bed.name]);
    assert_eq!(code, 2);
    assert!(error.starts_with(&format!("nagare: no testbed {} is up; ", bed.name)), "{error}");
}

#[test]
fn a_second_one_of_that_name_is_refused_and_others_do_not_disturb() {
    let Some(first) = Bed::up("tree8", "first") else { return };
    let Some(second) = Bed::up("star16", "second") else { return };
    let (code, error) = failure_of(&["testbed", "up", &first.file()]);
    let expected = format!("nagare: testbed {0} is up already; `nagare testbed down {0}` ends it\n", first.name);
    assert_eq!((code, error), (2, expected));
    // Both have a host n0 with the same address.
    assert!(first.on("n0", &["ip", "route", "get", "10.1.0.8"]).contains("10.1.0.1"));
    assert!(second.on("n0", &["ip", "route", "get", "10.1.0.16"]).contains("10.1.0.1"));
    assert!(!first.try_on("n0", &["ip", "route", "get", "10.1.0.16"]).status.success());
    stdout_of(&["testbed", "down", &first.name]);
    assert_eq!(second.on("n0", &["uname", "-n"]), "n0\n");
}

#[test]
fn killed_while_it_comes_up() {
    for milliseconds in [5, 20, 60, 150] {
        let bed = Bed::prepared("mlfm36", &format!("killed{milliseconds}"));
        let mut up = nagare(&["testbed", "up", &bed.file()]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        up.kill().unwrap();
        up.wait().unwrap();
        // Whether it was up, half up or not begun.
        let down = nagare(&["testbed", "down", &bed.name]).output().unwrap();
        assert!(down.status.success() || stderr(&down).contains("no testbed"), "{}", stderr(&down));
        assert!(!records().join(&bed.name).exists());
        let output = nagare(&["testbed", "up", &bed.file()]).output().unwrap();
        if skipped(&output) {
            return;
        }
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

#[test]
fn without_namespaces_it_says_so() {
    let bed = Bed::prepared("tree8", "refused");
    let line = r#"echo 0 >/proc/sys/user/max_net_namespaces && exec "$@""#;
    let up = nagare(&["testbed", "up", &bed.file()]);
    let mut inside = Command::new("unshare");
    inside.args(["-Ur", "sh", "-c", line, "sh"]).arg(up.get_program()).args(up.get_args());
    let output = inside.output().unwrap();
    let error = stderr(&output);
    if !error.starts_with("nagare: ") || !error.contains("namespaces") {
        eprintln!("skipped: cannot take namespaces away: {error}");
        return;
    }
    assert!(error.starts_with("nagare: no namespaces: unshare: ") && error.lines().count() == 1, "{error}");
    assert!(!records().join(&bed.name).exists());
}

#[test]
fn an_ordinary_user_can_have_one() {
    let bed = Bed::prepared("tree8", "user");
    let user = OrdinaryUser::new(&bed);
    let as_user = |arguments: &[&str]| user.run(None, arguments);
    let output = as_user(&["testbed", "up", &bed.file()]);
    if refused(&output) {
        return;
    }
    assert!(output.status.success(), "{}", stderr(&output));
    let route = as_user(&["testbed", "exec", &bed.name, "--on", "l0", "--", "ip", "route", "get", "10.1.0.8"]);
    assert!(stdout(&route).contains("via 10.2.0.3"), "{}", stderr(&route));
    // Root's testbeds are others.
    assert!(!stdout_of(&["testbed", "list"]).contains(&bed.name));
    let down = as_user(&["testbed", "down", &bed.name]);
    assert_eq!(stdout(&down), format!("{} is down\n", bed.name));
    assert!(Command::new("rm").args(["-r", "/tmp/nagare-testbed-65534"]).status().unwrap().success());
}
