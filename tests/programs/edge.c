/* Valid but unusual uses, which an interposing library must forward or handle: a sub-communicator before any collective
   on the world, intercommunicators, MPI_COMM_SELF, zero counts, MPI_BOTTOM, interleaved types, siblings freed in
   between, parallel files. One file, since each use is a few lines and all run in one job, one after another. */
#include "comms.h"

static int contribution(int rank, int index)
{
    return rank * 1000 + index % 997 + 1;
}

static int sum_of(int first, int last, int index)
{
    int sum = 0;
    for (int r = first; r <= last; r++)
        sum += contribution(r, index);
    return sum;
}

static void expect(int index, int got, int want)
{
    if (got != want)
        fail("index=%d got=%d expected=%d", index, got, want);
}

static void begin(const char *what)
{
    snprintf(check_current, sizeof check_current, "%s", what);
}

static int *ints_new(int count)
{
    int *data = malloc((size_t)count * sizeof *data + 1);
    if (!data)
        fail("out of memory");
    for (int i = 0; i < count; i++)
        data[i] = -1;
    return data;
}

static int *own_ints(int count)
{
    int *data = ints_new(count);
    for (int i = 0; i < count; i++)
        data[i] = contribution(check_rank, i);
    return data;
}

/* The first collective of the program, on the upper part of the world, whose other ranks know nothing of it. */
static void first_on_part(int count)
{
    begin("first collective: bcast and allreduce on create_group");
    const int first = check_size / 3;
    MPI_Comm comm = comm_by_group();
    if (comm == MPI_COMM_NULL)
        return;
    int rank;
    MPI_Comm_rank(comm, &rank);
    int *data = own_ints(count);
    /* Ranks are in descending order: rank 0 of the part is the last of the world. */
    MPI_Bcast(data, count, MPI_INT, 0, comm);
    for (int i = 0; i < count; i++)
        expect(i, data[i], contribution(check_size - 1, i));
    int *mine = own_ints(count);
    MPI_Allreduce(mine, data, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; i++)
        expect(i, data[i], sum_of(first, check_size - 1, i));
    free(mine);
    free(data);
    MPI_Comm_free(&comm);
    check_cases += 2;
}

static void on_self(int count)
{
    begin("every collective on MPI_COMM_SELF");
    int *mine = own_ints(count), *data = ints_new(count);
    MPI_Bcast(mine, count, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Reduce(mine, data, count, MPI_INT, MPI_SUM, 0, MPI_COMM_SELF);
    for (int i = 0; i < count; i++)
        expect(i, data[i], contribution(check_rank, i));
    MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_INT, MPI_MAX, MPI_COMM_SELF);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, count, MPI_INT, MPI_COMM_SELF);
    const int start = 0;
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, data, &count, &start, MPI_INT, MPI_COMM_SELF);
    const MPI_Datatype type = MPI_INT;
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, data, &count, &start, &type, MPI_COMM_SELF);
    MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, count, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Scatter(data, count, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_SELF);
    MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, &count, &start, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Scatterv(data, &count, &start, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_SELF);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, count, MPI_INT, MPI_COMM_SELF);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, &count, &start, MPI_INT, MPI_COMM_SELF);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, data, count, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    MPI_Reduce_scatter(MPI_IN_PLACE, data, &count, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    for (int i = 0; i < count; i++) {
        expect(i, data[i], contribution(check_rank, i));
        expect(i, mine[i], contribution(check_rank, i));
    }
    free(mine);
    free(data);
    check_cases += 14;
}

static void zero_counts(void)
{
    begin("zero counts with null buffers");
    int untouched = 42;
    MPI_Bcast(NULL, 0, MPI_INT, check_size - 1, MPI_COMM_WORLD);
    MPI_Reduce(&untouched, NULL, 0, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &untouched, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Alltoall(&untouched, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
    MPI_Gather(&untouched, 0, MPI_INT, NULL, 0, MPI_INT, check_size - 1, MPI_COMM_WORLD);
    MPI_Scatter(NULL, 0, MPI_INT, &untouched, 0, MPI_INT, check_size - 1, MPI_COMM_WORLD);
    int *nothing = calloc((size_t)check_size, sizeof *nothing);
    MPI_Alltoallv(&untouched, nothing, nothing, MPI_INT, NULL, nothing, nothing, MPI_INT, MPI_COMM_WORLD);
    MPI_Datatype types[check_size];
    for (int r = 0; r < check_size; r++)
        types[r] = r % 2 ? MPI_INT : MPI_DOUBLE;
    MPI_Alltoallw(&untouched, nothing, nothing, types, NULL, nothing, nothing, types, MPI_COMM_WORLD);
    MPI_Gatherv(&untouched, 0, MPI_INT, NULL, nothing, nothing, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatterv(NULL, nothing, nothing, MPI_INT, &untouched, 0, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgather(&untouched, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(&untouched, 0, MPI_INT, NULL, nothing, nothing, MPI_INT, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(&untouched, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter(&untouched, NULL, nothing, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    free(nothing);
    expect(0, untouched, 42);
    check_cases += 14;
}

/* Two arrays far apart, addressed absolutely, the second before the first in the type map. */
static void at_bottom(int count)
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
static void blocks_at_bottom(int count)
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
static void types_at_bottom(int count)
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

/* The last rank has no block, and passes the receive buffer, where a block of its own would be, as its contribution. */
static void allgatherv_of_nothing(int count)
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

/* A contribution that is where it belongs, or a result that is where it comes from, without being called so, which Open
   MPI takes and MPICH does not. */
static void where_it_belongs(int count)
{
#ifdef OPEN_MPI
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
    free(own);
    free(data);
    check_cases += 2;
#else
    (void)count;
#endif
}

/* The transposition of a distributed matrix: columns as interleaved elements (extent smaller than the span of the
   data). */
static void transpose(int rows)
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
static void one_array(int count)
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

/* Rooted at rank 0 of the lower half; results land in the other half, sums are over the other half. */
static void between_groups(int count)
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

/* Three siblings; each is used before and after another one is freed, a new one then takes the freed handle's place. */
static void siblings(int count)
{
    begin("allreduce while siblings are freed");
    MPI_Comm sibling[3];
    int *mine = own_ints(count), *data = ints_new(count);
    for (int s = 0; s < 3; s++)
        MPI_Comm_dup(MPI_COMM_WORLD, &sibling[s]);
    for (int round = 0; round < 6; round++) {
        for (int s = 0; s < 3; s++) {
            MPI_Allreduce(mine, data, count, MPI_INT, MPI_SUM, sibling[s]);
            for (int i = 0; i < count; i++)
                expect(i, data[i], sum_of(0, check_size - 1, i));
            check_cases++;
        }
        MPI_Comm_free(&sibling[round % 3]);
        MPI_Comm_split(MPI_COMM_WORLD, 0, round % 2 ? -check_rank : check_rank, &sibling[round % 3]);
    }
    for (int s = 0; s < 3; s++)
        MPI_Comm_free(&sibling[s]);
    free(mine);
    free(data);
}

/* The library's own file layer calls collectives inside: interleaved blocks written and read by all ranks at once. */
static void parallel_file(const char *path, int blocks)
{
    begin("MPI_File_write_all and MPI_File_read_all");
    enum { BLOCK = 64 };
    MPI_File file;
    MPI_Datatype view, strided;
    const int count = blocks * BLOCK;
    int *mine = own_ints(count), *back = ints_new(count);
    MPI_Type_vector(blocks, BLOCK, BLOCK * check_size, MPI_INT, &strided);
    MPI_Type_create_resized(strided, 0, (MPI_Aint)sizeof(int) * count * check_size, &view);
    MPI_Type_commit(&view);
    MPI_Type_free(&strided);
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    if (MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        fail("cannot open %s", path);
    MPI_File_set_view(file, (MPI_Offset)sizeof(int) * BLOCK * check_rank, MPI_INT, view, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, mine, count, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    message_barrier(MPI_COMM_WORLD);
    /* Reads the neighbour's blocks. */
    const int neighbour = (check_rank + 1) % check_size;
    MPI_File_set_view(file, (MPI_Offset)sizeof(int) * BLOCK * neighbour, MPI_INT, view, "native", MPI_INFO_NULL);
    MPI_File_read_all(file, back, count, MPI_INT, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++)
        expect(i, back[i], contribution(neighbour, i));
    MPI_File_close(&file);
    MPI_Type_free(&view);
    free(mine);
    free(back);
    check_cases += 2;
}

/* Options: count=40000 file=edge.<process number of rank 0>.tmp in TMPDIR */
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("edge", "count,file", argc, argv);
    const int count = (int)option_number(argc, argv, "count", 0, 40000);
    first_on_part(count);

    char path[512];
    const char *directory = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/edge.%ld.tmp", directory ? directory : "/tmp", (long)getpid());
    for (int r = 1; r < check_size; r++)
        if (check_rank == 0)
            MPI_Send(path, sizeof path, MPI_CHAR, r, TAG_GATHER, MPI_COMM_WORLD);
        else if (check_rank == r)
            MPI_Recv(path, sizeof path, MPI_CHAR, 0, TAG_GATHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    on_self(count);
    zero_counts();
    at_bottom(count);
    blocks_at_bottom(count / 4);
    types_at_bottom(count / 8);
    one_array(count / 4);
    where_it_belongs(count / 4);
    allgatherv_of_nothing(count / 4);
    transpose(300);
    between_groups(count);
    siblings(count);
    parallel_file(option(argc, argv, "file", 1, path), 100);
    check_finish();
    return 0;
}
