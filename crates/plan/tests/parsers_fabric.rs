//! Fabric files and profiles, whatever is in them: never a panic, no more memory than a network of the largest size
//! takes, one clear line; and what was understood can be written, placed, routed and planned on.

mod support {
    pub mod everything;
}

use nagare_mutate::{Counting, assert_clear, bytes, cases, checked, texts};
use nagare_plan::choice::Rules;
use nagare_plan::collective::Collective;
use nagare_plan::fabric::{Fabric, HostId, Placement, Router, SHIPPED};
use nagare_plan::profile::Profile;
use nagare_plan::topology::Source;
use proptest::prelude::*;
use support::everything::{plans_of_everything, topology};

#[global_allocator]
static MEMORY: Counting = Counting;

const FILES: &[&str] = &[
    r#"name = "two racks"
queue = 64
message_latency = 90
message_gap = 20.5
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
"#,
    r#"torus = [2, 3]
hosts = ["n[0-5]"]
switches = ["t[0-5]"]
bandwidth = 50
link = [
    { from = "n0", to = "t0" }, { from = "n1", to = "t1" }, { from = "n2", to = "t2" },
    { from = "n3", to = "t3" }, { from = "n4", to = "t4" }, { from = "n5", to = "t5" },
    { from = "t0", to = ["t1", "t2", "t3"] }, { from = "t4", to = ["t1", "t3", "t5"] },
    { from = "t1", to = "t2" }, { from = "t2", to = "t5" }, { from = "t3", to = "t5" },
]
"#,
    "name = 'star'\nqueue = 16\n[generator]\nkind = \"star\"\nhosts = 6\nbandwidth = 100\nlatency = 5\n",
    "[generator]\nkind = \"tree\"\nchildren = [3, 2, 2]\nbandwidth = [100, 50]\nlatency = [5, 1, \
     0.5]\n[routes.l0]\nn11 = 'a0'\n",
    "levels = \"leaf\"\n[generator]\nkind = \"fat-tree\"\nports = 4\nlevels = 2\nhosts_per_leaf = 3\nbandwidth = 25\n",
    "queue = 2\nlevels = ['group', 'leaf']\n[generator]\nkind = \"mlfm\"\nports = 6\nbandwidth = 20\nlatency = 0\n",
    "[generator]\nkind = \"torus\"\ndims = [3, 2, 2]\nhosts_per_switch = 2\nbandwidth = [100, 50, 10, 10]\n",
];

const WORDS: &[&str] = &[
    "n[0-3]",
    "l0",
    "s0",
    "hosts",
    "switches",
    "[[link]]\n",
    "[generator]\n",
    "[routes.s0]\n",
    "bandwidth = 10\n",
    "latency",
    "torus = [2, 3]\n",
    "levels = 'all'\n",
    "'leaf'",
    "from",
    "to = \"s0\"\n",
    "parallel",
    "kind",
    "\"torus\"",
    "dims",
    "true",
    "1979-05-27",
    "[0-9]",
    "[a-z]",
];

const PROFILES: &[&str] = &[
    r#"schema = 1
[measured]
mpi = "Open MPI v4.1.4"
network = "tree8"
ranks = 16
nodes = 8
date = "2026-11-23"
[network]
message_latency = 66.5
host_goodput = 95
[[pair]]
within = "node"
latency = 0.5
goodput = 41000
eager = 4064
rendezvous = 1.5
assumed = 3840
[reduction]
int = 0.2
double = 0.25
[[fastest]]
collective = "bcast"
bytes = 65536
algorithm = "two_tree"
us = 10800
stock_us = 61000.5
[[fastest]]
collective = "alltoall"
bytes = 8
algorithm = "stock"
us = 1
stock_us = 1
"#,
    "schema = 1\nmeasured = { mpi = 'M', network = 'levels node', ranks = 2, nodes = 2 }\nfastest = [ { collective = \
     'gather', bytes = 9223372036854775807, algorithm = 'relay', us = 1e12, stock_us = 1e-9 } ]\n",
];

const PROFILE_WORDS: &[&str] = &[
    "[[fastest]]\n",
    "[measured]\n",
    "[network]\n",
    "\"chain\"",
    "\"stock\"",
    "'allreduce'",
    "bytes = 0\n",
    "us = -1\n",
    "nan",
    "inf",
    "9223372036854775807",
    "1e308",
    "{ collective",
];

fn profile(text: &str) {
    match Profile::from_toml(text, "site.toml") {
        Ok(profile) => {
            assert_eq!(Profile::from_toml(&profile.to_toml(), "site.toml"), Ok(profile.clone()));
            let rules = Rules::default().before(&profile.all_rules());
            for collective in Collective::ALL {
                assert!(rules.floor(collective) <= rules.floor_on(collective, 2, 0));
            }
        }
        Err(error) => {
            assert_clear(&error.to_string());
            assert!(error.to_string().starts_with("site.toml:"), "no place: {error}");
        }
    }
}

/// Beyond this many hosts and links, what takes longer than reading is left out.
const SMALL: usize = 2000;

fn read(text: &str) -> Option<Fabric> {
    match Fabric::from_toml(text, "site.toml") {
        Ok(fabric) => Some(fabric),
        Err(error) => {
            let message = error.to_string();
            assert_clear(&message);
            assert!(message.starts_with("site.toml:"), "no place: {message}");
            assert!(error.line.is_none_or(|line| (1..=text.lines().count().max(1) + 1).contains(&line)), "{message}");
            None
        }
    }
}

fn fabric(text: &str) {
    let Some(fabric) = read(text) else { return };
    if fabric.host_count() + fabric.links().len() > SMALL {
        return;
    }
    let again =
        Fabric::from_toml(&fabric.to_toml(), "site.toml").unwrap_or_else(|e| panic!("{e}\n{}", fabric.to_toml()));
    assert_eq!(again.to_toml(), fabric.to_toml());
    assert_eq!(
        (again.links(), again.fixed_routes(), again.torus()),
        (fabric.links(), fabric.fixed_routes(), fabric.torus())
    );
    let mut router = Router::new(&fabric);
    let last = HostId(fabric.host_count() as u32 - 1);
    for host in fabric.hosts() {
        let route = router.route(host, last);
        assert_eq!(route.last().map(|&l| fabric.as_host(fabric.end(l))), (host != last).then_some(Some(last)));
    }
}

/// As in the library: the ranks' hosts are found by name, and everything is planned.
fn planned(text: &str, ranks: usize, map: usize) {
    let Some(fabric) = read(text).filter(|fabric| fabric.host_count() + fabric.links().len() <= SMALL) else { return };
    let ppn = ranks.div_ceil(fabric.host_count()).max(1 + map / 3);
    let place = [Placement::by_slot, Placement::by_node, Placement::balanced][map % 3];
    let placement = place(&fabric, ranks, ppn).expect("room");
    let source = Source::fabric(text, "site.toml").expect("as before");
    let host = |rank| fabric.node_name(placement.host(rank).expect("a rank")).to_owned();
    plans_of_everything(topology(&source, ranks as u32, host).expect("nested levels"));
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn profiles(text in texts(PROFILES, PROFILE_WORDS)) {
        checked(text.as_str(), profile);
    }

    #[test]
    fn files(text in texts(FILES, WORDS)) {
        checked(text.as_str(), fabric);
    }

    /// The library reads bytes and takes them for a text where they are one.
    #[test]
    fn files_of_bytes(bytes in bytes(FILES, WORDS)) {
        checked(&bytes, |bytes| String::from_utf8(bytes.clone()).map(|text| read(&text)).is_ok());
    }
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn plans_on_any_fabric(text in texts(FILES, WORDS), ranks in 1usize..9, map in 0usize..6) {
        checked(&(text, ranks, map), |(text, ranks, map)| planned(text, *ranks, *map));
    }
}

#[test]
fn shipped_fabrics_are_read_planned_and_written_again() {
    for (_, text) in SHIPPED {
        checked(*text, fabric);
        planned(text, 5, 1);
    }
}

/// Short files that asked for more memory or time than there is, and texts that broke an error line.
#[test]
fn files_that_once_failed() {
    let patterns = |count: usize| vec!["'n[0-1048574]'"; count].join(", ");
    let chain = |hosts: usize, switches: usize| {
        let tower =
            (1..switches).map(|s| format!("{{ from = 's{}', to = 's{s}' }}", s - 1)).collect::<Vec<_>>().join(",\n");
        format!(
            "hosts = ['n[0-{hosts}]']\nswitches = ['s[0-{switches}]']\nbandwidth = 1\nlink = [{{ from = \
             'n[0-{hosts}]', to = 's0' }}, {{from = 's0', to = 's{switches}'}},\n{tower}]"
        )
    };
    let together = |count: usize| {
        let own = (0..count).map(|i| format!("{{ from = 'n{i}', to = 't{i}' }}")).collect::<Vec<_>>().join(",\n");
        format!(
            "hosts = ['n[0-{0}]']\nswitches = ['s', 't[0-{0}]']\nbandwidth = 1\nlink = [{{ from = 'n[0-{0}]', to = 's' \
             }},\n{own}]",
            count - 1
        )
    };
    let routes: String = (0..40).map(|s| format!("[routes.s{s}]\n'n[0-99999]' = 's{}'\n", s + 1)).collect();
    let line = "[[link]]\nfrom = 'n[0-1048574]'\nto = []\n";
    let control = |text: &str| format!("{text} = \"\\u001b[31m\\n\"");
    let texts = [
        "[generator]\nkind = 'torus'\ndims = [4294967295, 4294967295]\nbandwidth = 1".to_owned(),
        "[generator]\nkind = 'torus'\ndims = [1, 1]\nhosts_per_switch = 4294967295\nbandwidth = 1".to_owned(),
        "[generator]\nkind = 'star'\nhosts = 4294967295\nbandwidth = 1".to_owned(),
        "[generator]\nkind = 'tree'\nchildren = [65536, 65536, 65536, 65536, 2]\nbandwidth = 1".to_owned(),
        "[generator]\nkind = 'fat-tree'\nports = 4096\nbandwidth = 1".to_owned(),
        format!(
            "hosts = ['n[0-1048574]']\nswitches = ['s']\nbandwidth = 1\n[[link]]\nfrom = [{}]\nto = 's'",
            patterns(100_000)
        ),
        format!("hosts = ['n[0-1048574]']\nswitches = ['s']\nbandwidth = 1\n{}", line.repeat(10_000)),
        format!("{}\n{routes}", chain(99_999, 100)),
        "[".repeat(1 << 20),
        format!("hosts = {}", "[".repeat(1 << 16)),
        format!("hosts = ['{}']", "[0-9]".repeat(1 << 10)),
        "[generator]\nkind = 'star'\nhosts = 2\nbandwidth = 1e-308".to_owned(),
        "[generator]\nkind = 'star'\nhosts = 2\nbandwidth = [1, nan]\nlatency = 1e300".to_owned(),
        control("name"),
        control("hosts"),
        "\"\u{202e}\" = 1".to_owned(),
        format!("{} = 1", "x".repeat(1 << 20)),
        format!("name = '{}'", "x".repeat(1 << 20)),
    ];
    for text in texts {
        checked(&text, |text| assert!(read(text).is_none(), "{text:.200}"));
    }
    // Read, but not for hours.
    checked(&(), |()| read(&chain(9999, 20_000)).expect("a tower of switches").levels());
    checked(&together(5000), |text| assert!(read(text).is_none()));
}
