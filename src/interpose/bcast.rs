//! `MPI_Bcast` (MPI 4.0 section 6.4).

use super::collective;
use crate::buffers::datatype::Typed;
use crate::call::arguments::Arguments;
use crate::real::handles::RawHandle;
use nagare_plan::collective::Collective;
use std::ffi::{c_int, c_void};

fn arguments(buffer: *mut c_void, count: i64, datatype: RawHandle, root: c_int, comm: RawHandle) -> Arguments {
    let data = Typed { address: buffer, count, datatype: datatype.into() };
    Arguments {
        collective: Collective::Bcast,
        input: data,
        output: data,
        blocks: None,
        counts: None,
        op: None,
        root,
        comm: comm.into(),
    }
}

macro_rules! entry {
    ($symbol:ident, $count:ty, $functions:ident => $real:expr) => {
        super::next::exported! {
            pub unsafe extern "C-unwind" fn $symbol(
                buffer: *mut c_void,
                count: $count,
                datatype: RawHandle,
                root: c_int,
                comm: RawHandle,
            ) -> c_int {
                let arguments = arguments(buffer, i64::from(count), datatype, root, comm);
                collective(stringify!($symbol), &arguments, |$functions| {
                    // SAFETY: the caller's own arguments.
                    unsafe { ($real)(buffer, count, datatype, root, comm) }
                })
            }
        }
    };
}

entry!(MPI_Bcast, c_int, f => f.mpi.bcast);
entry!(PMPI_Bcast, c_int, f => f.mpi.bcast);
#[cfg(mpi_large_count)]
entry!(MPI_Bcast_c, mpi::ffi::MPI_Count, f => f.large.bcast);
#[cfg(mpi_large_count)]
entry!(PMPI_Bcast_c, mpi::ffi::MPI_Count, f => f.large.bcast);
