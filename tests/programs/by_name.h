/* The collectives that Nagare carries out, by name. */
#ifndef BY_NAME_H
#define BY_NAME_H

#include "check.h"

static const char *const by_name[] = {"bcast",          "reduce",    "allreduce",  "reduce_scatter_block",
                                      "reduce_scatter", "allgather", "allgatherv", "alltoall",
                                      "alltoallv",      "gather",    "scatter",    "gatherv",
                                      "scatterv",       "alltoallw"};

/* Calls collective `name` with `block` elements for or from every rank, or a vector of `whole`; sums, root 0. `in` and
   `out` have a block of every rank, and a vector. Returns what MPI returns. */
static int call_with(const char *name, int *in, int *out, int block, int whole, MPI_Datatype type, MPI_Comm comm)
{
    int size;
    MPI_Comm_size(comm, &size);
    int counts[size], starts[size];
    MPI_Datatype types[size];
    for (int r = 0; r < size; r++) {
        counts[r] = block;
        starts[r] = r * block;
        types[r] = type;
    }
    if (strcmp(name, "bcast") == 0)
        return MPI_Bcast(in, whole, type, 0, comm);
    if (strcmp(name, "reduce") == 0)
        return MPI_Reduce(in, out, whole, type, MPI_SUM, 0, comm);
    if (strcmp(name, "allreduce") == 0)
        return MPI_Allreduce(in, out, whole, type, MPI_SUM, comm);
    if (strcmp(name, "reduce_scatter_block") == 0)
        return MPI_Reduce_scatter_block(in, out, block, type, MPI_SUM, comm);
    if (strcmp(name, "reduce_scatter") == 0)
        return MPI_Reduce_scatter(in, out, counts, type, MPI_SUM, comm);
    if (strcmp(name, "allgather") == 0)
        return MPI_Allgather(in, block, type, out, block, type, comm);
    if (strcmp(name, "allgatherv") == 0)
        return MPI_Allgatherv(in, block, type, out, counts, starts, type, comm);
    if (strcmp(name, "alltoall") == 0)
        return MPI_Alltoall(in, block, type, out, block, type, comm);
    if (strcmp(name, "alltoallv") == 0)
        return MPI_Alltoallv(in, counts, starts, type, out, counts, starts, type, comm);
    if (strcmp(name, "gather") == 0)
        return MPI_Gather(in, block, type, out, block, type, 0, comm);
    if (strcmp(name, "scatter") == 0)
        return MPI_Scatter(in, block, type, out, block, type, 0, comm);
    if (strcmp(name, "gatherv") == 0)
        return MPI_Gatherv(in, block, type, out, counts, starts, type, 0, comm);
    if (strcmp(name, "scatterv") == 0)
        return MPI_Scatterv(in, counts, starts, type, out, block, type, 0, comm);
    if (strcmp(name, "alltoallw") == 0) {
        MPI_Aint lb, extent;
        MPI_Type_get_extent(type, &lb, &extent);
        for (int r = 0; r < size; r++)
            starts[r] *= (int)extent;
        return MPI_Alltoallw(in, counts, starts, types, out, counts, starts, types, comm);
    }
    fail("no collective %s", name);
}

/* The same with a vector of as many elements as all blocks have. */
static inline int call_by_name(const char *name, int *in, int *out, int block, MPI_Datatype type, MPI_Comm comm)
{
    int size;
    MPI_Comm_size(comm, &size);
    return call_with(name, in, out, block, block * size, type, comm);
}

#endif
