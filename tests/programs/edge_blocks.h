/* Blocks that lie between those of the other side or of other ranks, and contributions that are in the receive buffer
   without MPI_IN_PLACE. */
#ifndef EDGE_BLOCKS_H
#define EDGE_BLOCKS_H

#include "edge_ints.h"

/* The last rank has no block, and passes the receive buffer, where a block of its own would be, as its contribution. */
static inline void allgatherv_of_nothing(int count)
{
    begin("allgatherv of nothing, from the receive buffer");
    int counts[check_size], starts[check_size];
    for (int r = 0; r < check_size; r++) {
        counts[r] = r == check_size - 1 ? 0 : count;
        starts[r] = r == check_size - 1 ? 0 : r * count;
    }
    int *mine = own_ints(count), *all = ints_new(check_size * count);
    const int own = counts[check_rank];
    MPI_Allgatherv(own ? mine : all, own, MPI_INT, all, counts, starts, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < check_size - 1; r++)
        for (int i = 0; i < count; i++)
            expect(r * count + i, all[r * count + i], contribution(r, i));
    free(mine);
    free(all);
    check_cases++;
}

/* Whether the library looks for buffers of a call that are one. */
static inline int looks_for_aliases(void)
{
#ifdef OPEN_MPI
    return 0;
#else
    const char *check = getenv("MPIR_CVAR_COLL_ALIAS_CHECK");
    return !check || strcmp(check, "0") != 0;
#endif
}

/* A contribution that is where it belongs, or a result that is where it comes from, without being called so, which Open
   MPI takes, and MPICH where it is told not to look. */
static inline void where_it_belongs(int count)
{
    if (looks_for_aliases())
        return;
    begin("allgather of what is in the receive buffer");
    int *data = ints_new(count * check_size);
    for (int i = 0; i < count; i++)
        data[check_rank * count + i] = contribution(check_rank, i);
    MPI_Allgather(data + check_rank * count, count, MPI_INT, data, count, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < check_size; r++)
        for (int i = 0; i < count; i++)
            expect(r * count + i, data[r * count + i], contribution(r, i));
    begin("scatter to where the root's own block is");
    const int root = check_size - 1;
    for (int i = 0; i < count * check_size; i++)
        data[i] = contribution(check_rank, i);
    int *own = ints_new(count), *to = check_rank == root ? data + root * count : own;
    MPI_Scatter(data, count, MPI_INT, to, count, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        expect(i, to[i], contribution(root, check_rank * count + i));
    for (int i = 0; i < count * check_size; i++)
        expect(i, data[i], contribution(check_rank, i));
    check_cases += 2;
#ifndef OPEN_MPI
    begin("reduce within the root's one buffer");
    for (int i = 0; i < count; i++)
        data[i] = contribution(check_rank, i);
    MPI_Reduce(data, check_rank == root ? data : own, count, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
    for (int i = 0; check_rank == root && i < count; i++) {
        int most = contribution(0, i);
        for (int r = 1; r < check_size; r++)
            if (contribution(r, i) > most)
                most = contribution(r, i);
        expect(i, data[i], most);
    }
    check_cases++;
#endif
    free(own);
    free(data);
}

/* The contribution lies beyond the result, in the same array, by a type that says so: both have one address. */
static inline void beyond_the_result(int count)
{
    begin("allgather of what a type finds beyond the result");
    int *data = ints_new(count * (check_size + 1));
    for (int i = 0; i < count; i++)
        data[check_size * count + i] = contribution(check_rank, i);
    const MPI_Aint beyond = (MPI_Aint)check_size * count * (MPI_Aint)sizeof(int);
    MPI_Datatype type;
    MPI_Type_create_hindexed(1, &count, &beyond, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Allgather(data, 1, type, data, count, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r <= check_size; r++)
        for (int i = 0; i < count; i++)
            expect(r * count + i, data[r * count + i], contribution(r < check_size ? r : check_rank, i));
    begin("gather of what a type finds beyond the result");
    memset(data, 0, sizeof(int) * (size_t)(count * check_size));
    MPI_Gather(data, 1, type, data, count, MPI_INT, 0, MPI_COMM_WORLD);
    for (int r = 0; check_rank == 0 && r < check_size; r++)
        for (int i = 0; i < count; i++)
            expect(r * count + i, data[r * count + i], contribution(r, i));
    MPI_Type_free(&type);
    free(data);
    check_cases += 2;
}

/* The transposition of a distributed matrix: columns as interleaved elements (extent smaller than the span of the
   data). */
static inline void transpose(int rows)
{
    begin("alltoall of interleaved columns");
    const int columns = check_size;
    int *matrix = own_ints(rows * columns), *received = ints_new(rows * columns);
    MPI_Datatype strided, column;
    MPI_Type_vector(rows, 1, columns, MPI_INT, &strided);
    MPI_Type_create_resized(strided, 0, sizeof(int), &column);
    MPI_Type_commit(&column);
    MPI_Type_free(&strided);
    MPI_Alltoall(matrix, 1, column, received, 1, column, MPI_COMM_WORLD);
    for (int row = 0; row < rows; row++)
        for (int from = 0; from < columns; from++)
            expect(row * columns + from, received[row * columns + from],
                   contribution(from, row * columns + check_rank));
    MPI_Type_free(&column);
    free(matrix);
    free(received);
    check_cases++;
}

/* Send and receive blocks take turns in one array, and rank 0 has no part in it: its two buffers are the same as
   well. */
static inline void one_array(int count)
{
    begin("alltoallv within one array");
    /* Two arrays of counts: MPICH takes buffers with one address and one array for the same blocks. */
    int counts[check_size], same_counts[check_size], sent[check_size], received[check_size];
    int *data = ints_new(2 * count * check_size);
    for (int r = 0; r < check_size; r++) {
        counts[r] = same_counts[r] = check_rank == 0 || r == 0 ? 0 : count;
        sent[r] = 2 * r * count;
        received[r] = (2 * r + 1) * count;
        for (int i = 0; i < counts[r]; i++)
            data[sent[r] + i] = contribution(check_rank, r * count + i);
    }
    MPI_Alltoallv(data, counts, sent, MPI_INT, data, same_counts, received, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < check_size; r++)
        for (int i = 0; i < count; i++) {
            expect(sent[r] + i, data[sent[r] + i], counts[r] ? contribution(check_rank, r * count + i) : -1);
            expect(received[r] + i, data[received[r] + i], counts[r] ? contribution(r, check_rank * count + i) : -1);
        }
    free(data);
    check_cases++;
}

#endif
