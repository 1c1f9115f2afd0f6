//! The collectives that Nagare passes on, whatever their arguments: each once, for the table of real functions and for
//! our own, which count them for the report.

/// Hands the list to the macro `$then`: those without counts, then those with. A row: the name here; the names of the
/// function, as programs and as tools call it, of the latter with `int` and with large counts; its parameters, after a
/// semicolon the request of a nonblocking one.
///
/// All of them are integers and pointers, of which each has a register or eight bytes of the stack (System V x86-64
/// section 3.2.3, AAPCS64 section 6.8.2): passed on as a `Word` they arrive unchanged.
macro_rules! others {
    ($then:ident) => {
        $then! {
            {
                barrier: MPI_Barrier PMPI_Barrier (comm);
                ibarrier: MPI_Ibarrier PMPI_Ibarrier (comm; request);
            }
            {
                scan: MPI_Scan PMPI_Scan MPI_Scan_c PMPI_Scan_c (send, receive, count, datatype, op, comm);
                exscan: MPI_Exscan PMPI_Exscan MPI_Exscan_c PMPI_Exscan_c (send, receive, count, datatype, op, comm);
                ibcast: MPI_Ibcast PMPI_Ibcast MPI_Ibcast_c PMPI_Ibcast_c (
                    buffer, count, datatype, root, comm; request,
                );
                ireduce: MPI_Ireduce PMPI_Ireduce MPI_Ireduce_c PMPI_Ireduce_c (
                    send, receive, count, datatype, op, root, comm; request,
                );
                iallreduce: MPI_Iallreduce PMPI_Iallreduce MPI_Iallreduce_c PMPI_Iallreduce_c (
                    send, receive, count, datatype, op, comm; request,
                );
                igather: MPI_Igather PMPI_Igather MPI_Igather_c PMPI_Igather_c (
                    send, send_count, send_type, receive, receive_count, receive_type, root, comm; request,
                );
                iallgather: MPI_Iallgather PMPI_Iallgather MPI_Iallgather_c PMPI_Iallgather_c (
                    send, send_count, send_type, receive, receive_count, receive_type, comm; request,
                );
                ialltoall: MPI_Ialltoall PMPI_Ialltoall MPI_Ialltoall_c PMPI_Ialltoall_c (
                    send, send_count, send_type, receive, receive_count, receive_type, comm; request,
                );
                ialltoallv: MPI_Ialltoallv PMPI_Ialltoallv MPI_Ialltoallv_c PMPI_Ialltoallv_c (
                    send, send_counts, send_at, send_type, receive, receive_counts, receive_at,
                    receive_type, comm; request,
                );
                ireduce_scatter_block:
                    MPI_Ireduce_scatter_block PMPI_Ireduce_scatter_block
                    MPI_Ireduce_scatter_block_c PMPI_Ireduce_scatter_block_c (
                    send, receive, count, datatype, op, comm; request,
                );
                ireduce_scatter: MPI_Ireduce_scatter PMPI_Ireduce_scatter MPI_Ireduce_scatter_c PMPI_Ireduce_scatter_c (
                    send, receive, counts, datatype, op, comm; request,
                );
                iscatter: MPI_Iscatter PMPI_Iscatter MPI_Iscatter_c PMPI_Iscatter_c (
                    send, send_count, send_type, receive, receive_count, receive_type, root, comm; request,
                );
                iscatterv: MPI_Iscatterv PMPI_Iscatterv MPI_Iscatterv_c PMPI_Iscatterv_c (
                    send, send_counts, send_at, send_type, receive, receive_count, receive_type, root, comm; request,
                );
                igatherv: MPI_Igatherv PMPI_Igatherv MPI_Igatherv_c PMPI_Igatherv_c (
                    send, send_count, send_type, receive, receive_counts, receive_at, receive_type, root, comm; request,
                );
                iallgatherv: MPI_Iallgatherv PMPI_Iallgatherv MPI_Iallgatherv_c PMPI_Iallgatherv_c (
                    send, send_count, send_type, receive, receive_counts, receive_at, receive_type, comm; request,
                );
                ialltoallw: MPI_Ialltoallw PMPI_Ialltoallw MPI_Ialltoallw_c PMPI_Ialltoallw_c (
                    send, send_counts, send_at, send_types, receive, receive_counts, receive_at,
                    receive_types, comm; request,
                );
                iscan: MPI_Iscan PMPI_Iscan MPI_Iscan_c PMPI_Iscan_c (
                    send, receive, count, datatype, op, comm; request,
                );
                iexscan: MPI_Iexscan PMPI_Iexscan MPI_Iexscan_c PMPI_Iexscan_c (
                    send, receive, count, datatype, op, comm; request,
                );
                neighbor_allgather:
                    MPI_Neighbor_allgather PMPI_Neighbor_allgather
                    MPI_Neighbor_allgather_c PMPI_Neighbor_allgather_c (
                    send, send_count, send_type, receive, receive_count, receive_type, comm,
                );
                neighbor_allgatherv:
                    MPI_Neighbor_allgatherv PMPI_Neighbor_allgatherv
                    MPI_Neighbor_allgatherv_c PMPI_Neighbor_allgatherv_c (
                    send, send_count, send_type, receive, receive_counts, receive_at, receive_type, comm,
                );
                neighbor_alltoall:
                    MPI_Neighbor_alltoall PMPI_Neighbor_alltoall
                    MPI_Neighbor_alltoall_c PMPI_Neighbor_alltoall_c (
                    send, send_count, send_type, receive, receive_count, receive_type, comm,
                );
                neighbor_alltoallv:
                    MPI_Neighbor_alltoallv PMPI_Neighbor_alltoallv
                    MPI_Neighbor_alltoallv_c PMPI_Neighbor_alltoallv_c (
                    send, send_counts, send_at, send_type, receive, receive_counts, receive_at, receive_type, comm,
                );
                neighbor_alltoallw:
                    MPI_Neighbor_alltoallw PMPI_Neighbor_alltoallw
                    MPI_Neighbor_alltoallw_c PMPI_Neighbor_alltoallw_c (
                    send, send_counts, send_at, send_types, receive, receive_counts, receive_at, receive_types, comm,
                );
                ineighbor_allgather:
                    MPI_Ineighbor_allgather PMPI_Ineighbor_allgather
                    MPI_Ineighbor_allgather_c PMPI_Ineighbor_allgather_c (
                    send, send_count, send_type, receive, receive_count, receive_type, comm; request,
                );
                ineighbor_allgatherv:
                    MPI_Ineighbor_allgatherv PMPI_Ineighbor_allgatherv
                    MPI_Ineighbor_allgatherv_c PMPI_Ineighbor_allgatherv_c (
                    send, send_count, send_type, receive, receive_counts, receive_at, receive_type, comm; request,
                );
                ineighbor_alltoall:
                    MPI_Ineighbor_alltoall PMPI_Ineighbor_alltoall
                    MPI_Ineighbor_alltoall_c PMPI_Ineighbor_alltoall_c (
                    send, send_count, send_type, receive, receive_count, receive_type, comm; request,
                );
                ineighbor_alltoallv:
                    MPI_Ineighbor_alltoallv PMPI_Ineighbor_alltoallv
                    MPI_Ineighbor_alltoallv_c PMPI_Ineighbor_alltoallv_c (
                    send, send_counts, send_at, send_type, receive, receive_counts, receive_at,
                    receive_type, comm; request,
                );
                ineighbor_alltoallw:
                    MPI_Ineighbor_alltoallw PMPI_Ineighbor_alltoallw
                    MPI_Ineighbor_alltoallw_c PMPI_Ineighbor_alltoallw_c (
                    send, send_counts, send_at, send_types, receive, receive_counts, receive_at,
                    receive_types, comm; request,
                );
            }
        }
    };
}
pub(crate) use others;
