/* A collective that does not end: one rank does something else, until a file is there, or for ever.
   Options: rank=<last> bytes=65536 file=<path>
     case=late       computes, and comes once the file is there
     case=finalize   comes to MPI_Finalize only then
     case=barrier    waits in MPI_Barrier for ranks that are in MPI_Bcast
     case=length     broadcasts twice as many bytes
     case=stopped    is stopped, with all its threads */
#include "check.h"

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

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("watched", "rank,bytes,file,case", argc, argv);
    const int rank = (int)option_number(argc, argv, "rank", 0, check_size - 1);
    const size_t bytes = (size_t)option_number(argc, argv, "bytes", 1, 65536);
    const char *file = option(argc, argv, "file", 2, "/nonexistent"), *what = option(argc, argv, "case", 3, "late");
    broadcast(bytes, 0);
    if (check_rank == rank) {
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
    return 0;
}
