//! The MPI library's control variables, read without making the library load anything.
//!
//! ```text
//!   Open MPI   MPI_Init has registered the variables of what it uses in libopen-pal, with the values that the
//!              environment and the parameter files give them: they are read there. Where a tool has opened MPI_T
//!              before, some of what is installed and not used are there too (transport.rs)
//!   MPICH      the tool interface (MPI_T, MPI 4.0 section 15.3), whose variables are all there from the start
//! ```
//!
//! Open MPI's `MPI_T_init_thread` loads every installed component in order to list its variables: it opens many files,
//! perhaps on a shared file system, for two or three numbers. The job uses none of the components that it loads for
//! that.

use crate::real::Real;
use once_cell::sync::OnceCell;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;

/// How the variables are read.
enum Way {
    Registry,
    Tool,
}

/// Found once. What the tool interface opens is never closed: MPICH 4.0 destroys the variables for the whole process
/// when the last user closes them, and the program may be one that opens them later.
static WAY: OnceCell<Option<Way>> = OnceCell::new();

/// Access to the control variables, of an initialised MPI.
pub struct Variables<'r> {
    real: &'r Real,
    way: &'r Way,
}

impl<'r> Variables<'r> {
    /// `None` where the library offers none.
    pub fn open(real: &'r Real) -> Option<Self> {
        let way = WAY.get_or_init(|| {
            if has_registry(real) {
                return Some(Way::Registry);
            }
            let mut provided = 0;
            // SAFETY: MPI_T_init_thread may be called at any time.
            let code = unsafe { (real.mpi.t_init_thread)(thread_level(real), &raw mut provided) };
            (code == 0).then_some(Way::Tool)
        });
        way.as_ref().map(|way| Self { real, way })
    }

    /// Whether the library has a variable of this name: Open MPI has those of the components that it uses, and those
    /// that a tool has had it list.
    pub fn has(&self, name: &CStr) -> bool {
        match self.way {
            Way::Registry => stored(self.real, name).is_some(),
            Way::Tool => told(self.real, name).is_some(),
        }
    }

    /// The value of the first of these sizes, in bytes, that exists and is above zero; at most `u32::MAX`.
    pub fn size(&self, names: &[&CStr]) -> Option<u32> {
        let value = |name: &CStr| match self.way {
            // SAFETY: Open MPI declares its sizes as size_t.
            Way::Registry => stored(self.real, name).map(|at| unsafe { at.cast::<usize>().read() } as u64),
            Way::Tool => told(self.real, name),
        };
        let above_zero = names.iter().filter_map(|name| value(name)).find(|&value| value > 0);
        above_zero.map(|value| u32::try_from(value).unwrap_or(u32::MAX))
    }

    /// Whether this switch exists and is on.
    pub fn is_on(&self, name: &CStr) -> bool {
        let value = match self.way {
            // SAFETY: Open MPI declares its switches as bool, a byte; of an int, the lowest byte comes first.
            Way::Registry => stored(self.real, name).map(|at| u64::from(unsafe { at.cast::<u8>().read() })),
            Way::Tool => told(self.real, name),
        };
        value.is_some_and(|value| value != 0)
    }
}

/// Whether the library has an error for a call both of whose buffers are one, or whose own block is where it belongs:
/// MPICH does not look where `MPIR_CVAR_COLL_ALIAS_CHECK` is 0. Asked once.
pub fn looks_for_aliases(real: &Real) -> bool {
    static LOOKS: OnceCell<bool> = OnceCell::new();
    const CHECK: &CStr = c"MPIR_CVAR_COLL_ALIAS_CHECK";
    let is_off = |variables: Variables| variables.has(CHECK) && !variables.is_on(CHECK);
    *LOOKS.get_or_init(|| cfg!(mpi_family = "openmpi") || !Variables::open(real).is_some_and(is_off))
}

/// Whether the library has Open MPI's registry. Both functions are in the libopen-pal that it was linked with.
#[cfg(mpi_family = "openmpi")]
fn has_registry(real: &Real) -> bool {
    ["mca_base_var_find_by_name", "mca_base_var_get_value"].iter().all(|name| real.mpi.bound.contains(name))
}

#[cfg(mpi_family = "mpich")]
fn has_registry(_: &Real) -> bool {
    false
}

/// Where Open MPI keeps the value of a variable, `None` where it is not registered.
#[cfg(mpi_family = "openmpi")]
fn stored(real: &Real, name: &CStr) -> Option<*const c_void> {
    let mut index: c_int = -1;
    let mut at: *const c_void = ptr::null();
    // SAFETY: MPI is initialised, so the registry is, and this thread is in MPI_Init, so no other changes it; the
    // functions only read, and write to the pointers given. The source of the value and its file are not asked for.
    let found = unsafe {
        (real.mpi.var_find_by_name)(name.as_ptr(), &raw mut index) == 0
            && (real.mpi.var_get_value)(index, &raw mut at, ptr::null_mut(), ptr::null_mut()) == 0
    };
    (found && !at.is_null()).then_some(at)
}

#[cfg(mpi_family = "mpich")]
fn stored(_: &Real, _: &CStr) -> Option<*const c_void> {
    None
}

/// The thread level to ask for: that of MPI itself, since Open MPI makes what MPI_T_init_thread is asked for the level
/// of both. Where only sessions are in use it is the highest, with which nobody loses a lock.
fn thread_level(real: &Real) -> c_int {
    // MPI_THREAD_MULTIPLE in both families.
    let highest = 3;
    let (mut initialised, mut level) = (0, highest);
    // SAFETY: the first may be called at any time, the second in an initialised MPI; the pointers are valid.
    let code = unsafe {
        (real.mpi.initialized)(&raw mut initialised);
        if initialised == 0 { 0 } else { (real.mpi.query_thread)(&raw mut level) }
    };
    if code == 0 { level } else { highest }
}

/// Value of a variable as the tool interface tells it; `int`, `unsigned int` and `size_t` are in use.
fn told(real: &Real, name: &CStr) -> Option<u64> {
    let mut index: c_int = 0;
    let mut handle: *mut c_void = ptr::null_mut();
    let mut count: c_int = 0;
    let mut value: u64 = 0;
    // SAFETY: MPI_T is initialised; all pointers are valid; the buffer holds eight bytes, and a scalar variable of
    // these names has at most that many (count is checked), the unused ones staying zero on a little-endian machine.
    unsafe {
        if (real.mpi.t_cvar_get_index)(name.as_ptr(), &raw mut index) != 0 {
            return None;
        }
        if (real.mpi.t_cvar_handle_alloc)(index, ptr::null_mut(), &raw mut handle, &raw mut count) != 0 {
            return None;
        }
        let read = count == 1 && (real.mpi.t_cvar_read)(handle, (&raw mut value).cast()) == 0;
        (real.mpi.t_cvar_handle_free)(&raw mut handle);
        read.then_some(value)
    }
}
