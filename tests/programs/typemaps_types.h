/* Datatypes of every constructor, nested, overlapping, backwards, with gaps and without, made with large counts and of
   Fortran 90's parametrised types. What a type names is written down here by hand, in cells of four bytes. */
#ifndef TYPEMAPS_TYPES_H
#define TYPEMAPS_TYPES_H

#include "check.h"

enum { MOST_TYPES = 96, MOST_CELLS = 64 };

struct described {
    const char *name;
    MPI_Datatype type, basic;
    /* Cells of a basic value, from one element to the next, and of an element in the order of the type map. */
    int basic_cells, extent, cells, cell[MOST_CELLS];
};

static struct described all[MOST_TYPES];
static int types;

static inline void add(const char *name, MPI_Datatype type, MPI_Datatype basic, int basic_cells, int extent, int cells,
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

static inline void nested(void)
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

static inline void arrays(void)
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

static inline void simple(void)
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
static inline void large(void)
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
static inline void parametrised(const char *const names[7], MPI_Datatype basic, int cells)
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

static inline MPI_Datatype usable(int code, const MPI_Datatype *type, int bytes)
{
    int size = 0;
    if (code != MPI_SUCCESS || *type == MPI_DATATYPE_NULL || MPI_Type_size(*type, &size) != MPI_SUCCESS ||
        size != bytes)
        return MPI_DATATYPE_NULL;
    return *type;
}

static inline void fortran(void)
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

static inline void types_create(void)
{
    simple();
    arrays();
    nested();
#if MPI_VERSION >= 4
    large();
#endif
    fortran();
}

static inline void types_free(void)
{
    for (int t = 0; t < types; t++)
        if (all[t].type != all[t].basic)
            MPI_Type_free(&all[t].type);
}

#endif
