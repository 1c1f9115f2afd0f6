//! `MPI_Gather` (MPI 4.0 section 6.5).

use super::collective;
use crate::buffers::datatype::Typed;
use crate::call::arguments::Arguments;
use crate::real::handles::RawHandle;
use nagare_plan::collective::Collective;
use std::ffi::{c_int, c_void};

macro_rules! entry {
    ($symbol:ident, $count:ty, $functions:ident => $real:expr) => {
        super::next::exported! {
            pub unsafe extern "C-unwind" fn $symbol(
                send: *const c_void,
                send_count: $count,
                send_type: RawHandle,
                receive: *mut c_void,
                receive_count: $count,
                receive_type: RawHandle,
                root: c_int,
                comm: RawHandle,
            ) -> c_int {
                let arguments = Arguments {
                    collective: Collective::Gather,
                    input: Typed { address: send.cast_mut(), count: i64::from(send_count), datatype: send_type.into() },
                    output: Typed { address: receive, count: i64::from(receive_count), datatype: receive_type.into() },
                    blocks: None,
                    counts: None,
                    op: None,
                    root,
                    comm: comm.into(),
                };
                collective(stringify!($symbol), &arguments, |$functions| {
                    // SAFETY: the caller's own arguments.
                    unsafe { ($real)(send, send_count, send_type, receive, receive_count, receive_type, root, comm) }
                })
            }
        }
    };
}

entry!(MPI_Gather, c_int, f => f.mpi.gather);
entry!(PMPI_Gather, c_int, f => f.mpi.gather);
#[cfg(mpi_large_count)]
entry!(MPI_Gather_c, mpi::ffi::MPI_Count, f => f.large.gather);
#[cfg(mpi_large_count)]
entry!(PMPI_Gather_c, mpi::ffi::MPI_Count, f => f.large.gather);
