/* Makes communicators until the library has no more, with a verified Allreduce on each, and again on all of them when
   they are freed; then one more. A line `many made=` on rank 0. Options: kinds=dup,split,create,cart (in turn). */
#include "check.h"

enum { ELEMENTS = 512, MOST = 4096 };

static MPI_Comm made[MOST];

static const char *const names[] = {"dup", "split", "create", "cart"};

/* A communicator of the ranks of the world, or what the library says instead. */
static int make(const char *kind, MPI_Comm *comm)
{
    if (strcmp(kind, "dup") == 0)
        return MPI_Comm_dup(MPI_COMM_WORLD, comm);
    if (strcmp(kind, "split") == 0)
        return MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, comm);
    if (strcmp(kind, "cart") == 0)
        return MPI_Cart_create(MPI_COMM_WORLD, 1, &check_size, (const int[]){0}, 0, comm);
    MPI_Group group;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    const int code = MPI_Comm_create(MPI_COMM_WORLD, group, comm);
    MPI_Group_free(&group);
    return code;
}

static void verify(int k)
{
    static int in[ELEMENTS], out[ELEMENTS];
    int own;
    MPI_Comm_rank(made[k], &own);
    for (int i = 0; i < ELEMENTS; i++)
        in[i] = k + i * (own + 1);
    MPI_Allreduce(in, out, ELEMENTS, MPI_INT, MPI_SUM, made[k]);
    for (int i = 0; i < ELEMENTS; i++) {
        const int want = check_size * k + i * check_size * (check_size + 1) / 2;
        if (out[i] != want)
            fail("communicator %d: element %d is %d, expected %d", k, i, out[i], want);
    }
    check_cases++;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("many", "kinds", argc, argv);
    const char *kinds = option(argc, argv, "kinds", 0, "all");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int count = 0, code = MPI_SUCCESS;
    for (size_t turn = 0; code == MPI_SUCCESS; turn++) {
        const char *kind = names[turn % (sizeof names / sizeof *names)];
        if (!listed(kinds, kind))
            continue;
        if (count == MOST)
            fail("more than %d communicators", MOST);
        snprintf(check_current, sizeof check_current, "%s %d", kind, count);
        code = make(kind, &made[count]);
        if (code == MPI_SUCCESS)
            verify(count++);
    }
    int class;
    MPI_Error_class(code, &class);
    if (class != MPI_ERR_OTHER)
        fail("error class %d, expected MPI_ERR_OTHER", class);
    if (check_rank == 0)
        printf("many made=%d\n", count);
    for (int k = 0; k < count; k++) {
        snprintf(check_current, sizeof check_current, "communicator %d at the end", k);
        verify(k);
        MPI_Comm_free(&made[k]);
    }
    make(names[0], &made[0]);
    verify(0);
    MPI_Comm_free(&made[0]);
    check_finish();
}
