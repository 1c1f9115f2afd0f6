//! How large a message may be that the library carries well.
//!
//! Within Open MPI's TCP that is what it sends at once, without asking the receiver. Over libraries below (UCX,
//! libfabric, PSM2) and adapters with RDMA a longer message goes in one copy, or without one, once its receive is
//! posted, which Nagare does ahead.

use super::cvar::Variables;
use super::transport;
use crate::real::Real;

/// Room for the library's own header in an eager message, bytes.
const HEADER: u32 = 256;

/// The limit assumed where the library reveals none: small enough for every transport we have measured.
pub const UNKNOWN: u32 = 8 << 10;

/// The longest message where no limit matters, bytes.
pub const FREE: u32 = 1 << 20;

/// Limits of one process, in bytes of user data.
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
/// use, and of MPICH's shared memory and older device.
pub fn limits(real: &Real) -> EagerLimits {
    let Some(variables) = Variables::open(real) else { return EagerLimits::UNKNOWN };
    let less_header = |limit: u32| limit.saturating_sub(HEADER).max(512);
    EagerLimits {
        local: variables
            .size(&[c"btl_sm_eager_limit", c"btl_vader_eager_limit", c"MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"])
            .map_or(UNKNOWN, less_header),
        remote: match transport::component(real).as_deref() {
            Some(transport::TCP) => variables.size(&[c"btl_tcp_eager_limit"]).map_or(UNKNOWN, less_header),
            Some(device) if device.starts_with(transport::CH3) => {
                variables.size(&[c"MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"]).map_or(UNKNOWN, less_header)
            }
            Some(_) => FREE,
            None => UNKNOWN,
        },
    }
}
