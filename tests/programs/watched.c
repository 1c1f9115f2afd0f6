/* A collective that does not end: one rank does something else, until a file is there, or for ever.
   Options: rank=<last> bytes=65536 file=<path>
     case=late       computes, and comes once the file is there
     case=finalize   comes to MPI_Finalize only then
     case=barrier    waits in MPI_Barrier for ranks that are in MPI_Bcast
     case=length     broadcasts twice as many bytes
     case=stopped    is stopped, with all its threads; so is rank 0, after six seconds, three of them in MPI_Bcast
     case=elsewhere  does not come to MPI_Gather; those that are through call a collective on another communicator
     case=order      uses another of two communicators first
     case=crossed    the same, and has called fewer collectives there
     case=closed     none does; all open files under every number once MPI_Finalize has ended */
#include "check.h"
#include <fcntl.h>

/* The C library takes it out of the stack of every thread. */
static _Thread_local volatile char large[4 << 20];

static void broadcast(size_t bytes, int root)
{
    char *data = malloc(bytes);
    if (!data)
        fail("out of memory");
    memset(data, check_rank == root ? 7 : 0, bytes);
    MPI_Bcast(data, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    for (size_t i = 0; i < bytes; i++)
        if (data[i] != 7)
            fail("byte %zu", i);
    check_cases++;
    free(data);
}

/* Rank 0 waits for `rank`. */
static void gather_and_go_on(int rank, const char *file)
{
    int own = check_rank, all[check_size];
    while (check_rank == rank && access(file, F_OK) != 0)
        usleep(10000);
    MPI_Gather(&own, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_SELF);
}

static void in_another_order(int rank)
{
    MPI_Comm both[2];
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &both[i]);
    MPI_Barrier(both[check_rank == rank]);
    MPI_Barrier(both[check_rank != rank]);
}

/* Two ranks, each at the root of what it broadcasts. */
static void in_one_of_two(int rank)
{
    MPI_Comm both[2], *own = &both[check_rank == rank];
    char byte = 0;
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &both[i]);
    for (int calls = check_rank == rank ? 1 : 2; calls > 0; calls--)
        MPI_Bcast(&byte, 1, MPI_BYTE, check_rank, *own);
    message_barrier(MPI_COMM_WORLD);
    MPI_Barrier(*own);
}

static void stop(int number)
{
    (void)number;
    raise(SIGSTOP);
}

/* No thread that is left may close them. */
static void have_files(void)
{
    const int file = open("/dev/null", O_RDONLY);
    for (int number = 3; number < 256; number++)
        if (dup2(file, number) != number)
            _exit(1);
    sleep(3);
    for (int number = 3; number < 256; number++)
        if (fcntl(number, F_GETFD) < 0) {
            fprintf(stderr, "FAIL watched: file %d is closed\n", number);
            _exit(1);
        }
}

int main(int argc, char **argv)
{
    large[argc] = 1;
    MPI_Init(&argc, &argv);
    check_start("watched", "rank,bytes,file,case", argc, argv);
    const int rank = (int)option_number(argc, argv, "rank", 0, check_size - 1);
    const size_t bytes = (size_t)option_number(argc, argv, "bytes", 1, 65536);
    const char *file = option(argc, argv, "file", 2, "/nonexistent"), *what = option(argc, argv, "case", 3, "late");
    broadcast(bytes, 0);
    if (strcmp(what, "elsewhere") == 0)
        gather_and_go_on(rank, file);
    if (strcmp(what, "order") == 0)
        in_another_order(rank);
    if (strcmp(what, "crossed") == 0)
        in_one_of_two(rank);
    if (strcmp(what, "stopped") == 0 && check_rank == 0) {
        sleep(3);
        signal(SIGALRM, stop);
        alarm(3);
    }
    if (check_rank == rank && strcmp(what, "closed") != 0) {
        if (strcmp(what, "stopped") == 0)
            raise(SIGSTOP);
        if (strcmp(what, "barrier") == 0)
            MPI_Barrier(MPI_COMM_WORLD);
        if (strcmp(what, "length") == 0)
            broadcast(2 * bytes, 0);
        while (access(file, F_OK) != 0)
            usleep(10000);
    }
    if (strcmp(what, "finalize") != 0)
        broadcast(bytes, 0);
    check_finish();
    if (strcmp(what, "closed") == 0)
        have_files();
    return 0;
}
