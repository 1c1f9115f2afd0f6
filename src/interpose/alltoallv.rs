//! `MPI_Alltoallv` (MPI 4.0 section 6.8).

use super::collective;
use crate::buffers::blocks::Blocks;
use crate::buffers::datatype::Typed;
use crate::buffers::numbers::Numbers;
use crate::call::arguments::Arguments;
use crate::real::handles::RawHandle;
use nagare_plan::collective::Collective;
use std::ffi::{c_int, c_void};

macro_rules! entry {
    ($symbol:ident, $numbers:ident($count:ty, $displacement:ty), $functions:ident => $real:expr) => {
        super::next::exported! {
            pub unsafe extern "C-unwind" fn $symbol(
                send: *const c_void,
                send_counts: *const $count,
                send_displacements: *const $displacement,
                send_type: RawHandle,
                receive: *mut c_void,
                receive_counts: *const $count,
                receive_displacements: *const $displacement,
                receive_type: RawHandle,
                comm: RawHandle,
            ) -> c_int {
                let side = |address, datatype: RawHandle| Typed { address, count: 0, datatype: datatype.into() };
                let arguments = Arguments {
                    collective: Collective::Alltoallv,
                    input: side(send.cast_mut(), send_type),
                    output: side(receive, receive_type),
                    blocks: Some([
                        Blocks {
                            counts: Numbers::$numbers(send_counts),
                            displacements: Numbers::$numbers(send_displacements),
                        },
                        Blocks {
                            counts: Numbers::$numbers(receive_counts),
                            displacements: Numbers::$numbers(receive_displacements),
                        },
                    ]),
                    counts: None,
                    op: None,
                    root: 0,
                    comm: comm.into(),
                };
                collective(stringify!($symbol), &arguments, |$functions| {
                    // SAFETY: the caller's own arguments.
                    unsafe {
                        ($real)(
                            send,
                            send_counts,
                            send_displacements,
                            send_type,
                            receive,
                            receive_counts,
                            receive_displacements,
                            receive_type,
                            comm,
                        )
                    }
                })
            }
        }
    };
}

entry!(MPI_Alltoallv, Int(c_int, c_int), f => f.mpi.alltoallv);
entry!(PMPI_Alltoallv, Int(c_int, c_int), f => f.mpi.alltoallv);
#[cfg(mpi_large_count)]
entry!(MPI_Alltoallv_c, Large(mpi::ffi::MPI_Count, mpi::ffi::MPI_Aint), f => f.large.alltoallv);
#[cfg(mpi_large_count)]
entry!(PMPI_Alltoallv_c, Large(mpi::ffi::MPI_Count, mpi::ffi::MPI_Aint), f => f.large.alltoallv);
