//! Whether a buffer is in the memory of a device: asked of the device's driver, where the process has one. Nagare links
//! none and loads none.
//!
//! ```text
//!   address ─► CUDA:  cuPointerGetAttribute            in libcuda.so.1          (CUDA Driver API, "Unified Addressing")
//!           └► ROCm:  hipPointerGetAttribute           in libamdhip64.so        (HIP Runtime API, "Memory Management")
//! ```
//!
//! Level Zero cannot be asked: its `zeMemGetAllocProperties` wants the program's own context (docs/differences.md).
//!
//! A program may load a driver at any time, so the process's list of libraries is looked at again when it has grown.

use crate::real::loaded::function;
use parking_lot::RwLock;
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Attributes of an address, the same numbers in both interfaces.
const MEMORY_TYPE: c_uint = 2;
const IS_MANAGED: c_uint = 8;

/// Memory type of a device: in CUDA and in ROCm up to 5, and in ROCm since 6.
const CUDA_DEVICE: c_uint = 2;
const HIP_DEVICE: [c_uint; 2] = [1, 2];
/// From which version of HIP on.
const ROCM_6: c_int = 60_000_000;

/// Files that hosts with devices have: of NVIDIA, of its embedded ones, of AMD, of WSL.
const FILES: [&str; 4] = ["/dev/nvidiactl", "/dev/nvmap", "/dev/kfd", "/dev/dxg"];

const CUDA: &CStr = c"libcuda.so.1";
const HIP: [&CStr; 3] = [c"libamdhip64.so.6", c"libamdhip64.so.5", c"libamdhip64.so"];

/// `int (void *value, int attribute, const void *address)`: 0 if the address is known.
type Ask = unsafe extern "C" fn(*mut c_void, c_uint, *const c_void) -> c_int;

/// A driver that is in the process.
#[derive(Clone, Copy)]
struct Driver {
    ask: Ask,
    device: c_uint,
}

/// The drivers found when the process had loaded so many libraries, or none yet.
static FOUND: RwLock<[Option<Driver>; 2]> = RwLock::new([None; 2]);
static LOADED: AtomicU64 = AtomicU64::new(0);

/// Whether programs may have memory on devices here: the host has one, or the process a driver.
pub fn may_be_here() -> bool {
    FILES.iter().any(|file| Path::new(file).exists()) || drivers().iter().any(Option::is_some)
}

/// Whether `address` is in the memory of a device, or managed by a driver, which `managed_is_host` takes for the
/// host's.
pub fn holds(address: *const c_void, managed_is_host: bool) -> bool {
    !address.is_null() && drivers().iter().flatten().any(|driver| driver.holds(address, managed_is_host))
}

impl Driver {
    fn holds(&self, address: *const c_void, managed_is_host: bool) -> bool {
        // Some attributes are as wide as a pointer, these as an int; what is wider does not do harm.
        let attribute = |which| {
            let mut value = [0 as c_uint; 4];
            // SAFETY: the driver's own function, which writes at most a pointer's width and fails for an address that
            // it does not know, or before the program has initialised it.
            let code = unsafe { (self.ask)(value.as_mut_ptr().cast(), which, address) };
            (code == 0).then_some(value[0])
        };
        // One byte, a C bool or an int.
        match attribute(IS_MANAGED).map(|value| value & 0xff != 0) {
            Some(true) => !managed_is_host,
            _ => attribute(MEMORY_TYPE) == Some(self.device),
        }
    }
}

/// CUDA's and ROCm's.
fn drivers() -> [Option<Driver>; 2] {
    let loaded = libraries_loaded();
    if LOADED.load(Ordering::Acquire) != loaded {
        let mut found = FOUND.write();
        *found = [cuda(), hip()];
        LOADED.store(loaded, Ordering::Release);
        return *found;
    }
    *FOUND.read()
}

/// How often the process has loaded a library so far.
fn libraries_loaded() -> u64 {
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: called below with a number of ours, and by the C library with a valid description.
        unsafe { *data.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut loaded = 0u64;
    // SAFETY: the function does as the C library expects, and ends at the first library.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut loaded).cast()) };
    loaded
}

fn ask(address: *mut c_void) -> Option<Ask> {
    // SAFETY: the driver's function of that name, which has this signature.
    (!address.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, Ask>(address) })
}

fn cuda() -> Option<Driver> {
    Some(Driver { ask: ask(function(CUDA, c"cuPointerGetAttribute"))?, device: CUDA_DEVICE })
}

fn hip() -> Option<Driver> {
    let library = HIP.into_iter().find(|library| !function(library, c"hipPointerGetAttribute").is_null())?;
    let version = function(library, c"hipRuntimeGetVersion");
    let mut number: c_int = 0;
    if !version.is_null() {
        // SAFETY: the runtime's function of that name: it writes an int.
        unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int) -> c_int>(version)(&raw mut number)
        };
    }
    let device = HIP_DEVICE[usize::from(number >= ROCM_6)];
    Some(Driver { ask: ask(function(library, c"hipPointerGetAttribute"))?, device })
}
