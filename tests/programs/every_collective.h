/* The collectives that Nagare carries out, with values that each rank computes for itself from (rank, step, index);
   usable from several threads at once. */
#ifndef EVERY_COLLECTIVE_H
#define EVERY_COLLECTIVE_H

#include "check.h"

enum { COLLECTIVES = 14 };

/* Small, so that sums over many ranks fit. */
static int part(int rank, long step, int index)
{
    return (int)(((unsigned)rank * 7919u + (unsigned)step * 31u + (unsigned)index) % 10007u);
}

static void expect(const char *what, long step, int index, int got, int want)
{
    if (got != want)
        fail("%s step=%ld index=%d got=%d expected=%d", what, step, index, got, want);
}

static int sum(int size, long step, int index)
{
    int total = 0;
    for (int r = 0; r < size; r++)
        total += part(r, step, index);
    return total;
}

/* Collective `which` with `count` elements per rank; returns the number of calls verified. A few elements of every
   result are compared, so that the time is the library's. */
static int one(MPI_Comm comm, long step, int which, int count, int *data, int *result)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int counts[size], places[size], starts[size];
    MPI_Datatype types[size];
    for (int r = 0; r < size; r++) {
        counts[r] = count, places[r] = r * count;
        types[r] = MPI_INT, starts[r] = places[r] * (int)sizeof(int);
    }
    const int root = (int)(step / COLLECTIVES % size), all = count * size, stride = count < 4 ? 1 : count / 3;
    const int used = which == 3 || which == 4 || which == 7 || which == 8 || which == 10 || which >= 12 ? all : count;
    for (int i = 0; i < used; i++)
        data[i] = part(rank, step, i);
    for (int i = 0; i < all; i += stride)
        result[i] = -1;
    switch (which) {
    case 0:
        MPI_Bcast(data, count, MPI_INT, root, comm);
        for (int i = 0; i < count; i += stride)
            expect("bcast", step, i, data[i], part(root, step, i));
        break;
    case 1:
        MPI_Reduce(data, result, count, MPI_INT, MPI_SUM, root, comm);
        for (int i = 0; i < count && rank == root; i += stride)
            expect("reduce", step, i, result[i], sum(size, step, i));
        break;
    case 2:
        MPI_Allreduce(data, result, count, MPI_INT, MPI_SUM, comm);
        for (int i = 0; i < count; i += stride)
            expect("allreduce", step, i, result[i], sum(size, step, i));
        break;
    case 3:
        MPI_Alltoall(data, count, MPI_INT, result, count, MPI_INT, comm);
        for (int i = 0; i < all; i += stride)
            expect("alltoall", step, i, result[i], part(i / count, step, rank * count + i % count));
        break;
    case 4:
        MPI_Alltoallv(data, counts, places, MPI_INT, result, counts, places, MPI_INT, comm);
        for (int i = 0; i < all; i += stride)
            expect("alltoallv", step, i, result[i], part(i / count, step, rank * count + i % count));
        break;
    case 5:
        MPI_Gather(data, count, MPI_INT, result, count, MPI_INT, root, comm);
        for (int i = 0; i < all && rank == root; i += stride)
            expect("gather", step, i, result[i], part(i / count, step, i % count));
        break;
    case 6:
        MPI_Allgather(data, count, MPI_INT, result, count, MPI_INT, comm);
        for (int i = 0; i < all; i += stride)
            expect("allgather", step, i, result[i], part(i / count, step, i % count));
        break;
    case 7:
        MPI_Reduce_scatter_block(data, result, count, MPI_INT, MPI_SUM, comm);
        for (int i = 0; i < count; i += stride)
            expect("reduce_scatter_block", step, i, result[i], sum(size, step, rank * count + i));
        break;
    case 8:
        MPI_Reduce_scatter(data, result, counts, MPI_INT, MPI_SUM, comm);
        for (int i = 0; i < count; i += stride)
            expect("reduce_scatter", step, i, result[i], sum(size, step, rank * count + i));
        break;
    case 9:
        MPI_Allgatherv(data, count, MPI_INT, result, counts, places, MPI_INT, comm);
        for (int i = 0; i < all; i += stride)
            expect("allgatherv", step, i, result[i], part(i / count, step, i % count));
        break;
    case 10:
        MPI_Scatter(data, count, MPI_INT, result, count, MPI_INT, root, comm);
        for (int i = 0; i < count; i += stride)
            expect("scatter", step, i, result[i], part(root, step, rank * count + i));
        break;
    case 11:
        MPI_Gatherv(data, count, MPI_INT, result, counts, places, MPI_INT, root, comm);
        for (int i = 0; i < all && rank == root; i += stride)
            expect("gatherv", step, i, result[i], part(i / count, step, i % count));
        break;
    case 12:
        MPI_Scatterv(data, counts, places, MPI_INT, result, count, MPI_INT, root, comm);
        for (int i = 0; i < count; i += stride)
            expect("scatterv", step, i, result[i], part(root, step, rank * count + i));
        break;
    default:
        MPI_Alltoallw(data, counts, starts, types, result, counts, starts, types, comm);
        for (int i = 0; i < all; i += stride)
            expect("alltoallw", step, i, result[i], part(i / count, step, rank * count + i % count));
    }
    return 1;
}

#endif
