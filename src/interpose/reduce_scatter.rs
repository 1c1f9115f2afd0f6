//! `MPI_Reduce_scatter` (MPI 4.0 section 6.10.2).

use super::collective;
use crate::buffers::datatype::Typed;
use crate::buffers::numbers::Numbers;
use crate::call::arguments::Arguments;
use crate::real::handles::RawHandle;
use nagare_plan::collective::Collective;
use std::ffi::{c_int, c_void};

macro_rules! entry {
    ($symbol:ident, $numbers:ident($count:ty), $functions:ident => $real:expr) => {
        super::next::exported! {
            pub unsafe extern "C-unwind" fn $symbol(
                send: *const c_void,
                receive: *mut c_void,
                counts: *const $count,
                datatype: RawHandle,
                op: RawHandle,
                comm: RawHandle,
            ) -> c_int {
                let buffer = |address| Typed { address, count: 0, datatype: datatype.into() };
                let arguments = Arguments {
                    collective: Collective::ReduceScatter,
                    input: buffer(send.cast_mut()),
                    output: buffer(receive),
                    blocks: None,
                    counts: Some(Numbers::$numbers(counts)),
                    op: Some(op.into()),
                    root: 0,
                    comm: comm.into(),
                };
                collective(stringify!($symbol), &arguments, |$functions| {
                    // SAFETY: the caller's own arguments.
                    unsafe { ($real)(send, receive, counts, datatype, op, comm) }
                })
            }
        }
    };
}

entry!(MPI_Reduce_scatter, Int(c_int), f => f.mpi.reduce_scatter);
entry!(PMPI_Reduce_scatter, Int(c_int), f => f.mpi.reduce_scatter);
#[cfg(mpi_large_count)]
entry!(MPI_Reduce_scatter_c, Large(mpi::ffi::MPI_Count), f => f.large.reduce_scatter);
#[cfg(mpi_large_count)]
entry!(PMPI_Reduce_scatter_c, Large(mpi::ffi::MPI_Count), f => f.large.reduce_scatter);
