//! How large a message may be to be sent at once, without asking the receiver.

use super::cvar::Variables;
use crate::real::Real;

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
    let Some(variables) = Variables::open(real) else { return EagerLimits { local: UNKNOWN, remote: UNKNOWN } };
    let less_header = |limit: u32| limit.saturating_sub(HEADER).max(512);
    EagerLimits {
        local: variables
            .first(&[c"btl_sm_eager_limit", c"btl_vader_eager_limit", c"MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"])
            .map_or(UNKNOWN, less_header),
        remote: variables
            .first(&[c"btl_tcp_eager_limit", c"MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"])
            .map_or(UNKNOWN, less_header),
    }
}
