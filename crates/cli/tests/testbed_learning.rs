//! Calls that may be measured, between the hosts of a testbed. Needs what `testbed_mpi.rs` needs.

use crate::common::bed::Bed;
use crate::common::mpi::{LIBRARIES, MPIS, compiled, is_built};
use crate::common::{nagare, stdout_of, until};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// `learning.c` for an MPI; `None`, and that is printed, without that or its library.
fn learning(bed: &Bed, (mpi, compiler): (&str, &str)) -> Option<PathBuf> {
    is_built((mpi, compiler)).then(|| compiled(bed, "tests/programs/learning.c", mpi, compiler))
}

/// What is run, and how.
#[derive(Clone, Copy)]
struct Run<'r> {
    /// Of the program.
    words: &'r [&'r str],
    /// Of `testbed run`.
    options: &'r [&'r str],
    /// `NAGARE_LEARN`.
    learn: &'r str,
}

/// Runs it on so many hosts, where calls may be measured: the bits that it tells, and its report.
fn learn(bed: &Bed, mpi: &str, program: &Path, ranks: &str, words: &[&str]) -> (String, Value) {
    run(bed, mpi, program, ranks, Run { words, options: &[], learn: "on" })
}

/// The same as `run` says.
fn run(bed: &Bed, mpi: &str, program: &Path, ranks: &str, run: Run) -> (String, Value) {
    let (file, [report, said]) = (bed.file(), ["report.json", "said"].map(|name| bed.path(name)));
    // Of a job before: another is not written over it.
    let _ = std::fs::remove_file(&report);
    let options = ["testbed", "run", &file, "--lib", LIBRARIES, "--mpi", mpi, "--np", ranks];
    let mut job = nagare(&[&options[..], run.options, &["--", program.to_str().unwrap()], run.words].concat());
    job.env("NAGARE_REPORT", &report).env("NAGARE_LEARN", run.learn).env_remove("NAGARE_TOPOLOGY");
    let mut job = job.stdin(Stdio::null()).stdout(File::create(&said).unwrap()).spawn().unwrap();
    // Debian's MPICH 4.0 may hang in MPI_Finalize over TCP, whatever it runs on (docs/testbed.md): both come before.
    let report = until("report", || {
        let read = std::fs::read(&report).ok().and_then(|text| serde_json::from_slice(&text).ok());
        assert!(
            read.is_some() || job.try_wait().unwrap().is_none_or(|ended| ended.success()),
            "{mpi}: {:?}",
            run.words
        );
        read
    });
    let bits = until("line with the bits", || {
        let said = std::fs::read_to_string(&said).ok()?;
        said.lines().find(|line| line.starts_with("learning bits=")).map(str::to_owned)
    });
    if mpi == "mpich" && job.try_wait().unwrap().is_none() {
        assert!(Command::new("kill").arg(job.id().to_string()).status().unwrap().success());
    }
    assert!(job.wait().unwrap().success() || mpi == "mpich");
    (bits, report)
}

/// Calls of the collective, in the rows that are meant.
fn calls(report: &Value, collective: &str, is_meant: impl Fn(&Value) -> bool) -> Vec<u64> {
    let rows = report["rows"].as_array().unwrap().iter();
    let meant = rows.filter(|row| row["collective"] == collective && is_meant(row));
    meant.map(|row| row["calls"].as_u64().unwrap()).collect()
}

/// Where a fabric tells that ours are far faster, calls run on them after the first few, since the library's take what
/// is predicted of them. On a busy machine the first ones may take twice that; then nothing is believed, and the job
/// runs again. Where nothing is believed in five jobs, and the calls of none were slow, the machine is not the reason.
#[test]
fn what_is_predicted_to_be_far_faster_runs_after_the_first_few_calls() {
    let Some(bed) = Bed::up("tree8", "begin") else { return };
    let Some(program) = learning(&bed, MPIS[0]) else { return };
    let predicted = ["predict", "allgather", "--fabric", "tree8", "--np", "8", "--sizes", "4K", "--json"];
    let predicted: Value = serde_json::from_str(&stdout_of(&predicted)).unwrap();
    let predicted = predicted["sizes"][0]["stock_ms"].as_f64().unwrap() / 1e3;
    let mut was_slow = false;
    for _ in 0..5 {
        let (_, report) = learn(&bed, MPIS[0].0, &program, "8", &["collective=allgather", "bytes=4096", "calls=8"]);
        let is_early = |row: &Value| row["reason"] == "not yet worth trying";
        let early: u64 = calls(&report, "allgather", is_early).iter().sum();
        let ours = calls(&report, "allgather", |row| row["algorithm"] != "stock");
        if (1..=4).contains(&early) && !ours.is_empty() {
            return;
        }
        let rows = report["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["collective"] == "allgather" && is_early(row)).expect("early calls");
        let took = row["max_seconds"].as_f64().unwrap() / early as f64;
        was_slow |= took > 1.5 * predicted;
        eprintln!("{took} s a call, predicted {predicted}");
    }
    assert!(was_slow, "in five jobs calls stayed with a library that takes what is predicted");
    eprintln!("skipped: the machine is too busy for calls to take what is predicted of them");
}

/// Seven blocks of 64 KiB are more packets than the queue of the root's host holds: where the library's calls take
/// longer than its links account for, here since the root is late, calls try `direct` beside it, but not on a
/// communicator of the pool, where nothing is measured.
#[test]
fn a_scatter_that_may_overflow_a_queue_tries_another_order_where_it_is_measured() {
    let Some(bed) = Bed::up("tree8", "scatter") else { return };
    let Some(program) = learning(&bed, MPIS[0]) else { return };
    for (idup, may_be_ours) in [("idup=no", true), ("idup=yes", false)] {
        let words = ["collective=scatter", "bytes=65536", "calls=12", "late=300", idup];
        let (_, report) = learn(&bed, MPIS[0].0, &program, "8", &words);
        let of = |is_stock| calls(&report, "scatter", |row| (row["algorithm"] == "stock") == is_stock);
        let [stock, ours]: [u64; 2] = [true, false].map(|is_stock| of(is_stock).iter().sum());
        assert_eq!((stock + ours, ours > 0), (12, may_be_ours), "{idup}: {report:#}");
    }
}

/// A Bcast of 4 KiB is predicted to take the library twice as long as ours where links have 10 Mbit/s. So calls, which
/// are long here since the root is late, try ours after the first two, of which nothing is predicted on eight nodes;
/// but not on a communicator of the pool.
#[test]
fn a_short_bcast_tries_ours_where_it_is_measured() {
    const STAR: &str = "queue = 128\n[generator]\nkind = 'star'\nhosts = 8\nbandwidth = 10\nlatency = 5\n";
    let Some(bed) = Bed::of(STAR, "slow-bcast").brought_up() else { return };
    let Some(program) = learning(&bed, MPIS[0]) else { return };
    for (idup, may_be_ours) in [("idup=no", true), ("idup=yes", false)] {
        let words = ["collective=bcast", "bytes=4096", "calls=14", "late=300", idup];
        let (_, report) = learn(&bed, MPIS[0].0, &program, "8", &words);
        let of = |is_meant: &dyn Fn(&Value) -> bool| calls(&report, "bcast", is_meant).iter().sum::<u64>();
        let [all, ours] = [of(&|_| true), of(&|row| row["algorithm"] != "stock")];
        assert_eq!((all, ours > 0), (14, may_be_ours), "{idup}: {report:#}");
        let unpredicted = of(&|row| row["reason"] == "below threshold");
        assert_eq!(unpredicted == 2, may_be_ours, "{idup}: {report:#}");
    }
}

/// Rounded sums between hosts are combined in one order in all calls and all runs, whatever they take, and nothing is
/// measured for them. On five hosts all of these are predicted to be faster on ours, with both libraries.
#[test]
fn bits_do_not_depend_on_times() {
    const SUMS: [&str; 4] = ["allreduce", "reduce", "reduce_scatter_block", "reduce_scatter"];
    let Some(bed) = Bed::up("tree8", "bits") else { return };
    let list = format!("collective={}", SUMS.join(","));
    let words = [list.as_str(), "kind=double", "bytes=163840", "calls=12"];
    for (mpi, compiler) in MPIS {
        let Some(program) = learning(&bed, (mpi, compiler)) else { continue };
        let bits = [0, 3].map(|busy| {
            let (bits, report) = beside(busy, || learn(&bed, mpi, &program, "5", &words));
            for sum in SUMS {
                // All calls of one algorithm; reductions of a few bytes are the program's own.
                assert_eq!(calls(&report, sum, |row| row["algorithm"] != "stock"), [12], "{mpi} {sum}: {report:#}");
            }
            assert_eq!(report.get("learned"), None, "{mpi}: {report:#}");
            bits
        });
        assert_eq!(bits[0], bits[1], "{mpi}");
    }
}

/// What a job runs on a network of which it does not know all: its bits, and its report, which tells what a test of the
/// network has found. On a busy machine trials may not be earned, or the time for a test be over too soon; then the job
/// runs again, up to five times. `None` if the machine was busy each time; else whether it was idle before and after.
fn tested(bed: &Bed, mpi: &str, program: &Path, ranks: &str, how: Run) -> Option<(String, Value, bool)> {
    let mut in_vain = 0;
    for _ in 0..5 {
        let was_busy = is_busy();
        let (bits, report) = run(bed, mpi, program, ranks, how);
        let is_idle = !was_busy && !is_busy();
        if report["self_test"]["gap_us"].is_f64() {
            return Some((bits, report, is_idle));
        }
        eprintln!("{mpi}: {} on a machine that is {}", report["self_test"], if is_idle { "idle" } else { "busy" });
        in_vain += u32::from(is_idle);
        assert!(in_vain < 3, "{mpi}: no test of the network has found anything: {report:#}");
    }
    eprintln!("skipped: the machine is too busy for a test of its network");
    None
}

/// Whether a thread for each processor has less than nine tenths of it for a tenth of a second.
fn is_busy() -> bool {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = || {
        // Nanoseconds that this thread has run.
        let run = || {
            let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
            text.split_whitespace().next().and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0)
        };
        let (start, before) = (Instant::now(), run());
        while start.elapsed() < Duration::from_millis(100) {
            std::hint::spin_loop();
        }
        (run() - before) / start.elapsed().as_nanos() as f64
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(share)).collect();
        all.into_iter().any(|thread| thread.join().expect("a share") < 0.9)
    })
}

/// Where nobody tells the job of its network it tests that, once, before it measures calls, and finds what links carry
/// and what messages cost: about 20 or 80 Mbit/s, not the 10 Gbit/s that their machines claim. Where the fabric's file
/// tells the links, it finds what the file does not say.
#[test]
fn a_job_tests_a_network_that_it_was_not_told_of() {
    let words = ["collective=bcast", "bytes=262144", "calls=20"];
    for (mpi, compiler) in MPIS {
        for rate in [20.0, 80.0] {
            let Some(bed) = star(5, rate, "self-test").brought_up() else { return };
            let Some(program) = learning(&bed, (mpi, compiler)) else { continue };
            let untold = Run { words: &words, options: &["--untold"], learn: "on" };
            let Some((_, report, is_idle)) = tested(&bed, mpi, &program, "5", untold) else { continue };
            let test = &report["self_test"];
            let number = |name: &str| test[name].as_f64().unwrap_or_else(|| panic!("{name}: {report:#}"));
            // Among busy processors messages wait, and then arrive at once.
            let [least, most] = if is_idle { [rate / 4.0, rate * 1.5] } else { [0.1, 5000.0] };
            assert!((least..most).contains(&number("host_goodput")), "{rate} Mbit/s, idle {is_idle}: {report:#}");
            assert!(number("latency_us") > 1.0 && number("gap_us") > 0.01, "{report:#}");

            let told = Run { options: &[], ..untold };
            let Some((_, report, _)) = tested(&bed, mpi, &program, "5", told) else { continue };
            let test = &report["self_test"];
            assert!(test.get("host_goodput").is_none() && test.get("latency_us").is_none(), "{report:#}");
        }
    }
}

/// So many hosts on one switch, with links of so many Mbit/s.
fn star(hosts: u32, rate: f64, test: &str) -> Bed {
    let generator = format!("kind = 'star'\nhosts = {hosts}\nbandwidth = {rate}\nlatency = 5\n");
    Bed::of(&format!("queue = 128\n[generator]\n{generator}"), &format!("{test}-{rate}"))
}

/// What a test of the network finds counts for what moves data, not for sums that round: they run on the same algorithm
/// and have the same bits in a job that has tested it, in one that has found something else, and in one that has not.
#[test]
fn bits_do_not_depend_on_a_test_of_the_network() {
    const SUMS: [&str; 2] = ["allreduce", "reduce"];
    let list = format!("collective=bcast,{}", SUMS.join(","));
    let words = [list.as_str(), "kind=double", "bytes=163840", "calls=12"];
    for (mpi, compiler) in MPIS {
        let mut seen = Vec::new();
        for (rate, learn) in [(100.0, "on"), (20.0, "on"), (100.0, "off")] {
            let Some(bed) = star(5, rate, &format!("bits-{learn}")).brought_up() else { return };
            let Some(program) = learning(&bed, (mpi, compiler)) else { continue };
            let how = Run { words: &words, options: &["--untold"], learn };
            let (bits, report) = match learn {
                "on" => match tested(&bed, mpi, &program, "5", how) {
                    Some((bits, report, _)) => (bits, report),
                    None => continue,
                },
                _ => run(&bed, mpi, &program, "5", how),
            };
            assert_eq!(report.get("self_test").is_some(), learn == "on", "{mpi}: {report:#}");
            let ran = SUMS.map(|sum| {
                let rows = report["rows"].as_array().unwrap().iter();
                let row =
                    rows.filter(|row| row["collective"] == sum && row["max_bytes"] == 163_840).collect::<Vec<_>>();
                assert_eq!((row.len(), &row[0]["calls"]), (1, &12.into()), "{mpi} {sum}: {report:#}");
                row[0]["algorithm"].clone()
            });
            assert!(ran.iter().any(|algorithm| algorithm != "stock"), "{mpi}: {report:#}");
            seen.push((bits, ran));
        }
        assert!(seen.iter().all(|job| *job == seen[0]), "{mpi}: {seen:?}");
    }
}

/// Does it while so many threads keep processors busy.
fn beside<T>(busy: usize, what: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        // They end with this, also where it panics.
        let running = Arc::new(());
        for _ in 0..busy {
            let running = Arc::downgrade(&running);
            scope.spawn(move || {
                while running.strong_count() > 0 {
                    std::hint::spin_loop();
                }
            });
        }
        what()
    })
}
