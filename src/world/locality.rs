//! Where in its host this process is bound: NUMA node and core, in hwloc's logical order.

use hwlocality_sys::{
    HWLOC_OBJ_CORE, HWLOC_OBJ_NUMANODE, hwloc_bitmap_s, hwloc_const_bitmap_t, hwloc_cpubind_flags_t, hwloc_obj,
    hwloc_obj_type_t, hwloc_topology,
};
use libloading::os::unix::Library;
use std::ffi::{c_int, c_uint};
use std::ptr;
use std::sync::OnceLock;

/// A NUMA node and a core of this host. All ranks of a host count the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Number of the NUMA node, 0 where there is no knowing.
    pub numa: u32,
    /// Number of the core in the whole host.
    pub core: u32,
}

/// The first core this process is bound to, in logical order: cores are counted in the order of packages and caches,
/// whatever the operating system's numbering; and the first NUMA node that is near it. `None` if the process may run
/// on every processor, or if there is no hwloc and no affinity to be had.
///
/// Found once: looking at the whole machine takes hwloc some milliseconds.
pub fn bound() -> Option<Location> {
    static BOUND: OnceLock<Option<Location>> = OnceLock::new();
    *BOUND.get_or_init(|| {
        let processor = affinity()?;
        logical().or_else(|| Some(Location { numa: numa_of(processor), core: processor }))
    })
}

/// First processor of the affinity mask, `None` if the mask holds all processors.
fn affinity() -> Option<u32> {
    // SAFETY: cpu_set_t is plain data for which all zeros is the empty set; sched_getaffinity writes at most the size
    // given.
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

/// The NUMA node of a processor as Linux tells it, 0 where it does not.
fn numa_of(processor: u32) -> u32 {
    let entries = std::fs::read_dir(format!("/sys/devices/system/cpu/cpu{processor}")).into_iter().flatten().flatten();
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok();
    entries.filter_map(number).next().unwrap_or(0)
}

/// The same as hwloc tells it.
fn logical() -> Option<Location> {
    let hwloc = Hwloc::open()?;
    hwloc.look(
        |_| true,
        |topology| {
            let set = Set::new(&hwloc)?;
            // SAFETY: a loaded topology and a bitmap.
            let code = unsafe { (hwloc.binding)(topology, set.bitmap, 0) };
            if code == 0 { hwloc.location(topology, &set) } else { None }
        },
    )
}

type Topology = *mut hwloc_topology;

/// The few functions of hwloc needed, opened privately: a library named in our dynamic section could be another hwloc
/// than the one the MPI library brings.
struct Hwloc {
    init: unsafe extern "C" fn(*mut Topology) -> c_int,
    load: unsafe extern "C" fn(Topology) -> c_int,
    destroy: unsafe extern "C" fn(Topology),
    depth_of: unsafe extern "C" fn(Topology, hwloc_obj_type_t) -> c_int,
    object: unsafe extern "C" fn(Topology, c_int, c_uint) -> *mut hwloc_obj,
    new_set: unsafe extern "C" fn() -> *mut hwloc_bitmap_s,
    free_set: unsafe extern "C" fn(*mut hwloc_bitmap_s),
    binding: unsafe extern "C" fn(Topology, *mut hwloc_bitmap_s, hwloc_cpubind_flags_t) -> c_int,
    intersects: unsafe extern "C" fn(hwloc_const_bitmap_t, hwloc_const_bitmap_t) -> c_int,
    /// Keeps the functions where they are.
    #[cfg_attr(not(test), expect(dead_code, reason = "held, not used"))]
    library: Library,
}

/// A bitmap of processors.
struct Set<'h> {
    bitmap: *mut hwloc_bitmap_s,
    hwloc: &'h Hwloc,
}

impl<'h> Set<'h> {
    fn new(hwloc: &'h Hwloc) -> Option<Self> {
        // SAFETY: no preconditions.
        let bitmap = unsafe { (hwloc.new_set)() };
        (!bitmap.is_null()).then_some(Self { bitmap, hwloc })
    }
}

impl Drop for Set<'_> {
    fn drop(&mut self) {
        // SAFETY: a bitmap of this hwloc, freed once.
        unsafe { (self.hwloc.free_set)(self.bitmap) }
    }
}

impl Hwloc {
    fn open() -> Option<Self> {
        // SAFETY: hwloc's initialisers have no preconditions; RTLD_LOCAL keeps its symbols away from the program.
        let library = unsafe { Library::open(Some("libhwloc.so.15"), libc::RTLD_NOW | libc::RTLD_LOCAL) }.ok()?;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the signature, that of the field, is the one of hwloc 2's public header for this function.
                *unsafe { library.get(concat!($name, "\0").as_bytes()) }.ok()?
            };
        }
        let api_version: unsafe extern "C" fn() -> c_uint = function!("hwloc_get_api_version");
        // SAFETY: no preconditions.
        if unsafe { api_version() } >> 16 != 2 {
            return None;
        }
        Some(Self {
            init: function!("hwloc_topology_init"),
            load: function!("hwloc_topology_load"),
            destroy: function!("hwloc_topology_destroy"),
            depth_of: function!("hwloc_get_type_depth"),
            object: function!("hwloc_get_obj_by_depth"),
            new_set: function!("hwloc_bitmap_alloc"),
            free_set: function!("hwloc_bitmap_free"),
            binding: function!("hwloc_get_cpubind"),
            intersects: function!("hwloc_bitmap_intersects"),
            library,
        })
    }

    /// What `query` finds on a machine that `prepare` may choose before it is loaded.
    fn look<R>(&self, prepare: impl FnOnce(Topology) -> bool, query: impl FnOnce(Topology) -> Option<R>) -> Option<R> {
        let mut topology: Topology = ptr::null_mut();
        // SAFETY: hwloc's protocol: init, load, query, destroy.
        unsafe {
            if (self.init)(&raw mut topology) != 0 {
                return None;
            }
            let found = if prepare(topology) && (self.load)(topology) == 0 { query(topology) } else { None };
            (self.destroy)(topology);
            found
        }
    }

    /// The first core in `set`, and the first NUMA node near it.
    fn location(&self, topology: Topology, set: &Set) -> Option<Location> {
        let core = self.first(topology, HWLOC_OBJ_CORE, set.bitmap)?;
        // SAFETY: objects and their sets stay valid until the topology is destroyed.
        let (cpuset, core) = unsafe { ((*core).cpuset, (*core).logical_index) };
        let numa = self.first(topology, HWLOC_OBJ_NUMANODE, cpuset);
        // SAFETY: as above.
        Some(Location { numa: numa.map_or(0, |node| unsafe { (*node).logical_index }), core })
    }

    /// The first object of a kind whose processors intersect the set.
    fn first(&self, topology: Topology, kind: hwloc_obj_type_t, set: hwloc_const_bitmap_t) -> Option<*mut hwloc_obj> {
        // SAFETY: a loaded topology; the structure of `hwloc_obj` is that of the header for API version 2, which was
        // checked.
        unsafe {
            let depth = (self.depth_of)(topology, kind);
            let objects =
                (0..).map(|index| (self.object)(topology, depth, index)).take_while(|object| !object.is_null());
            { objects }.find(|&object| (self.intersects)((*object).cpuset, set) != 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::{CStr, c_char};

    /// The location of a process bound to each of `processors` alone, on a machine in hwloc's synthetic notation.
    fn locations(machine: &CStr, processors: std::ops::Range<u32>) -> Vec<(u32, u32)> {
        type SetSynthetic = unsafe extern "C" fn(Topology, *const c_char) -> c_int;
        type Only = unsafe extern "C" fn(*mut hwloc_bitmap_s, c_uint) -> c_int;
        let hwloc = Hwloc::open().expect("hwloc 2");
        // SAFETY: the signatures of the header.
        let (set_synthetic, only): (SetSynthetic, Only) = unsafe {
            let library = &hwloc.library;
            (*library.get(b"hwloc_topology_set_synthetic\0").unwrap(), *library.get(b"hwloc_bitmap_only\0").unwrap())
        };
        let found = hwloc.look(
            // SAFETY: a topology that is not loaded yet, a string that ends in zero.
            |topology| unsafe { set_synthetic(topology, machine.as_ptr()) == 0 },
            |topology| {
                let of = |processor| {
                    let set = Set::new(&hwloc)?;
                    // SAFETY: a bitmap of this hwloc.
                    unsafe { only(set.bitmap, processor) };
                    hwloc.location(topology, &set).map(|l| (l.numa, l.core))
                };
                processors.map(of).collect::<Option<Vec<_>>>()
            },
        );
        found.expect("a machine")
    }

    #[test]
    fn processors_numbered_across_numa_nodes_are_told_apart() {
        // Processors 0, 2, 4, 6 on the first NUMA node, 1, 3, 5, 7 on the second, as some firmware numbers them.
        let found = locations(c"numa:2 core:4 pu:1(indexes=0,2,4,6,1,3,5,7)", 0..8);
        assert_eq!(found, [(0, 0), (1, 4), (0, 1), (1, 5), (0, 2), (1, 6), (0, 3), (1, 7)]);
        let mut by_place: Vec<usize> = (0..8).collect();
        by_place.sort_by_key(|&processor| found[processor]);
        assert_eq!(by_place, [0, 2, 4, 6, 1, 3, 5, 7]);
    }

    #[test]
    fn threads_of_a_core_are_one_place() {
        let found = locations(c"package:2 numa:2 core:2 pu:2", 0..16);
        let expected: Vec<(u32, u32)> = (0..16).map(|processor| (processor / 4, processor / 2)).collect();
        assert_eq!(found, expected);
    }
}
