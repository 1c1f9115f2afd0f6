//! The text of the commands, read back as a network of its own and compared with the fabric.

use nagare_plan::fabric::{Adapter, DirectedLink, Fabric, HostId, SHIPPED, shipped};
use nagare_testbed::commands::{Commands, Hash};
use nagare_testbed::error::Error;
use nagare_testbed::layout::Layout;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

/// Without delay lines, so that all links are pairs of devices.
fn commands(fabric: &Fabric) -> Commands {
    Commands::new(&Layout::new(fabric).unwrap().undelayed(), Path::new("/ns"))
}

fn fabric(name: &str) -> Fabric {
    Fabric::from_toml(shipped(name).unwrap(), name).unwrap()
}

/// The word after `key`.
fn after<'t>(line: &'t str, key: &str) -> Option<&'t str> {
    let mut words = line.split_whitespace();
    words.find(|word| *word == key).and_then(|_| words.next())
}

#[test]
fn two_hosts_and_a_switch() {
    let text = "hosts = [\"a\", \"b\"]\nswitches = [\"s\"]\nbandwidth = 10\nqueue = 7\n\
                [[link]]\nfrom = [\"a\", \"b\"]\nto = \"s\"\n";
    let commands = commands(&Fabric::from_toml(text, "pair").unwrap());
    let links = "\
link set lo up
link add name mgmt type bridge
address add 10.254.0.1/16 dev mgmt
link set mgmt up
link add name m0 type veth peer name mgmt netns /ns/a
link set m0 master mgmt up
link add name m1 type veth peer name mgmt netns /ns/b
link set m1 master mgmt up
link add name data0 address 02:6e:67:00:00:00 netns /ns/a type veth peer name p0 address 02:6e:67:00:00:01 netns /ns/s
link add name data0 address 02:6e:67:00:00:02 netns /ns/b type veth peer name p1 address 02:6e:67:00:00:03 netns /ns/s
";
    assert_eq!(commands.links, links);
    let of_a = "\
link set lo up
link set mgmt up
address add 10.254.0.2/16 dev mgmt
link set data0 gso_max_segs 2 up
address add 10.1.0.1/16 dev data0 noprefixroute
neighbour add 10.2.0.1 lladdr 02:6e:67:00:00:01 dev data0 nud permanent
route add 10.1.0.2/32 via 10.2.0.1 dev data0 onlink src 10.1.0.1
";
    assert_eq!((commands.nodes[0].ip.as_str(), commands.nodes[0].forward), (of_a, false));
    let of_s = "\
link set lo up
address add 10.2.0.1/32 dev lo
link set p0 gso_max_segs 2 up
neighbour add 10.1.0.1 lladdr 02:6e:67:00:00:00 dev p0 nud permanent
link set p1 gso_max_segs 2 up
neighbour add 10.1.0.2 lladdr 02:6e:67:00:00:02 dev p1 nud permanent
route add 10.1.0.1/32 dev p0
route add 10.1.0.2/32 dev p1
";
    assert_eq!((commands.nodes[2].ip.as_str(), commands.nodes[2].forward), (of_s, true));
    let rate = "rate 10000000bit ceil 10000000bit burst 3200 cburst 3200 quantum 1514";
    let shaped = |device: &str, queue: u32| {
        format!(
            "qdisc add dev {device} root handle 1: htb default 1\n\
             class add dev {device} parent 1: classid 1:1 htb {rate}\n\
             qdisc add dev {device} parent 1:1 handle 10: bfifo limit {queue}\n"
        )
    };
    assert_eq!(commands.nodes[0].tc, shaped("data0", 1_514_000));
    assert_eq!(commands.nodes[2].tc, shaped("p0", 10_598) + &shaped("p1", 10_598));
}

/// A network as the commands make it.
#[derive(Default)]
struct Wires {
    /// (node, device) to the (node, device) at the other end.
    other_end: HashMap<(String, String), (String, String)>,
    /// (node, table, destination address) to devices.
    route: HashMap<(String, String, String), Vec<String>>,
    /// Node to addresses.
    address: HashMap<String, Vec<String>>,
    /// (node, source address) to table.
    table: HashMap<(String, String), String>,
}

impl Wires {
    fn read(commands: &Commands) -> Self {
        let mut wires = Wires::default();
        let mut hardware = HashMap::new();
        for line in commands.links.lines().filter(|line| line.contains("type veth") && line.contains("02:6e:67")) {
            let (a, b) = line.split_once("type veth").unwrap();
            let [a, b] = [a, b].map(|end| {
                let node = after(end, "netns").unwrap().strip_prefix("/ns/").unwrap().to_owned();
                let end_ = (node, after(end, "name").unwrap().to_owned());
                assert!(end_.1.len() < 16, "{line}");
                assert_eq!(hardware.insert(after(end, "address").unwrap().to_owned(), end_.clone()), None, "{line}");
                end_
            });
            assert_eq!(wires.other_end.insert(a.clone(), b.clone()), None, "{line}");
            assert_eq!(wires.other_end.insert(b, a), None, "{line}");
        }
        for node in &commands.nodes {
            let name = || node.name.clone();
            for line in node.ip.lines() {
                let device = || after(line, "dev").unwrap().to_owned();
                if let Some(address) = after(line, "add").filter(|_| line.starts_with("address")) {
                    if device() != "mgmt" {
                        let address = address.split('/').next().unwrap().to_owned();
                        wires.address.entry(name()).or_default().push(address);
                    }
                } else if line.starts_with("rule") {
                    let (from, table) = (after(line, "from").unwrap(), after(line, "table").unwrap());
                    assert_eq!(wires.table.insert((name(), from.to_owned()), table.to_owned()), None, "{line}");
                } else if line.starts_with("neighbour") {
                    let there = &wires.other_end[&(name(), device())];
                    assert_eq!(&hardware[after(line, "lladdr").unwrap()], there, "{line}");
                } else if line.starts_with("route") {
                    let to = after(line, "add").unwrap().strip_suffix("/32").unwrap().to_owned();
                    let table = after(line, "table").unwrap_or_default().to_owned();
                    let hops: Vec<&str> = line.split(" nexthop ").collect();
                    let hops = if hops.len() > 1 { &hops[1..] } else { &hops };
                    let devices = hops.iter().map(|hop| after(hop, "dev").unwrap().to_owned()).collect();
                    assert_eq!(wires.route.insert((name(), table, to), devices), None, "{line}");
                }
            }
        }
        wires
    }

    /// The devices a packet may leave a node by, on its way from an adapter there or through a switch to an adapter.
    fn next(&self, (here, source): (&str, u32), (to, destination): (&str, u32)) -> &[String] {
        let own = self.address.get(here).map(|addresses| (here.to_owned(), addresses[source as usize].clone()));
        let table = own.and_then(|own| self.table.get(&own).cloned()).unwrap_or_default();
        &self.route[&(here.to_owned(), table, self.address[to][destination as usize].clone())]
    }

    /// The devices a packet leaves by, from an adapter of the first node to one of the destination.
    fn links(&self, (from, source): (&str, u32), to: (&str, u32)) -> Vec<(String, String)> {
        let (mut here, mut path) = ((from.to_owned(), source), Vec::new());
        while here.0 != to.0 {
            let [device] = self.next((&here.0, here.1), to) else { panic!("one device") };
            path.push((here.0.clone(), device.clone()));
            here = (self.other_end[&(here.0, device.clone())].0.clone(), 0);
            assert!(path.len() < 100, "a circle: {path:?}");
        }
        path
    }

    /// The nodes it comes by.
    fn walk(&self, from: (&str, u32), to: (&str, u32)) -> Vec<String> {
        self.links(from, to).into_iter().map(|(node, _)| node).chain([to.0.to_owned()]).collect()
    }
}

#[test]
fn packets_take_the_planned_routes_on_every_shipped_fabric() {
    for (name, _) in SHIPPED {
        let fabric = fabric(name);
        let wires = Wires::read(&commands(&fabric));
        assert_eq!(wires.other_end.len(), fabric.directed_link_count(), "{name}");
        let addresses: HashSet<&String> = wires.address.values().flatten().collect();
        assert_eq!(addresses.len(), fabric.host_count() + fabric.switch_count(), "{name}");
        let pairs = fabric.hosts().flat_map(|a| fabric.hosts().map(move |b| (a, b)));
        for (a, b) in pairs.filter(|(a, b)| a != b) {
            let planned = fabric.route(a, b);
            let planned: Vec<&str> = planned.iter().map(|&link| fabric.node_name(fabric.end(link))).collect();
            let walked = wires.walk((fabric.node_name(a), 0), (fabric.node_name(b), 0));
            assert_eq!(walked[1..], planned, "{name}: {walked:?}");
        }
    }
}

#[test]
fn hashed_routes_have_all_next_hops_and_switches_hash_differently() {
    // Leaves under two spines: hosts with adapters on two of them, and one with two on the third.
    let two_leaves = "hosts = [\"n[0-3]\", \"m\"]\nswitches = [\"[a-c]\", \"x\", \"y\"]\nbandwidth = 10\n\
                      [[link]]\nfrom = \"n[0-3]\"\nto = [\"a\", \"b\"]\n[[link]]\nfrom = \"m\"\nto = \"c\"\n\
                      [[link]]\nfrom = \"m\"\nto = \"c\"\n[[link]]\nfrom = \"[a-c]\"\nto = [\"x\", \"y\"]\n";
    let hashed = |text: &str| Fabric::from_toml(&format!("routing = \"ecmp\"\n{text}"), "hashed").unwrap();
    for text in [shipped("fattree").unwrap(), two_leaves] {
        let fabric = hashed(text);
        let wires = Wires::read(&commands(&fabric));
        let adapters = |host| (0..fabric.adapters(host)).map(move |number| Adapter { host, number });
        for to in fabric.hosts().flat_map(adapters) {
            let address = (fabric.node_name(to.host), to.number);
            let far = |node: &str, devices: &[String]| -> Vec<String> {
                devices.iter().map(|device| wires.other_end[&(node.to_owned(), device.clone())].0.clone()).collect()
            };
            let ends = |links: &[DirectedLink]| -> Vec<String> {
                links.iter().map(|&link| fabric.node_name(fabric.end(link)).to_owned()).collect()
            };
            for (switch, links) in fabric.switches().zip(fabric.next_hops(to)) {
                let name = fabric.node_name(switch);
                assert_eq!(far(name, wires.next((name, 0), address)), ends(&links), "{name} to {address:?}");
            }
            for from in fabric.hosts().flat_map(adapters).filter(|from| from.host != to.host) {
                let name = fabric.node_name(from.host);
                let devices = wires.next((name, from.number), address);
                assert_eq!(far(name, devices), ends(&fabric.route(from, to)[..1]), "{from:?} to {address:?}");
            }
        }
    }
    let commands = commands(&hashed(shipped("fattree").unwrap()));
    // Upwards there are several ways, downwards and from hosts one.
    let hashes: HashMap<&str, Hash> =
        commands.nodes.iter().filter_map(|node| Some((node.name.as_str(), node.hash?))).collect();
    assert_eq!(hashes.len(), 16);
    assert!(hashes.keys().all(|name| name.starts_with(['l', 'a'])), "{hashes:?}");
    let seeds: HashSet<u32> = hashes.values().map(|hash| hash.seed).collect();
    assert!(seeds.len() == 16 && !seeds.contains(&0), "{seeds:?}");
    // Where the kernel has no seeds: all that tells connections apart, and something else one tier up.
    assert!(hashes.iter().all(|(name, hash)| hash.fields == if name.starts_with('l') { 0x37 } else { 0x33 }));
    // Nothing of it where routes are fixed.
    let plain = self::commands(&self::fabric("fattree"));
    assert!(plain.nodes.iter().all(|node| node.hash.is_none() && !node.ip.contains("nexthop")));
}

#[test]
fn both_ends_of_every_link_have_its_rate_and_queue() {
    for (name, _) in SHIPPED {
        let fabric = fabric(name);
        let mut ends = 0;
        for node in &commands(&fabric).nodes {
            let id = fabric.find(&node.name).unwrap();
            let rates: Vec<f64> = fabric.links_of(id).iter().map(|&link| fabric.mbit(link)).collect();
            let classes: Vec<&str> = node.tc.lines().filter(|line| line.starts_with("class")).collect();
            let given = classes.iter().map(|l| after(l, "rate").unwrap().strip_suffix("bit").unwrap().parse::<f64>());
            assert_eq!(given.map(|bits| bits.unwrap() / 1e6).collect::<Vec<f64>>(), rates, "{name}: {}", node.name);
            let queues = node.tc.lines().filter_map(|line| after(line, "limit"));
            // A host drops nothing that its own processes send before a switch has a chance to.
            let packets = match fabric.as_host(id) {
                Some(_) => 1000,
                None if name.ends_with("shallow") => 16,
                None => 128,
            };
            // In bytes of full frames.
            let expected = (packets * 1514).to_string();
            assert!(queues.inspect(|_| ends += 1).all(|queue| queue == expected.as_str()), "{name}");
        }
        assert_eq!(ends, fabric.directed_link_count(), "{name}");
    }
}

#[test]
fn parallel_cables_become_one_of_their_joint_rate_and_a_host_may_have_two_links() {
    let text = "hosts = [\"a\", \"b\"]\nswitches = [\"s\", \"t\"]\nbandwidth = 10\n\
                [[link]]\nfrom = [\"a\", \"b\"]\nto = [\"s\", \"t\"]\nparallel = 3\n";
    let fabric = Fabric::from_toml(text, "two planes").unwrap();
    let commands = commands(&fabric);
    assert!(commands.nodes.iter().all(|node| node.tc.matches("rate 30000000bit").count() == 2));
    let wires = Wires::read(&commands);
    assert_eq!(fabric.route(HostId(0), HostId(1)).len(), 2);
    // The sender's adapter decides, whichever of the receiver's is addressed.
    for (source, plane) in [(0, "s"), (1, "t")] {
        for destination in [0, 1] {
            assert_eq!(wires.walk(("a", source), ("b", destination)), path(&format!("a {plane} b")));
        }
    }
}

#[test]
fn packets_from_every_adapter_take_the_planned_routes_to_every_adapter() {
    for links in [
        // Two planes; twice the same switch; two leaves under spines, and a host on one of them.
        "[[link]]\nfrom = \"n[0-3]\"\nto = [\"a\", \"b\"]\n",
        "[[link]]\nfrom = \"n[0-3]\"\nto = \"a\"\n[[link]]\nfrom = \"n[0-3]\"\nto = \"a\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\n",
        "[[link]]\nfrom = \"n[0-2]\"\nto = [\"a\", \"b\"]\n[[link]]\nfrom = \"n3\"\nto = \"c\"\n[[link]]\nfrom = \"[a-c]\"\nto = \
         [\"x\", \"y\"]\n",
    ] {
        let switches = if links.contains('x') { "[\"[a-c]\", \"x\", \"y\"]" } else { "[\"a\", \"b\"]" };
        let text = format!("hosts = [\"n[0-3]\"]\nswitches = {switches}\nbandwidth = 10\n{links}");
        let fabric = Fabric::from_toml(&text, "adapters").unwrap();
        let wires = Wires::read(&commands(&fabric));
        let adapters = |host| (0..fabric.adapters(host)).map(move |number| Adapter { host, number });
        let all: Vec<Adapter> = fabric.hosts().flat_map(adapters).collect();
        for (&a, &b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))).filter(|(a, b)| a.host != b.host) {
            let planned = fabric.route(a, b);
            let walked = wires.links((fabric.node_name(a.host), a.number), (fabric.node_name(b.host), b.number));
            let devices = planned.iter().map(|&link| {
                let node = fabric.start(link);
                let number = fabric.links_of(node).iter().position(|&own| own == link).unwrap();
                let kind = if fabric.is_host(node) { "data" } else { "p" };
                (fabric.node_name(node).to_owned(), format!("{kind}{number}"))
            });
            assert_eq!(walked, devices.collect::<Vec<_>>(), "{text}: {a:?} to {b:?}");
        }
    }
}

#[test]
fn links_with_a_delay_line_have_devices_that_the_holder_makes_and_all_else_as_before() {
    let fabric = fabric("wan2x8");
    let layout = Layout::new(&fabric).unwrap();
    assert!(layout.has_delays());
    let delayed: Vec<_> = layout.links().filter(|[(_, port), _]| port.delay.is_some()).collect();
    let [[(one, port), (other, peer)]] = delayed[..] else { panic!("{delayed:?}") };
    // The link of 500 µs, not those of 5.
    assert_eq!((one.name.as_str(), other.name.as_str()), ("c0", "c1"));
    assert_eq!((port.delay, peer.delay), (Some(Duration::from_micros(500)), port.delay));
    let (with, without) = (Commands::new(&layout, Path::new("/ns")), commands(&fabric));
    let gone: Vec<&str> = without.links.lines().filter(|line| !with.links.contains(line)).collect();
    let [pair] = gone[..] else { panic!("{gone:?}") };
    assert!(pair.contains("/ns/c0 type veth") && with.links.lines().count() + 1 == without.links.lines().count());
    for (with, without) in with.nodes.iter().zip(&without.nodes) {
        let new: Vec<&str> = with.ip.lines().filter(|line| !without.ip.contains(line)).collect();
        assert_eq!(new.len(), usize::from(with.name.starts_with('c')), "{new:?}");
        // The device has the address that the pair's end would have.
        assert!(new.iter().all(|line| pair.contains(&format!("address {} ", after(line, "address").unwrap()))));
        assert!(new.iter().all(|line| line.contains(&format!("link set {} ", port.device))), "{new:?}");
        assert_eq!((&with.tc, with.forward), (&without.tc, without.forward));
    }
}

#[test]
fn latencies_of_less_than_half_a_millisecond_are_not_emulated() {
    let layout = |latency: &str| {
        let text = format!("[generator]\nkind = \"star\"\nhosts = 2\nbandwidth = 10\nlatency = {latency}\n");
        Layout::new(&Fabric::from_toml(&text, "f").unwrap()).unwrap()
    };
    assert!(!layout("499.9").has_delays());
    let layout = layout("500");
    assert!(layout.links().flatten().all(|(_, port)| port.delay == Some(Duration::from_micros(500))));
    assert!(!layout.undelayed().has_delays());
}

fn path(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn what_cannot_be_emulated_is_refused() {
    let error = |text: &str| Layout::new(&Fabric::from_toml(text, "f").unwrap()).unwrap_err();
    let large = error("name = \"big\"\n[generator]\nkind = \"star\"\nhosts = 1000\nbandwidth = 1\n");
    assert!(matches!(&large, Error::TooManyNodes { count: 1001, .. }), "{large}");
    let planes =
        "bandwidth = 1\nhosts = ['h[0-39]']\nswitches = ['s[0-63]']\n[[link]]\nfrom = 'h[0-39]'\nto = 's[0-63]'\n";
    let planes = Fabric::from_toml(planes, "planes").unwrap();
    // From 40 hosts with a table for each of 64 adapters and one more, and from 64 switches, to 2560 adapters.
    let expected = 2560 * (40 * 65 + 64);
    let many = Layout::new(&planes).unwrap_err();
    assert!(matches!(&many, Error::TooManyRoutes { count, .. } if *count == expected), "{many}");
    let fast = error("[generator]\nkind = \"star\"\nhosts = 2\nbandwidth = 2000000\n");
    assert_eq!(fast.to_string(), "the link n0 -> s0 has 2000000 Mbit/s; a testbed emulates 0.001 to 1000000");
    let name = error(
        "hosts = [\"nagare-launcher\"]\nswitches = [\"s\"]\nbandwidth = 1\n[[link]]\nfrom = \"nagare-launcher\"\nto \
         = \"s\"\n",
    );
    assert!(matches!(&name, Error::ReservedName(_)), "{name}");
}
