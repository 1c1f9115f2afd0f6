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
            // SAFETY: MPI_T_init_thread may be called at any time; MPI_THREAD_SINGLE is 0 in both families.
            unsafe { (real.mpi.t_init_thread)(0, &raw mut provided) == 0 }
        });
        open.then_some(Self { real })
    }

    /// The value of the first of these that exists and is a scalar above zero.
    pub fn first(&self, names: &[&CStr]) -> Option<u32> {
        names.iter().find_map(|name| variable(self.real, name))
    }
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
