/* Messages of more than 2^31 bytes (by default 2.2 GiB of user data per buffer and rank; meant for two ranks). Through
   int counts with a derived type on every MPI; through the large-count functions (…_c) where the library has them.
   Options: mebibytes=2253 what=bcast,bcast_c,reduce,allreduce,allreduce_c,alltoall,alltoallv,gather,scatter,allgather,
   reduce_scatter (default bcast) */
#include "check.h"

#if MPI_VERSION >= 4
#define HAVE_LARGE_COUNT
#endif

enum { WORDS_PER_UNIT = 131072 }; /* 1 MiB of uint64_t */

static uint64_t word(int origin, size_t index)
{
    return (index + 1) * 0x9E3779B97F4A7C15u + (uint64_t)origin;
}

static uint64_t *words_new(size_t words)
{
    uint64_t *data = malloc(words * sizeof *data);
    if (!data)
        fail("out of memory: %zu bytes", words * sizeof *data);
    return data;
}

static void fill(uint64_t *data, size_t first, size_t words, int origin)
{
    for (size_t i = 0; i < words; i++)
        data[first + i] = word(origin, first + i);
}

static void expect_word(uint64_t got, uint64_t want, size_t index)
{
    if (got != want)
        fail("index=%zu got=%llu expected=%llu", index, (unsigned long long)got, (unsigned long long)want);
}

static void check_bcast(size_t words, int large_count)
{
    const int root = check_size - 1;
    snprintf(check_current, sizeof check_current, "bcast%s bytes=%zu root=%d", large_count ? "_c" : "", words * 8,
             root);
    uint64_t *data = words_new(words);
    memset(data, 0xA5, words * 8);
    if (check_rank == root)
        fill(data, 0, words, root);
    if (large_count) {
#ifdef HAVE_LARGE_COUNT
        MPI_Bcast_c(data, (MPI_Count)words * 8, MPI_BYTE, root, MPI_COMM_WORLD);
#endif
    } else {
        MPI_Datatype unit;
        MPI_Type_contiguous(WORDS_PER_UNIT * 8, MPI_BYTE, &unit);
        MPI_Type_commit(&unit);
        MPI_Bcast(data, (int)(words / WORDS_PER_UNIT), unit, root, MPI_COMM_WORLD);
        MPI_Type_free(&unit);
    }
    for (size_t i = 0; i < words; i++)
        expect_word(data[i], word(root, i), i);
    free(data);
    check_cases++;
}

/* In place, so that a rank needs one user buffer. root < 0: Allreduce. */
static void check_sum(size_t words, int root, int large_count)
{
    snprintf(check_current, sizeof check_current, "%s%s bytes=%zu root=%d in_place=yes",
             root < 0 ? "allreduce" : "reduce", large_count ? "_c" : "", words * 8, root);
    uint64_t *data = words_new(words);
    fill(data, 0, words, check_rank);
    if (root >= 0)
        MPI_Reduce(check_rank == root ? MPI_IN_PLACE : data, check_rank == root ? data : NULL, (int)words, MPI_UINT64_T,
                   MPI_SUM, root, MPI_COMM_WORLD);
    else if (!large_count)
        MPI_Allreduce(MPI_IN_PLACE, data, (int)words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
#ifdef HAVE_LARGE_COUNT
    else
        MPI_Allreduce_c(MPI_IN_PLACE, data, (MPI_Count)words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
#endif
    const uint64_t size = (uint64_t)check_size, ranks = size * (size - 1) / 2;
    for (size_t i = 0; i < words; i++)
        expect_word(data[i], root < 0 || root == check_rank ? size * word(0, i) + ranks : word(check_rank, i), i);
    free(data);
    check_cases++;
}

/* The whole send buffer exceeds 2^31 bytes; so does a block where there are two ranks and twice the default size is
   asked for. */
static void check_alltoall(size_t words)
{
    const size_t units = words / WORDS_PER_UNIT / (size_t)check_size, block = units * WORDS_PER_UNIT;
    snprintf(check_current, sizeof check_current, "alltoall bytes_per_block=%zu", block * 8);
    uint64_t *send = words_new(block * (size_t)check_size), *receive = words_new(block * (size_t)check_size);
    fill(send, 0, block * (size_t)check_size, check_rank);
    MPI_Datatype unit;
    MPI_Type_contiguous(WORDS_PER_UNIT, MPI_UINT64_T, &unit);
    MPI_Type_commit(&unit);
    MPI_Alltoall(send, (int)units, unit, receive, (int)units, unit, MPI_COMM_WORLD);
    MPI_Type_free(&unit);
    for (int peer = 0; peer < check_size; peer++)
        for (size_t i = 0; i < block; i++)
            expect_word(receive[(size_t)peer * block + i], word(peer, (size_t)check_rank * block + i),
                        (size_t)peer * block + i);
    free(send);
    free(receive);
    check_cases++;
}

/* Uneven halves of more than 2^31 bytes in all, counted in units of 1 MiB, so that displacements and counts are
   `int`. */
static void check_alltoallv(size_t words)
{
    const size_t units = words / WORDS_PER_UNIT;
    snprintf(check_current, sizeof check_current, "alltoallv bytes=%zu", units * WORDS_PER_UNIT * 8);
    int count[2], place[2];
    for (int peer = 0; peer < 2; peer++) {
        count[peer] = (int)(peer == check_rank ? units / 8 : units - units / 8);
        place[peer] = peer == 0 ? (int)units - count[0] : 0;
    }
    if (check_size != 2)
        fail("expected 2 ranks");
    uint64_t *send = words_new(units * WORDS_PER_UNIT), *receive = words_new(units * WORDS_PER_UNIT);
    fill(send, 0, units * WORDS_PER_UNIT, check_rank);
    MPI_Datatype unit;
    MPI_Type_contiguous(WORDS_PER_UNIT, MPI_UINT64_T, &unit);
    MPI_Type_commit(&unit);
    MPI_Alltoallv(send, count, place, unit, receive, count, place, unit, MPI_COMM_WORLD);
    MPI_Type_free(&unit);
    for (int peer = 0; peer < 2; peer++) {
        /* Where the peer has this rank's block: its counts are ours exchanged. */
        const size_t from = (check_rank == 0 ? units - (size_t)count[peer] : 0) * WORDS_PER_UNIT,
                     to = (size_t)place[peer] * WORDS_PER_UNIT;
        for (size_t i = 0; i < (size_t)count[peer] * WORDS_PER_UNIT; i++)
            expect_word(receive[to + i], word(peer, from + i), to + i);
    }
    free(send);
    free(receive);
    check_cases++;
}

/* At the root, more than 2^31 bytes of blocks. */
static void check_gather(size_t words)
{
    const int root = check_size - 1;
    const size_t units = words / WORDS_PER_UNIT / (size_t)check_size, block = units * WORDS_PER_UNIT;
    snprintf(check_current, sizeof check_current, "gather bytes_per_block=%zu", block * 8);
    uint64_t *send = words_new(block), *receive = check_rank == root ? words_new(block * (size_t)check_size) : NULL;
    fill(send, 0, block, check_rank);
    MPI_Gather(send, (int)block, MPI_UINT64_T, receive, (int)block, MPI_UINT64_T, root, MPI_COMM_WORLD);
    for (int peer = 0; check_rank == root && peer < check_size; peer++)
        for (size_t i = 0; i < block; i++)
            expect_word(receive[(size_t)peer * block + i], word(peer, i), (size_t)peer * block + i);
    free(send);
    free(receive);
    check_cases++;
}

/* From the root, more than 2^31 bytes of blocks. */
static void check_scatter(size_t words)
{
    const int root = check_size - 1;
    const size_t units = words / WORDS_PER_UNIT / (size_t)check_size, block = units * WORDS_PER_UNIT;
    snprintf(check_current, sizeof check_current, "scatter bytes_per_block=%zu", block * 8);
    uint64_t *send = check_rank == root ? words_new(block * (size_t)check_size) : NULL, *receive = words_new(block);
    if (send)
        fill(send, 0, block * (size_t)check_size, root);
    MPI_Scatter(send, (int)block, MPI_UINT64_T, receive, (int)block, MPI_UINT64_T, root, MPI_COMM_WORLD);
    for (size_t i = 0; i < block; i++)
        expect_word(receive[i], word(root, (size_t)check_rank * block + i), i);
    free(send);
    free(receive);
    check_cases++;
}

/* At every rank, more than 2^31 bytes of blocks. */
static void check_allgather(size_t words)
{
    const size_t block = words / (size_t)check_size;
    snprintf(check_current, sizeof check_current, "allgather bytes_per_block=%zu", block * 8);
    uint64_t *send = words_new(block), *receive = words_new(block * (size_t)check_size);
    fill(send, 0, block, check_rank);
    MPI_Allgather(send, (int)block, MPI_UINT64_T, receive, (int)block, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int peer = 0; peer < check_size; peer++)
        for (size_t i = 0; i < block; i++)
            expect_word(receive[(size_t)peer * block + i], word(peer, i), (size_t)peer * block + i);
    free(send);
    free(receive);
    check_cases++;
}

/* A vector of more than 2^31 bytes, of which the first rank gets one element more; in place. */
static void check_reduce_scatter(size_t words)
{
    snprintf(check_current, sizeof check_current, "reduce_scatter bytes=%zu in_place=yes", words * 8);
    int counts[check_size];
    size_t first = 0, total = 0;
    for (int r = 0; r < check_size; r++) {
        first = r == check_rank ? total : first;
        counts[r] = (int)(words / (size_t)check_size) - (r > 0) + (r == 0);
        total += (size_t)counts[r];
    }
    uint64_t *data = words_new(total);
    fill(data, 0, total, check_rank);
    MPI_Reduce_scatter(MPI_IN_PLACE, data, counts, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    const uint64_t size = (uint64_t)check_size, ranks = size * (size - 1) / 2;
    for (size_t i = 0; i < (size_t)counts[check_rank]; i++)
        expect_word(data[i], size * word(0, first + i) + ranks, i);
    free(data);
    check_cases++;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("huge", "what,mebibytes", argc, argv);
    const char *what = option(argc, argv, "what", 0, "bcast");
    const size_t words = (size_t)option_number(argc, argv, "mebibytes", 1, 2253) * WORDS_PER_UNIT;
    if (listed(what, "bcast"))
        check_bcast(words, 0);
    if (listed(what, "reduce"))
        check_sum(words, 0, 0);
    if (listed(what, "allreduce"))
        check_sum(words, -1, 0);
    if (listed(what, "alltoall"))
        check_alltoall(words);
    if (listed(what, "alltoallv"))
        check_alltoallv(words);
    if (listed(what, "gather"))
        check_gather(words);
    if (listed(what, "scatter"))
        check_scatter(words);
    if (listed(what, "allgather"))
        check_allgather(words);
    if (listed(what, "reduce_scatter"))
        check_reduce_scatter(words);
#ifdef HAVE_LARGE_COUNT
    if (listed(what, "bcast_c"))
        check_bcast(words, 1);
    if (listed(what, "allreduce_c"))
        check_sum(words, -1, 1);
#endif
    check_finish();
    return 0;
}
