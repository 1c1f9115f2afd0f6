//! The real library's functions, as `PMPI_X` in its own symbol table.

use super::handles::RawHandle;
use super::others::others as list_of_others;
use super::signatures::collectives;
use libloading::os::unix::Library;
use mpi::ffi::{
    MPI_Aint, MPI_Comm, MPI_Comm_copy_attr_function, MPI_Comm_delete_attr_function, MPI_Datatype, MPI_Errhandler,
    MPI_Group, MPI_Op, MPI_Request, MPI_Status,
};
use std::ffi::{c_char, c_int, c_void};

macro_rules! functions {
    ($($(#[$when:meta])? $name:ident: $symbol:ident ($($arg:ty),* $(,)?);)*) => {
        /// Addresses of the functions Nagare calls, through which an exception of the program's handlers and operations
        /// may pass. A function that the library lacks is replaced by one that returns [`MISSING`]; `bound` and
        /// `missing` tell which.
        #[allow(missing_docs, reason = "each field is the MPI function it is named after")]
        pub struct Functions {
            $($(#[$when])? pub $name: unsafe extern "C-unwind" fn($($arg),*) -> c_int,)*
            /// Symbols that were found.
            #[allow(dead_code, reason = "not asked of every table")]
            pub bound: Vec<&'static str>,
            /// Symbols that the library does not have.
            #[allow(dead_code, reason = "not asked of every table")]
            pub missing: Vec<&'static str>,
        }

        impl Functions {
            /// Looks every function up.
            pub fn load(library: &Library) -> Self {
                let mut bound = Vec::new();
                let mut missing = Vec::new();
                $(
                    $(#[$when])?
                    let $name = {
                        type Real = unsafe extern "C-unwind" fn($($arg),*) -> c_int;
                        unsafe extern "C-unwind" fn $name($(_: $arg),*) -> c_int { MISSING }
                        // SAFETY: the symbol is the C function of that name, whose signature the MPI standard fixes.
                        let found = unsafe { library.get::<Real>(concat!(stringify!($symbol), "\0").as_bytes()) };
                        match found {
                            Ok(symbol) => { bound.push(stringify!($symbol)); *symbol }
                            Err(_) => { missing.push(stringify!($symbol)); $name as Real }
                        }
                    };
                )*
                Self { $($(#[$when])? $name,)* bound, missing }
            }
        }
    };
}

/// What a missing function returns: an error code in every MPI; not the same error in each.
pub const MISSING: c_int = 16;

type Count = c_int;
type Displacement = c_int;

macro_rules! table {
    ($($name:ident: $mpi:ident $pmpi:ident $large:ident $plarge:ident
        ($($parameter:ident: $type:ty),* $(,)?);)*) => {
        functions! {
            init: PMPI_Init (*mut c_int, *mut *mut *mut c_char);
            init_thread: PMPI_Init_thread (*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int);
            finalize: PMPI_Finalize ();
            initialized: PMPI_Initialized (*mut c_int);
            query_thread: PMPI_Query_thread (*mut c_int);
            finalized: PMPI_Finalized (*mut c_int);
            abort: PMPI_Abort (MPI_Comm, c_int);
            get_library_version: PMPI_Get_library_version (*mut c_char, *mut c_int);

            $($name: $pmpi ($($type),*);)*

            isend: PMPI_Isend (*const c_void, c_int, MPI_Datatype, c_int, c_int, MPI_Comm, *mut MPI_Request);
            issend: PMPI_Issend (*const c_void, c_int, MPI_Datatype, c_int, c_int, MPI_Comm, *mut MPI_Request);
            irecv: PMPI_Irecv (*mut c_void, c_int, MPI_Datatype, c_int, c_int, MPI_Comm, *mut MPI_Request);
            recv: PMPI_Recv (*mut c_void, c_int, MPI_Datatype, c_int, c_int, MPI_Comm, *mut MPI_Status);
            sendrecv: PMPI_Sendrecv (
                *const c_void, c_int, MPI_Datatype, c_int, c_int,
                *mut c_void, c_int, MPI_Datatype, c_int, c_int, MPI_Comm, *mut MPI_Status,
            );
            iallreduce: PMPI_Iallreduce (
                *const c_void, *mut c_void, c_int, RawHandle, RawHandle, RawHandle, *mut MPI_Request,
            );
            #[cfg(mpi_family = "mpich")]
            iallgather: PMPI_Iallgather (
                *const c_void, c_int, RawHandle, *mut c_void, c_int, RawHandle, RawHandle, *mut MPI_Request,
            );
            test: PMPI_Test (*mut MPI_Request, *mut c_int, *mut MPI_Status);
            testsome: PMPI_Testsome (c_int, *mut MPI_Request, *mut c_int, *mut c_int, *mut MPI_Status);
            waitsome: PMPI_Waitsome (c_int, *mut MPI_Request, *mut c_int, *mut c_int, *mut MPI_Status);
            get_count: PMPI_Get_count (*const MPI_Status, MPI_Datatype, *mut c_int);
            iprobe: PMPI_Iprobe (c_int, c_int, MPI_Comm, *mut c_int, *mut MPI_Status);
            request_free: PMPI_Request_free (*mut MPI_Request);
            cancel: PMPI_Cancel (*mut MPI_Request);
            test_cancelled: PMPI_Test_cancelled (*const MPI_Status, *mut c_int);
            reduce_local: PMPI_Reduce_local (*const c_void, *mut c_void, c_int, MPI_Datatype, MPI_Op);
            op_commutative: PMPI_Op_commutative (MPI_Op, *mut c_int);

            comm_size: PMPI_Comm_size (RawHandle, *mut c_int);
            comm_rank: PMPI_Comm_rank (MPI_Comm, *mut c_int);
            comm_get_name: PMPI_Comm_get_name (MPI_Comm, *mut c_char, *mut c_int);
            comm_get_parent: PMPI_Comm_get_parent (*mut MPI_Comm);
            comm_test_inter: PMPI_Comm_test_inter (RawHandle, *mut c_int);
            #[cfg(mpi_family = "mpich")]
            comm_compare: PMPI_Comm_compare (MPI_Comm, MPI_Comm, *mut c_int);
            comm_group: PMPI_Comm_group (MPI_Comm, *mut MPI_Group);
            comm_create: PMPI_Comm_create (MPI_Comm, MPI_Group, *mut MPI_Comm);
            comm_idup: PMPI_Comm_idup (RawHandle, *mut MPI_Comm, *mut MPI_Request);
            comm_free: PMPI_Comm_free (*mut MPI_Comm);
            comm_disconnect: PMPI_Comm_disconnect (*mut MPI_Comm);
            comm_set_errhandler: PMPI_Comm_set_errhandler (MPI_Comm, MPI_Errhandler);
            comm_get_errhandler: PMPI_Comm_get_errhandler (MPI_Comm, *mut MPI_Errhandler);
            errhandler_free: PMPI_Errhandler_free (*mut MPI_Errhandler);
            comm_call_errhandler: PMPI_Comm_call_errhandler (MPI_Comm, c_int);
            comm_create_keyval: PMPI_Comm_create_keyval (
                MPI_Comm_copy_attr_function, MPI_Comm_delete_attr_function, *mut c_int, *mut c_void,
            );
            comm_free_keyval: PMPI_Comm_free_keyval (*mut c_int);
            comm_get_attr: PMPI_Comm_get_attr (MPI_Comm, c_int, *mut c_void, *mut c_int);
            comm_set_attr: PMPI_Comm_set_attr (MPI_Comm, c_int, *mut c_void);
            group_translate_ranks: PMPI_Group_translate_ranks (MPI_Group, c_int, *const c_int, MPI_Group, *mut c_int);
            group_free: PMPI_Group_free (*mut MPI_Group);

            topo_test: PMPI_Topo_test (MPI_Comm, *mut c_int);
            cartdim_get: PMPI_Cartdim_get (MPI_Comm, *mut c_int);
            cart_get: PMPI_Cart_get (MPI_Comm, c_int, *mut c_int, *mut c_int, *mut c_int);

            type_size_x: PMPI_Type_size_x (MPI_Datatype, *mut i64);
            type_get_extent: PMPI_Type_get_extent (MPI_Datatype, *mut MPI_Aint, *mut MPI_Aint);
            type_get_true_extent: PMPI_Type_get_true_extent (MPI_Datatype, *mut MPI_Aint, *mut MPI_Aint);
            #[cfg(not(mpi_large_count))]
            type_get_envelope: PMPI_Type_get_envelope (MPI_Datatype, *mut c_int, *mut c_int, *mut c_int, *mut c_int);
            #[cfg(not(mpi_large_count))]
            type_get_contents: PMPI_Type_get_contents (
                MPI_Datatype, c_int, c_int, c_int, *mut c_int, *mut MPI_Aint, *mut MPI_Datatype,
            );
            type_contiguous: PMPI_Type_contiguous (c_int, MPI_Datatype, *mut MPI_Datatype);
            type_create_struct: PMPI_Type_create_struct (
                c_int, *const c_int, *const MPI_Aint, *const MPI_Datatype, *mut MPI_Datatype,
            );
            type_commit: PMPI_Type_commit (*mut MPI_Datatype);
            type_free: PMPI_Type_free (*mut MPI_Datatype);

            t_init_thread: MPI_T_init_thread (c_int, *mut c_int);
            t_cvar_get_index: MPI_T_cvar_get_index (*const c_char, *mut c_int);
            t_cvar_handle_alloc: MPI_T_cvar_handle_alloc (c_int, *mut c_void, *mut *mut c_void, *mut c_int);
            t_cvar_read: MPI_T_cvar_read (*mut c_void, *mut c_void);
            t_cvar_handle_free: MPI_T_cvar_handle_free (*mut *mut c_void);
            #[cfg(mpi_family = "openmpi")]
            var_find_by_name: mca_base_var_find_by_name (*const c_char, *mut c_int);
            #[cfg(mpi_family = "openmpi")]
            var_get_value: mca_base_var_get_value (c_int, *mut *const c_void, *mut c_int, *mut *const c_char);
        }
    };
}
collectives!(table);

/// The large-count variants of the collectives (MPI 4.0 section 2.5.8), and of what asks about types.
#[cfg(mpi_large_count)]
pub mod large {
    use super::{Library, MISSING, MPI_Aint, MPI_Comm, MPI_Datatype, RawHandle, c_int, c_void, collectives};
    use mpi::ffi::{MPI_Aint as Displacement, MPI_Count as Count, MPI_Count};

    macro_rules! table {
        ($($name:ident: $mpi:ident $pmpi:ident $large:ident $plarge:ident
            ($($parameter:ident: $type:ty),* $(,)?);)*) => {
            functions! {
                $($name: $plarge ($($type),*);)*
                pack: PMPI_Pack_c (
                    *const c_void, MPI_Count, MPI_Datatype, *mut c_void, MPI_Count, *mut MPI_Count, MPI_Comm,
                );
                unpack: PMPI_Unpack_c (
                    *const c_void, MPI_Count, *mut MPI_Count, *mut c_void, MPI_Count, MPI_Datatype, MPI_Comm,
                );
                type_get_envelope: PMPI_Type_get_envelope_c (
                    MPI_Datatype, *mut MPI_Count, *mut MPI_Count, *mut MPI_Count, *mut MPI_Count, *mut c_int,
                );
                type_get_contents: PMPI_Type_get_contents_c (
                    MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count,
                    *mut c_int, *mut MPI_Aint, *mut MPI_Count, *mut MPI_Datatype,
                );
            }
        };
    }
    collectives!(table);
}

/// The collectives that are passed on.
pub mod others {
    use super::{Library, MISSING, c_int, list_of_others};

    /// An argument, as a register or the stack has it.
    pub type Word = usize;

    macro_rules! word {
        ($parameter:ident) => {
            Word
        };
    }

    macro_rules! table {
        ({$(
            $plain:ident: $mpi_plain:ident $pmpi_plain:ident
            ($($argument:ident),* $(; $of:ident)? $(,)?);
        )*} {$(
            $name:ident: $mpi:ident $pmpi:ident $large:ident $plarge:ident
            ($($parameter:ident),* $(; $request:ident)? $(,)?);
        )*}) => {
            functions! {
                $($plain: $pmpi_plain ($(word!($argument),)* $(word!($of))?);)*
                $($name: $pmpi ($(word!($parameter),)* $(word!($request))?);)*
            }

            /// Those with large counts.
            #[cfg(mpi_large_count)]
            pub mod large {
                use super::{Library, MISSING, Word, c_int};

                functions! { $($name: $plarge ($(word!($parameter),)* $(word!($request))?);)* }
            }

            /// Which of them.
            #[derive(Clone, Copy)]
            #[allow(non_camel_case_types, reason = "named after the functions")]
            #[allow(missing_docs, reason = "named after the functions")]
            pub enum Other { $($plain,)* $($name),* }

            /// Their names, in that order.
            pub const NAMES: &[&str] = &[$(stringify!($plain),)* $(stringify!($name)),*];
        };
    }
    list_of_others!(table);
}
