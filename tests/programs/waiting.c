/* waiting [SECONDS]: rank 0 comes late to a Bcast of 64 KiB; the others print what share of a processor they used while
   they waited, in percent. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* Seconds of processor time of this process, all its threads and the kernel for it included. */
static double used(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    static char vector[64 << 10];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
    for (int i = 0; i < 10; i++)
        MPI_Bcast(vector, sizeof vector, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        sleep(seconds);
    const double began = MPI_Wtime(), before = used();
    MPI_Bcast(vector, sizeof vector, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank != 0)
        printf("share=%.2f\n", 100 * (used() - before) / (MPI_Wtime() - began));
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
