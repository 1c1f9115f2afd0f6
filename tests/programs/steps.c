/* steps WAY BYTES CALLS: what messages of MPI_Sendrecv take, in milliseconds a call of the slowest rank, three times.
   WAY: `pairs` with the same peer all the time; `ring` to the next rank, from the one before; `halving` with peers at
   distances 1, 2, 4 … and half the bytes each time; `xor` with all peers in turn; `shift` to all ranks in turn, from
   others. For benchmarks of the MPI library, on a power of two of ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *out, *in;

static void step(int bytes, int to, int from)
{
    MPI_Sendrecv(out, bytes, MPI_BYTE, to, 0, in, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *ways[] = {"pairs", "ring", "halving", "xor", "shift"};
    int way = 0, bytes = argc > 2 ? atoi(argv[2]) : 0, calls = argc > 3 ? atoi(argv[3]) : 0;
    while (way < 5 && argc > 1 && strcmp(ways[way], argv[1]))
        way++;
    out = calloc(1, bytes > 0 ? bytes : 1);
    in = calloc(1, bytes > 0 ? bytes : 1);
    if (way == 5 || bytes < 1 || calls < 1 || ranks < 2 || ranks & (ranks - 1) || !out || !in) {
        fprintf(stderr, "steps: expected pairs, ring, halving, xor or shift, bytes and calls, on 2, 4, 8 … ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int time = 0; time < 3; time++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        for (int call = 0; call < calls; call++) {
            if (way == 0)
                step(bytes, rank ^ 1, rank ^ 1);
            else if (way == 1)
                step(bytes, (rank + 1) % ranks, (rank + ranks - 1) % ranks);
            else if (way == 2)
                for (int distance = 1, part = bytes; distance < ranks; distance *= 2, part /= 2)
                    step(part, rank ^ distance, rank ^ distance);
            else
                for (int k = 1; k < ranks; k++)
                    step(bytes, way == 3 ? rank ^ k : (rank + k) % ranks,
                         way == 3 ? rank ^ k : (rank + ranks - k) % ranks);
        }
        double took = (MPI_Wtime() - begin) * 1e3 / calls, most;
        MPI_Reduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("%.1f ms\n", most);
    }
    MPI_Finalize();
    free(out);
    free(in);
    return 0;
}
