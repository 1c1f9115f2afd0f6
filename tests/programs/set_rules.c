/* set_rules: sets an algorithm in a process with MPI_THREAD_MULTIPLE, makes a call, and prints what the C interface
   answered: 0, -1, or nothing without Nagare. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    static int data[1 << 16];
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int (*set)(MPI_Comm, const char *) = (int (*)(MPI_Comm, const char *))dlsym(RTLD_DEFAULT, "nagare_set_algorithm");
    int answer = set ? set(MPI_COMM_WORLD, "bcast=chain") : 1;
    for (int i = 0; i < 1 << 16; i++)
        data[i] = rank ? 0 : i;
    MPI_Bcast(data, 1 << 16, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 1 << 16; i++)
        if (data[i] != i)
            MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0)
        printf(provided < MPI_THREAD_MULTIPLE ? "no threads\n" : "%d\n", answer);
    MPI_Finalize();
    return 0;
}
