/* Reductions of few large elements: a user-defined commutative sum over a type of INTS integers, which an interposing
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

/* Two elements for every rank, or one for odd ranks. */
static void scatter(MPI_Datatype element, MPI_Op op, int uneven)
{
    int counts[check_size], first = 0, total = 0;
    for (int r = 0; r < check_size; r++) {
        first = r == check_rank ? total : first;
        counts[r] = ELEMENTS - 1 - (uneven && r % 2);
        total += counts[r];
    }
    int *data = malloc((size_t)total * INTS * sizeof *data), got[ELEMENTS * INTS];
    if (!data)
        fail("out of memory");
    for (int i = 0; i < total * INTS; i++)
        data[i] = contribution(check_rank, i);
    if (uneven)
        MPI_Reduce_scatter(data, got, counts, element, op, MPI_COMM_WORLD);
    else
        MPI_Reduce_scatter_block(data, got, counts[0], element, op, MPI_COMM_WORLD);
    for (int i = 0; i < counts[check_rank] * INTS; i++) {
        int want = 0;
        for (int r = 0; r < check_size; r++)
            want += contribution(r, first * INTS + i);
        if (got[i] != want)
            fail("reduce_scatter index=%d got=%d expected=%d", i, got[i], want);
    }
    free(data);
    check_cases++;
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
    for (int uneven = 0; uneven < 2; uneven++)
        scatter(element, op, uneven);
    MPI_Op_free(&op);
    MPI_Type_free(&element);
    check_finish();
    return 0;
}
