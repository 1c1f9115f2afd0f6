//! How large a message may be to be sent at once, without asking the receiver.

use super::cvar::Variables;
use crate::real::Real;

/// Room for the library's own header in an eager message, bytes.
const HEADER: u32 = 256;

/// The limit assumed where the library reveals none: small enough for every transport we have measured.
pub const UNKNOWN: u32 = 8 << 10;

/// Eager limits of one process, in bytes of user data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EagerLimits {
    /// To ranks of the same node.
    pub local: u32,
    /// To ranks of other nodes.
    pub remote: u32,
}

impl EagerLimits {
    /// Where the library does not tell.
    pub const UNKNOWN: Self = Self { local: UNKNOWN, remote: UNKNOWN };
}

/// Asks the library's control variables, inside the wrapper of MPI_Init: those of Open MPI's transports that are in
/// use, and of MPICH's shared memory and older device. Neither library tells anything about messages between nodes over
/// UCX.
pub fn limits(real: &Real) -> EagerLimits {
    let Some(variables) = Variables::open(real) else { return EagerLimits::UNKNOWN };
    let less_header = |limit: u32| limit.saturating_sub(HEADER).max(512);
    EagerLimits {
        local: variables
            .size(&[c"btl_sm_eager_limit", c"btl_vader_eager_limit", c"MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"])
            .map_or(UNKNOWN, less_header),
        remote: variables
            .size(&[c"btl_tcp_eager_limit", c"MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"])
            .map_or(UNKNOWN, less_header),
    }
}
