//! Where in its host this process is bound: NUMA node and processor, in the system's numbering.
//!
//! Asked of the kernel alone, in a few calls that open nothing on a disk. hwloc would tell cores in the order of packages and
//! caches, but opens its plugins and looks at the whole machine: as long as a good part of MPI_Init, in every process.

use std::path::Path;

/// A NUMA node and a processor of this host. All ranks of a host count the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Number of the NUMA node, 0 where there is no knowing.
    pub numa: u32,
    /// Number of the processor in the whole host.
    pub core: u32,
}

/// The first processor this process is bound to, and its NUMA node. `None` if the process may run on every processor, or if
/// there is no affinity to be had.
pub fn bound() -> Option<Location> {
    let core = affinity()?;
    Some(Location { numa: numa_of(Path::new("/sys/devices/system/cpu"), core), core })
}

/// First processor of the affinity mask, `None` if the mask holds all processors.
fn affinity() -> Option<u32> {
    // SAFETY: cpu_set_t is plain data for which all zeros is the empty set; sched_getaffinity writes at most the size given.
    let (set, online) = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) != 0 {
            return None;
        }
        (set, libc::sysconf(libc::_SC_NPROCESSORS_ONLN))
    };
    let cpus = 0..libc::CPU_SETSIZE as usize;
    // SAFETY: every index is below CPU_SETSIZE.
    let mut bound = cpus.filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) });
    let first = bound.next()?;
    let count = 1 + bound.count();
    ((count as i64) < online).then_some(first as u32)
}

/// NUMA nodes that are looked for: nodes with processors have low numbers, those of accelerators' memory high ones.
const NODES: u32 = 256;

/// The NUMA node of a processor, 0 where Linux does not tell it: the directory of a processor has an entry `nodeN`, and whether
/// there is one is learnt without opening anything.
fn numa_of(processors: &Path, processor: u32) -> u32 {
    let directory = processors.join(format!("cpu{processor}"));
    (0..NODES).find(|node| directory.join(format!("node{node}")).exists()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn processors_numbered_across_numa_nodes_are_told_apart() {
        // Even processors on NUMA node 0, odd ones on node 8, as firmware of some machines numbers them.
        let root = tempfile::tempdir().expect("a directory");
        for processor in 0..8 {
            let directory = root.path().join(format!("cpu{processor}"));
            fs::create_dir_all(directory.join(format!("node{}", processor % 2 * 8))).expect("a directory");
            fs::create_dir_all(directory.join("topology")).expect("a directory");
        }
        let found: Vec<u32> = (0..8).map(|processor| numa_of(root.path(), processor)).collect();
        assert_eq!(found, [0, 8, 0, 8, 0, 8, 0, 8]);
        assert_eq!(numa_of(root.path(), 8), 0, "a processor that is not there");
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
