/* A world that changes its directory, and worlds that it spawns: every one verifies an Allreduce of its own.
   Options: chdir=<directory> after MPI_Init, spawn=<worlds> of two ranks each, one after the other, count=40000
   Prints a PASS line per world. */
#include "check.h"

static void use(int count)
{
    int *data = malloc((size_t)count * sizeof *data + 1), *result = malloc((size_t)count * sizeof *result + 1);
    if (!data || !result)
        fail("out of memory");
    for (int i = 0; i < count; i++)
        data[i] = check_rank + i % 1000;
    MPI_Allreduce(data, result, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        const int expected = check_size * (i % 1000) + check_size * (check_size - 1) / 2;
        if (result[i] != expected)
            fail("index=%d got=%d expected=%d", i, result[i], expected);
    }
    check_cases++;
    free(data);
    free(result);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    check_start("worlds", "chdir,spawn,count", argc, argv);
    const char *directory = option(argc, argv, "chdir", 0, NULL);
    if (directory && chdir(directory) != 0)
        fail("chdir %s", directory);
    MPI_Comm_get_parent(&parent);
    const int spawned = parent != MPI_COMM_NULL;
    /* From here on a spawned world cannot tell from MPI that it is one. */
    if (spawned)
        MPI_Comm_disconnect(&parent);
    const long worlds = spawned ? 0 : option_number(argc, argv, "spawn", 1, 0);
    for (long w = 0; w < worlds; w++) {
        MPI_Comm children;
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
        MPI_Comm_disconnect(&children);
    }
    use((int)option_number(argc, argv, "count", 2, 40000));
    check_finish();
    return 0;
}
