/* A duplicate of the world is in the making (MPI_Comm_idup) while the first large collective runs on another
   communicator, and the last rank asks for it only after that collective: nothing may wait in a circle. Options:
   count=100000. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("duplicating", "count", argc, argv);
    const int count = (int)option_number(argc, argv, "count", 0, 100000);
    int *data = malloc((size_t)count * sizeof *data);
    for (int round = 0; round < 5; round++) {
        MPI_Comm row, made;
        MPI_Request request;
        const int last = check_rank == check_size - 1, value = 1000 * round + 7;
        MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &row);
        if (!last)
            MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
        for (int i = 0; i < count; i++)
            data[i] = check_rank == 0 ? value + i : -1;
        snprintf(check_current, sizeof check_current, "round %d", round);
        MPI_Bcast(data, count, MPI_INT, check_size - 1, row);
        for (int i = 0; i < count; i++)
            if (data[i] != value + i)
                fail("element %d is %d, expected %d", i, data[i], value + i);
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
    free(data);
    check_finish();
}
