/* MPI_BOTTOM: absolute addresses on one side or both, as one type and as blocks, of one type or of a type per rank. */
#ifndef EDGE_BOTTOM_H
#define EDGE_BOTTOM_H

#include "edge_ints.h"

/* Two arrays far apart, addressed absolutely, the second before the first in the type map. */
static inline void at_bottom(int count)
{
    begin("bcast and alltoall with MPI_BOTTOM");
    const int root = check_size / 2;
    int *a = ints_new(count), *b = ints_new(count);
    MPI_Aint at[2];
    MPI_Datatype type;
    MPI_Get_address(b, &at[0]);
    MPI_Get_address(a, &at[1]);
    MPI_Type_create_hindexed(2, (int[]){count, count}, at, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; check_rank == root && i < count; i++) {
        a[i] = contribution(root, i);
        b[i] = contribution(root, i + count);
    }
    MPI_Bcast(MPI_BOTTOM, 1, type, root, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        expect(i, a[i], contribution(root, i));
        expect(i, b[i], contribution(root, i + count));
    }
    MPI_Type_free(&type);

    /* Absolute on the receiving side only. Blocks are big enough for Open MPI 4.1 not to take its Bruck algorithm,
       which reads the send buffer as if it had the receive type. */
    enum { BLOCK = 1200 };
    int *sent = own_ints(BLOCK * check_size), *received = ints_new(BLOCK * check_size);
    MPI_Datatype block;
    MPI_Get_address(received, &at[0]);
    MPI_Type_create_hindexed(1, (int[]){BLOCK}, at, MPI_INT, &block);
    MPI_Type_commit(&block);
    MPI_Alltoall(sent, BLOCK, MPI_INT, MPI_BOTTOM, 1, block, MPI_COMM_WORLD);
    for (int r = 0; r < check_size; r++)
        for (int i = 0; i < BLOCK; i++)
            expect(r * BLOCK + i, received[r * BLOCK + i], contribution(r, check_rank * BLOCK + i));
    MPI_Type_free(&block);
    free(sent);
    free(received);
    free(a);
    free(b);
    check_cases += 2;
}

/* Absolute addresses on one side at a time: of the root of a Gather and of a Scatter, of all ranks but the root, of the
   senders and of the receivers of an Alltoallv whose blocks shrink towards higher ranks, and of both sides of an
   Allgather in turn. */
static inline void blocks_at_bottom(int count)
{
    begin("gather, scatter, allgather and alltoallv with MPI_BOTTOM");
    const int root = check_size - 1;
    int *mine = own_ints(count * check_size), *got = ints_new(count * check_size);
    MPI_Aint at;
    MPI_Datatype here, there;
    MPI_Get_address(mine, &at);
    MPI_Type_create_hindexed(1, (int[]){count}, &at, MPI_INT, &here);
    MPI_Type_commit(&here);
    MPI_Get_address(got, &at);
    MPI_Type_create_hindexed(1, (int[]){count}, &at, MPI_INT, &there);
    MPI_Type_commit(&there);
    for (int absolute = 0; absolute < 2; absolute++) {
        if (check_rank != root)
            MPI_Gather(absolute ? MPI_BOTTOM : mine, absolute ? 1 : count, absolute ? here : MPI_INT, NULL, 0,
                       MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
        else
            MPI_Gather(mine, count, MPI_INT, absolute ? got : MPI_BOTTOM, absolute ? count : 1,
                       absolute ? MPI_INT : there, root, MPI_COMM_WORLD);
        for (int r = 0; check_rank == root && r < check_size; r++)
            for (int i = 0; i < count; i++)
                expect(r * count + i, got[r * count + i], contribution(r, i));
        memset(got, -1, (size_t)(count * check_size) * sizeof *got);
        check_cases++;
    }
    for (int absolute = 0; absolute < 2; absolute++) {
        if (check_rank != root)
            MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, absolute ? MPI_BOTTOM : got, absolute ? 1 : count,
                        absolute ? there : MPI_INT, root, MPI_COMM_WORLD);
        else
            MPI_Scatter(absolute ? mine : MPI_BOTTOM, absolute ? count : 1, absolute ? MPI_INT : here, got, count,
                        MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++)
            expect(i, got[i], contribution(root, check_rank * count + i));
        memset(got, -1, (size_t)(count * check_size) * sizeof *got);
        check_cases++;
    }
    for (int shift = 0; shift < 2; shift++) {
        /* What is absolute on one rank is not on the next. */
        if ((check_rank + shift) % 2)
            MPI_Allgather(MPI_BOTTOM, 1, here, got, count, MPI_INT, MPI_COMM_WORLD);
        else
            MPI_Allgather(mine, count, MPI_INT, MPI_BOTTOM, 1, there, MPI_COMM_WORLD);
        for (int r = 0; r < check_size; r++)
            for (int i = 0; i < count; i++)
                expect(r * count + i, got[r * count + i], contribution(r, i));
        memset(got, -1, (size_t)(count * check_size) * sizeof *got);
        check_cases++;
    }
    MPI_Type_free(&here);
    MPI_Type_free(&there);

    /* One int at the address of the first, as an element that displacements count. */
    const int absolute_sender = check_rank % 2;
    MPI_Datatype element;
    MPI_Get_address(absolute_sender ? mine : got, &at);
    MPI_Type_create_hindexed(1, (int[]){1}, &at, MPI_INT, &here);
    MPI_Type_create_resized(here, 0, sizeof(int), &element);
    MPI_Type_commit(&element);
    MPI_Type_free(&here);
    int sent[check_size], received[check_size], from[check_size];
    for (int r = 0; r < check_size; r++) {
        sent[r] = count / (r + 1);
        received[r] = count / (check_rank + 1);
        from[r] = r * count;
    }
    MPI_Alltoallv(absolute_sender ? MPI_BOTTOM : mine, sent, from, absolute_sender ? element : MPI_INT,
                  absolute_sender ? got : MPI_BOTTOM, received, from, absolute_sender ? MPI_INT : element,
                  MPI_COMM_WORLD);
    for (int r = 0; r < check_size; r++)
        for (int i = 0; i < count; i++)
            expect(r * count + i, got[r * count + i], i < received[r] ? contribution(r, check_rank * count + i) : -1);
    MPI_Type_free(&element);
    check_cases++;
    free(mine);
    free(got);
}

/* An Alltoallw from absolute addresses into an array, or from there to absolute addresses, by types that each name one
   block; those of odd ranks as one element of consecutive bytes, the others as two columns that take turns. */
static inline void types_at_bottom(int count)
{
    begin("alltoallw with MPI_BOTTOM");
    int *mine = own_ints(2 * count * check_size), *got = ints_new(2 * count * check_size);
    int ones[check_size], zeros[check_size], counts[check_size], places[check_size];
    MPI_Datatype absolute[check_size], relative[check_size];
    const int sends = check_rank % 2;
    int *at = sends ? mine : got;
    for (int r = 0; r < check_size; r++) {
        MPI_Aint addresses[2];
        ones[r] = 1, zeros[r] = 0, counts[r] = 2 * count, places[r] = 2 * r * count * (int)sizeof(int);
        MPI_Get_address(at + 2 * r * count, &addresses[0]);
        MPI_Get_address(at + (2 * r + 1) * count, &addresses[1]);
        if (r % 2 == 0) {
            const MPI_Aint first = addresses[0];
            addresses[0] = addresses[1], addresses[1] = first;
        }
        MPI_Type_create_hindexed(2, (int[]){count, count}, addresses, MPI_INT, &absolute[r]);
        MPI_Type_commit(&absolute[r]);
        relative[r] = MPI_INT;
    }
    if (sends)
        MPI_Alltoallw(MPI_BOTTOM, ones, zeros, absolute, got, counts, places, relative, MPI_COMM_WORLD);
    else
        MPI_Alltoallw(mine, counts, places, relative, MPI_BOTTOM, ones, zeros, absolute, MPI_COMM_WORLD);
    for (int r = 0; r < check_size; r++)
        for (int i = 0; i < 2 * count; i++) {
            /* Halves change places where either side says so. */
            const int sender_swaps = r % 2 && check_rank % 2 == 0, receiver_swaps = !sends && r % 2 == 0,
                      from = sender_swaps != receiver_swaps ? (i + count) % (2 * count) : i;
            expect(2 * r * count + i, got[2 * r * count + i], contribution(r, 2 * check_rank * count + from));
        }
    for (int r = 0; r < check_size; r++)
        MPI_Type_free(&absolute[r]);
    free(mine);
    free(got);
    check_cases++;
}

#endif
