//! Buffers in the memory of a device, of which a driver knows that stands in for CUDA's: calls with them are the MPI
//! library's, on all ranks.

use nagare_harness::{Job, Mpi, Outcome, compile_with};

const COLLECTIVES: [&str; 3] = ["bcast", "allreduce", "alltoall"];

fn job(mpi: Mpi, on: &str) -> Job {
    let name = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"].map(str::to_owned);
    let driver = compile_with(mpi, "tests/programs/device_driver.c", "_shared", &name);
    let program = compile_with(mpi, "tests/programs/device.c", "", &["-ldl".to_owned()]);
    Job::forced(&program, 4).tool_before(&driver).arguments(&[&format!("on={on}")])
}

/// Calls of a collective that were left to the library because of a device, and ours.
fn calls(outcome: &Outcome, collective: &str) -> (u64, u64) {
    (outcome.report().forwarded(collective, "device memory"), outcome.report().ours(collective))
}

#[test]
fn calls_with_memory_of_a_device_are_the_library_s() {
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        for (on, expected) in [("none", (0, 3)), ("all", (3, 0)), ("some", (3, 0)), ("managed", (3, 0))] {
            let outcome = job(mpi, on).run().verified("device");
            for collective in COLLECTIVES {
                assert_eq!(calls(&outcome, collective), expected, "{mpi:?} {on}: {:?}", outcome.report());
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
        let outcome = job(Mpi::OpenMpi4, on).set("NAGARE_DEVICE_MEMORY", word).run().verified("device");
        for collective in COLLECTIVES {
            assert_eq!(calls(&outcome, collective), expected, "{word} {on}: {:?}", outcome.report());
        }
    }
}
