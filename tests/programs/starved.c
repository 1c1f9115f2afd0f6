/* One rank has no memory for a non-blocking collective (tool_starve.c), in the third of several equal calls. None of
   these is one for the program: where somebody else makes them inside such a call, the rank gets an error, the others
   get MPI_ERR_OTHER and do not wait, as in all calls on that communicator from then on. Other communicators work. */
#include "check.h"
#include <dlfcn.h>

enum { CALLS = 6, STARVED_CALL = 2, STARVED_RANK = 1, N = 262144 };

static int data[2 * N];

static int broadcast(int call, int count, MPI_Comm comm)
{
    int class = MPI_SUCCESS;
    for (int i = 0; i < count; i++)
        data[i] = check_rank == 0 ? i * 3 + call : -1;
    const int code = MPI_Bcast(data, count, MPI_INT, 0, comm);
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    for (int i = 0; i < count && code == MPI_SUCCESS; i++)
        if (data[i] != i * 3 + call)
            fail("element %d is %d, expected %d", i, data[i], i * 3 + call);
    check_cases++;
    return class;
}

int main(int argc, char **argv)
{
    int (*starve)(int);
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    check_start("starved", "", argc, argv);
    *(void **)&starve = dlsym(RTLD_DEFAULT, "starve");
    if (!starve)
        fail("tool_starve.c is not preloaded");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int call = 0; call < CALLS; call++) {
        snprintf(check_current, sizeof check_current, "call %d", call);
        const int starves = call == STARVED_CALL && check_rank == STARVED_RANK;
        starve(starves);
        const int class = broadcast(call, N, comm);
        const int refused = starve(0);
        if (starves && refused == 0)
            fail("memory was never asked for");
        if (call < STARVED_CALL && class != MPI_SUCCESS)
            fail("error class %d", class);
        if (call >= STARVED_CALL && class == MPI_SUCCESS)
            fail("no error");
        if (call >= STARVED_CALL && check_rank != STARVED_RANK && class != MPI_ERR_OTHER)
            fail("error class %d, expected MPI_ERR_OTHER (%d)", class, MPI_ERR_OTHER);
    }
    for (int call = 0; call < 3; call++) {
        snprintf(check_current, sizeof check_current, "call %d of another size", call);
        if (broadcast(call, 2 * N, comm) == MPI_SUCCESS)
            fail("no error");
    }
    snprintf(check_current, sizeof check_current, "another communicator");
    if (broadcast(CALLS, N, MPI_COMM_WORLD) != MPI_SUCCESS)
        fail("an error");
    MPI_Comm_free(&comm);
    check_finish();
}
