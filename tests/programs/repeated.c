/* repeated COLLECTIVE CALLS [INTS]: that many calls, with so many ints in the vector, or in each block where there are
   blocks; for counting instructions. Prints the microseconds of a call on rank 0. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc < 3) {
        fprintf(stderr, "repeated: expected the name of a collective, such as reduce_scatter_block, and a number of"
                        " calls\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long calls = atol(argv[2]);
    int count = argc > 3 ? atoi(argv[3]) : 1, ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int *in = calloc((size_t)count * ranks, sizeof *in), *out = calloc((size_t)count * ranks, sizeof *out);
    int *counts = calloc(ranks, sizeof *counts), *places = calloc(ranks, sizeof *places);
    int *offsets = calloc(ranks, sizeof *offsets);
    MPI_Datatype *types = calloc(ranks, sizeof *types);
    if (!in || !out || !counts || !places || !offsets || !types) {
        fprintf(stderr, "repeated: no memory for %d ints of each of %d ranks\n", count, ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int rank = 0; rank < ranks; rank++) {
        counts[rank] = count;
        places[rank] = rank * count;
        offsets[rank] = places[rank] * (int)sizeof *in;
        types[rank] = MPI_INT;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (long i = 0; i < calls; i++) {
        if (strcmp(argv[1], "bcast") == 0)
            MPI_Bcast(in, count, MPI_INT, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "reduce") == 0)
            MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "allreduce") == 0)
            MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "gather") == 0)
            MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "gatherv") == 0)
            MPI_Gatherv(in, count, MPI_INT, out, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "scatter") == 0)
            MPI_Scatter(in, count, MPI_INT, out, count, MPI_INT, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "scatterv") == 0)
            MPI_Scatterv(in, counts, places, MPI_INT, out, count, MPI_INT, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "allgather") == 0)
            MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "allgatherv") == 0)
            MPI_Allgatherv(in, count, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "alltoallv") == 0)
            MPI_Alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "alltoallw") == 0)
            MPI_Alltoallw(in, counts, offsets, types, out, counts, offsets, types, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "reduce_scatter_block") == 0)
            MPI_Reduce_scatter_block(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "reduce_scatter") == 0)
            MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else
            MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
    }
    const double seconds = MPI_Wtime() - start;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%.4f\n", seconds / calls * 1e6);
    free(in);
    free(out);
    free(counts);
    free(places);
    free(offsets);
    free(types);
    MPI_Finalize();
    return 0;
}
