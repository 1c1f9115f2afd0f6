/* Collectives inside callbacks that delete attributes, called by MPI_Comm_free and MPI_Comm_disconnect: on the
   communicator that is being freed, on another and on new ones, with the attribute set before the communicator's first
   collective or after it, which may differ from rank to rank. Then new communicators, which may get the numbers of
   freed ones, in other orders of ranks. Options: cycles=40 count=30000 mixed=yes|no. Ends like every program that
   verifies. */
#include "every_collective.h"

static int count = 30000, inside;
static int *data, *result;

/* One of the collectives, verified. */
static void call(MPI_Comm comm, long step, const char *where)
{
    snprintf(check_current, sizeof check_current, "%s step=%ld", where, step);
    check_cases += one(comm, step, (int)(step % COLLECTIVES), count, data, result);
}

static int on_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)keyval, (void)extra;
    const long step = (long)(intptr_t)value;
    inside++;
    call(comm, step, "in the callback");
    call(comm, step + 1, "in the callback again");
    call(MPI_COMM_WORLD, step + 2, "in the callback, on the world");
    MPI_Comm made;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    call(made, step + 3, "in the callback, on a new one");
    MPI_Comm_free(&made);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("closing", "cycles,count,mixed", argc, argv);
    const long cycles = option_number(argc, argv, "cycles", 0, 40);
    const int mixed = strcmp(option(argc, argv, "mixed", 2, "no"), "yes") == 0;
    count = (int)option_number(argc, argv, "count", 1, 30000);
    data = calloc((size_t)(count * check_size) + 1, sizeof *data);
    result = calloc((size_t)(count * check_size) + 1, sizeof *result);
    int keyval;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL);
    for (long cycle = 0; cycle < cycles; cycle++) {
        MPI_Comm comm, next;
        /* All ranks are in it, in an order of its own. */
        MPI_Comm_split(MPI_COMM_WORLD, 0, (check_rank + (int)cycle) % check_size, &comm);
        void *const value = (void *)(intptr_t)(cycle * 7);
        const int early = mixed ? (check_rank + cycle) % 2 == 0 : cycle % 2 == 0;
        if (early)
            MPI_Comm_set_attr(comm, keyval, value);
        if (cycle % 3 != 2)
            for (long k = 0; k < 3; k++)
                call(comm, cycle + k, "before");
        if (!early)
            MPI_Comm_set_attr(comm, keyval, value);
        if (cycle % 4 == 3)
            MPI_Comm_disconnect(&comm);
        else
            MPI_Comm_free(&comm);
        MPI_Comm_split(MPI_COMM_WORLD, 0, (3 * check_size - check_rank + (int)cycle) % check_size, &next);
        for (long k = 0; k < 3; k++)
            call(next, cycle + k + 5, "after");
        MPI_Comm_free(&next);
    }
    if (inside != cycles)
        fail("%d callbacks, expected %ld", inside, cycles);
    MPI_Comm_free_keyval(&keyval);
    free(data);
    free(result);
    check_finish();
}
