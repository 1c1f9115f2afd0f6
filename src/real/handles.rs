//! Predefined handles of the two families, their classes (`handles/classes.rs`), and sentinels
//! (`handles/sentinels.rs`).
//!
//! Open MPI's handles are addresses of objects in the library, so they are looked up there. MPICH's are integers that
//! its ABI fixes (MPICH ABI compatibility initiative; the same from 3.1 to 5.0), so they are constants.

mod classes;
mod sentinels;

pub use classes::{OpClass, TypeClass};
pub use sentinels::{ANY_SOURCE, ANY_TAG, IN_PLACE, PROC_NULL, STATUS_IGNORE, TAG_UB};

use super::library::{has_standard_abi, is_mpi_library};
use classes::Classes;
use libloading::os::unix::Library;
use mpi::ffi::{MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_Op, MPI_Request};
#[cfg(mpi_family = "mpich")]
use std::ffi::c_int;
use std::ffi::c_void;

/// A handle as a program passes it, whatever its MPI family: wide enough for Open MPI's pointers, and passed in the
/// same register as MPICH's integers. Narrowed only when the library is known to be of the family this build is for, so
/// that a library of the wrong family can still pass calls on unchanged.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct RawHandle(pub usize);

macro_rules! raw {
    ($($type:ident),*) => {$(
        impl From<RawHandle> for $type {
            fn from(raw: RawHandle) -> Self {
                #[cfg(mpi_family = "openmpi")]
                return Self(raw.0 as *mut _);
                #[cfg(mpi_family = "mpich")]
                return Self(raw.0 as c_int);
            }
        }

        impl From<$type> for RawHandle {
            fn from(handle: $type) -> Self {
                Self(handle.0 as usize)
            }
        }
    )*};
}

raw!(MPI_Comm, MPI_Datatype, MPI_Op);

/// Predefined objects of the library in the process.
pub struct Handles {
    /// `MPI_COMM_WORLD`.
    pub comm_world: MPI_Comm,
    /// `MPI_COMM_SELF`.
    #[cfg(mpi_family = "mpich")]
    pub comm_self: MPI_Comm,
    /// `MPI_COMM_NULL`.
    pub comm_null: MPI_Comm,
    /// `MPI_DATATYPE_NULL`.
    pub datatype_null: MPI_Datatype,
    /// `MPI_BYTE`.
    pub byte: MPI_Datatype,
    /// `MPI_INT`.
    pub int: MPI_Datatype,
    /// `MPI_MIN`.
    pub min: MPI_Op,
    /// `MPI_OP_NULL`.
    pub op_null: MPI_Op,
    /// `MPI_REQUEST_NULL`.
    pub request_null: MPI_Request,
    /// `MPI_ERRORS_RETURN`.
    pub errors_return: MPI_Errhandler,
    types: Classes<TypeClass>,
    ops: Classes<OpClass>,
}

impl Handles {
    /// Class of a predefined type, `None` for any other.
    pub fn type_class(&self, datatype: MPI_Datatype) -> Option<TypeClass> {
        self.types.of(datatype.0 as usize)
    }

    /// Class of a predefined operation, `None` for any other.
    pub fn op_class(&self, op: MPI_Op) -> Option<OpClass> {
        self.ops.of(op.0 as usize)
    }
}

/// Whether a handle is that of a datatype, freed or not. MPICH's say in bits 26 to 29 of what kind they are; of another
/// kind the program's error is the collective's to raise, not that of an inquiry of ours. Open MPI's are addresses,
/// which nobody can check.
pub fn is_datatype(datatype: MPI_Datatype) -> bool {
    cfg!(mpi_family = "openmpi") || datatype.0 as usize >> 26 & 0xf == 3
}

/// Whether a handle is that of an operation; see [`is_datatype`].
pub fn is_op(op: MPI_Op) -> bool {
    cfg!(mpi_family = "openmpi") || op.0 as usize >> 26 & 0xf == 6
}

macro_rules! handle {
    ($library:expr, $type:ident, $symbol:literal, $value:literal) => {{
        #[cfg(mpi_family = "openmpi")]
        let handle = $type(address($library, concat!($symbol, "\0")) as *mut _);
        #[cfg(mpi_family = "mpich")]
        let handle = {
            let _: &Library = $library;
            $type($value as i64 as c_int)
        };
        handle
    }};
}

macro_rules! classes {
    ($library:expr, $type:ident, $class:ident { $($variant:ident: $($symbol:literal $value:literal),* ;)* }) => {{
        let mut classes = Vec::new();
        $($(
            let handle = handle!($library, $type, $symbol, $value);
            if handle.0 as usize != 0 {
                classes.push((handle.0 as usize, $class::$variant));
            }
        )*)*
        Classes::new(classes)
    }};
}

/// Address of a data symbol, 0 if the library has none of that name.
///
/// A C program linked to the library holds *copies* of the library's data objects (copy relocations), and the library
/// then uses those: so the process-wide scope is asked first, and the library itself only where it was opened with
/// local scope.
#[cfg(mpi_family = "openmpi")]
fn address(library: &Library, symbol: &str) -> usize {
    // SAFETY: only the address of the object is taken; it is read by the MPI library alone.
    unsafe {
        let global = libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr().cast());
        if global.is_null() {
            library.get::<*mut c_void>(symbol.as_bytes()).map_or(0, |s| s.into_raw() as usize)
        } else {
            global as usize
        }
    }
}

/// Whether a library of this path is of the family this build is for: Open MPI exports its predefined communicator as
/// data. What has another name than MPICH's must export one of MPICH's own functions; the library of the standard's ABI
/// does as well, with handles of its own.
pub fn fits(library: &Library, path: &str) -> bool {
    // SAFETY: only the presence of the symbol is asked for.
    let has = |symbol: &[u8]| unsafe { library.get::<*mut c_void>(symbol) }.is_ok();
    let is_open_mpi = has(b"ompi_mpi_comm_world\0");
    if cfg!(mpi_family = "openmpi") {
        return is_open_mpi;
    }
    let is_mpich = || is_mpi_library(path.as_bytes()) || has(b"MPIR_Err_create_code\0");
    !is_open_mpi && !has_standard_abi(path.as_bytes()) && is_mpich()
}

impl Handles {
    /// Looks the handles up.
    pub fn load(library: &Library) -> Self {
        let types = classes!(library, MPI_Datatype, TypeClass {
                   Integer:
                       "ompi_mpi_int" 0x4c000405, "ompi_mpi_long" 0x4c000807, "ompi_mpi_short" 0x4c000203,
                       "ompi_mpi_unsigned_short" 0x4c000204, "ompi_mpi_unsigned" 0x4c000406,
                       "ompi_mpi_unsigned_long" 0x4c000808, "ompi_mpi_long_long_int" 0x4c000809,
                       "ompi_mpi_unsigned_long_long" 0x4c000819, "ompi_mpi_signed_char" 0x4c000118,
                       "ompi_mpi_unsigned_char" 0x4c000102, "ompi_mpi_int8_t" 0x4c000137, "ompi_mpi_int16_t" 0x4c000238,
                       "ompi_mpi_int32_t" 0x4c000439, "ompi_mpi_int64_t" 0x4c00083a, "ompi_mpi_uint8_t" 0x4c00013b,
        "ompi_mpi_uint16_t" 0x4c00023c, "ompi_mpi_uint32_t" 0x4c00043d, "ompi_mpi_uint64_t" 0x4c00083e;
                   FortranInteger:
                       "ompi_mpi_integer" 0x4c00041b, "ompi_mpi_integer1" 0x4c00012d, "ompi_mpi_integer2" 0x4c00022f,
                       "ompi_mpi_integer4" 0x4c000430, "ompi_mpi_integer8" 0x4c000831;
                   Float:
                       "ompi_mpi_float" 0x4c00040a, "ompi_mpi_double" 0x4c00080b, "ompi_mpi_long_double" 0x4c00100c,
                       "ompi_mpi_real" 0x4c00041c, "ompi_mpi_dblprec" 0x4c00081f, "ompi_mpi_real4" 0x4c000427,
                       "ompi_mpi_real8" 0x4c000829;
                   Logical: "ompi_mpi_logical" 0x4c00041d, "ompi_mpi_c_bool" 0x4c00013f;
                   Complex:
                       "ompi_mpi_c_float_complex" 0x4c000840, "ompi_mpi_c_double_complex" 0x4c001041,
                       "ompi_mpi_c_long_double_complex" 0x4c002042, "ompi_mpi_c_complex" 0x4c000840,
                       "ompi_mpi_cplex" 0x4c00081e, "ompi_mpi_dblcplex" 0x4c001022, "ompi_mpi_complex8" 0x4c000828,
                       "ompi_mpi_complex16" 0x4c00102a;
                   Byte: "ompi_mpi_byte" 0x4c00010d;
                   Address: "ompi_mpi_aint" 0x4c000843, "ompi_mpi_offset" 0x4c000844, "ompi_mpi_count" 0x4c000845;
                   Pair:
                       "ompi_mpi_float_int" 0x8c000000, "ompi_mpi_double_int" 0x8c000001,
                       "ompi_mpi_long_int" 0x8c000002,
                       "ompi_mpi_short_int" 0x8c000003, "ompi_mpi_2int" 0x4c000816, "ompi_mpi_longdbl_int" 0x8c000004,
                       "ompi_mpi_2real" 0x4c000821, "ompi_mpi_2dblprec" 0x4c001023, "ompi_mpi_2integer" 0x4c000820;
               });
        let ops = classes!(library, MPI_Op, OpClass {
            Order: "ompi_mpi_op_max" 0x58000001, "ompi_mpi_op_min" 0x58000002;
            Arithmetic: "ompi_mpi_op_sum" 0x58000003, "ompi_mpi_op_prod" 0x58000004;
            Logical: "ompi_mpi_op_land" 0x58000005, "ompi_mpi_op_lor" 0x58000007, "ompi_mpi_op_lxor" 0x58000009;
            Bitwise: "ompi_mpi_op_band" 0x58000006, "ompi_mpi_op_bor" 0x58000008, "ompi_mpi_op_bxor" 0x5800000a;
            Location: "ompi_mpi_op_minloc" 0x5800000b, "ompi_mpi_op_maxloc" 0x5800000c;
            OneSided: "ompi_mpi_op_replace" 0x5800000d, "ompi_mpi_op_no_op" 0x5800000e;
        });
        Self {
            comm_world: handle!(library, MPI_Comm, "ompi_mpi_comm_world", 0x4400_0000_u32),
            #[cfg(mpi_family = "mpich")]
            comm_self: handle!(library, MPI_Comm, "ompi_mpi_comm_self", 0x4400_0001_u32),
            comm_null: handle!(library, MPI_Comm, "ompi_mpi_comm_null", 0x0400_0000_u32),
            datatype_null: handle!(library, MPI_Datatype, "ompi_mpi_datatype_null", 0x0c00_0000_u32),
            byte: handle!(library, MPI_Datatype, "ompi_mpi_byte", 0x4c00_010d_u32),
            int: handle!(library, MPI_Datatype, "ompi_mpi_int", 0x4c00_0405_u32),
            min: handle!(library, MPI_Op, "ompi_mpi_op_min", 0x5800_0002_u32),
            op_null: handle!(library, MPI_Op, "ompi_mpi_op_null", 0x1800_0000_u32),
            request_null: handle!(library, MPI_Request, "ompi_request_null", 0x2c00_0000_u32),
            errors_return: handle!(library, MPI_Errhandler, "ompi_mpi_errors_return", 0x5400_0001_u32),
            types,
            ops,
        }
    }
}

// SAFETY: handles are names of objects that the MPI library itself makes usable from every thread.
unsafe impl Send for Handles {}
// SAFETY: as above; the maps are never changed.
unsafe impl Sync for Handles {}
