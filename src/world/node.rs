//! Which ranks are on one machine, where nothing else is told of nodes: those that name the same boot of a kernel, the
//! same host and the same network of it. Hosts that a testbed pretends have networks of their own, and machines that
//! began as copies of one another have names.
//!
//! The MPI library is not asked. `MPI_Comm_split_type` (MPI 4.0 section 7.4.2) makes a communicator, which among 16
//! ranks of MPICH on two processors took half of what Nagare added to the start of a job. And where Open MPI 4.1 keeps
//! the keys of its ranks in its store `hash`, it splits several ranks of a host into other parts on each of them, so
//! that a job ends in no collective after it, with Nagare or without.

use super::locality;
use super::setup::host_name;
use crate::real::Real;
use crate::transport::gathered::gathered;
use mpi::ffi::MPI_Comm;
use std::collections::HashMap;
use std::ffi::c_int;
use std::fs::{read, read_link};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What a rank finds out of the others around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Around {
    /// The smallest rank on its machine.
    pub leader: c_int,
    /// Whether more ranks may run on just the processors that it may run on than these are. Hosts that a testbed
    /// pretends share them.
    pub is_crowded: bool,
    /// Ranks for each processor, if more than 1, the most of any set of processors; the same on all ranks.
    pub crowding: Option<f64>,
}

/// What ranks compare: a number for the machine of a process, one for the processors it may run on, and how many these
/// are, 0 where that is not known.
type Marks = [u64; 3];

/// Those of this process. What cannot be read counts as nothing.
fn own_marks() -> Marks {
    let boot = read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    boot.hash(&mut hasher);
    host_name().hash(&mut hasher);
    read_link("/proc/self/ns/net").unwrap_or_default().hash(&mut hasher);
    let machine = hasher.finish();
    let affinity = locality::affinity();
    let mut hasher = DefaultHasher::new();
    affinity.hash(&mut hasher);
    // A kernel that does not tell its boot is taken for that of this host alone.
    let kernel = if boot.is_empty() { &machine.to_ne_bytes()[..] } else { &boot[..] };
    kernel.hash(&mut hasher);
    let processors = affinity.map_or(0, |allowed| allowed.iter().filter(|&&allowed| allowed).count());
    [machine, hasher.finish(), processors as u64]
}

/// What `rank` of `comm`, which is this process's, finds out; collective over `comm`.
///
/// # Errors
/// The code with which the MPI library fails.
pub fn around(real: &Real, comm: MPI_Comm, rank: c_int) -> Result<Around, c_int> {
    let own = own_marks();
    gathered(real, comm, own).map(|marks| seen_by(rank, own, &marks))
}

/// What the rank with its `own` marks finds out of those of all.
fn seen_by(rank: c_int, own: Marks, all: &[Marks]) -> Around {
    let first = all.iter().position(|&[machine, ..]| machine == own[0]);
    let mut sharing: HashMap<u64, (u64, u64)> = HashMap::new();
    for &[_, mark, processors] in all {
        sharing.entry(mark).or_insert((processors, 0)).1 += 1;
    }
    let crowding = |&(processors, ranks): &(u64, u64)| {
        (processors > 0 && ranks > processors).then(|| ranks as f64 / processors as f64)
    };
    Around {
        leader: first.map_or(rank, |first| first as c_int),
        is_crowded: sharing.get(&own[1]).and_then(crowding).is_some(),
        crowding: sharing.values().filter_map(crowding).max_by(f64::total_cmp),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four ranks on two processors of machine 1, three on four of machine 2, five on processors that nobody counts,
    /// and six on two others of machine 1.
    #[test]
    fn the_fullest_processors_count_for_all() {
        let ranks = |count, marks: Marks| std::iter::repeat_n(marks, count);
        let all = |last| -> Vec<Marks> {
            let known = ranks(4, [1, 10, 2]).chain(ranks(3, [2, 20, 4]));
            known.chain(ranks(5, [3, 30, 0])).chain(ranks(last, [1, 11, 2])).collect()
        };
        let seen = |all: &[Marks], rank: usize| {
            let around = seen_by(rank as c_int, all[rank], all);
            (around.leader, around.is_crowded, around.crowding)
        };
        let six = all(6);
        for (rank, leader, is_crowded) in [(3, 0, true), (5, 4, false), (8, 7, false), (17, 0, true)] {
            assert_eq!(seen(&six, rank), (leader, is_crowded, Some(3.0)));
        }
        // As many ranks as processors are no crowd.
        assert_eq!(seen(&all(2), 12), (0, false, Some(2.0)));
        assert_eq!(seen(&six[4..12], 0), (0, false, None));
    }
}
