//! Buffers in the memory of a device, of which a driver knows that stands in for CUDA's or ROCm's: calls with them are
//! the MPI library's, on all ranks.

use nagare_harness::{Job, Mpi, Outcome, compile_with};

const COLLECTIVES: [&str; 4] = ["bcast", "allreduce", "alltoall", "alltoallw"];

/// What the driver is, and how it is compiled. ROCm 5 and 6 call memory of the device by different numbers.
const CUDA: (&str, &str) = ("libcuda.so.1", "");
const ROCM: [(&str, &str); 3] =
    [("libamdhip64.so.5", "-DROCM=5"), ("libamdhip64.so.6", "-DROCM=6"), ("libamdhip64.so", "-DROCM=6")];

fn job(mpi: Mpi, (name, option): (&str, &str), on: &str) -> Job {
    let soname = format!("-Wl,-soname,{name}");
    let words = ["-shared", "-fPIC", &soname, option];
    let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let driver = compile_with(mpi, "tests/programs/device_driver.c", &format!("_{name}"), &words);
    let program = compile_with(mpi, "tests/programs/device.c", "", &["-ldl".to_owned()]);
    Job::forced(&program, 4).tool_before(&driver).arguments(&[&format!("on={on}")])
}

/// Calls of a collective that were left to the library because of a device, and ours.
fn calls(outcome: &Outcome, collective: &str) -> (u64, u64) {
    (outcome.report().forwarded(collective, "device memory"), outcome.report().ours(collective))
}

#[test]
fn calls_with_memory_of_a_device_are_the_library_s() {
    // The last differs from the one before it in its name alone.
    let [older, newer, unnumbered] = ROCM;
    for (mpi, driver, theirs, ours) in [
        (Mpi::OpenMpi4, CUDA, ["all", "some", "managed"].as_slice(), ["none", "pinned"].as_slice()),
        (Mpi::Mpich4, CUDA, &["all", "some", "managed"], &["none", "pinned"]),
        (Mpi::OpenMpi4, older, &["some", "managed"], &["pinned"]),
        (Mpi::OpenMpi4, newer, &["some", "managed"], &["pinned"]),
        (Mpi::OpenMpi4, unnumbered, &["some"], &["pinned"]),
    ] {
        let theirs = theirs.iter().map(|on| (on, (3, 0)));
        for (on, expected) in theirs.chain(ours.iter().map(|on| (on, (0, 3)))) {
            let outcome = job(mpi, driver, on).run().verified("device");
            for collective in COLLECTIVES {
                assert_eq!(calls(&outcome, collective), expected, "{mpi:?} {driver:?} {on}: {:?}", outcome.report());
            }
            assert!(outcome.messages().is_empty(), "{}", outcome.ended.output());
        }
    }
}

/// What a driver manages can be read and written as the host's memory.
#[test]
fn the_user_says_whom_to_ask() {
    for (word, on, expected) in [
        ("managed", "managed", (0, 3)),
        ("managed", "all", (3, 0)),
        ("never", "all", (0, 3)),
        ("ask", "managed", (3, 0)),
    ] {
        let outcome = job(Mpi::OpenMpi4, CUDA, on).set("NAGARE_DEVICE_MEMORY", word).run().verified("device");
        for collective in COLLECTIVES {
            assert_eq!(calls(&outcome, collective), expected, "{word} {on}: {:?}", outcome.report());
        }
    }
}
