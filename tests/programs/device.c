/* Calls with buffers in the memory of a device, verified. Options: on=none|all|some|managed|pinned: which ranks have
   them there; some: rank 1 alone; managed, pinned: all, in memory of that kind. */
#include "check.h"
#include <dlfcn.h>

enum { N = 20000 };

static int *buffer(int on_device, int kind, size_t ints)
{
    void *(*allocate)(size_t, int);
    *(void **)&allocate = dlsym(RTLD_DEFAULT, "device_allocate");
    if (on_device && !allocate)
        fail("there is no device");
    int *made = on_device ? allocate(ints * sizeof(int), kind) : malloc(ints * sizeof(int));
    if (!made)
        fail("out of memory");
    return made;
}

static void expect(const int *data, int at, int expected)
{
    if (data[at] != expected)
        fail("element %d is %d, expected %d", at, data[at], expected);
}

/* Block `rank` of N elements as a type of one absolute address: all that says where the data are. */
static MPI_Datatype named(int *data, int rank)
{
    const int n = N;
    MPI_Aint at;
    MPI_Datatype type;
    MPI_Get_address(data + (size_t)rank * N, &at);
    MPI_Type_create_hindexed(1, &n, &at, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("device", "on", argc, argv);
    const char *on = option(argc, argv, "on", 0, "none");
    const int kind = strcmp(on, "managed") == 0 ? 1 : strcmp(on, "pinned") == 0 ? 2 : 0;
    const int mine = kind != 0 || strcmp(on, "all") == 0 || (strcmp(on, "some") == 0 && check_rank == 1);
    const size_t all = (size_t)N * (size_t)check_size;
    int *in = buffer(mine, kind, all), *out = buffer(mine, kind, all);
    int ones[64], zeros[64] = {0};
    MPI_Datatype from_here[64], to_here[64];
    for (int rank = 0; rank < check_size; rank++) {
        ones[rank] = 1;
        from_here[rank] = named(in, rank);
        to_here[rank] = named(out, rank);
    }
    for (int round = 0; round < 3; round++) {
        snprintf(check_current, sizeof check_current, "round %d", round);
        for (int i = 0; i < N; i++)
            in[i] = check_rank == 2 ? i + round : -1;
        MPI_Bcast(in, N, MPI_INT, 2, MPI_COMM_WORLD);
        for (int i = 0; i < N; i++)
            expect(in, i, i + round);
        for (int i = 0; i < N; i++)
            in[i] = i * (check_rank + 1);
        MPI_Allreduce(in, out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < N; i++)
            expect(out, i, i * (check_size * (check_size + 1) / 2));
        for (int to = 0; to < check_size; to++)
            for (int i = 0; i < N; i++)
                in[to * N + i] = i + 1000 * check_rank + to;
        MPI_Alltoall(in, N, MPI_INT, out, N, MPI_INT, MPI_COMM_WORLD);
        for (int from = 0; from < check_size; from++)
            for (int i = 0; i < N; i++)
                expect(out, from * N + i, i + 1000 * from + check_rank);
        memset(out, 0, all * sizeof(int));
        MPI_Alltoallw(MPI_BOTTOM, ones, zeros, from_here, MPI_BOTTOM, ones, zeros, to_here, MPI_COMM_WORLD);
        for (int from = 0; from < check_size; from++)
            for (int i = 0; i < N; i++)
                expect(out, from * N + i, i + 1000 * from + check_rank);
        check_cases += 4;
    }
    for (int rank = 0; rank < check_size; rank++) {
        MPI_Type_free(&from_here[rank]);
        MPI_Type_free(&to_here[rank]);
    }
    check_finish();
    return 0;
}
