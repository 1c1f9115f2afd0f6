//! `MPI_Reduce_scatter_block` (MPI 4.0 section 6.10.1).

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
                // Both are of one block; the vector of the input has one for every rank.
                let buffer = |address| Typed { address, count: i64::from(count), datatype: datatype.into() };
                let arguments = Arguments {
                    collective: Collective::ReduceScatterBlock,
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

entry!(MPI_Reduce_scatter_block, c_int, f => f.mpi.reduce_scatter_block);
entry!(PMPI_Reduce_scatter_block, c_int, f => f.mpi.reduce_scatter_block);
#[cfg(mpi_large_count)]
entry!(MPI_Reduce_scatter_block_c, mpi::ffi::MPI_Count, f => f.large.reduce_scatter_block);
#[cfg(mpi_large_count)]
entry!(PMPI_Reduce_scatter_block_c, mpi::ffi::MPI_Count, f => f.large.reduce_scatter_block);
