/* Calls that a tool counts: `rounds` of the collectives, messages and duplicates of the world; where MPI has them,
   large counts too.
   Options: rounds=3 count=20000 init=plain|thread load=FILE (a library opened for everyone before MPI_Init). */
#include "every_collective.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
    const char *load = option(argc, argv, "load", 99, NULL);
    if (load && !dlopen(load, RTLD_NOW | RTLD_GLOBAL))
        fail("%s", dlerror());
    int provided;
    if (strcmp(option(argc, argv, "init", 99, "plain"), "thread") == 0)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    else
        MPI_Init(&argc, &argv);
    check_start("tooled", "rounds,count,init,load", argc, argv);
    const int count = (int)option_number(argc, argv, "count", 99, 20000);
    const long rounds = option_number(argc, argv, "rounds", 99, 3);
    int *data = malloc((size_t)count * check_size * sizeof *data),
        *result = malloc((size_t)count * check_size * sizeof *result);
    for (long round = 0; round < rounds; round++) {
        for (int which = 0; which < COLLECTIVES; which++)
            check_cases += one(MPI_COMM_WORLD, COLLECTIVES * round + which, which, count, data, result);
#if MPI_VERSION >= 4
        for (int i = 0; i < count; i++)
            data[i] = part(check_rank, round, i);
        MPI_Allreduce_c(data, result, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast_c(data, count, MPI_INT, check_size - 1, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++) {
            expect("allreduce_c", round, i, result[i], sum(check_size, round, i));
            expect("bcast_c", round, i, data[i], part(check_size - 1, round, i));
        }
        check_cases += 2;
#endif
        MPI_Comm made;
        MPI_Request request[2];
        MPI_Status status[2];
        MPI_Comm_idup(MPI_COMM_WORLD, &made, request);
        MPI_Waitall(1, request, status);
        const int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
        int got = -1;
        MPI_Irecv(&got, 1, MPI_INT, left, 5, made, &request[0]);
        MPI_Isend(&check_rank, 1, MPI_INT, right, 5, made, &request[1]);
        MPI_Waitall(2, request, status);
        expect("message", round, 0, got, left);
        MPI_Pcontrol(1);
        MPI_Comm_free(&made);
    }
    free(data);
    free(result);
    check_finish();
    return 0;
}
