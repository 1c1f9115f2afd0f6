//! A library that is built for the other family of MPI libraries than the program uses, or for a later version of the
//! standard.

use crate::boundary::say;
use crate::real::Real;
use crate::real::library::has_standard_abi;
use std::time::Duration;

/// Says in the first process that calls are passed on.
pub fn say_that_nothing_changes(real: &Real) {
    if is_first_process() && !real.is_refused() {
        say_what_it_is(real, "nothing is changed");
    }
}

/// Ends this process, whose calls cannot even be passed on ([`Real::is_refused`]).
pub fn refuse(real: &Real) -> ! {
    // The first process says so, and its launcher ends the others, unless it alone has the fitting library.
    if !is_first_process() {
        std::thread::sleep(FIRST);
    }
    say_what_it_is(real, "the job ends");
    std::process::exit(1)
}

/// What a launcher needs to end a job of which a process has ended.
const FIRST: Duration = Duration::from_secs(1);

fn say_what_it_is(real: &Real, outcome: &str) {
    let built = if cfg!(mpi_family = "openmpi") { "Open MPI" } else { "MPICH" };
    let path = &real.path;
    if real.fits {
        say(&format!(
            "nagare: this library is built for a {built} with large counts (MPI 4.0), which {path} lacks; {outcome} \
             (build Nagare with this MPI's own mpicc)\n"
        ));
        return;
    }
    let advice = if has_standard_abi(path.as_bytes()) {
        "there is none for the standard's ABI"
    } else {
        "`nagare run` picks the fitting one"
    };
    say(&format!("nagare: this library is built for {built}, the program uses {path}; {outcome} ({advice})\n"));
}

/// Whether this is the first process of its job, as far as a launcher's environment tells before MPI is initialised.
fn is_first_process() -> bool {
    let ranks = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    ranks.iter().find_map(|name| std::env::var(name).ok()).is_none_or(|rank| rank == "0")
}
