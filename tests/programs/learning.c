/* The same call again and again, every result verified. Options:
   collective=bcast|allreduce|allgather|alltoall|alltoallv|scatter kind=int|double calls=100 bytes=65536
   communicators=0, of which each is made, has all calls and is freed; of none it is MPI_COMM_WORLD.
   threads=single|multiple. idup=no|yes: a duplicate is made by MPI_Comm_idup before all calls. late=0: milliseconds
   by which the root of a Bcast or Scatter is late. With kind=double, collective lists any of allreduce, reduce,
   reduce_scatter_block and reduce_scatter: sums that round, which must have the same bits in every call; and bcast,
   which comes before them. A line
   `learning bits=` tells those of all ranks, a line `learning seconds=` how long the slowest rank was in the calls. */
#define _POSIX_C_SOURCE 199309L
#include "check.h"
#include <stdint.h>
#include <time.h>

static const char *const sums[] = {"allreduce", "reduce", "reduce_scatter_block", "reduce_scatter"};
enum { SUMS = sizeof sums / sizeof *sums };

/* The first element of the part that `rank` has of n: later ranks have more. */
static int first_of(int rank, int n)
{
    return (int)((long long)n * rank * (rank + 1) / ((long long)check_size * (check_size + 1)));
}

/* Rank 0 sleeps so many milliseconds. */
static void root_is_late(int late)
{
    if (check_rank == 0)
        nanosleep(&(struct timespec){late / 1000, late % 1000 * 1000000L}, NULL);
}

/* One call of each listed sum of n doubles; the seconds in it. `bits` are those of the results in the first call. */
static double sum(const char *list, int call, double *x, double *y, int n, int *counts, uint64_t *bits, MPI_Comm comm)
{
    double seconds = 0;
    if (listed(list, "bcast")) {
        for (int i = 0; i < n; i++)
            x[i] = check_rank == 0 ? 0.5 * i + call : -1;
        MPI_Bcast(x, n, MPI_DOUBLE, 0, comm);
        for (int i = 0; i < n; i++)
            if (x[i] != 0.5 * i + call)
                fail("element %d is %.17g, expected %.17g", i, x[i], 0.5 * i + call);
    }
    for (int i = 0; i < n; i++)
        x[i] = 1.0 / (1 + i + 7 * check_rank);
    for (int rank = 0; rank < check_size; rank++)
        counts[rank] = first_of(rank + 1, n) - first_of(rank, n);
    for (int which = 0; which < SUMS; which++) {
        if (!listed(list, sums[which]))
            continue;
        snprintf(check_current, sizeof check_current, "%s %d", sums[which], call);
        const int block = n / check_size;
        const int first[] = {0, 0, check_rank * block, first_of(check_rank, n)};
        const int count[] = {n, check_rank == 0 ? n : 0, block, counts[check_rank]};
        MPI_Barrier(comm);
        seconds -= MPI_Wtime();
        if (which == 0)
            MPI_Allreduce(x, y, n, MPI_DOUBLE, MPI_SUM, comm);
        else if (which == 1)
            MPI_Reduce(x, y, n, MPI_DOUBLE, MPI_SUM, 0, comm);
        else if (which == 2)
            MPI_Reduce_scatter_block(x, y, block, MPI_DOUBLE, MPI_SUM, comm);
        else
            MPI_Reduce_scatter(x, y, counts, MPI_DOUBLE, MPI_SUM, comm);
        seconds += MPI_Wtime();
        uint64_t found = 0, word;
        for (int i = 0; i < count[which]; i++) {
            long double exact = 0;
            for (int rank = 0; rank < check_size; rank++)
                exact += 1.0L / (1 + first[which] + i + 7 * rank);
            const long double error = y[i] - exact, bound = exact * check_size * 2.3e-16L;
            if (!(error <= bound && -error <= bound))
                fail("element %d is %.17g, expected %.20Lg", i, y[i], exact);
            memcpy(&word, &y[i], sizeof word);
            found = found * 31 + word;
        }
        if (call > 0 && found != bits[which])
            fail("other bits than in the calls before");
        bits[which] = found;
    }
    return seconds;
}

int main(int argc, char **argv)
{
    const int multiple = strcmp(option(argc, argv, "threads", 5, "single"), "multiple") == 0;
    int provided;
    MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    check_start("learning", "collective,kind,calls,bytes,communicators,threads,idup,late", argc, argv);
    const char *collective = option(argc, argv, "collective", 0, "bcast");
    const int real = strcmp(option(argc, argv, "kind", 1, "int"), "double") == 0;
    const int calls = atoi(option(argc, argv, "calls", 2, "100"));
    const int bytes = atoi(option(argc, argv, "bytes", 3, "65536"));
    const int communicators = atoi(option(argc, argv, "communicators", 4, "0"));
    const int late = atoi(option(argc, argv, "late", 7, "0"));
    if (strcmp(option(argc, argv, "idup", 6, "no"), "yes") == 0) {
        MPI_Comm duplicate;
        MPI_Request request;
        MPI_Comm_idup(MPI_COMM_WORLD, &duplicate, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Comm_free(&duplicate);
    }
    const int n = bytes / (real ? (int)sizeof(double) : (int)sizeof(int));
    int *in = calloc((size_t)check_size, (size_t)bytes), *out = calloc((size_t)check_size, (size_t)bytes);
    int *counts = calloc((size_t)check_size, sizeof *counts), *places = calloc((size_t)check_size, sizeof *places);
    double *x = (double *)in, *y = (double *)out;
    uint64_t bits[SUMS] = {0}, own = 0, all;
    double seconds = 0, longest;
    if (!in || !out || !counts || !places)
        fail("out of memory");
    for (int rank = 0; rank < check_size; rank++)
        counts[rank] = n, places[rank] = rank * n;
    for (int made = 0; made < communicators || made == 0; made++) {
        MPI_Comm comm = MPI_COMM_WORLD;
        if (communicators > 0)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int call = 0; call < calls; call++) {
            snprintf(check_current, sizeof check_current, "%s %d", collective, call);
            if (strcmp(collective, "bcast") == 0) {
                for (int i = 0; i < n; i++)
                    in[i] = check_rank == 0 ? i * 3 + call : -1;
                MPI_Barrier(comm);
                seconds -= MPI_Wtime();
                root_is_late(late);
                MPI_Bcast(in, n, MPI_INT, 0, comm);
                seconds += MPI_Wtime();
                for (int i = 0; i < n; i++)
                    if (in[i] != i * 3 + call)
                        fail("element %d is %d, expected %d", i, in[i], i * 3 + call);
            } else if (real) {
                seconds += sum(collective, call, x, y, n, counts, bits, comm);
            } else if (strcmp(collective, "allreduce") == 0) {
                for (int i = 0; i < n; i++)
                    in[i] = i + call * (check_rank + 1);
                MPI_Barrier(comm);
                seconds -= MPI_Wtime();
                MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm);
                seconds += MPI_Wtime();
                for (int i = 0; i < n; i++)
                    if (out[i] != i * check_size + call * check_size * (check_size + 1) / 2)
                        fail("element %d is %d", i, out[i]);
            } else if (strcmp(collective, "allgather") == 0) {
                for (int i = 0; i < n; i++)
                    in[i] = i + call + 1000 * check_rank;
                MPI_Barrier(comm);
                seconds -= MPI_Wtime();
                MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, comm);
                seconds += MPI_Wtime();
                for (int i = 0; i < n * check_size; i++)
                    if (out[i] != i % n + call + 1000 * (i / n))
                        fail("element %d is %d", i, out[i]);
            } else if (strcmp(collective, "scatter") == 0) {
                for (int i = 0; i < n * check_size; i++)
                    in[i] = check_rank == 0 ? i * 3 + call : -1;
                MPI_Barrier(comm);
                seconds -= MPI_Wtime();
                root_is_late(late);
                MPI_Scatter(in, n, MPI_INT, out, n, MPI_INT, 0, comm);
                seconds += MPI_Wtime();
                for (int i = 0; i < n; i++)
                    if (out[i] != (n * check_rank + i) * 3 + call)
                        fail("element %d is %d", i, out[i]);
            } else {
                for (int i = 0; i < n * check_size; i++)
                    in[i] = i + call + 1000 * check_rank;
                MPI_Barrier(comm);
                seconds -= MPI_Wtime();
                if (strcmp(collective, "alltoallv") == 0)
                    MPI_Alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, comm);
                else
                    MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, comm);
                seconds += MPI_Wtime();
                for (int i = 0; i < n * check_size; i++)
                    if (out[i] != i % n + n * check_rank + call + 1000 * (i / n))
                        fail("element %d is %d", i, out[i]);
            }
            check_cases++;
        }
        if (communicators > 0)
            MPI_Comm_free(&comm);
    }
    MPI_Reduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    for (int which = 0; which < SUMS; which++)
        own = own * 31 + bits[which];
    MPI_Reduce(&own, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (check_rank == 0)
        printf("learning bits=%llx\nlearning seconds=%.6f\n", (unsigned long long)all, longest);
    free(in);
    free(out);
    free(counts);
    free(places);
    check_finish();
}
