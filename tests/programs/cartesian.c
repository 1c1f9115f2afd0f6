/* Allreduce on Cartesian communicators: with reordered ranks, periodic or not, and on the lines and planes cut from
   them. `grid=` are the sizes, 1 to 3 of them, whose product is the number of ranks. */
#include "check.h"

enum { MAX_DIMS = 3 };

/* Differs by rank of the world and index, so that a contribution missed, doubled or misplaced shows. */
static long contribution(int world_rank, long index)
{
    return (long)(world_rank + 1) * 1000003 + index * 31 % 9973;
}

/* Sums over `comm`, compared with what each rank computes from the members' numbers in the world. */
static void verify(const char *name, MPI_Comm comm, const long *sizes, int n)
{
    int size;
    MPI_Comm_size(comm, &size);
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(comm, &group);
    int ranks[size], members[size];
    for (int r = 0; r < size; r++)
        ranks[r] = r;
    MPI_Group_translate_ranks(group, size, ranks, world, members);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    for (int s = 0; s < n; s++) {
        snprintf(check_current, sizeof check_current, "%s size=%d count=%ld", name, size, sizes[s]);
        long *in = malloc((size_t)sizes[s] * sizeof *in + 1), *out = malloc((size_t)sizes[s] * sizeof *out + 1);
        if (!in || !out)
            fail("out of memory");
        for (long i = 0; i < sizes[s]; i++) {
            in[i] = contribution(check_rank, i);
            out[i] = -1;
        }
        if (s % 2) {
            MPI_Allreduce(in, out, (int)sizes[s], MPI_LONG, MPI_SUM, comm);
        } else {
            memcpy(out, in, (size_t)sizes[s] * sizeof *in);
            MPI_Allreduce(MPI_IN_PLACE, out, (int)sizes[s], MPI_LONG, MPI_SUM, comm);
        }
        for (long i = 0; i < sizes[s]; i++) {
            long expected = 0;
            for (int r = 0; r < size; r++)
                expected += contribution(members[r], i);
            if (out[i] != expected)
                fail("index=%ld got=%ld expected=%ld", i, out[i], expected);
        }
        free(in);
        free(out);
        check_cases++;
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("cartesian", "grid,sizes", argc, argv);
    long dims[MAX_DIMS], sizes[16];
    const int n = number_list(option(argc, argv, "grid", 0, "2,2"), dims, MAX_DIMS);
    const int sizes_n = number_list(option(argc, argv, "sizes", 1, "1,3,1000,4097"), sizes, 16);
    int grid[MAX_DIMS], periods[MAX_DIMS];
    for (int d = 0; d < n; d++) {
        grid[d] = (int)dims[d];
        periods[d] = d % 2 == 0;
    }

    /* Ranks in the opposite order first, so that the library's numbering and that of the world differ whatever it
       reorders. */
    MPI_Comm reversed, cart, part, empty;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &reversed);
    MPI_Cart_create(reversed, n, grid, periods, 1, &cart);
    if (cart == MPI_COMM_NULL)
        fail("the grid has fewer places than there are ranks");
    verify("grid", cart, sizes, sizes_n);

    /* Every choice of dimensions to keep: lines, planes, and the grid again. */
    for (int kept = 1; kept < 1 << n; kept++) {
        int remain[MAX_DIMS];
        for (int d = 0; d < n; d++)
            remain[d] = kept >> d & 1;
        char name[32];
        snprintf(name, sizeof name, "kept=%d", kept);
        MPI_Cart_sub(cart, remain, &part);
        verify(name, part, sizes, sizes_n);
        MPI_Comm_free(&part);
    }

    /* Of no dimensions: one rank alone, to which MPICH keeps only the first. */
    int none[MAX_DIMS] = {0};
    MPI_Cart_sub(cart, none, &part);
    if (part != MPI_COMM_NULL) {
        verify("kept=0", part, sizes, sizes_n);
        MPI_Comm_free(&part);
    }
    MPI_Cart_create(MPI_COMM_WORLD, 0, grid, periods, 1, &empty);
    if (empty != MPI_COMM_NULL) {
        verify("no dimensions", empty, sizes, sizes_n);
        MPI_Comm_free(&empty);
    }
    MPI_Comm_free(&cart);

    /* A graph is no grid. */
    int index[check_size], edges[2 * check_size];
    for (int r = 0; r < check_size; r++) {
        index[r] = 2 * (r + 1);
        edges[2 * r] = (r + 1) % check_size;
        edges[2 * r + 1] = (r + check_size - 1) % check_size;
    }
    MPI_Graph_create(reversed, check_size, index, edges, 0, &part);
    verify("graph", part, sizes, sizes_n);
    MPI_Comm_free(&part);
    MPI_Comm_free(&reversed);
    check_finish();
}
