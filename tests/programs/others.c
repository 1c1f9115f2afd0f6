/* The collectives that are passed on: each once, blocking and nonblocking, with results that every rank verifies. */
#include "check.h"

enum { BLOCK = 3, MOST = 16 };

static int mine[BLOCK], all[MOST * BLOCK], theirs[MOST * BLOCK], one[BLOCK];
static int counts[MOST], places[MOST], bytes[MOST];
static MPI_Datatype types[MOST];

/* What `rank` has at `index` of the block for `peer`. */
static int value(int rank, int peer, int index)
{
    return 1000 * rank + 10 * peer + index;
}

static void begin(void)
{
    memset(theirs, -1, sizeof theirs);
    memset(one, -1, sizeof one);
    for (int i = 0; i < BLOCK; i++)
        mine[i] = value(check_rank, 0, i);
    for (int r = 0; r < check_size; r++)
        for (int i = 0; i < BLOCK; i++)
            all[r * BLOCK + i] = value(check_rank, r, i);
}

/* `got` is the block of `rank` for `peer`. */
static void expect_block(const char *what, const int *got, int rank, int peer)
{
    for (int i = 0; i < BLOCK; i++)
        if (got[i] != value(rank, peer, i))
            fail("%s index=%d got=%d expected=%d", what, i, got[i], value(rank, peer, i));
    check_cases++;
}

static void expect_all(const char *what, int peer)
{
    for (int r = 0; r < check_size; r++)
        expect_block(what, theirs + r * BLOCK, r, peer);
}

static void expect_sum(const char *what, const int *got, int ranks, int peer)
{
    for (int i = 0; i < BLOCK; i++) {
        const int expected = 1000 * ranks * (ranks - 1) / 2 + ranks * (10 * peer + i);
        if (got[i] != expected)
            fail("%s index=%d got=%d expected=%d", what, i, got[i], expected);
    }
    check_cases++;
}

static void expect(const char *what)
{
    const int rank = check_rank, root = rank == 0;
    if (strcmp(what, "scatter") == 0)
        expect_block(what, one, 0, rank);
    else if (strcmp(what, "bcast") == 0)
        expect_block(what, mine, 0, 0);
    else if (strcmp(what, "gather") == 0)
        root ? expect_all(what, 0) : (void)0;
    else if (strcmp(what, "allgather") == 0)
        expect_all(what, 0);
    else if (strcmp(what, "alltoall") == 0)
        expect_all(what, rank);
    else if (strcmp(what, "reduce") == 0)
        root ? expect_sum(what, one, check_size, 0) : (void)0;
    else if (strcmp(what, "allreduce") == 0)
        expect_sum(what, one, check_size, 0);
    else if (strcmp(what, "reduce_scatter") == 0)
        expect_sum(what, one, check_size, rank);
    else if (strcmp(what, "scan") == 0)
        expect_sum(what, one, rank + 1, 0);
    else if (strcmp(what, "exscan") == 0)
        rank > 0 ? expect_sum(what, one, rank, 0) : (void)0;
    else
        fail("no such result: %s", what);
}

#define DO(result, call) (begin(), MPI_##call, expect(result))
#define LATER(result, call) (begin(), MPI_##call, MPI_Wait(&request, MPI_STATUS_IGNORE), expect(result))

int main(int argc, char **argv)
{
    MPI_Comm world = MPI_COMM_WORLD, ring;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    check_start("others", "", argc, argv);
    if (check_size > MOST)
        fail("at most %d ranks", MOST);
    int ranks[MOST];
    for (int r = 0; r < check_size; r++) {
        ranks[r] = r, counts[r] = BLOCK, places[r] = r * BLOCK, types[r] = MPI_INT;
        bytes[r] = places[r] * (int)sizeof(int);
    }
    MPI_Dist_graph_create_adjacent(world, check_size, ranks, MPI_UNWEIGHTED, check_size, ranks, MPI_UNWEIGHTED,
        MPI_INFO_NULL, 0, &ring);

#define SEND mine, BLOCK, MPI_INT
#define SEND_ALL all, BLOCK, MPI_INT
#define SEND_V all, counts, places, MPI_INT
#define SEND_W all, counts, bytes, types
#define GET one, BLOCK, MPI_INT
#define GET_ALL theirs, BLOCK, MPI_INT
#define GET_V theirs, counts, places, MPI_INT
#define GET_W theirs, counts, bytes, types
#define SUM BLOCK, MPI_INT, MPI_SUM
    MPI_Barrier(world);
    DO("scan", Scan(mine, one, SUM, world));
    DO("exscan", Exscan(mine, one, SUM, world));

    MPI_Ibarrier(world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    LATER("bcast", Ibcast(SEND, 0, world, &request));
    LATER("reduce", Ireduce(mine, one, SUM, 0, world, &request));
    LATER("allreduce", Iallreduce(mine, one, SUM, world, &request));
    LATER("gather", Igather(SEND, GET_ALL, 0, world, &request));
    LATER("gather", Igatherv(SEND, GET_V, 0, world, &request));
    LATER("allgather", Iallgather(SEND, GET_ALL, world, &request));
    LATER("allgather", Iallgatherv(SEND, GET_V, world, &request));
    LATER("alltoall", Ialltoall(SEND_ALL, GET_ALL, world, &request));
    LATER("alltoall", Ialltoallv(SEND_V, GET_V, world, &request));
    LATER("alltoall", Ialltoallw(SEND_W, GET_W, world, &request));
    LATER("scatter", Iscatter(SEND_ALL, GET, 0, world, &request));
    LATER("scatter", Iscatterv(SEND_V, GET, 0, world, &request));
    LATER("reduce_scatter", Ireduce_scatter_block(all, one, SUM, world, &request));
    LATER("reduce_scatter", Ireduce_scatter(all, one, counts, MPI_INT, MPI_SUM, world, &request));
    LATER("scan", Iscan(mine, one, SUM, world, &request));
    LATER("exscan", Iexscan(mine, one, SUM, world, &request));

    MPI_Aint offsets[MOST];
    for (int r = 0; r < check_size; r++)
        offsets[r] = bytes[r];
#define SEND_N all, counts, offsets, types
#define GET_N theirs, counts, offsets, types
    DO("allgather", Neighbor_allgather(SEND, GET_ALL, ring));
    DO("allgather", Neighbor_allgatherv(SEND, GET_V, ring));
    DO("alltoall", Neighbor_alltoall(SEND_ALL, GET_ALL, ring));
    DO("alltoall", Neighbor_alltoallv(SEND_V, GET_V, ring));
    DO("alltoall", Neighbor_alltoallw(SEND_N, GET_N, ring));
    LATER("allgather", Ineighbor_allgather(SEND, GET_ALL, ring, &request));
    LATER("allgather", Ineighbor_allgatherv(SEND, GET_V, ring, &request));
    LATER("alltoall", Ineighbor_alltoall(SEND_ALL, GET_ALL, ring, &request));
    LATER("alltoall", Ineighbor_alltoallv(SEND_V, GET_V, ring, &request));
    LATER("alltoall", Ineighbor_alltoallw(SEND_N, GET_N, ring, &request));
#if MPI_VERSION >= 4
    MPI_Count many[MOST];
    for (int r = 0; r < check_size; r++)
        many[r] = BLOCK;
    DO("scan", Scan_c(mine, one, SUM, world));
    LATER("alltoall", Ialltoallw_c(all, many, offsets, types, theirs, many, offsets, types, world, &request));
    DO("alltoall", Neighbor_alltoallw_c(all, many, offsets, types, theirs, many, offsets, types, ring));
#endif
    MPI_Comm_free(&ring);
    check_finish();
    return 0;
}
