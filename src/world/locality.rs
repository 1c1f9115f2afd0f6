//! Where in its host this process is bound: NUMA node and processor, in the system's numbering.
//!
//! Nagare asks only the kernel, in a few system calls that open no file on a disk. hwloc would list cores in the order
//! of packages and caches, but opens its plugins and inspects the whole machine, which takes a good part of the time of
//! `MPI_Init` in every process.

use std::path::Path;

/// A NUMA node and a processor of this host. All ranks of a host count the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Number of the NUMA node, 0 where there is no knowing.
    pub numa: u32,
    /// Number of the processor in the whole host.
    pub core: u32,
}

/// The first processor this process is bound to, and its NUMA node. `None` if the process may run on every processor,
/// or if there is no affinity to be had.
pub fn bound() -> Option<Location> {
    located(Path::new("/sys/devices/system/cpu"), &affinity()?)
}

/// Whether this thread may run on a processor, by number. `None` where the kernel does not say.
pub fn affinity() -> Option<Vec<bool>> {
    // SAFETY: cpu_set_t is plain data for which all zeros is the empty set; sched_getaffinity writes at most the size
    // given, and every index is below CPU_SETSIZE.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let code = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        (code == 0).then(|| (0..libc::CPU_SETSIZE as usize).map(|cpu| libc::CPU_ISSET(cpu, &set)).collect())
    }
}

/// The first processor that is `allowed` and its NUMA node, `None` if all are. In the directory of `processors` each
/// has one, with an entry `topology` while it is online; that they exist is learnt without opening anything.
fn located(processors: &Path, allowed: &[bool]) -> Option<Location> {
    let directory = |processor: usize| processors.join(format!("cpu{processor}"));
    let others = (0..allowed.len()).filter(|&processor| !allowed[processor]).map(directory);
    others.take_while(|other| other.exists()).find(|other| other.join("topology").exists())?;
    let core = allowed.iter().position(|&allowed| allowed)?;
    Some(Location { numa: numa_of(&directory(core)), core: core as u32 })
}

/// NUMA nodes that are looked for: nodes with processors have low numbers, those of accelerators' memory high ones.
const NODES: u32 = 256;

/// The NUMA node of the processor with that directory, which has an entry `nodeN`; 0 where Linux does not tell it.
fn numa_of(directory: &Path) -> u32 {
    (0..NODES).find(|node| directory.join(format!("node{node}")).exists()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A machine of six processors: even ones on NUMA node 0, odd ones on node 8, as some firmware numbers them;
    /// processor 3 is off.
    fn machine() -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory");
        for processor in 0..6 {
            let directory = root.path().join(format!("cpu{processor}"));
            fs::create_dir_all(directory.join(format!("node{}", processor % 2 * 8))).expect("a directory");
            if processor != 3 {
                fs::create_dir(directory.join("topology")).expect("a directory");
            }
        }
        root
    }

    fn on(allowed: &[usize]) -> Option<(u32, u32)> {
        let mask: Vec<bool> = (0..64).map(|processor| allowed.contains(&processor)).collect();
        located(machine().path(), &mask).map(|found| (found.numa, found.core))
    }

    #[test]
    fn processors_numbered_across_numa_nodes_are_told_apart() {
        let found = [0, 1, 2, 4, 5].map(|processor| on(&[processor]));
        assert_eq!(found, [Some((0, 0)), Some((8, 1)), Some((0, 2)), Some((0, 4)), Some((8, 5))]);
        assert_eq!(on(&[5, 1, 4]), Some((8, 1)));
    }

    #[test]
    fn who_may_run_on_all_processors_that_are_online_is_not_bound() {
        assert_eq!(on(&[0, 1, 2, 4, 5]), None);
        assert_eq!(on(&[0, 1, 2, 3, 4, 5]), None);
        assert_eq!(on(&[0, 1, 2, 3, 4]), Some((0, 0)));
        assert_eq!(on(&[]), None);
    }

    #[test]
    fn the_first_processor_of_the_mask_with_the_node_that_lists_it() {
        // SAFETY: plain data; the mask of this thread alone is read and changed.
        let allowed: Vec<usize> = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &raw mut set), 0);
            (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect()
        };
        // SAFETY: no preconditions.
        if unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) } < 2 {
            assert_eq!(bound(), None);
            return;
        }
        for &processor in &allowed {
            // SAFETY: as above; only processors that were in the mask.
            unsafe {
                let mut set: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(processor, &mut set);
                assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &raw const set), 0);
            }
            let found = bound().expect("a bound thread");
            assert_eq!(found.core as usize, processor);
            // What the node says of its processors is another file than what the processor says of its node.
            let list = fs::read_to_string(format!("/sys/devices/system/node/node{}/cpulist", found.numa));
            let listed = list.ok().map(|list| {
                list.trim().split(',').any(|range| {
                    let (first, last) = range.split_once('-').unwrap_or((range, range));
                    let number = |text: &str| text.parse::<usize>().expect("a number");
                    (number(first)..=number(last)).contains(&processor)
                })
            });
            assert_ne!(listed, Some(false), "processor {processor}: {found:?}");
        }
    }
}
