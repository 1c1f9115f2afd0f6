/* Datatypes sent as they are, received as plain values, and the other way round where no byte is named twice. All types
   go through the same checks.
   Options: types=all|<name>,… elements=1,3,5000 mode=compare|packed (packed: which types need memory for a copy)
   avoid=stock|none */
#include "typemaps_types.h"

enum { UNTOUCHED = -77 };

static int value(int rank, int at)
{
    return rank * 1000003 + at * 7 + 1;
}

static int *new_cells(size_t cells)
{
    int *data = malloc(cells * sizeof *data + 1);
    if (!data)
        fail("out of memory: %zu cells", cells);
    for (size_t k = 0; k < cells; k++)
        data[k] = UNTOUCHED;
    return data;
}

/* Cells from the first of one element to behind the last of `elements`. */
static size_t room(const struct described *d, size_t elements)
{
    int last = 0;
    for (int k = 0; k < d->cells; k++)
        last = d->cell[k] > last ? d->cell[k] : last;
    return (elements ? elements - 1 : 0) * (size_t)d->extent + (size_t)last + 1;
}

static size_t cell_at(const struct described *d, size_t k)
{
    return k / (size_t)d->cells * (size_t)d->extent + (size_t)d->cell[k % (size_t)d->cells];
}

static int names_a_cell_twice(const struct described *d, size_t elements)
{
    int *image = new_cells(room(d, elements)), twice = 0;
    for (size_t k = 0; k < elements * (size_t)d->cells; k++) {
        twice |= image[cell_at(d, k)] != UNTOUCHED;
        image[cell_at(d, k)] = 0;
    }
    free(image);
    return twice;
}

static int *sent_by(const struct described *d, int rank, size_t elements)
{
    int *data = new_cells(room(d, elements));
    for (size_t k = 0; k < room(d, elements); k++)
        data[k] = value(rank, (int)k);
    return data;
}

static void expect(const char *what, size_t at, int got, int want)
{
    if (got != want)
        fail("%s: cell %zu got=%d expected=%d", what, at, got, want);
}

/* Cells of block `block` of `elements` elements each as `rank` sent them. */
static void expect_plain(const char *what, const struct described *d, const int *got, int rank, size_t block,
                         size_t elements)
{
    for (size_t k = 0; k < elements * (size_t)d->cells; k++)
        expect(what, k, got[k], value(rank, (int)cell_at(d, block * elements * (size_t)d->cells + k)));
}

static int avoids;

/* Open MPI's own Gather keeps elements that overlap one another in a buffer where they do not lie that close (4.1.4,
   5.0.11). */
static int stock_gathers_wrong(const struct described *d)
{
#ifdef OPEN_MPI
    return avoids && strcmp(d->name, "elements_overlap") == 0;
#else
    return avoids && !d;
#endif
}

static void send_typed(const struct described *d, int elements)
{
    const size_t n = (size_t)elements, cells = n * (size_t)d->cells, ranks = (size_t)check_size;
    const int plain = (int)(cells / (size_t)d->basic_cells), root = check_size - 1;
    int *mine = sent_by(d, check_rank, n * ranks), *got = new_cells(cells * ranks);
    snprintf(check_current, sizeof check_current, "%s elements=%d", d->name, elements);
    if (check_rank == root)
        MPI_Bcast(mine, elements, d->type, root, MPI_COMM_WORLD);
    else
        MPI_Bcast(got, plain, d->basic, root, MPI_COMM_WORLD);
    if (check_rank != root)
        expect_plain("bcast", d, got, root, 0, n);
    if (!stock_gathers_wrong(d))
        MPI_Gather(mine, elements, d->type, got, plain, d->basic, root, MPI_COMM_WORLD);
    for (int r = 0; check_rank == root && r < check_size && !stock_gathers_wrong(d); r++)
        expect_plain("gather", d, got + (size_t)r * cells, r, 0, n);
    memset(got, -1, cells * ranks * sizeof *got);
    MPI_Scatter(mine, elements, d->type, got, plain, d->basic, root, MPI_COMM_WORLD);
    expect_plain("scatter", d, got, root, (size_t)check_rank, n);
    memset(got, -1, cells * ranks * sizeof *got);
    MPI_Allgather(mine, elements, d->type, got, plain, d->basic, MPI_COMM_WORLD);
    for (int r = 0; r < check_size; r++)
        expect_plain("allgather", d, got + (size_t)r * cells, r, 0, n);
    memset(got, -1, cells * ranks * sizeof *got);
    MPI_Alltoall(mine, elements, d->type, got, plain, d->basic, MPI_COMM_WORLD);
    for (int r = 0; r < check_size; r++)
        expect_plain("alltoall", d, got + (size_t)r * cells, r, (size_t)check_rank, n);
    memset(got, -1, cells * ranks * sizeof *got);
    int counts[check_size], starts[check_size], plain_counts[check_size], plain_starts[check_size];
    for (int r = 0; r < check_size; r++) {
        counts[r] = (r + check_rank) % 3 == 1 ? 0 : elements;
        starts[r] = r * elements;
        plain_counts[r] = counts[r] ? plain : 0;
        plain_starts[r] = r * plain;
    }
    MPI_Alltoallv(mine, counts, starts, d->type, got, plain_counts, plain_starts, d->basic, MPI_COMM_WORLD);
    for (int r = 0; r < check_size; r++)
        if (counts[r])
            expect_plain("alltoallv", d, got + (size_t)r * cells, r, (size_t)check_rank, n);
    free(mine);
    free(got);
    check_cases += 5;
}

static void receive_typed(const struct described *d, int elements)
{
    const size_t n = (size_t)elements, cells = n * (size_t)d->cells, ranks = (size_t)check_size,
                 bytes = room(d, n * ranks);
    const int plain = (int)(cells / (size_t)d->basic_cells), root = check_size / 2;
    int *mine = new_cells(cells), *got = new_cells(bytes), *want = new_cells(bytes);
    snprintf(check_current, sizeof check_current, "into %s elements=%d", d->name, elements);
    for (size_t k = 0; k < cells; k++)
        mine[k] = value(check_rank, (int)k);
    if (check_rank == root)
        MPI_Bcast(mine, plain, d->basic, root, MPI_COMM_WORLD);
    else
        MPI_Bcast(got, elements, d->type, root, MPI_COMM_WORLD);
    for (size_t k = 0; check_rank != root && k < cells; k++)
        want[cell_at(d, k)] = value(root, (int)k);
    for (size_t k = 0; k < bytes; k++)
        expect("bcast", k, got[k], want[k]);
    MPI_Allgather(mine, plain, d->basic, got, elements, d->type, MPI_COMM_WORLD);
    for (size_t k = 0; k < cells * ranks; k++)
        want[cell_at(d, k)] = value((int)(k / cells), (int)(k % cells));
    for (size_t k = 0; k < bytes; k++)
        expect("allgather", k, got[k], want[k]);
    free(mine);
    free(got);
    free(want);
    check_cases += 2;
}

/* The largest block that was asked for with an alignment, as memory for a copy is. */
static size_t largest;

void *aligned_alloc(size_t alignment, size_t bytes)
{
    void *at = NULL;
    return posix_memalign(&at, alignment, bytes) == 0 ? at : NULL;
}

extern void *__libc_memalign(size_t alignment, size_t bytes);

int posix_memalign(void **at, size_t alignment, size_t bytes)
{
    largest = bytes > largest ? bytes : largest;
    *at = __libc_memalign(alignment, bytes);
    return *at ? 0 : 12;
}

/* More than is kept from one call to the next. */
enum { COPIED = 20 << 20 };

static void tell_if_packed(const struct described *d)
{
    const int elements = COPIED / 4 / d->cells;
    const size_t plain = (size_t)elements * (size_t)d->cells, typed = room(d, (size_t)elements);
    int *data = new_cells(typed > plain ? typed : plain);
    snprintf(check_current, sizeof check_current, "memory for %s", d->name);
    largest = 0;
    if (check_rank == 0)
        MPI_Bcast(data, elements, d->type, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(data, (int)plain / d->basic_cells, d->basic, 0, MPI_COMM_WORLD);
    if (check_rank == 0)
        printf("%s packed=%d\n", d->name, largest >= plain * sizeof *data);
    free(data);
    check_cases++;
}

int main(int argc, char **argv)
{
    long elements[8];
    MPI_Init(&argc, &argv);
    check_start("typemaps", "types,elements,mode,avoid", argc, argv);
    avoids = strcmp(option(argc, argv, "avoid", 3, "stock"), "none") != 0;
    const int sizes = number_list(option(argc, argv, "elements", 0, "1,3,5000"), elements, 8);
    const char *list = option(argc, argv, "types", 1, "all");
    const int compare = strcmp(option(argc, argv, "mode", 2, "compare"), "compare") == 0;
    types_create();
    for (int t = 0; t < types; t++) {
        const struct described *d = &all[t];
        if (!listed(list, d->name))
            continue;
        if (!compare)
            tell_if_packed(d);
        for (int s = 0; compare && s < sizes; s++) {
            send_typed(d, (int)elements[s]);
            if (!names_a_cell_twice(d, (size_t)(elements[s] * check_size)))
                receive_typed(d, (int)elements[s]);
        }
    }
    types_free();
    check_finish();
    return 0;
}
