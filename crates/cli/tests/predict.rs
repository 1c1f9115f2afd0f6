//! `nagare predict`: times by algorithm and size, the limit, and what runs where no call is measured.

use crate::common::{failure_of, rows, stdout_of};
use serde_json::Value;

#[test]
fn times_the_limit_and_the_choice_of_every_size() {
    let words = ["predict", "allreduce", "-f", "tree8", "--ppn", "2", "--sizes", "16K,1M"];
    let text = stdout_of(&words);
    let document: Value = serde_json::from_str(&stdout_of(&[&words[..], &["--json"]].concat())).unwrap();
    let sizes = document["sizes"].as_array().unwrap();
    assert_eq!((sizes.len(), &document["ranks"], &document["nodes"]), (2, &16.into(), &8.into()));
    // 2 n (N - 1) / N at 100 Mbit/s, of which 1448 of 1514 bytes are data.
    let limit = 2.0 * f64::from(1 << 20) * 7.0 / 8.0 * 8.0 / (100e6 * 1448.0 / 1514.0) * 1e3;
    assert!((sizes[1]["limit_ms"].as_f64().unwrap() / limit - 1.0).abs() < 1e-9, "{document}");
    assert_eq!((&sizes[0]["runs"], &sizes[0]["reason"]), (&Value::Null, &"below threshold".into()));
    let (runs, times) = (sizes[1]["runs"].as_str().unwrap(), sizes[1]["algorithms_ms"].as_object().unwrap());
    let fastest = times.values().map(|time| time.as_f64().unwrap()).fold(f64::INFINITY, f64::min);
    assert_eq!(times[runs].as_f64(), Some(fastest), "{document}");
    assert!(fastest >= limit && fastest < sizes[1]["stock_ms"].as_f64().unwrap(), "{document}");
    // The same as a table.
    let rows = rows(&text);
    let row = |name: &str| rows.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("{name}: {text}"));
    assert_eq!(row(runs)[2], format!("{fastest:.3} *"));
    assert!(row("stock")[1].ends_with(" *") && !row("stock")[2].ends_with('*'), "{text}");
    assert!(text.contains("stock at 16K: below threshold\n"), "{text}");
}

/// On a torus a root's link is slower for a pipeline than for tokens where blocks are long, and Open MPI's Scatter,
/// which sends to all at once, fills it by itself; MPICH's binomial tree does not.
#[test]
fn what_a_torus_gathers_and_scatters_is_compared_with_the_library() {
    let torus = |collective: &str, library: &str| {
        let sizes = ["-f", "torus16", "--sizes", "32K,64K", "--library", library];
        stdout_of(&[&["predict", collective], &sizes[..]].concat())
    };
    let chosen = |text: &str| -> Vec<String> {
        let of = |column: usize| {
            let chosen: Vec<_> = rows(text).into_iter().filter(|row| row[column].ends_with(" *")).collect();
            assert_eq!(chosen.len(), 1, "{text}");
            chosen[0][0].clone()
        };
        vec![of(1), of(2)]
    };
    let gather = torus("gather", "openmpi4");
    assert_eq!(chosen(&gather), ["relay", "direct"], "{gather}");
    assert!(gather.contains("direct, relay: chosen by the network, unless the library"), "{gather}");
    let scatter = torus("scatter", "openmpi4");
    assert_eq!(chosen(&scatter), ["stock", "stock"], "{scatter}");
    assert!(scatter.contains("stock at 32K, 64K: stock as fast"), "{scatter}");
    assert_eq!(chosen(&torus("scatter", "mpich")), ["relay", "relay"]);
}

/// By hand: of 64 KiB 15 blocks of every host in segments of 16 KiB. What runs is chosen by queues and links.
#[test]
fn exchanges_have_a_choice() {
    let text = stdout_of(&["predict", "alltoall", "-f", "star16", "--sizes", "64,64K"]);
    let rows = rows(&text);
    let row = |name: &str| rows.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("{name}: {text}"));
    // 50 Mbit/s, a header of 80 bytes for every segment, 100 us from one to the next, and the way of the last packet.
    let per_byte = 8.0 / 50e6 * 1514.0 / 1448.0;
    let sent = 15.0 * 65536.0 * (1.0 + 80.0 / 16384.0);
    let way = 80e-6 + 2.0 * 5e-6 + 1514.0 * per_byte;
    let seconds = f64::hypot(sent * per_byte, sent / 16464.0 * 100e-6) + way;
    assert_eq!(row("two_level_ring")[2], format!("{:.3} *", seconds * 1e3));
    assert_eq!(row("xor")[2], row("contention_free")[2]);
    assert!(row("stock")[1].ends_with(" *") && !row("stock")[2].ends_with('*'), "{text}");
    for line in [
        "two_level_ring: chosen by the network, not by predicted time",
        "contention_free, xor, aggregated: may be tried in calls that are measured, by what is predicted \
         (docs/algorithms.md, \"What runs by default\")",
        "ring_exchange: run where NAGARE_ALGORITHM says so",
    ] {
        // Lines of the terminal end where it does.
        let shown = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(line), "no {line} in {text}");
    }
    let text = stdout_of(&["predict", "reduce", "-f", "star16", "--sizes", "1M"]);
    assert!(
        text.contains("\ntwo_tree: not predicted here: the same")
            && !text.contains("stock: ")
            && !text.contains("chosen by"),
        "{text}"
    );
}

/// On sixteen hosts of a switch, where what each collective of a library asks of the busiest link is easily counted.
#[test]
fn the_library_s_own_time_of_all_collectives() {
    // Of data, milliseconds per byte at 50 Mbit/s.
    let per_byte = 8e3 / (50e6 * 1448.0 / 1514.0);
    let bytes = f64::from(1 << 18);
    let stock_with = |collective: &str, library: &str, options: &[&str]| {
        let words = ["predict", collective, "-f", "star16", "--sizes", "256K", "--library", library, "--json"];
        let document: Value = serde_json::from_str(&stdout_of(&[&words, options].concat())).unwrap();
        document["sizes"][0]["stock_ms"].as_f64().unwrap_or_else(|| panic!("{document:#}")) / (bytes * per_byte)
    };
    let stock = |collective: &str, library: &str| stock_with(collective, library, &[]);
    // Vectors or blocks that the busiest link carries, beyond which there are messages and latency.
    for (collective, open_mpi, mpich) in [
        // To 1, 2, 4 and 8, then from 1 to three, and so on; scattered and gathered.
        ("bcast", 4.0 + 3.0 + 2.0 + 1.0, 2.0 * 15.0 / 16.0),
        // Halves that pairs exchange; MPICH's take half as long again beyond 16 KiB.
        ("reduce", 4.0, 2.0 * (1.5 * 14.0 + 1.0) / 16.0),
        ("alltoall", 15.0, 15.0),
        ("alltoallv", 15.0, 15.0),
        ("alltoallw", 15.0, 15.0),
        ("gather", 15.0, 15.0),
        ("scatter", 15.0, 15.0),
        // Pairs take turns with Open MPI.
        ("allgather", 2.0 * 15.0, 15.0),
        ("reduce_scatter_block", 2.0 * 15.0, 1.5 * 15.0),
        ("reduce_scatter", 15.0, 1.5 * 15.0),
    ] {
        for (library, expected) in [("openmpi4", open_mpi), ("mpich", mpich)] {
            let found = stock(collective, library);
            assert!((1.0..1.1).contains(&(found / expected)), "{collective}, {library}: {found}, expected {expected}");
        }
        assert!(stock(collective, "openmpi5") > 0.0);
    }
    let over_rdma = stock_with("allreduce", "mpich", &["--lossless"]) * 16.0 / 15.0;
    assert!((2.0..2.2).contains(&over_rdma), "in step: {over_rdma}");
}

/// 4394 hosts: a schedule that uses every link once is predicted so, by the routes of the fabric.
#[test]
fn schedules_of_thousands_of_hosts() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("fat.toml");
    let text = "name = \"fat\"\n[generator]\nkind = \"fat-tree\"\nports = 26\nlevels = 3\nbandwidth = 1000\n";
    std::fs::write(&file, text).unwrap();
    let arguments = ["predict", "bcast", "-f", file.to_str().unwrap(), "--sizes", "16M", "--json"];
    let document: Value = serde_json::from_str(&stdout_of(&arguments)).unwrap();
    let size = &document["sizes"][0];
    let time = |algorithm: &str| size["algorithms_ms"][algorithm].as_f64().unwrap();
    let limit = size["limit_ms"].as_f64().unwrap();
    assert!((limit..1.4 * limit).contains(&time("circulant")), "{size:#}");
    // Its representatives pass the vector on twice.
    assert!(time("grouped_two_tree") > 2.0 * limit, "{size:#}");
    assert_eq!(size["runs"], "circulant", "{size:#}");
    // The root scatters the vector, then all exchange what they have.
    assert!(size["stock_ms"].as_f64().unwrap() > 1.9 * limit, "{size:#}");
    let text = stdout_of(&["predict", "alltoall", "-f", file.to_str().unwrap(), "--sizes", "64K"]);
    assert!(text.ends_with("\nstock: not predicted on so many ranks\n"), "{text}");
}

#[test]
fn what_is_assumed_of_software_is_told_where_links_are_faster() {
    let directory = tempfile::tempdir().unwrap();
    let fabric = |mbit: u32| {
        let path = directory.path().join(format!("{mbit}.toml"));
        std::fs::write(&path, format!("[generator]\nkind = 'star'\nhosts = 4\nbandwidth = {mbit}\n")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let told = |mbit, more: &[&str]| {
        let text = stdout_of(&[&["predict", "bcast", "-f", &fabric(mbit)][..], more].concat());
        text.contains("\na rank sends at most 10000 Mbit/s, as over TCP\n")
    };
    assert!(told(40_000, &[]));
    assert!(!told(40_000, &["--lossless"]) && !told(1000, &[]) && !told(40_000, &["--ppn", "2"]));
    // Two ranks on each of two processors.
    let text = stdout_of(&["predict", "bcast", "-f", &fabric(40_000), "--processors", "2"]);
    let messages = "\nmessage latency 40 microseconds, gap to the next message 14\n";
    assert!(text.contains(&format!("{messages}a rank sends at most 5000 Mbit/s, as over TCP\n")), "{text}");
    assert!(told(40_000, &["--processors", "4"]));
}

/// The costs of a profile come before those of the fabric's file; on as many ranks and nodes its rules hold.
#[test]
fn what_was_measured_is_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (fabric, profile) = (path("small.toml"), path("measured.toml"));
    let costs = "name = 'small'\nmessage_latency = 20\nmessage_gap = 7\n";
    std::fs::write(&fabric, format!("{costs}[generator]\nkind = 'star'\nhosts = 8\nbandwidth = 100\n")).unwrap();
    let text = "schema = 1\n[measured]\nmpi = 'any'\nnetwork = 'small'\nranks = 8\nnodes = 8\n[network]\n\
                message_latency = 61\nmessage_gap = 71\n[[fastest]]\ncollective = 'bcast'\nbytes = 1024\n\
                algorithm = 'chain'\nstock_us = 9.0\nus = 1.0\n[[fastest]]\ncollective = 'bcast'\n\
                bytes = 65536\nalgorithm = 'stock'\nstock_us = 1.0\nus = 1.0\n";
    std::fs::write(&profile, text).unwrap();
    let words = ["predict", "bcast", "-f", &fabric, "--sizes", "1K,64K,1M"];
    let without = stdout_of(&words);
    assert!(without.contains("\nmessage latency 20 microseconds, gap to the next message 7\n"), "{without}");
    let with = |more: &[&str]| stdout_of(&[&words[..], &["--profile", &profile], more].concat());
    let text = with(&[]);
    assert!(text.contains("\nmessage latency 61 microseconds, gap to the next message 71\n"), "{text}");
    let rows = rows(&text);
    let row = |name: &str| rows.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("{name}: {text}"));
    assert!(row("chain")[1].ends_with(" *") && row("stock")[2].ends_with(" *"), "{text}");
    // Messages leave a host 71 µs apart instead of 7 to 70: longer segments.
    let segment = |text: &str| -> u64 {
        let document: Value = serde_json::from_str(text).unwrap();
        document["sizes"][2]["segment"].as_u64().unwrap()
    };
    let cheap = stdout_of(&[&words[..], &["--json"]].concat());
    assert!(segment(&with(&["--json"])) > segment(&cheap), "{cheap}");
    // On other ranks the costs alone.
    assert!(!text.contains("measured on other"), "{text}");
    let text = with(&["--np", "6"]);
    assert!(
        text.contains("; its sizes were measured on other ranks") && text.contains("gap to the next message 71\n"),
        "{text}"
    );
    assert!(text.contains("stock at 1K: below threshold\n"), "{text}");
    let (status, error) = failure_of(&["predict", "bcast", "-f", "star16", "--profile", &profile]);
    assert!(status == 2 && error.contains("was measured on small, this is star16"), "{status}: {error}");
}
