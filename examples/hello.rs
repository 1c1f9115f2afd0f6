//! Four collectives that Nagare accelerates, each with blocks of 256 KiB and checked. The
//! program knows nothing of Nagare: run it with and without.
//!
//! ```text
//! cargo build --release --example hello
//! mpirun -np 4 target/release/examples/hello
//! mpirun -x LD_PRELOAD=/path/to/libnagare.so -np 4 target/release/examples/hello     # Open MPI
//! mpiexec -genv LD_PRELOAD /path/to/libnagare.so -n 4 target/release/examples/hello  # MPICH
//! ```
//!
//! `NAGARE_REPORT=stderr` shows which algorithm ran. Prints OK, or exits with status 1.

use std::process::ExitCode;

use mpi::collective::SystemOperation;
use mpi::traits::*;

/// Doubles in a block: 256 KiB.
const N: usize = 32768;

/// N numbers: first, first + step, first + 2 step, ...
fn block(first: i32, step: i32) -> Vec<f64> {
    (0..N).map(|i| f64::from(first) + f64::from(step) * i as f64).collect()
}

/// Returns the collectives whose results on this rank are wrong.
fn wrong_collectives(world: &impl Communicator) -> Vec<&'static str> {
    let (rank, size) = (world.rank(), world.size());
    let rank_sum = size * (size - 1) / 2;
    let sum = SystemOperation::sum;
    let mut wrong = Vec::new();
    let mut check = |collective, correct: bool| {
        if !correct {
            wrong.push(collective);
        }
    };

    let last = world.process_at_rank(size - 1);
    let mut data = if rank == size - 1 { block(7, 1) } else { vec![0.0; N] };
    last.broadcast_into(&mut data[..]);
    check("Bcast", data == block(7, 1));

    let mut result = vec![0.0; N];
    world.all_reduce_into(&block(rank, 1)[..], &mut result[..], sum());
    check("Allreduce", result == block(rank_sum, size));

    let root = world.process_at_rank(0);
    let contribution = block(2 * rank, 3);
    if rank == 0 {
        let mut result = vec![0.0; N];
        root.reduce_into_root(&contribution[..], &mut result[..], sum());
        check("Reduce", result == block(2 * rank_sum, 3 * size));
    } else {
        root.reduce_into(&contribution[..], sum());
    }

    // The block from rank s to rank d starts with 1000 s + d.
    let blocks: Vec<f64> = (0..size).flat_map(|d| block(1000 * rank + d, 1)).collect();
    let expected: Vec<f64> = (0..size).flat_map(|s| block(1000 * s + rank, 1)).collect();
    let mut result = vec![0.0; blocks.len()];
    world.all_to_all_into(&blocks[..], &mut result[..]);
    check("Alltoall", result == expected);

    wrong
}

fn main() -> ExitCode {
    let Some(universe) = mpi::initialize() else {
        eprintln!("hello: MPI is initialised already");
        return ExitCode::FAILURE;
    };
    let world = universe.world();

    let wrong = wrong_collectives(&world);
    if !wrong.is_empty() {
        eprintln!("hello: wrong result of {} on rank {}", wrong.join(", "), world.rank());
    }
    let mut failures = 0;
    world.all_reduce_into(&(wrong.len() as i32), &mut failures, SystemOperation::sum());
    if failures > 0 {
        return ExitCode::FAILURE;
    }
    if world.rank() == 0 {
        println!("OK");
    }
    ExitCode::SUCCESS
}
