/* segments COLLECTIVE CALLS BYTES: that many calls on vectors of so many bytes, all blocks of a rank together; for counting instructions. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc < 4) {
        fprintf(stderr, "segments: expected bcast, reduce, allreduce, alltoall or allgather, a number of calls, and bytes\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long calls = atol(argv[2]);
    int count = atoi(argv[3]) / (int)sizeof(int), block = count / ranks;
    int *in = calloc((size_t)count + 1, sizeof *in), *out = calloc((size_t)count + 1, sizeof *out);
    for (long i = 0; i < calls; i++) {
        if (strcmp(argv[1], "bcast") == 0)
            MPI_Bcast(in, count, MPI_INT, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "reduce") == 0)
            MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "allreduce") == 0)
            MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "allgather") == 0)
            MPI_Allgather(in, block, MPI_INT, out, block, MPI_INT, MPI_COMM_WORLD);
        else
            MPI_Alltoall(in, block, MPI_INT, out, block, MPI_INT, MPI_COMM_WORLD);
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
