//! Derived datatypes: whether a buffer can be used as plain bytes, and copying between a typed buffer and packed bytes.

use super::contents::{self, extent};
use super::typemap::Bytes;
use crate::real::Real;
use crate::real::handles::{PROC_NULL, STATUS_IGNORE, is_datatype};
#[cfg(mpi_large_count)]
use mpi::ffi::MPI_Count;
use mpi::ffi::{MPI_Aint, MPI_Comm, MPI_Datatype};
use std::ffi::{c_int, c_void};

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

/// Elements of one message at most: a count of type `int` with room to spare.
const CHUNK: i64 = 1 << 30;

/// A count and type that stand for any number of elements.
struct Large {
    count: c_int,
    datatype: MPI_Datatype,
    owned: bool,
}

impl Large {
    /// `count` elements of `datatype` as an `int` count: as they are if they fit, else one element of a struct of whole
    /// chunks and a rest.
    fn new(real: &Real, count: i64, datatype: MPI_Datatype) -> Result<Self, c_int> {
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

    fn release(mut self, real: &Real) {
        if self.owned {
            // SAFETY: the type was made by `new` and is freed once.
            unsafe { (real.mpi.type_free)(&raw mut self.datatype) };
        }
    }
}

fn check(code: c_int) -> Result<(), c_int> {
    if code == 0 { Ok(()) } else { Err(code) }
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
