//! The MPI library's control variables (MPI 4.0 section 15.3, `MPI_T`).

use crate::real::Real;
use once_cell::sync::OnceCell;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;

/// Whether the control variables could be opened. They are opened once and never closed: MPICH 4.0 destroys them for the
/// whole process when the last user closes them, and the program may be one that opens them later.
static OPEN: OnceCell<bool> = OnceCell::new();

/// Access to the control variables.
pub struct Variables<'r> {
    real: &'r Real,
}

impl<'r> Variables<'r> {
    /// `None` where the library offers none.
    pub fn open(real: &'r Real) -> Option<Self> {
        let open = OPEN.get_or_init(|| {
            let mut provided = 0;
            // SAFETY: MPI_T_init_thread may be called at any time.
            unsafe { (real.mpi.t_init_thread)(thread_level(real), &raw mut provided) == 0 }
        });
        open.then_some(Self { real })
    }

    /// The value of the first of these that exists and is a scalar above zero.
    pub fn first(&self, names: &[&CStr]) -> Option<u32> {
        names.iter().find_map(|name| variable(self.real, name))
    }
}

/// The thread level to ask for: that of MPI itself, since Open MPI makes what MPI_T_init_thread is asked for the level of both.
/// Where only sessions are in use it is the highest, with which nobody loses a lock.
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

/// Value of a control variable above zero; `int`, `unsigned int` and `size_t` are in use.
fn variable(real: &Real, name: &CStr) -> Option<u32> {
    let mut index: c_int = 0;
    let mut handle: *mut c_void = ptr::null_mut();
    let mut count: c_int = 0;
    let mut value: u64 = 0;
    // SAFETY: MPI_T is initialised; all pointers are valid; the buffer holds eight bytes, and a scalar variable of these
    // names has at most that many (count is checked), the unused ones staying zero on a little-endian machine.
    unsafe {
        if (real.mpi.t_cvar_get_index)(name.as_ptr(), &raw mut index) != 0 {
            return None;
        }
        if (real.mpi.t_cvar_handle_alloc)(index, ptr::null_mut(), &raw mut handle, &raw mut count) != 0 {
            return None;
        }
        let read = count == 1 && (real.mpi.t_cvar_read)(handle, (&raw mut value).cast()) == 0;
        (real.mpi.t_cvar_handle_free)(&raw mut handle);
        read.then(|| u32::try_from(value).unwrap_or(u32::MAX)).filter(|&v| v > 0)
    }
}
