/* Reduce and Allreduce of few large elements: a user-defined commutative sum over a type of INTS integers, which an interposing
   library that cuts vectors between elements cannot cut. */
#include "check.h"

enum { INTS = 1000, ELEMENTS = 3 };

static void sum(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n * INTS; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static int contribution(int rank, int index)
{
    return rank * 7919 + index % 1009;
}

int main(int argc, char **argv)
{
    static int mine[INTS * ELEMENTS], got[INTS * ELEMENTS];
    MPI_Init(&argc, &argv);
    check_start("large_element", "", argc, argv);
    MPI_Datatype element;
    MPI_Op op;
    MPI_Type_contiguous(INTS, MPI_INT, &element);
    MPI_Type_commit(&element);
    MPI_Op_create(sum, 1, &op);
    for (int root = -1; root < check_size; root++) {
        for (int i = 0; i < INTS * ELEMENTS; i++)
            mine[i] = contribution(check_rank, i);
        if (root < 0)
            MPI_Allreduce(mine, got, ELEMENTS, element, op, MPI_COMM_WORLD);
        else
            MPI_Reduce(mine, got, ELEMENTS, element, op, root, MPI_COMM_WORLD);
        for (int i = 0; i < INTS * ELEMENTS && (root < 0 || root == check_rank); i++) {
            int want = 0;
            for (int r = 0; r < check_size; r++)
                want += contribution(r, i);
            if (got[i] != want)
                fail("root=%d index=%d got=%d expected=%d", root, i, got[i], want);
        }
        check_cases++;
    }
    MPI_Op_free(&op);
    MPI_Type_free(&element);
    check_finish();
    return 0;
}
