/* A thread of rank 0 is cancelled (pthread_cancel) while it waits in an Allreduce that the other ranks have not begun.
   The process lives on; the others, who begin the call then, are told instead of waiting for ever; and another
   communicator works. Ends like every program that verifies. Options: level=multiple|serialized calls=1 (before). */
#include "every_collective.h"
#include <pthread.h>
#include <time.h>

enum { COUNT = 240000 };

static MPI_Comm comm;
static int data[COUNT * 64], result[COUNT * 64];

static void *wait_in_a_call(void *ignored)
{
    (void)ignored;
    MPI_Allreduce(data, result, COUNT, MPI_INT, MPI_SUM, comm);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    const int serialized = strcmp(option(argc, argv, "level", 0, "multiple"), "serialized") == 0;
    const int level = serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
    MPI_Init_thread(&argc, &argv, level, &provided);
    check_start("cancelled", "level,calls", argc, argv);
    const int calls = atoi(option(argc, argv, "calls", 1, "1"));
    if (provided < level || check_size > 64)
        fail("thread level %d with %d ranks, expected %d with at most 64", provided, check_size, level);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    /* The first call makes what later ones have. */
    for (int call = 0; call < calls; call++)
        check_cases += one(comm, 0, 2, COUNT, data, result);
    message_barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        pthread_t thread;
        void *ended;
        const struct timespec moment = {0, 200000000};
        if (pthread_create(&thread, NULL, wait_in_a_call, NULL))
            fail("no thread");
        nanosleep(&moment, NULL);
        if (pthread_cancel(thread) || pthread_join(thread, &ended) || ended != PTHREAD_CANCELED)
            fail("the thread was not cancelled");
    }
    message_barrier(MPI_COMM_WORLD);
    snprintf(check_current, sizeof check_current, "after the thread was cancelled");
    if (MPI_Allreduce(data, result, COUNT, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS)
        fail("a call that a rank has left succeeds");
    message_barrier(MPI_COMM_WORLD);
    check_cases += one(MPI_COMM_WORLD, 1, 2, COUNT, data, result);
    check_finish();
}
