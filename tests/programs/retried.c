/* One rank passes a root that there is not, gets an error, and makes the call again as it should: for the others it is
   one call. Options: calls=20 bytes=65536. Ends like every program that verifies. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("retried", "calls,bytes", argc, argv);
    const int calls = atoi(option(argc, argv, "calls", 0, "20"));
    const int n = atoi(option(argc, argv, "bytes", 1, "65536")) / (int)sizeof(int);
    int *data = calloc((size_t)n, sizeof *data);
    MPI_Comm comm;
    if (!data)
        fail("out of memory");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int call = 0; call < calls; call++) {
        snprintf(check_current, sizeof check_current, "call %d", call);
        for (int i = 0; i < n; i++)
            data[i] = check_rank == 0 ? i * 3 + call : -1;
        if (check_rank == 1 && call % 3 == 2 && MPI_Bcast(data, n, MPI_INT, check_size + 5, comm) == MPI_SUCCESS)
            fail("a root that there is not is accepted");
        if (MPI_Bcast(data, n, MPI_INT, 0, comm) != MPI_SUCCESS)
            fail("a call that is right fails");
        for (int i = 0; i < n; i++)
            if (data[i] != i * 3 + call)
                fail("element %d is %d, expected %d", i, data[i], i * 3 + call);
        check_cases++;
    }
    MPI_Comm_free(&comm);
    free(data);
    check_finish();
}
