//! `MPI_Allreduce` (MPI 4.0 section 6.9.6).

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
                receive: *mut c_void,
                count: $count,
                datatype: RawHandle,
                op: RawHandle,
                comm: RawHandle,
            ) -> c_int {
                let buffer = |address| Typed { address, count: i64::from(count), datatype: datatype.into() };
                let arguments = Arguments {
                    collective: Collective::Allreduce,
                    input: buffer(send.cast_mut()),
                    output: buffer(receive),
                    blocks: None,
                    counts: None,
                    op: Some(op.into()),
                    root: 0,
                    comm: comm.into(),
                };
                collective(stringify!($symbol), &arguments, |$functions| {
                    // SAFETY: the caller's own arguments.
                    unsafe { ($real)(send, receive, count, datatype, op, comm) }
                })
            }
        }
    };
}

entry!(MPI_Allreduce, c_int, f => f.mpi.allreduce);
entry!(PMPI_Allreduce, c_int, f => f.mpi.allreduce);
#[cfg(mpi_large_count)]
entry!(MPI_Allreduce_c, mpi::ffi::MPI_Count, f => f.large.allreduce);
#[cfg(mpi_large_count)]
entry!(PMPI_Allreduce_c, mpi::ffi::MPI_Count, f => f.large.allreduce);
