/* A duplicate of the world is in the making (MPI_Comm_idup) while the first large collective runs on another
   communicator, and the last rank asks for it only after that collective: nothing may wait in a circle. Then a
   duplicate of a communicator is in the making while collectives run on that communicator itself. Options:
   count=100000. */
#include "check.h"
#include <unistd.h>

static int *data;
static int count;

/* MPI_Bcast of values that begin at this one. */
static void broadcast(MPI_Comm comm, int root, int value)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < count; i++)
        data[i] = rank == root ? value + i : -1;
    MPI_Bcast(data, count, MPI_INT, root, comm);
    for (int i = 0; i < count; i++)
        if (data[i] != value + i)
            fail("element %d is %d, expected %d", i, data[i], value + i);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("duplicating", "count", argc, argv);
    count = (int)option_number(argc, argv, "count", 0, 100000);
    data = malloc((size_t)count * sizeof *data);
    for (int round = 0; round < 5; round++) {
        MPI_Comm row, made;
        MPI_Request request;
        const int last = check_rank == check_size - 1, value = 1000 * round + 7;
        MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &row);
        if (!last)
            MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
        snprintf(check_current, sizeof check_current, "round %d", round);
        broadcast(row, check_size - 1, value);
        if (last)
            MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        int size;
        MPI_Comm_size(made, &size);
        if (size != check_size)
            fail("the duplicate has %d ranks", size);
        check_cases++;
        MPI_Comm_free(&made);
        MPI_Comm_free(&row);
    }
    for (int round = 0; round < 20; round++) {
        MPI_Comm original, made;
        MPI_Request request;
        MPI_Comm_dup(MPI_COMM_WORLD, &original);
        MPI_Comm_idup(original, &made, &request);
        snprintf(check_current, sizeof check_current, "round %d on the original", round);
        /* The library gets on with the duplicate at other moments on every rank. */
        int found;
        for (int look = 0; look < (7 * check_rank + 3 * round) % 20; look++)
            MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
        usleep((unsigned)((11 * check_rank + 5 * round) % 17) * 20);
        for (int call = 0; call < 6; call++)
            broadcast(original, 0, 100 * round + call);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_cases++;
        MPI_Comm_free(&made);
        MPI_Comm_free(&original);
    }
    free(data);
    check_finish();
}
