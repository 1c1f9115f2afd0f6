/* Allreduce on communicators of equal size that the program names: rows and columns of a grid two ranks wide, the rows
   named only after their calls, the columns freed before the end; a duplicate without a name; and more temporary ones,
   each with another name. Options: count=30000 temporary=3. */
#include "check.h"

static int *data;

static void reduce(MPI_Comm comm, int count, int calls)
{
    int size, rank;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    for (int call = 0; call < calls; call++) {
        for (int i = 0; i < count; i++)
            data[i] = i % 1000 + rank;
        MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_INT, MPI_SUM, comm);
        for (int i = 0; i < count; i++)
            if (data[i] != i % 1000 * size + size * (size - 1) / 2)
                fail("element %d is %d", i, data[i]);
        check_cases++;
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("named", "count,temporary", argc, argv);
    const int count = (int)option_number(argc, argv, "count", 0, 30000);
    const int temporary = (int)option_number(argc, argv, "temporary", 1, 3);
    data = malloc((size_t)count * sizeof *data + 1);
    MPI_Comm rows, columns, duplicate, other;
    MPI_Comm_split(MPI_COMM_WORLD, check_rank / 2, check_rank, &rows);
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, check_rank, &columns);
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    MPI_Comm_set_name(columns, "columns, of the grid");
    reduce(rows, count, 3);
    MPI_Comm_set_name(rows, "rows");
    reduce(columns, count, 5);
    MPI_Comm_free(&columns);
    reduce(MPI_COMM_WORLD, count, 7);
    reduce(duplicate, count, 9);
    /* So few bytes that Nagare does not look at the communicator. */
    reduce(duplicate, 1, 2);
    for (int made = 0; made < temporary; made++) {
        char name[MPI_MAX_OBJECT_NAME];
        snprintf(name, sizeof name, "temporary %d", made);
        MPI_Comm_dup(MPI_COMM_SELF, &other);
        reduce(other, 1, 1);
        MPI_Comm_set_name(other, name);
        MPI_Comm_free(&other);
    }
    free(data);
    check_finish();
}
