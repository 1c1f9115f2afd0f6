//! Copies between typed buffers, and between one and packed bytes.

use super::Typed;
use super::large::{Large, check};
use crate::real::Real;
use crate::real::handles::STATUS_IGNORE;
use mpi::ffi::MPI_Comm;
#[cfg(mpi_large_count)]
use mpi::ffi::{MPI_Aint, MPI_Count};
use std::ffi::c_int;

/// Copies elements to `bytes` consecutive bytes.
///
/// By `MPI_Pack_c` where there is one: MPICH does not receive bytes that a rank sends itself into types made of
/// different basic types ("Message truncated"; 4.0.2 and 5.0.2, from some KiB on).
///
/// # Safety
/// `from` must be valid for its count and type, `to` for `bytes` bytes; `own` is this process's rank in `private`.
#[cfg(mpi_large_count)]
pub unsafe fn pack(
    real: &Real,
    private: MPI_Comm,
    _own: c_int,
    from: Typed,
    to: *mut u8,
    bytes: u64,
) -> Result<(), c_int> {
    let from = Based::new(real, from)?;
    let mut position = 0;
    // SAFETY: the caller vouches for the buffers.
    let code = unsafe {
        (real.large.pack)(
            from.data.address,
            from.data.count,
            from.data.datatype,
            to.cast(),
            bytes as MPI_Count,
            &raw mut position,
            private,
        )
    };
    from.release(real);
    check(code)
}

/// Copies elements to `bytes` consecutive bytes.
///
/// # Safety
/// `from` must be valid for its count and type, `to` for `bytes` bytes; `own` is this process's rank in `private`.
#[cfg(not(mpi_large_count))]
pub unsafe fn pack(
    real: &Real,
    private: MPI_Comm,
    own: c_int,
    from: Typed,
    to: *mut u8,
    bytes: u64,
) -> Result<(), c_int> {
    let into = Typed { address: to.cast(), count: bytes as i64, datatype: real.handles.byte };
    // SAFETY: as demanded.
    unsafe { copy(real, private, own, from, into) }
}

/// Copies `bytes` consecutive bytes to elements; see [`pack`].
///
/// # Safety
/// As for [`pack`], with the sides exchanged.
#[cfg(mpi_large_count)]
pub unsafe fn unpack(
    real: &Real,
    private: MPI_Comm,
    _own: c_int,
    from: *const u8,
    bytes: u64,
    into: Typed,
) -> Result<(), c_int> {
    let into = Based::new(real, into)?;
    let mut position = 0;
    // SAFETY: the caller vouches for the buffers.
    let code = unsafe {
        (real.large.unpack)(
            from.cast(),
            bytes as MPI_Count,
            &raw mut position,
            into.data.address,
            into.data.count,
            into.data.datatype,
            private,
        )
    };
    into.release(real);
    check(code)
}

/// Copies `bytes` consecutive bytes to elements.
///
/// # Safety
/// As for [`pack`], with the sides exchanged.
#[cfg(not(mpi_large_count))]
pub unsafe fn unpack(
    real: &Real,
    private: MPI_Comm,
    own: c_int,
    from: *const u8,
    bytes: u64,
    into: Typed,
) -> Result<(), c_int> {
    let from = Typed { address: from.cast_mut().cast(), count: bytes as i64, datatype: real.handles.byte };
    // SAFETY: as demanded.
    unsafe { copy(real, private, own, from, into) }
}

/// A buffer with an address: MPICH's packing functions refuse `MPI_BOTTOM`.
#[cfg(mpi_large_count)]
struct Based {
    data: Typed,
    owned: bool,
}

#[cfg(mpi_large_count)]
impl Based {
    /// Where `data` has no address, one element at another address of a type that is shifted back by as much.
    fn new(real: &Real, data: Typed) -> Result<Self, c_int> {
        if !data.address.is_null() {
            return Ok(Self { data, owned: false });
        }
        const SHIFT: MPI_Aint = 64;
        let elements = Large::new(real, data.count, data.datatype)?;
        let mut shifted = real.handles.datatype_null;
        let (lengths, displacements, types) = ([elements.count], [-SHIFT], [elements.datatype]);
        let mpi = &real.mpi;
        // SAFETY: the arrays have one entry; all handles are valid.
        let code = unsafe {
            (mpi.type_create_struct)(1, lengths.as_ptr(), displacements.as_ptr(), types.as_ptr(), &raw mut shifted)
        };
        elements.release(real);
        check(code)?;
        // SAFETY: the type was just made.
        check(unsafe { (mpi.type_commit)(&raw mut shifted) })?;
        let address = std::ptr::without_provenance_mut(SHIFT as usize);
        Ok(Self { data: Typed { address, count: 1, datatype: shifted }, owned: true })
    }

    fn release(mut self, real: &Real) {
        if self.owned {
            // SAFETY: the type was made by `new` and is freed once.
            unsafe { (real.mpi.type_free)(&raw mut self.data.datatype) };
        }
    }
}

/// Copies between buffers of the same signature by a message of this rank to itself on the private communicator, where
/// nothing of the user can match it.
///
/// # Safety
/// Both buffers must be as large as their types say and must not overlap; `own` is this process's rank in `private`.
pub unsafe fn copy(real: &Real, private: MPI_Comm, own: c_int, from: Typed, into: Typed) -> Result<(), c_int> {
    let source = Large::new(real, from.count, from.datatype)?;
    let target = match Large::new(real, into.count, into.datatype) {
        Ok(target) => target,
        Err(code) => {
            source.release(real);
            return Err(code);
        }
    };
    // SAFETY: the caller vouches for the buffers; a send and a receive to oneself with one tag match each other.
    let code = unsafe {
        (real.mpi.sendrecv)(
            from.address,
            source.count,
            source.datatype,
            own,
            0,
            into.address,
            target.count,
            target.datatype,
            own,
            0,
            private,
            STATUS_IGNORE,
        )
    };
    source.release(real);
    target.release(real);
    check(code)
}
