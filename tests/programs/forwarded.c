/* forwarded COLLECTIVE CALLS: that many small calls, which Nagare passes on; for counting instructions on one rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int in = 1, out = 0;
    MPI_Init(&argc, &argv);
    if (argc != 3) {
        fprintf(stderr, "forwarded: expected bcast, reduce, allreduce or alltoall, and a number of calls\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long calls = atol(argv[2]);
    for (long i = 0; i < calls; i++) {
        if (strcmp(argv[1], "bcast") == 0)
            MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "reduce") == 0)
            MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "allreduce") == 0)
            MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else
            MPI_Alltoall(&in, 1, MPI_INT, &out, 1, MPI_INT, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
