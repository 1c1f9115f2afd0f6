//! Which core this process is bound to, in hwloc's logical order.

use hwlocality_sys::{
    HWLOC_OBJ_CORE, hwloc_bitmap_s, hwloc_const_bitmap_t, hwloc_cpubind_flags_t, hwloc_obj, hwloc_obj_type_t,
    hwloc_topology,
};
use libloading::os::unix::Library;
use std::ffi::{c_int, c_uint};
use std::ptr;
use std::sync::OnceLock;

/// Logical number of the first core this process is bound to: cores are counted in the order of packages, NUMA nodes and
/// caches, whatever the operating system's numbering. `None` if the process may run on every processor, or if there is no
/// hwloc and no affinity to be had.
///
/// Found once: looking at the whole machine takes hwloc some milliseconds.
pub fn bound_core() -> Option<u32> {
    static CORE: OnceLock<Option<u32>> = OnceLock::new();
    *CORE.get_or_init(|| {
        let affinity = affinity()?;
        logical_core().or(Some(affinity))
    })
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

type Topology = *mut hwloc_topology;

/// The few functions of hwloc needed, opened privately: a library named in our dynamic section could be another hwloc than
/// the one the MPI library brings.
fn logical_core() -> Option<u32> {
    // SAFETY: hwloc's initialisers have no preconditions; RTLD_LOCAL keeps its symbols away from the program.
    let library = unsafe { Library::open(Some("libhwloc.so.15"), libc::RTLD_NOW | libc::RTLD_LOCAL) }.ok()?;
    macro_rules! function {
        ($name:literal, fn($($arg:ty),*) $(-> $ret:ty)?) => {
            // SAFETY: the signature is that of hwloc 2's public header for this function.
            *unsafe { library.get::<unsafe extern "C" fn($($arg),*) $(-> $ret)?>(concat!($name, "\0").as_bytes()) }.ok()?
        };
    }
    let api_version = function!("hwloc_get_api_version", fn() -> c_uint);
    let init = function!("hwloc_topology_init", fn(*mut Topology) -> c_int);
    let load = function!("hwloc_topology_load", fn(Topology) -> c_int);
    let destroy = function!("hwloc_topology_destroy", fn(Topology));
    let depth_of = function!("hwloc_get_type_depth", fn(Topology, hwloc_obj_type_t) -> c_int);
    let object = function!("hwloc_get_obj_by_depth", fn(Topology, c_int, c_uint) -> *mut hwloc_obj);
    let new_set = function!("hwloc_bitmap_alloc", fn() -> *mut hwloc_bitmap_s);
    let free_set = function!("hwloc_bitmap_free", fn(*mut hwloc_bitmap_s));
    let binding = function!("hwloc_get_cpubind", fn(Topology, *mut hwloc_bitmap_s, hwloc_cpubind_flags_t) -> c_int);
    let intersects = function!("hwloc_bitmap_intersects", fn(hwloc_const_bitmap_t, hwloc_const_bitmap_t) -> c_int);

    // SAFETY: the calls follow hwloc's protocol (init, load, query, destroy); the structure of `hwloc_obj` is that of the
    // header for API version 2, which is checked first; objects stay valid until destroy.
    unsafe {
        if api_version() >> 16 != 2 {
            return None;
        }
        let mut topology: Topology = ptr::null_mut();
        if init(&raw mut topology) != 0 {
            return None;
        }
        let set = new_set();
        let mut found = None;
        if load(topology) == 0 && !set.is_null() && binding(topology, set, 0) == 0 {
            let depth = depth_of(topology, HWLOC_OBJ_CORE);
            let mut index = 0;
            loop {
                let core = object(topology, depth, index);
                if core.is_null() {
                    break;
                }
                if intersects((*core).cpuset, set) != 0 {
                    found = Some((*core).logical_index);
                    break;
                }
                index += 1;
            }
        }
        if !set.is_null() {
            free_set(set);
        }
        destroy(topology);
        found
    }
}
