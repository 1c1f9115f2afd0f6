/* The same call again and again, every result verified. Options: collective=bcast|allreduce|allgather|alltoall|alltoallv
   kind=int|double calls=100 bytes=65536 communicators=0, of which each is made, has all calls and is freed; of none it
   is MPI_COMM_WORLD. threads=single|multiple. A sum of doubles is rounded, and must have the same bits in every call;
   a line `learning bits=` tells them, and a line `learning seconds=` how long the slowest rank was in the calls. */
#include "check.h"
#include <stdint.h>

int main(int argc, char **argv)
{
    const int multiple = strcmp(option(argc, argv, "threads", 5, "single"), "multiple") == 0;
    int provided;
    MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    check_start("learning", "collective,kind,calls,bytes,communicators,threads", argc, argv);
    const char *collective = option(argc, argv, "collective", 0, "bcast");
    const int real = strcmp(option(argc, argv, "kind", 1, "int"), "double") == 0;
    const int calls = atoi(option(argc, argv, "calls", 2, "100"));
    const int bytes = atoi(option(argc, argv, "bytes", 3, "65536"));
    const int communicators = atoi(option(argc, argv, "communicators", 4, "0"));
    const int n = bytes / (real ? (int)sizeof(double) : (int)sizeof(int));
    int *in = calloc((size_t)check_size, (size_t)bytes), *out = calloc((size_t)check_size, (size_t)bytes);
    int *counts = calloc((size_t)check_size, sizeof *counts), *places = calloc((size_t)check_size, sizeof *places);
    double *x = (double *)in, *y = (double *)out;
    uint64_t bits = 0;
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
                MPI_Bcast(in, n, MPI_INT, 0, comm);
                seconds += MPI_Wtime();
                for (int i = 0; i < n; i++)
                    if (in[i] != i * 3 + call)
                        fail("element %d is %d, expected %d", i, in[i], i * 3 + call);
            } else if (strcmp(collective, "allreduce") == 0 && real) {
                for (int i = 0; i < n; i++)
                    x[i] = 1.0 / (1 + i + 7 * check_rank);
                MPI_Barrier(comm);
                seconds -= MPI_Wtime();
                MPI_Allreduce(x, y, n, MPI_DOUBLE, MPI_SUM, comm);
                seconds += MPI_Wtime();
                uint64_t sum = 0, word;
                for (int i = 0; i < n; i++) {
                    memcpy(&word, &y[i], sizeof word);
                    sum = sum * 31 + word;
                }
                if (call > 0 && sum != bits)
                    fail("other bits than in the calls before");
                bits = sum;
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
    if (check_rank == 0)
        printf("learning bits=%llx\nlearning seconds=%.6f\n", (unsigned long long)bits, longest);
    free(in);
    free(out);
    free(counts);
    free(places);
    check_finish();
}
