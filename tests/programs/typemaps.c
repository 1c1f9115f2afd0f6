/* Datatypes of every constructor, nested, overlapping, backwards, with gaps and without, made with large counts and of
   Fortran 90's parametrised types: sent as they are, received as plain values, and the other way round where no byte is
   named twice. What a type names is written down here by hand, in cells of four bytes. One file, since a type's
   construction and its list of cells are read together, and all types go through the same checks.
   Options: types=all|<name>,… elements=1,3,5000 mode=compare|packed (packed: which types need memory for a copy)
   avoid=stock|none */
#include "check.h"

enum { MOST_TYPES = 96, MOST_CELLS = 64, UNTOUCHED = -77 };

struct described {
    const char *name;
    MPI_Datatype type, basic;
    /* Cells of a basic value, from one element to the next, and of an element in the order of the type map. */
    int basic_cells, extent, cells, cell[MOST_CELLS];
};

static struct described all[MOST_TYPES];
static int types;

static void add(const char *name, MPI_Datatype type, MPI_Datatype basic, int basic_cells, int extent, int cells,
                const int *cell)
{
    if (types == MOST_TYPES || cells > MOST_CELLS)
        fail("no room for type %s", name);
    struct described *d = &all[types++];
    *d = (struct described){name, type, basic, basic_cells, extent, cells, {0}};
    memcpy(d->cell, cell, (size_t)cells * sizeof *cell);
    MPI_Type_commit(&d->type);
}

#define CELLS(...) (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]){__VA_ARGS__}
#define INTS(name, extent, ...) add(name, t, MPI_INT, 1, extent, CELLS(__VA_ARGS__))
#define FREE_AFTER(inner) MPI_Type_free(&(inner))

static void nested(void)
{
    MPI_Datatype t, in, other, empty;
    MPI_Type_indexed(3, (int[]){2, 1, 1}, (int[]){0, 1, 3}, MPI_INT, &in);
    MPI_Type_dup(in, &t);
    INTS("dup_overlap", 4, 0, 1, 1, 3);
    MPI_Type_contiguous(2, in, &t);
    INTS("contiguous_overlap", 8, 0, 1, 1, 3, 4, 5, 5, 7);
    MPI_Type_create_resized(in, -8, 16, &t);
    INTS("resized_overlap", 4, 0, 1, 1, 3);
    MPI_Type_create_subarray(1, (int[]){2}, (int[]){2}, (int[]){0}, MPI_ORDER_C, in, &t);
    INTS("subarray_overlap", 8, 0, 1, 1, 3, 4, 5, 5, 7);
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 16}, (MPI_Datatype[]){MPI_INT, in}, &t);
    MPI_Type_free(&in);
    INTS("struct_gap_overlap", 8, 0, 4, 5, 5, 7);

    MPI_Type_vector(2, 1, 2, MPI_INT, &in);
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 4}, (MPI_Datatype[]){in, in}, &t);
    INTS("gaps_filled", 4, 0, 2, 1, 3);
    FREE_AFTER(in);
    MPI_Type_vector(4, 1, -1, MPI_INT, &in);
    MPI_Type_create_hindexed(1, (int[]){1}, (MPI_Aint[]){12}, in, &t);
    INTS("backwards", 4, 3, 2, 1, 0);
    FREE_AFTER(in);

    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_create_struct(3, (int[]){1, 1, 1}, (MPI_Aint[]){0, 4, 4}, (MPI_Datatype[]){MPI_INT, empty, MPI_INT}, &t);
    INTS("dense_empty_inside", 2, 0, 1);
    FREE_AFTER(empty);

    /* Six levels of structs of two types each, which are freed before use. */
    MPI_Type_dup(MPI_INT, &in);
    for (int bytes = 4; bytes < 64 * 4; bytes *= 2) {
        MPI_Type_dup(in, &other);
        MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, bytes}, (MPI_Datatype[]){in, other}, &t);
        FREE_AFTER(in);
        FREE_AFTER(other);
        in = t;
    }
    int cell[64];
    for (int k = 0; k < 64; k++)
        cell[k] = k;
    add("deep", t, MPI_INT, 1, 64, 64, cell);
    /* Fewer levels. */
    MPI_Type_dup(MPI_INT, &in);
    for (int bytes = 4; bytes < 16 * 4; bytes *= 2) {
        MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, bytes}, (MPI_Datatype[]){in, in}, &t);
        FREE_AFTER(in);
        in = t;
    }
    add("dense_deep", t, MPI_INT, 1, 16, 16, cell);
    /* One int, and as many types in it as nobody can look at. */
    MPI_Type_dup(MPI_INT, &in);
    for (int level = 0; level < 40; level++) {
        MPI_Type_dup(in, &other);
        MPI_Type_create_struct(2, (int[]){1, 0}, (MPI_Aint[]){0, 4}, (MPI_Datatype[]){in, other}, &t);
        FREE_AFTER(in);
        FREE_AFTER(other);
        in = t;
    }
    INTS("bottomless", 1, 0);
}

static void arrays(void)
{
    MPI_Datatype t;
    MPI_Type_create_subarray(2, (int[]){3, 2}, (int[]){3, 2}, (int[]){0, 0}, MPI_ORDER_FORTRAN, MPI_INT, &t);
    INTS("dense_subarray_fortran", 6, 0, 1, 2, 3, 4, 5);
    MPI_Type_create_subarray(2, (int[]){3, 2}, (int[]){3, 2}, (int[]){0, 0}, MPI_ORDER_C, MPI_INT, &t);
    INTS("dense_subarray", 6, 0, 1, 2, 3, 4, 5);
    MPI_Type_create_subarray(2, (int[]){4, 3}, (int[]){2, 3}, (int[]){1, 0}, MPI_ORDER_C, MPI_INT, &t);
    INTS("subarray_rows", 12, 3, 4, 5, 6, 7, 8);
    MPI_Type_create_subarray(2, (int[]){4, 3}, (int[]){2, 3}, (int[]){1, 0}, MPI_ORDER_FORTRAN, MPI_INT, &t);
    INTS("subarray_fortran", 12, 1, 2, 5, 6, 9, 10);
    MPI_Type_create_darray(1, 0, 1, (int[]){7}, (int[]){MPI_DISTRIBUTE_BLOCK}, (int[]){MPI_DISTRIBUTE_DFLT_DARG},
                           (int[]){1}, MPI_ORDER_C, MPI_INT, &t);
    INTS("darray", 7, 0, 1, 2, 3, 4, 5, 6);
    MPI_Type_create_darray(2, 1, 1, (int[]){7}, (int[]){MPI_DISTRIBUTE_CYCLIC}, (int[]){2}, (int[]){2},
                           MPI_ORDER_FORTRAN, MPI_INT, &t);
    INTS("darray_cyclic", 7, 2, 3, 6);
}

static void simple(void)
{
    MPI_Datatype t, in;
    MPI_Type_indexed(3, (int[]){2, 1, 1}, (int[]){0, 1, 3}, MPI_INT, &t);
    INTS("indexed_overlap", 4, 0, 1, 1, 3);
    MPI_Type_create_hindexed(4, (int[]){2, 0, 1, 1}, (MPI_Aint[]){0, 4, 4, 12}, MPI_INT, &t);
    INTS("hindexed_overlap", 4, 0, 1, 1, 3);
    MPI_Type_create_indexed_block(4, 1, (int[]){0, 1, 1, 3}, MPI_INT, &t);
    INTS("indexed_block_overlap", 4, 0, 1, 1, 3);
    MPI_Type_create_hindexed_block(4, 1, (MPI_Aint[]){0, 8, 8, 12}, MPI_INT, &t);
    INTS("hindexed_block_overlap", 4, 0, 2, 2, 3);
    MPI_Type_create_struct(3, (int[]){2, 1, 1}, (MPI_Aint[]){0, 4, 12}, (MPI_Datatype[]){MPI_INT, MPI_INT, MPI_INT},
                           &t);
    INTS("struct_overlap", 4, 0, 1, 1, 3);
    MPI_Type_create_hvector(2, 2, 4, MPI_INT, &t);
    INTS("hvector_overlap", 3, 0, 1, 1, 2);
    MPI_Type_vector(2, 2, 1, MPI_INT, &t);
    INTS("vector_overlap", 3, 0, 1, 1, 2);
    MPI_Type_indexed(2, (int[]){2, 2}, (int[]){2, 0}, MPI_INT, &t);
    INTS("indexed_descending", 4, 2, 3, 0, 1);
    MPI_Type_contiguous(4, MPI_INT, &in);
    MPI_Type_create_resized(in, 0, 8, &t);
    INTS("elements_overlap", 2, 0, 1, 2, 3);
    FREE_AFTER(in);
    /* Size and extent agree by accident: elements lie between one another. */
    MPI_Type_indexed(2, (int[]){1, 1}, (int[]){0, 3}, MPI_INT, &in);
    MPI_Type_create_resized(in, 0, 8, &t);
    INTS("elements_interleave", 2, 0, 3);
    FREE_AFTER(in);
    MPI_Type_contiguous(2, MPI_INT, &in);
    MPI_Type_create_resized(in, -4, 8, &t);
    INTS("dense_negative_lb", 2, 0, 1);
    FREE_AFTER(in);

    MPI_Type_contiguous(3, MPI_INT, &t);
    INTS("dense_contiguous", 3, 0, 1, 2);
    MPI_Type_vector(2, 2, 2, MPI_INT, &t);
    INTS("dense_vector", 4, 0, 1, 2, 3);
    MPI_Type_create_hvector(2, 2, 8, MPI_INT, &t);
    INTS("dense_hvector", 4, 0, 1, 2, 3);
    MPI_Type_indexed(3, (int[]){2, 1, 1}, (int[]){0, 2, 3}, MPI_INT, &t);
    INTS("dense_indexed", 4, 0, 1, 2, 3);
    MPI_Type_create_hindexed(3, (int[]){0, 2, 2}, (MPI_Aint[]){0, 0, 8}, MPI_INT, &t);
    INTS("dense_hindexed", 4, 0, 1, 2, 3);
    MPI_Type_create_indexed_block(2, 2, (int[]){0, 2}, MPI_INT, &t);
    INTS("dense_indexed_block", 4, 0, 1, 2, 3);
    MPI_Type_create_hindexed_block(2, 2, (MPI_Aint[]){0, 8}, MPI_INT, &t);
    INTS("dense_hindexed_block", 4, 0, 1, 2, 3);
    MPI_Type_create_struct(2, (int[]){2, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_INT}, &t);
    INTS("dense_struct", 3, 0, 1, 2);
    MPI_Type_dup(MPI_INT, &t);
    INTS("dense_dup", 1, 0);
}

#if MPI_VERSION >= 4
#define COUNTS (MPI_Count[])
static void large(void)
{
    MPI_Datatype t, in;
    MPI_Type_contiguous_c(3, MPI_INT, &t);
    INTS("dense_contiguous_c", 3, 0, 1, 2);
    MPI_Type_vector_c(2, 2, 2, MPI_INT, &t);
    INTS("dense_vector_c", 4, 0, 1, 2, 3);
    MPI_Type_create_hvector_c(2, 2, 8, MPI_INT, &t);
    INTS("dense_hvector_c", 4, 0, 1, 2, 3);
    MPI_Type_indexed_c(3, COUNTS{2, 1, 1}, COUNTS{0, 2, 3}, MPI_INT, &t);
    INTS("dense_indexed_c", 4, 0, 1, 2, 3);
    MPI_Type_create_hindexed_c(2, COUNTS{1, 3}, COUNTS{0, 4}, MPI_INT, &t);
    INTS("dense_hindexed_c", 4, 0, 1, 2, 3);
    MPI_Type_create_indexed_block_c(2, 2, COUNTS{0, 2}, MPI_INT, &t);
    INTS("dense_indexed_block_c", 4, 0, 1, 2, 3);
    MPI_Type_create_hindexed_block_c(2, 2, COUNTS{0, 8}, MPI_INT, &t);
    INTS("dense_hindexed_block_c", 4, 0, 1, 2, 3);
    MPI_Type_create_struct_c(2, COUNTS{2, 1}, COUNTS{0, 8}, (MPI_Datatype[]){MPI_INT, MPI_INT}, &t);
    INTS("dense_struct_c", 3, 0, 1, 2);
    MPI_Type_create_subarray_c(2, COUNTS{3, 2}, COUNTS{3, 2}, COUNTS{0, 0}, MPI_ORDER_FORTRAN, MPI_INT, &t);
    INTS("dense_subarray_c", 6, 0, 1, 2, 3, 4, 5);
    MPI_Type_create_subarray_c(2, COUNTS{4, 3}, COUNTS{2, 3}, COUNTS{1, 0}, MPI_ORDER_FORTRAN, MPI_INT, &t);
    INTS("subarray_fortran_c", 12, 1, 2, 5, 6, 9, 10);
    MPI_Type_create_darray_c(1, 0, 1, COUNTS{7}, (int[]){MPI_DISTRIBUTE_BLOCK}, (int[]){MPI_DISTRIBUTE_DFLT_DARG},
                             (int[]){1}, MPI_ORDER_C, MPI_INT, &t);
    INTS("darray_c", 7, 0, 1, 2, 3, 4, 5, 6);
    MPI_Type_contiguous_c(2, MPI_INT, &in);
    MPI_Type_create_resized_c(in, -4, 8, &t);
    INTS("dense_resized_c", 2, 0, 1);
    MPI_Type_contiguous(2, in, &t);
    INTS("dense_of_contiguous_c", 4, 0, 1, 2, 3);
    MPI_Type_dup(in, &t);
    INTS("dense_dup_of_c", 2, 0, 1);
    FREE_AFTER(in);
    MPI_Type_indexed_c(3, COUNTS{2, 1, 1}, COUNTS{0, 1, 3}, MPI_INT, &in);
    MPI_Type_dup(in, &t);
    INTS("indexed_c_overlap", 4, 0, 1, 1, 3);
    FREE_AFTER(in);
    MPI_Type_create_struct_c(3, COUNTS{2, 1, 1}, COUNTS{0, 4, 12}, (MPI_Datatype[]){MPI_INT, MPI_INT, MPI_INT}, &t);
    INTS("struct_c_overlap", 4, 0, 1, 1, 3);
}
#endif

/* `basic` takes `cells` cells; none where the library has no Fortran. */
static void parametrised(const char *const names[7], MPI_Datatype basic, int cells)
{
    MPI_Datatype t, in;
    MPI_Aint bytes = 4 * cells;
    int cell[16];
    for (int k = 0; k < 16; k++)
        cell[k] = k;
    MPI_Type_dup(basic, &t);
    add(names[0], t, basic, cells, cells, cells, cell);
    MPI_Type_contiguous(3, basic, &t);
    add(names[1], t, basic, cells, 3 * cells, 3 * cells, cell);
    MPI_Type_vector(2, 2, 2, basic, &t);
    add(names[2], t, basic, cells, 4 * cells, 4 * cells, cell);
    MPI_Type_create_struct(2, (int[]){1, 2}, (MPI_Aint[]){0, bytes}, (MPI_Datatype[]){basic, basic}, &in);
    MPI_Type_contiguous(2, in, &t);
    add(names[3], t, basic, cells, 6 * cells, 6 * cells, cell);
    MPI_Type_dup(in, &t);
    add(names[4], t, basic, cells, 3 * cells, 3 * cells, cell);
    FREE_AFTER(in);
    MPI_Type_create_resized(basic, 0, bytes, &t);
    add(names[5], t, basic, cells, cells, cells, cell);
    MPI_Type_indexed(3, (int[]){2, 1, 1}, (int[]){0, 1, 3}, basic, &t);
    const int from[] = {0, 1, 1, 3};
    for (int k = 0; k < 4 * cells; k++)
        cell[k] = from[k / cells] * cells + k % cells;
    add(names[6], t, basic, cells, 4 * cells, 4 * cells, cell);
}

static MPI_Datatype usable(int code, const MPI_Datatype *type, int bytes)
{
    int size = 0;
    if (code != MPI_SUCCESS || *type == MPI_DATATYPE_NULL || MPI_Type_size(*type, &size) != MPI_SUCCESS ||
        size != bytes)
        return MPI_DATATYPE_NULL;
    return *type;
}

static void fortran(void)
{
    MPI_Datatype integer, real, complex;
    /* A library without Fortran has none of these. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    const int codes[] = {MPI_Type_create_f90_integer(9, &integer), MPI_Type_create_f90_real(6, 30, &real),
                         MPI_Type_create_f90_complex(6, 30, &complex)};
    const MPI_Datatype made[] = {usable(codes[0], &integer, 4), usable(codes[1], &real, 4),
                                 usable(codes[2], &complex, 8)};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
#define NAMES(kind)                                                                                                    \
    (const char *const[7])                                                                                             \
    {                                                                                                                  \
        "dense_dup_" kind, "dense_contiguous_" kind, "dense_vector_" kind, "dense_nested_" kind, "dense_struct_" kind, \
            "dense_resized_" kind, "overlap_" kind                                                                     \
    }
    const char *const *const names[] = {NAMES("f90_integer"), NAMES("f90_real"), NAMES("f90_complex")};
    const char *const itself[] = {"dense_f90_integer", "dense_f90_real", "dense_f90_complex"};
    for (int k = 0; k < 3; k++) {
        if (made[k] == MPI_DATATYPE_NULL)
            continue;
        parametrised(names[k], made[k], k == 2 ? 2 : 1);
        all[types++] =
            (struct described){itself[k], made[k], made[k], k == 2 ? 2 : 1, k == 2 ? 2 : 1, k == 2 ? 2 : 1, {0, 1}};
    }
}

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
    simple();
    arrays();
    nested();
#if MPI_VERSION >= 4
    large();
#endif
    fortran();
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
    for (int t = 0; t < types; t++)
        if (all[t].type != all[t].basic)
            MPI_Type_free(&all[t].type);
    check_finish();
    return 0;
}
