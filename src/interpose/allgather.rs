//! `MPI_Allgather` (MPI 4.0 section 6.7).

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
                comm: RawHandle,
            ) -> c_int {
                let arguments = Arguments {
                    collective: Collective::Allgather,
                    input: Typed { address: send.cast_mut(), count: i64::from(send_count), datatype: send_type.into() },
                    output: Typed { address: receive, count: i64::from(receive_count), datatype: receive_type.into() },
                    blocks: None,
                    counts: None,
                    op: None,
                    root: 0,
                    comm: comm.into(),
                };
                collective(stringify!($symbol), &arguments, |$functions| {
                    // SAFETY: the caller's own arguments.
                    unsafe { ($real)(send, send_count, send_type, receive, receive_count, receive_type, comm) }
                })
            }
        }
    };
}

entry!(MPI_Allgather, c_int, f => f.mpi.allgather);
entry!(PMPI_Allgather, c_int, f => f.mpi.allgather);
#[cfg(mpi_large_count)]
entry!(MPI_Allgather_c, mpi::ffi::MPI_Count, f => f.large.allgather);
#[cfg(mpi_large_count)]
entry!(PMPI_Allgather_c, mpi::ffi::MPI_Count, f => f.large.allgather);
