/* All collectives on an intercommunicator. */
#ifndef EDGE_INTER_H
#define EDGE_INTER_H

#include "comms.h"
#include "edge_ints.h"

/* Rooted at rank 0 of the lower half; results land in the other half, sums are over the other half. */
static inline void between_groups(int count)
{
    begin("intercommunicator");
    if (check_size < 2)
        return;
    MPI_Comm half, inter = comm_inter(&half);
    const int middle = check_size / 2, low = check_rank < middle;
    int *data = own_ints(count), *result = ints_new(count);

    begin("bcast on an intercommunicator");
    MPI_Bcast(data, count, MPI_INT, low ? (check_rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, inter);
    for (int i = 0; i < count; i++)
        expect(i, data[i], contribution(low ? check_rank : 0, i));

    begin("reduce on an intercommunicator");
    free(data);
    data = own_ints(count);
    MPI_Reduce(data, result, count, MPI_INT, MPI_SUM, low ? (check_rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, inter);
    for (int i = 0; check_rank == 0 && i < count; i++)
        expect(i, result[i], sum_of(middle, check_size - 1, i));

    begin("allreduce on an intercommunicator");
    MPI_Allreduce(data, result, count, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < count; i++)
        expect(i, result[i], low ? sum_of(middle, check_size - 1, i) : sum_of(0, middle - 1, i));

    begin("alltoall on an intercommunicator");
    int others;
    MPI_Comm_remote_size(inter, &others);
    int *blocks = own_ints(others), *received = ints_new(others);
    MPI_Alltoall(blocks, 1, MPI_INT, received, 1, MPI_INT, inter);
    for (int r = 0; r < others; r++)
        expect(r, received[r], contribution(low ? middle + r : r, low ? check_rank : check_rank - middle));

    begin("alltoallv on an intercommunicator");
    int counts[check_size], places[check_size];
    for (int r = 0; r < others; r++) {
        counts[r] = 1;
        places[r] = others - 1 - r;
    }
    MPI_Alltoallv(blocks, counts, places, MPI_INT, received, counts, places, MPI_INT, inter);
    for (int r = 0; r < others; r++) {
        const int own = low ? check_rank : check_rank - middle,
                  at_sender = (low ? middle : check_size - middle) - 1 - own;
        expect(r, received[places[r]], contribution(low ? middle + r : r, at_sender));
    }

    begin("alltoallw on an intercommunicator");
    MPI_Datatype types[check_size];
    for (int r = 0; r < others; r++) {
        types[r] = MPI_INT;
        received[r] = -1;
        places[r] *= (int)sizeof(int);
    }
    MPI_Alltoallw(blocks, counts, places, types, received, counts, places, types, inter);
    for (int r = 0; r < others; r++) {
        const int own = low ? check_rank : check_rank - middle,
                  at_sender = (low ? middle : check_size - middle) - 1 - own;
        expect(r, received[places[r] / (int)sizeof(int)], contribution(low ? middle + r : r, at_sender));
    }

    begin("gather on an intercommunicator");
    free(result);
    result = ints_new(others * count);
    /* In the root's group nothing is sent: the arguments mean nothing there. */
    if (low)
        MPI_Gather(NULL, 0, MPI_DATATYPE_NULL, result, count, MPI_INT, check_rank == 0 ? MPI_ROOT : MPI_PROC_NULL,
                   inter);
    else
        MPI_Gather(data, count, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 0, inter);
    for (int r = 0; check_rank == 0 && r < others; r++)
        for (int i = 0; i < count; i++)
            expect(r * count + i, result[r * count + i], contribution(middle + r, i));

    begin("scatter on an intercommunicator");
    /* In the root's group nothing is received. */
    int *parts = own_ints(others * count);
    if (low)
        MPI_Scatter(parts, count, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, check_rank == 0 ? MPI_ROOT : MPI_PROC_NULL,
                    inter);
    else
        MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, result, count, MPI_INT, 0, inter);
    for (int i = 0; !low && i < count; i++)
        expect(i, result[i], contribution(0, (check_rank - middle) * count + i));
    free(parts);

    begin("gatherv and scatterv on an intercommunicator");
    int counted[check_size], at[check_size];
    for (int r = 0; r < others; r++) {
        counted[r] = count;
        at[r] = (others - 1 - r) * count;
    }
    const int root = low ? (check_rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    if (low)
        MPI_Gatherv(NULL, 0, MPI_DATATYPE_NULL, result, counted, at, MPI_INT, root, inter);
    else
        MPI_Gatherv(data, count, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, root, inter);
    for (int r = 0; check_rank == 0 && r < others; r++)
        for (int i = 0; i < count; i++)
            expect(r * count + i, result[at[r] + i], contribution(middle + r, i));
    parts = own_ints(others * count);
    if (low)
        MPI_Scatterv(parts, counted, at, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, inter);
    else
        MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, result, count, MPI_INT, root, inter);
    for (int i = 0; !low && i < count; i++)
        expect(i, result[i], contribution(0, (check_size - 1 - check_rank) * count + i));
    free(parts);

    begin("allgather on an intercommunicator");
    MPI_Allgather(data, count, MPI_INT, result, count, MPI_INT, inter);
    for (int r = 0; r < others; r++)
        for (int i = 0; i < count; i++)
            expect(r * count + i, result[r * count + i], contribution(low ? middle + r : r, i));

    begin("allgatherv on an intercommunicator");
    int *starts = calloc((size_t)others, sizeof *starts);
    for (int r = 0; r < others; r++) {
        counts[r] = count;
        starts[r] = (others - 1 - r) * count;
    }
    MPI_Allgatherv(data, count, MPI_INT, result, counts, starts, MPI_INT, inter);
    for (int r = 0; r < others; r++)
        for (int i = 0; i < count; i++)
            expect(r * count + i, result[starts[r] + i], contribution(low ? middle + r : r, i));
    free(starts);

    /* The vector has an element for every pair of a rank here and a rank there. */
    const int ours = check_size - others, own = low ? check_rank : check_rank - middle;
    const int first_other = low ? middle : 0, last_other = low ? check_size - 1 : middle - 1;
    int *vector = own_ints(ours * others);
    for (int block = 0; block < 2; block++) {
        begin(block ? "reduce_scatter_block on an intercommunicator" : "reduce_scatter on an intercommunicator");
        for (int r = 0; r < ours; r++)
            counts[r] = others;
        if (block)
            MPI_Reduce_scatter_block(vector, received, others, MPI_INT, MPI_SUM, inter);
        else
            MPI_Reduce_scatter(vector, received, counts, MPI_INT, MPI_SUM, inter);
        for (int i = 0; i < others; i++)
            expect(i, received[i], sum_of(first_other, last_other, own * others + i));
    }

    free(vector);
    free(blocks);
    free(received);
    free(data);
    free(result);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    check_cases += 14;
}

#endif
