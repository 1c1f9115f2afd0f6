//! Which ranks have this library, known before any message: a key that each of them puts into the key-value store of
//! Open MPI's launcher.
//!
//! ```text
//!   MPI_Init ─► the library: PMIx_Put … PMIx_Commit ─► ours puts one key more ─► the real PMIx_Commit
//!               PMIx_Fence: what all ranks have put is in every process
//!   meeting  ─► PMIx_Get of a rank's key, from what is in this process:    there            the rank has the library
//!                                           not there, but a key of the library's is        it lacks it
//!                                           no key of that rank is there                    nobody knows
//! ```
//!
//! The last is how it is where the client fetches keys of other hosts when they are asked for (`PMIX_MCA_gds=hash`, also
//! what it falls back to without shared memory), or where Open MPI does not collect them (`pmix_base_collect_data`).
//!
//! MPICH's client of the store is inside its library, without a name that others could use: there nothing is known.
//!
//! Source: PMIx Standard 4.1, sections 3.2 (structures), 5.1 (keys of others), 6.3 (exchange); the structures have been
//! the same since 3.0.

use super::library::{self, loaded};
use libloading::os::unix::Library;
use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

const KEY: &CStr = c"nagare.has";

/// PMIX_SUCCESS, PMIX_ERR_NOT_FOUND, PMIX_ERR_NOT_SUPPORTED; types PMIX_BOOL; scope PMIX_GLOBAL.
const SUCCESS: c_int = 0;
const NOT_FOUND: c_int = -46;
const NOT_SUPPORTED: c_int = -47;
const BOOL: u16 = 1;
const GLOBAL: u8 = 3;

/// pmix_value_t: the union has room for its longest member.
#[repr(C)]
#[derive(Default)]
pub struct Value {
    kind: u16,
    data: [u64; 4],
}

/// pmix_proc_t.
#[repr(C)]
struct Process {
    namespace: [c_char; 256],
    rank: u32,
}

/// pmix_info_t.
#[repr(C)]
struct Info {
    key: [c_char; 512],
    flags: u32,
    value: Value,
}

type Commit = unsafe extern "C" fn() -> c_int;
type Put = unsafe extern "C" fn(scope: u8, key: *const c_char, value: *mut Value) -> c_int;
type Get = unsafe extern "C" fn(
    of: *const Process,
    key: *const c_char,
    info: *const Info,
    infos: usize,
    value: *mut *mut Value,
) -> c_int;

struct Functions {
    commit: Commit,
    put: Put,
    get: Get,
}

static FUNCTIONS: OnceCell<Functions> = OnceCell::new();

/// Whether this process has put its key.
static HAS_PUT: AtomicBool = AtomicBool::new(false);

/// Keys that the MPI library has put in this process, and puts alike in others: which, depends on its version and its
/// transports. Not those of PMIx's own (section 3.4.1), which the launcher may have told too.
static PUT_BY_MPI: Mutex<Vec<CString>> = Mutex::new(Vec::new());

/// So many of them are enough, whatever process this is.
const REMEMBERED: usize = 16;

/// What stands behind our `PMIx_Put`: remembers the key, and puts it.
///
/// # Safety
/// As PMIx demands of the caller: `key` is a C string.
pub unsafe fn put(scope: u8, key: *const c_char, value: *mut Value) -> c_int {
    let Ok(functions) = FUNCTIONS.get_or_try_init(|| find().ok_or(())) else { return NOT_SUPPORTED };
    if !HAS_PUT.load(Ordering::Relaxed) && !key.is_null() {
        // SAFETY: as the caller says.
        let key = unsafe { CStr::from_ptr(key) };
        let mut put = PUT_BY_MPI.lock();
        if put.len() < REMEMBERED
            && !key.to_bytes().starts_with(b"pmix")
            && !put.iter().any(|one| one.as_c_str() == key)
        {
            put.push(key.to_owned());
        }
    }
    // SAFETY: as the caller demands.
    unsafe { (functions.put)(scope, key, value) }
}

/// What stands behind our `PMIx_Commit`: puts the key, if this is a process of MPI, and commits.
pub fn commit() -> c_int {
    let Ok(functions) = FUNCTIONS.get_or_try_init(|| find().ok_or(())) else {
        // Nobody can call it but through a library that has it.
        return NOT_SUPPORTED;
    };
    if library::locate().is_ok() {
        let mut value = Value { kind: BOOL, data: [1, 0, 0, 0] };
        // SAFETY: the caller may commit, so the client is initialised and may put; key and value are valid, and copied.
        let code = unsafe { (functions.put)(GLOBAL, KEY.as_ptr(), &raw mut value) };
        HAS_PUT.store(code == SUCCESS, Ordering::Relaxed);
    }
    // SAFETY: as the caller demands.
    unsafe { (functions.commit)() }
}

/// Whether an object is a PMIx client, by the name of its file.
fn is_client(path: &[u8]) -> bool {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default().starts_with(b"libpmix.so")
}

/// The functions of the client that the caller of ours would have got: the next in the order of symbols, or those of
/// the one that is loaded out of that order.
fn find() -> Option<Functions> {
    // SAFETY: the names are C strings, and functions of these names have the types that the standard gives them.
    unsafe {
        let next = |name: &CStr| {
            let address = libc::dlsym(libc::RTLD_NEXT, name.as_ptr());
            (!address.is_null()).then_some(address)
        };
        if let (Some(commit), Some(put), Some(get)) = (next(c"PMIx_Commit"), next(c"PMIx_Put"), next(c"PMIx_Get")) {
            return Some(Functions {
                commit: std::mem::transmute::<*mut c_void, Commit>(commit),
                put: std::mem::transmute::<*mut c_void, Put>(put),
                get: std::mem::transmute::<*mut c_void, Get>(get),
            });
        }
        for path in loaded(is_client) {
            let Ok(client) = Library::open(Some(&path), libc::RTLD_NOW | libc::RTLD_NOLOAD) else { continue };
            let initialized = client.get::<unsafe extern "C" fn() -> c_int>(b"PMIx_Initialized\0").ok();
            // Of several clients that one which is in use.
            if initialized.is_none_or(|initialized| initialized() == 0) {
                continue;
            }
            let commit = client.get::<Commit>(b"PMIx_Commit\0").ok().map(|function| *function);
            let put = client.get::<Put>(b"PMIx_Put\0").ok().map(|function| *function);
            let get = client.get::<Get>(b"PMIx_Get\0").ok().map(|function| *function);
            // The process goes on using it: it stays loaded.
            std::mem::forget(client);
            if let (Some(commit), Some(put), Some(get)) = (commit, put, get) {
                return Some(Functions { commit, put, get });
            }
        }
        None
    }
}

/// Asks which ranks of the world have this library.
pub struct Peers {
    get: Get,
    process: Process,
    info: Info,
    of_mpi: Vec<CString>,
}

impl Peers {
    /// `None` without PMIx.
    pub fn new() -> Option<Self> {
        let functions = FUNCTIONS.get().filter(|_| HAS_PUT.load(Ordering::Relaxed))?;
        let name = std::env::var("PMIX_NAMESPACE").ok()?;
        let process = Process { namespace: filled(name.as_bytes())?, rank: 0 };
        // PMIX_OPTIONAL: asks nobody, and does not wait.
        let value = Value { kind: BOOL, data: [1, 0, 0, 0] };
        let info = Info { key: filled(b"pmix.optional")?, flags: 0, value };
        Some(Self { get: functions.get, process, info, of_mpi: PUT_BY_MPI.lock().clone() })
    }

    /// Whether `rank` of the world is known to lack the library: what it has put is here, and our key is not.
    pub fn lacks(&mut self, rank: u32) -> bool {
        self.process.rank = rank;
        self.look_up(KEY) == NOT_FOUND && self.of_mpi.iter().any(|key| self.look_up(key) == SUCCESS)
    }

    /// The code by which the client answers for a key of the process.
    fn look_up(&self, key: &CStr) -> c_int {
        let mut value: *mut Value = std::ptr::null_mut();
        // SAFETY: the client is initialised from MPI_Init to MPI_Finalize; all structures are valid during the call.
        let code =
            unsafe { (self.get)(&raw const self.process, key.as_ptr(), &raw const self.info, 1, &raw mut value) };
        if code == SUCCESS && !value.is_null() {
            // SAFETY: the client has allocated it by malloc for the caller, who frees it. What a value of another kind
            // than a bool points to is lost: some bytes, once in a job in which a rank lacks the library.
            unsafe { libc::free(value.cast()) };
        }
        code
    }
}

/// A text with zeros behind it; `None` if it does not fit.
fn filled<const N: usize>(text: &[u8]) -> Option<[c_char; N]> {
    (text.len() < N).then(|| std::array::from_fn(|at| text.get(at).map_or(0, |&byte| byte as c_char)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    /// As a C compiler lays out PMIx's structures on 64-bit machines.
    #[test]
    fn structures_are_laid_out_as_in_c() {
        assert_eq!((size_of::<Process>(), offset_of!(Process, rank)), (260, 256));
        assert_eq!((offset_of!(Info, flags), offset_of!(Info, value)), (512, 520));
        assert_eq!(offset_of!(Value, data), 8);
        assert_eq!(filled::<4>(b"abc").map(|name| name[3]), Some(0));
        assert!(filled::<3>(b"abc").is_none(), "no room for the zero at the end");
    }
}
