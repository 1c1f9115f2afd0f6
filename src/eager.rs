//! How large a message may be to be sent at once, without asking the receiver (MPI 4.0 section 15.3, `MPI_T`).

use crate::real::Real;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;

/// Room for the library's own header in an eager message, bytes.
const HEADER: u32 = 256;

/// What holds where the library does not tell: small enough for every transport we have measured.
pub const UNKNOWN: u32 = 8 << 10;

/// Eager limits of one process, in bytes of user data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EagerLimits {
    /// To ranks of the same node.
    pub local: u32,
    /// To ranks of other nodes.
    pub remote: u32,
}

/// Asks the library's control variables: of Open MPI's transports, and of MPICH's shared memory and of its older device.
/// MPICH over UCX tells nothing about messages between nodes.
pub fn limits(real: &Real) -> EagerLimits {
    let mut provided = 0;
    // SAFETY: MPI_T_init_thread may be called at any time; MPI_THREAD_SINGLE is 0 in both families.
    if unsafe { (real.mpi.t_init_thread)(0, &raw mut provided) } != 0 {
        return EagerLimits { local: UNKNOWN, remote: UNKNOWN };
    }
    let read = |names: &[&CStr]| names.iter().find_map(|name| variable(real, name));
    let less_header = |limit: u32| limit.saturating_sub(HEADER).max(512);
    let limits = EagerLimits {
        local: read(&[c"btl_sm_eager_limit", c"btl_vader_eager_limit", c"MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"])
            .map_or(UNKNOWN, less_header),
        remote: read(&[c"btl_tcp_eager_limit", c"MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"]).map_or(UNKNOWN, less_header),
    };
    // SAFETY: pairs with the initialisation above.
    unsafe { (real.mpi.t_finalize)() };
    limits
}

/// Value of an unsigned control variable; both `unsigned int` and `size_t` are in use.
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
