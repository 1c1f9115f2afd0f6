/* A fault of the program that Nagare carries out for it: what finds faults must find this one. Options: fault=short
   (the buffer of an Alltoall ends too early) or fault=shared (two threads have one). Runs on two ranks. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1 << 18, TIMES = 20 };

static int *result;
static int given[2 * COUNT];
static MPI_Comm own[2];

static void *exchange(void *comm)
{
    for (int i = 0; i < TIMES; i++)
        MPI_Alltoall(given, COUNT, MPI_INT, result, COUNT, MPI_INT, *(MPI_Comm *)comm);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int level;
    const int shared = argc > 1 && strcmp(argv[1], "fault=shared") == 0;
    MPI_Init_thread(&argc, &argv, shared ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    result = malloc((2 * COUNT - !shared) * sizeof *result);
    if (shared)
        pthread_create(&thread, NULL, exchange, &own[1]);
    exchange(&own[0]);
    if (shared)
        pthread_join(thread, NULL);
    free(result);
    MPI_Finalize();
    return 0;
}
