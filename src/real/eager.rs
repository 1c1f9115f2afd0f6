//! Up to which size the library sends a message at once, without asking its receiver.
//!
//! ```text
//!   Open MPI's ob1        its own limits, less a header: in shared memory, and over TCP
//!   Open MPI over UCX …   that library decides, within a node too: the limits of ob1 are there, and mean nothing
//!   MPICH, ch4            between nodes UCX or libfabric decides; within a node a cell of MPICH's queue less a header,
//!                         unless the device is built for UCX alone, which then decides there too (Debian's 4.0.2)
//!   MPICH, ch3            its own limit between nodes
//! ```
//! MPI tells nothing of the libraries below it: `nagare tune` measures what they do (docs/profiles.md). Over adapters
//! with RDMA no plan needs it: a longer message goes in one copy, or without one, once its receive is posted, which
//! Nagare does ahead. Over TCP the library asks, and the answer waits behind what its sender sends: segments stay below
//! the limit of MPI's own TCP, and over UCX's as short as its version wants them.

use super::cvar::Variables;
use super::{loaded, transport};
use crate::real::Real;
use std::ffi::{c_uint, c_void};
use std::fmt::{Display, Formatter, Result};

/// Room for the library's own header in an eager message, bytes; 56 and 80 have been seen.
const HEADER: u32 = 256;

/// The limit assumed where the library could have one and reveals none: small enough for every transport we have
/// measured.
pub const UNKNOWN: u32 = 8 << 10;

/// Where something below MPI decides, or no size matters.
const BELOW: u32 = u32::MAX;

/// The longest message where no limit matters, bytes.
pub const FREE: u32 = 1 << 20;

/// The same in shared memory, where messages of 512 KiB to 2 MiB took up to half as long again as longer ones, which go
/// in one copy of the system's (docs/benchmarks.md, "Long blocks in one message").
pub const IN_MEMORY: u32 = 64 << 20;

/// The longest segments over UCX's TCP, bytes. Before version 1.16 UCX asks from 8 KiB on: pipelines of 16 KiB take no
/// longer than those of 8, those of 64 and more up to 1.9 times as long. Since then UCX asks from 259 131 on, but of
/// segments over 64 KiB a window has too few where both ends send (docs/profiles.md).
const BEFORE_UCX_1_16: u32 = 16 << 10;
const SINCE_UCX_1_16: u32 = 64 << 10;

/// Limits of one process, in bytes of user data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EagerLimits {
    /// To ranks of the same node.
    pub local: u32,
    /// To ranks of other nodes.
    pub remote: u32,
    /// The longest message to ranks of other nodes that a library below MPI carries well if it goes over TCP.
    pub over_tcp: u32,
}

impl EagerLimits {
    /// Where the library does not tell.
    pub const UNKNOWN: Self = Self { local: UNKNOWN, remote: UNKNOWN, over_tcp: FREE };

    /// The longest message to ranks of other nodes that the transport carries well.
    pub fn message(&self) -> u32 {
        self.remote.min(self.over_tcp).min(FREE)
    }

    /// Both, local first: `None` where MPI cannot tell.
    pub fn told(&self) -> [Option<u32>; 2] {
        [self.local, self.remote].map(|limit| Some(limit).filter(|&limit| limit != BELOW))
    }
}

impl Display for EagerLimits {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.told() {
            [Some(local), Some(remote)] => write!(f, "up to {local} bytes within a node, {remote} between nodes"),
            [Some(local), None] => write!(f, "up to {local} bytes within a node, not known between nodes"),
            [None, Some(remote)] => write!(f, "not known within a node, up to {remote} bytes between nodes"),
            [None, None] => write!(f, "not known"),
        }
    }
}

/// Asks the library's control variables, inside the wrapper of MPI_Init.
pub fn limits(real: &Real) -> EagerLimits {
    let Some(variables) = Variables::open(real) else { return EagerLimits::UNKNOWN };
    let size = |names| variables.size(names).map_or(UNKNOWN, |limit: u32| limit.saturating_sub(HEADER).max(512));
    let component = transport::component(real);
    EagerLimits {
        local: match within_node(component.as_deref(), variables.is_on(c"MPIR_CVAR_NOLOCAL")) {
            Within::Ob1 => size(&[c"btl_sm_eager_limit", c"btl_vader_eager_limit"]),
            Within::Cells => size(&[c"MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"]),
            Within::Unknown => UNKNOWN,
            Within::Below => BELOW,
        },
        remote: match component.as_deref() {
            Some(transport::TCP) => size(&[c"btl_tcp_eager_limit"]),
            Some(device) if device.starts_with(transport::CH3) => size(&[c"MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"]),
            Some(_) => BELOW,
            None => UNKNOWN,
        },
        // Only where MPI is built for UCX: the loader would look for a library that the process does not have.
        over_tcp: component.filter(|name| name.contains("ucx")).and_then(|_| ucx()).map_or(FREE, over_ucx),
    }
}

/// The longest message over UCX's TCP, by UCX's version.
fn over_ucx(version: (c_uint, c_uint)) -> u32 {
    if version < (1, 16) { BEFORE_UCX_1_16 } else { SINCE_UCX_1_16 }
}

/// Major and minor version of UCX, which the process has loaded.
fn ucx() -> Option<(c_uint, c_uint)> {
    type Version = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint);
    let address = loaded::function(c"libucp.so.0", c"ucp_get_version");
    if address.is_null() {
        return None;
    }
    let (mut major, mut minor, mut release) = (0, 0, 0);
    // SAFETY: UCX's function of that name, which has had this signature since its first release and writes three
    // numbers.
    unsafe {
        let version = std::mem::transmute::<*mut c_void, Version>(address);
        version(&raw mut major, &raw mut minor, &raw mut release);
    }
    Some((major, minor))
}

/// What carries messages within a node.
#[derive(Debug, PartialEq)]
enum Within {
    /// Open MPI's own shared memory.
    Ob1,
    /// MPICH's queues of cells.
    Cells,
    /// MPICH's older device.
    Unknown,
    /// The library that carries them between nodes.
    Below,
}

/// By what carries messages between nodes; `no_local`: the user wants MPICH not to use shared memory.
fn within_node(component: Option<&str>, no_local: bool) -> Within {
    let Some(device) = component.and_then(|name| name.strip_prefix(transport::CH4)) else {
        return match component {
            Some(name) if transport::BELOW.contains(&name) => Within::Below,
            Some(name) if name.starts_with(transport::CH3) => Within::Unknown,
            _ => Within::Ob1,
        };
    };
    if no_local || device == "ucx" { Within::Below } else { Within::Cells }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_below_carries_messages_within_a_node_too() {
        for component in ["ucx", "ofi", "psm2", "portals4", "ch4:ucx"] {
            assert_eq!(within_node(Some(component), false), Within::Below, "{component}");
        }
        for component in [None, Some("tcp"), Some("uct"), Some("openib")] {
            assert_eq!(within_node(component, false), Within::Ob1, "{component:?}");
        }
        for device in ["ch4:ofi", "ch4:ucx ofi"] {
            assert_eq!(within_node(Some(device), false), Within::Cells, "{device}");
            assert_eq!(within_node(Some(device), true), Within::Below, "{device}");
        }
        assert_eq!(within_node(Some("ch3:nemesis"), false), Within::Unknown);
    }

    #[test]
    fn what_a_library_below_decides_bounds_no_message() {
        let limits = EagerLimits { local: 3840, remote: BELOW, over_tcp: FREE };
        assert_eq!((limits.message(), limits.told()), (FREE, [Some(3840), None]));
        assert_eq!(limits.to_string(), "up to 3840 bytes within a node, not known between nodes");
        let over_tcp = EagerLimits { local: BELOW, remote: 65280, over_tcp: FREE };
        assert_eq!((over_tcp.message(), over_tcp.told()), (65280, [None, Some(65280)]));
    }

    #[test]
    fn the_version_of_ucx_bounds_messages_over_tcp() {
        for (version, message) in [((1, 13), 16 << 10), ((1, 15), 16 << 10), ((1, 16), 64 << 10), ((2, 0), 64 << 10)] {
            let limits = EagerLimits { local: BELOW, remote: BELOW, over_tcp: over_ucx(version) };
            assert_eq!((limits.message(), limits.told()), (message, [None, None]), "{version:?}");
        }
    }
}
