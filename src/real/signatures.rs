//! The collectives that Nagare handles: each signature once, for the table of real functions and for our own.

/// Hands the list to the macro `$then`. A row: the name here; the four names of the function, as programs and as tools
/// call it, each with `int` and with large counts; its parameters. `Count` and `Displacement` are types of the place
/// that uses the list.
macro_rules! collectives {
    ($then:ident) => {
        $then! {
            bcast: MPI_Bcast PMPI_Bcast MPI_Bcast_c PMPI_Bcast_c (
                buffer: *mut c_void, count: Count, datatype: RawHandle, root: c_int, comm: RawHandle,
            );
            reduce: MPI_Reduce PMPI_Reduce MPI_Reduce_c PMPI_Reduce_c (
                send: *const c_void, receive: *mut c_void, count: Count, datatype: RawHandle, op: RawHandle,
                root: c_int, comm: RawHandle,
            );
            allreduce: MPI_Allreduce PMPI_Allreduce MPI_Allreduce_c PMPI_Allreduce_c (
                send: *const c_void, receive: *mut c_void, count: Count, datatype: RawHandle, op: RawHandle,
                comm: RawHandle,
            );
            alltoall: MPI_Alltoall PMPI_Alltoall MPI_Alltoall_c PMPI_Alltoall_c (
                send: *const c_void, send_count: Count, send_type: RawHandle,
                receive: *mut c_void, receive_count: Count, receive_type: RawHandle, comm: RawHandle,
            );
            alltoallv: MPI_Alltoallv PMPI_Alltoallv MPI_Alltoallv_c PMPI_Alltoallv_c (
                send: *const c_void, send_counts: *const Count, send_displacements: *const Displacement,
                send_type: RawHandle,
                receive: *mut c_void, receive_counts: *const Count, receive_displacements: *const Displacement,
                receive_type: RawHandle, comm: RawHandle,
            );
            alltoallw: MPI_Alltoallw PMPI_Alltoallw MPI_Alltoallw_c PMPI_Alltoallw_c (
                send: *const c_void, send_counts: *const Count, send_displacements: *const Displacement,
                send_types: *const MPI_Datatype,
                receive: *mut c_void, receive_counts: *const Count, receive_displacements: *const Displacement,
                receive_types: *const MPI_Datatype, comm: RawHandle,
            );
            gather: MPI_Gather PMPI_Gather MPI_Gather_c PMPI_Gather_c (
                send: *const c_void, send_count: Count, send_type: RawHandle,
                receive: *mut c_void, receive_count: Count, receive_type: RawHandle, root: c_int, comm: RawHandle,
            );
            gatherv: MPI_Gatherv PMPI_Gatherv MPI_Gatherv_c PMPI_Gatherv_c (
                send: *const c_void, send_count: Count, send_type: RawHandle,
                receive: *mut c_void, receive_counts: *const Count, displacements: *const Displacement,
                receive_type: RawHandle, root: c_int, comm: RawHandle,
            );
            scatter: MPI_Scatter PMPI_Scatter MPI_Scatter_c PMPI_Scatter_c (
                send: *const c_void, send_count: Count, send_type: RawHandle,
                receive: *mut c_void, receive_count: Count, receive_type: RawHandle, root: c_int, comm: RawHandle,
            );
            scatterv: MPI_Scatterv PMPI_Scatterv MPI_Scatterv_c PMPI_Scatterv_c (
                send: *const c_void, send_counts: *const Count, displacements: *const Displacement,
                send_type: RawHandle,
                receive: *mut c_void, receive_count: Count, receive_type: RawHandle, root: c_int, comm: RawHandle,
            );
            allgather: MPI_Allgather PMPI_Allgather MPI_Allgather_c PMPI_Allgather_c (
                send: *const c_void, send_count: Count, send_type: RawHandle,
                receive: *mut c_void, receive_count: Count, receive_type: RawHandle, comm: RawHandle,
            );
            allgatherv: MPI_Allgatherv PMPI_Allgatherv MPI_Allgatherv_c PMPI_Allgatherv_c (
                send: *const c_void, send_count: Count, send_type: RawHandle,
                receive: *mut c_void, receive_counts: *const Count, displacements: *const Displacement,
                receive_type: RawHandle, comm: RawHandle,
            );
            reduce_scatter_block:
                MPI_Reduce_scatter_block PMPI_Reduce_scatter_block
                MPI_Reduce_scatter_block_c PMPI_Reduce_scatter_block_c (
                send: *const c_void, receive: *mut c_void, count: Count, datatype: RawHandle, op: RawHandle,
                comm: RawHandle,
            );
            reduce_scatter: MPI_Reduce_scatter PMPI_Reduce_scatter MPI_Reduce_scatter_c PMPI_Reduce_scatter_c (
                send: *const c_void, receive: *mut c_void, counts: *const Count, datatype: RawHandle, op: RawHandle,
                comm: RawHandle,
            );
        }
    };
}
pub(crate) use collectives;
