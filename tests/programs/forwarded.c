/* forwarded COLLECTIVE CALLS [INTS]: that many calls, which Nagare passes on; for counting instructions of one rank:
   the counts of reduce_scatter are for one. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    static int in[1 << 16], out[1 << 17];
    MPI_Init(&argc, &argv);
    if (argc < 3) {
        fprintf(stderr, "forwarded: expected bcast, reduce, allreduce, alltoall, gather,"
                        " allgather, reduce_scatter_block or reduce_scatter, and a number of calls\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long calls = atol(argv[2]);
    int count = argc > 3 ? atoi(argv[3]) : 1;
    for (long i = 0; i < calls; i++) {
        if (strcmp(argv[1], "bcast") == 0)
            MPI_Bcast(in, count, MPI_INT, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "reduce") == 0)
            MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "allreduce") == 0)
            MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "gather") == 0)
            MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "allgather") == 0)
            MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "reduce_scatter_block") == 0)
            MPI_Reduce_scatter_block(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "reduce_scatter") == 0)
            MPI_Reduce_scatter(in, out, (int[]){count}, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else
            MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
