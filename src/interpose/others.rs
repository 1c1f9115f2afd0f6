//! The collectives that Nagare passes on: entries for every name of the list (`real/others.rs`), which count and time
//! them for the report.

use super::next::exported;
use crate::boundary::panics::guard;
use crate::call;
use crate::real::others::others;
use crate::real::{self, Other, Real, Word};
use crate::world::shim::shim;
use std::ffi::c_int;

#[inline]
fn other(function: &'static str, which: Other, comm: Word, forward: impl FnOnce(&Real) -> c_int) -> c_int {
    guard(function, || match shim() {
        Some(shim) => call::pass_on(shim, which, comm, || forward(shim.real)),
        None => real::real().map_or(real::MISSING, forward),
    })
}

macro_rules! entry {
    ($symbol:ident, $table:ident.$name:ident ($($parameter:ident),* $(; $request:ident)?)) => {
        exported! {
            pub unsafe extern "C-unwind" fn $symbol($($parameter: Word,)* $($request: Word)?) -> c_int {
                let [.., comm] = [$($parameter),*];
                other(stringify!($symbol), Other::$name, comm, |real| {
                    // SAFETY: the caller's own arguments.
                    unsafe { (real.$table.$name)($($parameter,)* $($request)?) }
                })
            }
        }
    };
}

macro_rules! entries {
    ({$(
        $plain:ident: $mpi_plain:ident $pmpi_plain:ident ($($argument:ident),* $(; $of:ident)? $(,)?);
    )*} {$(
        $name:ident: $mpi:ident $pmpi:ident $large:ident $plarge:ident
        ($($parameter:ident),* $(; $request:ident)? $(,)?);
    )*}) => {
        $(
            entry!($mpi_plain, others.$plain ($($argument),* $(; $of)?));
            entry!($pmpi_plain, others.$plain ($($argument),* $(; $of)?));
        )*
        $(
            entry!($mpi, others.$name ($($parameter),* $(; $request)?));
            entry!($pmpi, others.$name ($($parameter),* $(; $request)?));
            #[cfg(mpi_large_count)]
            entry!($large, large_others.$name ($($parameter),* $(; $request)?));
            #[cfg(mpi_large_count)]
            entry!($plarge, large_others.$name ($($parameter),* $(; $request)?));
        )*
    };
}
others!(entries);
