//! What ranks find out together by the library's own collectives: at initialisation, before early calls, and where a
//! private communicator is made; never while Nagare's messages are under way on the communicator.

use crate::real::Real;
use mpi::ffi::MPI_Comm;
use nagare_plan::schedule::Rank;
use std::ffi::c_int;

/// Ranks of `of` numbered in `within`: `result[rank in of] = rank in within`, `None` if some are not in it.
pub fn translate(real: &Real, of: MPI_Comm, within: MPI_Comm, size: c_int) -> Option<Vec<Rank>> {
    let mpi = &real.mpi;
    let own: Vec<c_int> = (0..size).collect();
    let mut there = vec![-1; own.len()];
    // SAFETY: both communicators are valid; the groups are freed here; the arrays have `size` entries.
    let code = unsafe {
        let (mut group, mut target) = (std::mem::zeroed(), std::mem::zeroed());
        (mpi.comm_group)(of, &raw mut group);
        (mpi.comm_group)(within, &raw mut target);
        let code = (mpi.group_translate_ranks)(group, size, own.as_ptr(), target, there.as_mut_ptr());
        (mpi.group_free)(&raw mut group);
        (mpi.group_free)(&raw mut target);
        code
    };
    let there: Option<Vec<Rank>> = there.into_iter().map(|r| Rank::try_from(r).ok()).collect();
    there.filter(|_| code == 0)
}

/// Whether `yes` holds on all ranks of `comm`; collective over it.
pub fn all_agree(real: &Real, comm: MPI_Comm, yes: bool) -> bool {
    least(real, comm, c_int::from(yes)) == Ok(1)
}

/// The least of the numbers of all ranks of `comm`; collective over it.
///
/// # Errors
/// The code with which the library fails; it has called the error handler of `comm`.
pub fn least(real: &Real, comm: MPI_Comm, own: c_int) -> Result<c_int, c_int> {
    each_least(real, comm, [own]).map(|[least]| least)
}

/// The largest times of all ranks of `comm`; collective over it.
///
/// # Errors
/// As of [`least`].
pub fn longest<const N: usize>(real: &Real, comm: MPI_Comm, own: [u64; N]) -> Result<[u64; N], c_int> {
    each_least(real, comm, own.map(to_number)).map(|numbers| numbers.map(to_amount))
}

/// What stands for so many nanoseconds or bytes: the most is the least number, since the least of the numbers of all
/// ranks is what they find. The bits of a number with 24 significant ones, which are in the order of these numbers, so
/// that whatever a job can measure fits.
pub fn to_number(amount: u64) -> c_int {
    -c_int::try_from((amount as f32).to_bits()).unwrap_or(c_int::MAX)
}

/// The amount that it stands for.
pub fn to_amount(number: c_int) -> u64 {
    f32::from_bits(number.unsigned_abs()) as u64
}

/// By a blocking Allreduce: while the program duplicates `comm` by `MPI_Comm_idup`, Open MPI itself makes non-blocking
/// ones there, at other moments on every rank, which would be taken for ours.
#[cfg(mpi_family = "openmpi")]
fn each_least<const N: usize>(real: &Real, comm: MPI_Comm, own: [c_int; N]) -> Result<[c_int; N], c_int> {
    let mut least = [0; N];
    let handles = &real.handles;
    // SAFETY: valid communicator and handles, `N` integers each; all ranks are in this call.
    let code = unsafe {
        (real.mpi.allreduce)(
            (&raw const own).cast(),
            (&raw mut least).cast(),
            const { N as c_int },
            handles.int.into(),
            handles.min.into(),
            comm.into(),
        )
    };
    if code == 0 { Ok(least) } else { Err(code) }
}

/// By a non-blocking Allreduce: MPICH's blocking one waits for the ranks of a node in shared memory without giving the
/// processor away. Among twenty ranks on two processors it takes 100 ms on MPICH 5, this one 1.
#[cfg(mpi_family = "mpich")]
fn each_least<const N: usize>(real: &Real, comm: MPI_Comm, own: [c_int; N]) -> Result<[c_int; N], c_int> {
    let Ok(found) = super::minimum::minimum(real, comm, own, super::pending::offering());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_is_the_least_number_and_hours_fit() {
        let amounts = [0, 1, 31, 32, 15_000_000, 68_719_476_736, 10_000_000_000_000, 1 << 62];
        let numbers = amounts.map(to_number);
        assert!(numbers.windows(2).all(|pair| pair[0] > pair[1]), "{numbers:?}");
        for (amount, number) in amounts.into_iter().zip(numbers) {
            assert!(to_amount(number).abs_diff(amount) <= amount >> 24, "{amount}");
        }
    }
}
