//! Any number of elements as an `int` count of a type.

use crate::buffers::contents::extent;
use crate::real::Real;
use mpi::ffi::{MPI_Aint, MPI_Datatype};
use std::ffi::c_int;

/// Elements of one message at most: a count of type `int` with room to spare.
const CHUNK: i64 = 1 << 30;

/// A count and a type that stand for any number of elements of another.
pub(super) struct Large {
    pub count: c_int,
    pub datatype: MPI_Datatype,
    /// Whether the type was made here.
    owned: bool,
}

impl Large {
    /// `count` elements of `datatype` as an `int` count: as they are if they fit, else one element of a struct of whole
    /// chunks and a rest.
    pub fn new(real: &Real, count: i64, datatype: MPI_Datatype) -> Result<Self, c_int> {
        if let Ok(count) = c_int::try_from(count) {
            return Ok(Self { count, datatype, owned: false });
        }
        let mpi = &real.mpi;
        let (chunks, rest) = (count / CHUNK, count % CHUNK);
        let mut chunk = real.handles.datatype_null;
        let mut whole = real.handles.datatype_null;
        let lengths = [chunks as c_int, rest as c_int];
        let displacements = [0, chunks as MPI_Aint * CHUNK as MPI_Aint * extent(real, datatype) as MPI_Aint];
        // SAFETY: all handles are valid, the arrays have two entries; the intermediate type may be freed after use.
        unsafe {
            check((mpi.type_contiguous)(CHUNK as c_int, datatype, &raw mut chunk))?;
            let types = [chunk, datatype];
            let code =
                (mpi.type_create_struct)(2, lengths.as_ptr(), displacements.as_ptr(), types.as_ptr(), &raw mut whole);
            (mpi.type_free)(&raw mut chunk);
            check(code)?;
            check((mpi.type_commit)(&raw mut whole))?;
        }
        Ok(Self { count: 1, datatype: whole, owned: true })
    }

    /// Frees the type if it was made here.
    pub fn release(mut self, real: &Real) {
        if self.owned {
            // SAFETY: the type was made by `new` and is freed once.
            unsafe { (real.mpi.type_free)(&raw mut self.datatype) };
        }
    }
}

/// An error code of the library as an error.
pub(super) fn check(code: c_int) -> Result<(), c_int> {
    if code == 0 { Ok(()) } else { Err(code) }
}
