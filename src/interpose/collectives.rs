//! The collectives: entries for every signature of the list (`real/signatures.rs`).

use super::next::exported;
use crate::boundary::panics::guard;
use crate::call;
use crate::call::arguments::Arguments;
use crate::real::signatures::collectives;
use crate::real::{self, Real};
use crate::world::shim::shim;
use std::ffi::c_int;

/// Handles a collective: on our schedules or by `forward`, the library's own function.
#[inline]
fn collective(function: &'static str, arguments: &Arguments, forward: impl FnOnce(&Real) -> c_int) -> c_int {
    guard(function, || match shim() {
        Some(shim) => call::handle(shim, arguments, || forward(shim.real)),
        None => real::real().map_or(real::MISSING, forward),
    })
}

macro_rules! entry {
    ($symbol:ident, $table:ident.$name:ident ($($parameter:ident: $type:ty),*)) => {
        exported! {
            pub unsafe extern "C-unwind" fn $symbol($($parameter: $type),*) -> c_int {
                let arguments = Arguments::$name($($parameter),*);
                super::collective(stringify!($symbol), &arguments, |real| {
                    // SAFETY: the caller's own arguments.
                    unsafe { (real.$table.$name)($($parameter),*) }
                })
            }
        }
    };
}

/// Entries with counts of type `int`.
mod int {
    use super::{Arguments, collectives, exported};
    use crate::real::handles::RawHandle;
    use mpi::ffi::MPI_Datatype;
    use std::ffi::{c_int, c_void};

    type Count = c_int;
    type Displacement = c_int;

    macro_rules! entries {
        ($($name:ident: $mpi:ident $pmpi:ident $large:ident $plarge:ident
            ($($parameter:ident: $type:ty),* $(,)?);)*) => {$(
            entry!($mpi, mpi.$name ($($parameter: $type),*));
            entry!($pmpi, mpi.$name ($($parameter: $type),*));
        )*};
    }
    collectives!(entries);
}

/// Entries with large counts (MPI 4.0 section 2.5.8).
#[cfg(mpi_large_count)]
mod large {
    use super::{Arguments, collectives, exported};
    use crate::real::handles::RawHandle;
    use mpi::ffi::{MPI_Aint as Displacement, MPI_Count as Count, MPI_Datatype};
    use std::ffi::{c_int, c_void};

    macro_rules! entries {
        ($($name:ident: $mpi:ident $pmpi:ident $large:ident $plarge:ident
            ($($parameter:ident: $type:ty),* $(,)?);)*) => {$(
            entry!($large, large.$name ($($parameter: $type),*));
            entry!($plarge, large.$name ($($parameter: $type),*));
        )*};
    }
    collectives!(entries);
}
