/* repeated COLLECTIVE CALLS [INTS]: that many calls, with so many ints in the vector, or in each block where there are
   blocks; for counting instructions. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc < 3) {
        fprintf(stderr, "repeated: expected bcast, reduce, allreduce, alltoall, gather,"
                        " scatter, allgather, reduce_scatter_block or reduce_scatter, and a number of calls\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long calls = atol(argv[2]);
    int count = argc > 3 ? atoi(argv[3]) : 1, ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int *in = calloc((size_t)count * ranks, sizeof *in), *out = calloc((size_t)count * ranks, sizeof *out);
    int *counts = calloc(ranks, sizeof *counts);
    if (!in || !out || !counts) {
        fprintf(stderr, "repeated: no memory for %d ints of each of %d ranks\n", count, ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int rank = 0; rank < ranks; rank++)
        counts[rank] = count;
    for (long i = 0; i < calls; i++) {
        if (strcmp(argv[1], "bcast") == 0)
            MPI_Bcast(in, count, MPI_INT, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "reduce") == 0)
            MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "allreduce") == 0)
            MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "gather") == 0)
            MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "scatter") == 0)
            MPI_Scatter(in, count, MPI_INT, out, count, MPI_INT, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "allgather") == 0)
            MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "reduce_scatter_block") == 0)
            MPI_Reduce_scatter_block(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "reduce_scatter") == 0)
            MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else
            MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
    }
    free(in);
    free(out);
    free(counts);
    MPI_Finalize();
    return 0;
}
