/*
 * Four collectives that Nagare accelerates, each with blocks of 256 KiB and checked. The
 * program knows nothing of Nagare: run it with and without.
 *
 *   mpicc -std=c11 -O2 -o hello hello.c
 *   mpirun -np 4 ./hello
 *   mpirun -x LD_PRELOAD=/path/to/libnagare.so -np 4 ./hello      # Open MPI
 *   mpiexec -genv LD_PRELOAD /path/to/libnagare.so -n 4 ./hello   # MPICH
 *
 * NAGARE_REPORT=stderr shows which algorithm ran. Prints OK, or exits with status 1.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 32768 }; /* doubles in a block: 256 KiB */

/* The number of elements that are not first, first + step, first + 2 step, ... */
static int differences(const double *block, double first, double step)
{
    int wrong = 0;

    for (int i = 0; i < N; i++)
        wrong += block[i] != first + step * i;
    return wrong;
}

static void fill(double *block, double first, double step)
{
    for (int i = 0; i < N; i++)
        block[i] = first + step * i;
}

int main(int argc, char **argv)
{
    int rank, size, wrong = 0, all_wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *out = malloc(sizeof(double) * N * (size_t)size);
    double *in = malloc(sizeof(double) * N * (size_t)size);
    double rank_sum = size * (size - 1) / 2.0;

    if (out == NULL || in == NULL) {
        fprintf(stderr, "hello: not enough memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }

    fill(in, rank == size - 1 ? 7 : 0, rank == size - 1 ? 1 : 0);
    MPI_Bcast(in, N, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
    wrong += differences(in, 7, 1);

    fill(out, rank, 1);
    MPI_Allreduce(out, in, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    wrong += differences(in, rank_sum, size);

    fill(out, 2 * rank, 3);
    MPI_Reduce(out, in, N, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        wrong += differences(in, 2 * rank_sum, 3 * size);

    /* The block from rank s to rank d starts with 1000 s + d. */
    for (int d = 0; d < size; d++)
        fill(out + (size_t)d * N, 1000 * rank + d, 1);
    MPI_Alltoall(out, N, MPI_DOUBLE, in, N, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int s = 0; s < size; s++)
        wrong += differences(in + (size_t)s * N, 1000 * s + rank, 1);

    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all_wrong == 0)
        printf("OK\n");
    else if (rank == 0)
        fprintf(stderr, "hello: %d elements are wrong\n", all_wrong);
    free(out);
    free(in);
    MPI_Finalize();
    return all_wrong == 0 ? 0 : 1;
}
