/* Broadcasts memory of rank 0 that was never written: for checkers of memory. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("undefined", "", argc, argv);
    const int count = 100000;
    int *data = malloc((size_t)count * sizeof *data);
    if (!data)
        fail("out of memory");
    MPI_Bcast(data, count, MPI_INT, 0, MPI_COMM_WORLD);
    free(data);
    check_cases++;
    check_finish();
    return 0;
}
