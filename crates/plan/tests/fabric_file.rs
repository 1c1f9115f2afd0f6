//! Fabric files: what they mean, and the one line for everything that can be wrong in them.

use nagare_plan::fabric::{Fabric, MAX_FILE_BYTES, SHIPPED, shipped};

const TWO_RACKS: &str = r#"name = "two racks"
queue = 64
hosts = ["n[0-3]", "m[00-01]"]
switches = ["l[0-1]", "s0"]
bandwidth = 100
latency = 5

[[link]]
from = "n[0-3]"
to = "l0"

[[link]]
from = ["m00", "m01"]
to = "l1"
bandwidth = 40.5

[[link]]
from = "l[0-1]"
to = "s0"
parallel = 2
latency = 0.5

[routes.l0]
"m[00-01]" = "s0"
"#;

fn read(text: &str) -> Result<Fabric, String> {
    Fabric::from_toml(text, "site.toml").map_err(|e| e.to_string())
}

fn names(fabric: &Fabric) -> Vec<&str> {
    let hosts = fabric.hosts().map(|h| fabric.node_name(h));
    hosts.chain(fabric.switches().map(|s| fabric.node_name(s))).collect()
}

#[test]
fn a_listed_fabric() {
    let fabric = read(TWO_RACKS).unwrap();
    assert_eq!(fabric.name(), "two racks");
    assert_eq!(fabric.queue_packets(), Some(64));
    assert_eq!(names(&fabric), ["n0", "n1", "n2", "n3", "m00", "m01", "l0", "l1", "s0"]);
    let route = fabric.route(fabric.find_host("n3").unwrap(), fabric.find_host("m01").unwrap());
    let steps: Vec<_> = route.iter().map(|&l| (fabric.link_name(l), fabric.mbit(l), fabric.latency_us(l))).collect();
    let expected =
        [("n3 -> l0", 100.0, 5.0), ("l0 -> s0", 200.0, 0.5), ("s0 -> l1", 200.0, 0.5), ("l1 -> m01", 40.5, 5.0)];
    assert_eq!(steps, expected.map(|(n, b, l)| (n.to_owned(), b, l)));
    assert_eq!(fabric.fixed_routes().len(), 2);
}

#[test]
fn shipped_fabrics_are_what_their_names_say() {
    let sizes = [
        ("fattree", 16, 20, Some(128)),
        ("mlfm36", 36, 18, Some(128)),
        ("star16", 16, 1, Some(128)),
        ("star16-shallow", 16, 1, Some(16)),
        ("torus16", 16, 16, Some(128)),
        ("tree8", 8, 3, Some(128)),
        ("tree8-shallow", 8, 3, Some(16)),
        ("wan2x8", 16, 2, Some(128)),
    ];
    assert_eq!(SHIPPED.len(), sizes.len());
    for (name, hosts, switches, queue) in sizes {
        let fabric = Fabric::from_toml(shipped(name).unwrap(), name).unwrap();
        assert_eq!(fabric.name(), name);
        assert_eq!((fabric.host_count(), fabric.switch_count()), (hosts, switches), "{name}");
        assert_eq!(fabric.queue_packets(), queue, "{name}");
        assert!(fabric.hosts().all(|h| fabric.node_name(h) == format!("n{}", h.0)));
    }
    assert_eq!(shipped("nonsense"), None);
}

#[test]
fn rates_of_the_shipped_fabrics() {
    for (name, host, between) in
        [("tree8", 100.0, 100.0), ("mlfm36", 20.0, 20.0), ("torus16", 100.0, 50.0), ("wan2x8", 100.0, 100.0)]
    {
        let fabric = Fabric::from_toml(shipped(name).unwrap(), name).unwrap();
        for link in fabric.links() {
            let expected = if fabric.is_host(link.a) || fabric.is_host(link.b) { host } else { between };
            assert_eq!(link.mbit, expected, "{name}");
        }
    }
}

#[test]
fn written_out_and_read_again_it_is_the_same() {
    let all_shipped = SHIPPED.iter().map(|&(_, text)| text);
    let some = TWO_RACKS.replace("queue = 64", "levels = 'leaf'");
    let [none, all] = ["[]", "'all'"].map(|levels| format!("levels = {levels}\n{TWO_RACKS}"));
    let hashed = format!("routing = 'ecmp'\n{}", shipped("fattree").unwrap());
    for text in all_shipped.chain([TWO_RACKS, &some, &none, &all, &hashed]) {
        let fabric = read(text).unwrap();
        let again = read(&fabric.to_toml()).unwrap();
        assert_eq!((fabric.name(), fabric.queue_packets()), (again.name(), again.queue_packets()));
        assert_eq!(names(&fabric), names(&again));
        assert_eq!(fabric.links(), again.links());
        assert_eq!(fabric.levels(), again.levels());
        assert_eq!(fabric.fixed_routes(), again.fixed_routes());
        assert_eq!(fabric.routing(), again.routing());
        assert_eq!(serde_json::to_string(&fabric).unwrap(), serde_json::to_string(&again).unwrap());
    }
}

/// Reads `TWO_RACKS` with one piece replaced and returns the error line.
fn fault(old: &str, new: &str) -> String {
    assert!(TWO_RACKS.contains(old));
    read(&TWO_RACKS.replacen(old, new, 1)).unwrap_err()
}

#[test]
fn faults_name_the_line_and_what_was_expected() {
    let cases = [
        ("queue", "kueue", "site.toml:2: unknown field `kueue`, expected one of "),
        (
            "queue = 64",
            "routing = \"valiant\"",
            "site.toml:2: routing = \"valiant\"; expected \"destination\", \"dmodk\" or \"ecmp\"",
        ),
        (
            "queue = 64",
            "routing = \"ecmp\"",
            "site.toml:2: routes are fixed beside routing = \"ecmp\", which leaves them to a hash; expected one of ",
        ),
        (
            "queue = 64",
            "levels = [\"leaf\", \"rack\"]",
            "site.toml:2: the fabric has no level 'rack'; expected all, none or default alone, or some of leaf",
        ),
        (
            "queue = 64",
            "levels = 2",
            "site.toml:2: 2 does not fit; expected \"all\", \"none\", \"default\" or names of ",
        ),
        ("queue = 64", "levels = true", "site.toml:2: invalid type: boolean `true`, expected \"all\", \"none\", "),
        ("queue = 64", "queue = 0", "site.toml:2: queue = 0; expected at least 1 packet"),
        ("queue = 64", "queue = \"x\"", "site.toml:2: invalid type: string \"x\", expected u32"),
        (
            "\"m[00-01]\"]",
            "\"m[01-00]\"]",
            "site.toml:3: the range '01-00' in 'm[01-00]' runs down; expected the smaller",
        ),
        ("\"m[00-01]\"]", "\"n1\"]", "site.toml:3: 'n1' is declared twice; expected every host and switch name once"),
        ("\"m[00-01]\"]", "\"m 0\"]", "site.toml:3: 'm 0' is not a name; expected "),
        ("\"s0\"]", "\"s0\", \"x\"]", "site.toml:4: 'x' has no link; expected at least one"),
        ("to = \"l0\"", "to = \"l7\"", "site.toml:10: 'l7' is neither a host nor a switch of this fabric; expected "),
        ("to = \"l0\"", "to = \"n1\"", "site.toml:9: a link joins the hosts 'n0' and 'n1'; expected a switch at "),
        ("to = \"l1\"", "to = \"l1\"\nrate = 1", "site.toml:15: unknown field `rate`, expected one of `from`, `to`, "),
        ("= 40.5", "= 0", "site.toml:13: the link m00 - l1 has a bandwidth of 0 Mbit/s; expected 0.001 "),
        ("= 40.5", "= -1", "site.toml:13: the link m00 - l1 has a bandwidth of -1 Mbit/s; expected 0.001 "),
        ("= 40.5", "= nan", "site.toml:13: the link m00 - l1 has a bandwidth of NaN Mbit/s; expected 0.001 "),
        ("latency = 0.5", "latency = -1", "site.toml:18: the link l0 - s0 has a latency of -1 microseconds; expected "),
        ("parallel = 2", "parallel = 0", "site.toml:18: the link l0 - s0 has parallel = 0; expected 1 to 65536 cables"),
        (
            "from = \"l[0-1]\"",
            "from = \"s0\"",
            "site.toml:18: a link joins 's0' to itself; expected two different ends",
        ),
        ("from = \"l[0-1]\"", "from = [\"l1\", \"l1\"]", "site.toml:18: 'l1' is in the list twice; expected it once"),
        (
            "parallel = 2",
            "parallel = 2\n[[link]]\nfrom = \"l0\"\nto = \"s0\"",
            "site.toml:22: a second link joins 'l0' and 's0'; expected one",
        ),
        ("from = \"l[0-1]\"", "from = 3", "site.toml:18: 3 does not fit; expected a name, a pattern such as"),
        ("from = \"l[0-1]\"", "from = \"l0\"", "site.toml:3: host 'm00' cannot be reached from host 'n0'; expected a "),
        ("[routes.l0]", "[routes.n0]", "site.toml:23: routes are given for 'n0', which is a host; expected a switch"),
        ("[routes.l0]", "[routes.x]", "site.toml:23: 'x' is neither a host nor a switch of this fabric; expected "),
        (
            "\"m[00-01]\" = \"s0\"",
            "m00 = \"l1\"",
            "site.toml:24: switch 'l0' sends to 'm00' by 'l1', which is not its neighbour; expected one of s0",
        ),
        ("\"m[00-01]\" = \"s0\"", "l1 = \"s0\"", "site.toml:24: switch 'l0' has a route to 'l1', which is a switch; "),
        (
            "\"m[00-01]\" = \"s0\"",
            "m00 = \"n1\"",
            "site.toml:24: switch 'l0' sends to 'm00' by the host 'n1'; expected ",
        ),
        (
            "\"m[00-01]\" = \"s0\"",
            "m00 = \"s0\"\n\"m[00]\" = \"s0\"",
            "site.toml:25: switch 'l0' has two routes to 'm00'",
        ),
        (
            "\"m[00-01]\" = \"s0\"",
            "n0 = \"s0\"",
            "site.toml: the routes to 'n0' run in a circle: l0 -> s0 -> l0; expected ",
        ),
    ];
    for (old, new, expected) in cases {
        let found = fault(old, new);
        assert!(found.starts_with(expected), "{new}\n  found    {found}\n  expected {expected}");
        assert!(!found.contains('\n'), "one line: {found}");
    }
}

#[test]
fn files_that_are_no_fabric() {
    assert!(read("hosts = [").unwrap_err().starts_with("site.toml:1: "));
    assert_eq!(read("").unwrap_err(), "site.toml: no hosts; expected hosts = [\"n[0-7]\", ...] or a [generator] table");
    let no_rate = "hosts = [\"a\"]\nswitches = [\"s\"]\nlink = [{ from = \"a\", to = \"s\" }]";
    let error = read(no_rate).unwrap_err();
    assert!(error.starts_with("site.toml:3: the link has no bandwidth; expected "), "{error}");
    let long = "#".repeat(MAX_FILE_BYTES + 1);
    assert_eq!(read(&long).unwrap_err(), "site.toml: the file has 16777217 bytes; expected at most 16777216");
}

#[test]
fn faults_of_generators() {
    let cases = [
        (
            "kind = \"ring\"\nbandwidth = 1",
            "site.toml:2: unknown generator 'ring'; expected star, tree, fat-tree, mlfm or torus",
        ),
        ("kind = \"star\"\nbandwidth = 1", "site.toml:2: the star generator has no hosts; expected hosts = ..."),
        ("kind = \"star\"\nhosts = 4", "site.toml:1: missing field `bandwidth`"),
        (
            "kind = \"star\"\nhosts = 4\nports = 6\nbandwidth = 1",
            "site.toml:4: 'ports' is not a parameter of the star generator; expected hosts, bandwidth or latency",
        ),
        (
            "kind = \"mlfm\"\nports = 7\nbandwidth = 1",
            "site.toml:2: ports = 7 does not fit the mlfm generator; expected an even number from 6 to 200",
        ),
        (
            "kind = \"star\"\nhosts = 4000000000\nbandwidth = 1",
            "site.toml:2: the fabric has more than 1048576 hosts and switches; expected a smaller one",
        ),
        (
            "kind = \"fat-tree\"\nports = 4\nbandwidth = 1\nlevels = [\"leaf\"]",
            "site.toml:5: invalid type: sequence, expected 2 or 3, the tiers of a fat tree; the levels that count are \
             said above [generator]",
        ),
        (
            "kind = \"torus\"\ndims = [4294967295, 4294967295, 4294967295]\nbandwidth = 1",
            "site.toml:2: dims = [4294967295, 4294967295, 4294967295] does not fit the torus generator; expected fewer \
             hosts",
        ),
        (
            "kind = \"star\"\nhosts = 4\nbandwidth = [0]",
            "site.toml:2: the link n0 - s0 has a bandwidth of 0 Mbit/s; expected 0.001 to 1000000000",
        ),
        (
            "kind = \"star\"\nhosts = 4\nbandwidth = \"fast\"",
            "site.toml:4: \"fast\" does not fit; expected a number, or a list of numbers",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(read(&format!("[generator]\n{body}")).unwrap_err(), expected);
    }
    let both = "hosts = [\"a\"]\n[generator]\nkind = \"star\"\nhosts = 2\nbandwidth = 1";
    assert_eq!(
        read(both).unwrap_err(),
        "site.toml:1: 'hosts' beside [generator]; expected only name, queue, message_latency, message_gap, routing, \
         levels and routes beside it"
    );
}
