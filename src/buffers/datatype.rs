//! Derived datatypes: where their elements lie, and whether a buffer of them can be used as plain bytes.

mod copying;
mod large;

pub use copying::{copy, pack, unpack};

use super::contents::{self, extent};
use super::typemap::Bytes;
use crate::real::Real;
use crate::real::handles::{PROC_NULL, is_datatype};
use mpi::ffi::{MPI_Aint, MPI_Comm, MPI_Datatype};
use std::ffi::c_void;

/// A buffer argument of a call.
#[derive(Clone, Copy, Debug)]
pub struct Typed {
    /// Address as given; may be null (`MPI_BOTTOM`) with a type of absolute addresses.
    pub address: *mut c_void,
    /// Number of elements.
    pub count: i64,
    /// Type of an element.
    pub datatype: MPI_Datatype,
}

/// Bytes of data in one element, `None` where the library has an error to report.
#[inline]
pub fn size(real: &Real, datatype: MPI_Datatype) -> Option<u64> {
    let mut size = 0;
    if datatype == real.handles.datatype_null || !is_datatype(datatype) {
        return None;
    }
    // SAFETY: the handle is that of a datatype, unless it was freed, which no library checks.
    let code = unsafe { (real.mpi.type_size_x)(datatype, &raw mut size) };
    if code == 0 { u64::try_from(size).ok() } else { None }
}

/// Where the elements of a type lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of data in one element.
    pub size: i64,
    /// Distance from one element to the next, bytes.
    pub extent: i64,
    /// First byte of data relative to the element's address.
    pub true_lb: i64,
    /// Bytes from the first to one past the last byte of data.
    pub true_extent: i64,
    /// Whether consecutive elements are consecutive bytes, in the order of the type map.
    pub plain: bool,
}

impl Shape {
    /// Shape of `MPI_BYTE`.
    pub const BYTE: Self = Self { size: 1, extent: 1, true_lb: 0, true_extent: 1, plain: true };

    /// Bytes one element takes up, in a message or in memory, whichever is more.
    pub fn span(&self) -> i64 {
        self.size.max(self.extent)
    }

    /// Shape of a valid datatype.
    pub fn of(real: &Real, datatype: MPI_Datatype) -> Self {
        let mpi = &real.mpi;
        let extent = extent(real, datatype);
        let (mut size, mut true_lb, mut true_extent) = (0, 0, 0);
        // SAFETY: the caller's datatype is valid (it has been sized before), the pointers are too.
        unsafe {
            (mpi.type_size_x)(datatype, &raw mut size);
            (mpi.type_get_true_extent)(datatype, &raw mut true_lb, &raw mut true_extent);
        }
        #[allow(clippy::unnecessary_cast, reason = "MPI_Aint is isize in Open MPI, i64 in MPICH")]
        let [true_lb, true_extent] = [true_lb, true_extent].map(|v: MPI_Aint| v as i64);
        // A look at what it is made of is for those only for which it may be so.
        let dense = size == extent && size == true_extent && true_lb == 0;
        let plain = dense && contents::bytes(real, datatype) == Bytes::Run { first: 0, count: size };
        Self { size, extent, true_lb, true_extent, plain }
    }
}

/// The first byte of `count` elements of a valid datatype, relative to their address, if their data is consecutive
/// bytes in the order of the type map: a part of an array may be.
pub fn first_of_run(real: &Real, datatype: MPI_Datatype, count: i64) -> Option<i64> {
    let shape = Shape::of(real, datatype);
    if shape.plain {
        return Some(0);
    }
    // Where there is one element, none has to begin where it ends.
    if count != 1 || shape.size != shape.true_extent {
        return None;
    }
    match contents::bytes(real, datatype) {
        // Two accounts of the type, the library's and that of its parts, must agree.
        Bytes::Run { first, count } if count == shape.size && first == shape.true_lb => Some(first),
        _ => None,
    }
}

/// Whether messages may use the type. MPI has no inquiry for it, but the library checks a message to `MPI_PROC_NULL`
/// like any other.
pub fn is_committed(real: &Real, private: MPI_Comm, datatype: MPI_Datatype) -> bool {
    if real.handles.type_class(datatype).is_some() {
        return true;
    }
    let mut request = real.handles.request_null;
    let (mut done, mut index, mut status) = (0, 0, Vec::with_capacity(1));
    // SAFETY: what is sent to MPI_PROC_NULL is not read, so that any address serves; the private communicator returns
    // its errors; the request is complete at once and freed by the wait, which writes at most one status.
    unsafe {
        let nowhere = std::ptr::dangling::<c_void>();
        let code = (real.mpi.isend)(nowhere, 1, datatype, PROC_NULL, 0, private, &raw mut request);
        if code == 0 {
            (real.mpi.waitsome)(1, &raw mut request, &raw mut done, &raw mut index, status.as_mut_ptr());
        }
        code == 0
    }
}
