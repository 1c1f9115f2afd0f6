/* The reductions tried: predefined operations on the types they are defined for, and user-defined ones. */
#ifndef OPS_H
#define OPS_H

#include "calls.h"

struct reduction {
    const char *name;
    enum operation operation;
    MPI_Op op;
    int layout;
    enum flavour flavour;
    /* Also tried at large sizes. */
    int large;
};

static inline void apply_to_elements(const struct layout *l, const void *in, void *inout, size_t n,
                                     enum operation operation)
{
    const struct buffer a = {.base = (unsigned char *)(uintptr_t)in}, b = {.base = inout};
    for (size_t e = 0; e < n; e++)
        for (int k = 0; k < l->items; k++) {
            const enum kind kind = l->item[k].kind;
            const value v = combine(kind, operation, load_value(kind, item_at(&a, l, e, k)),
                                    load_value(kind, item_at(&b, l, e, k)));
            store_value(kind, item_at(&b, l, e, k), &v);
        }
}

/* A user-defined function must be called with the very datatype handle the user passed to the collective. */
static inline void apply_by_layout(const void *in, void *inout, size_t n, MPI_Datatype type, enum operation operation)
{
    const struct layout *l = layouts;
    while (l < layouts + LAYOUTS && l->type != type)
        l++;
    if (l == layouts + LAYOUTS)
        fail("user-defined operation called with a datatype that no call passed");
    apply_to_elements(l, in, inout, n, operation);
}

static inline void user_function(void *in, void *inout, int *n, MPI_Datatype *type)
{
    apply_by_layout(in, inout, (size_t)*n, *type, O_USER);
}

static inline void matrix_function(void *in, void *inout, int *n, MPI_Datatype *type)
{
    apply_by_layout(in, inout, (size_t)*n, *type, O_MATRIX);
}

#ifdef LARGE_COUNT
static inline void user_function_large(void *in, void *inout, MPI_Count *n, MPI_Datatype *type)
{
    apply_by_layout(in, inout, (size_t)*n, *type, O_USER);
}
#endif

static MPI_Op user_op, matrix_op;

static inline void ops_create(void)
{
#ifdef LARGE_COUNT
    MPI_Op_create_c(user_function_large, 1, &user_op);
#else
    MPI_Op_create(user_function, 1, &user_op);
#endif
    MPI_Op_create(matrix_function, 0, &matrix_op);
}

static inline void ops_free(void)
{
    MPI_Op_free(&user_op);
    MPI_Op_free(&matrix_op);
}

enum { MAX_REDUCTIONS = 40 };

static inline int reductions_create(struct reduction *out)
{
    const struct reduction all[] = {
        {"sum", O_SUM, MPI_SUM, L_DOUBLE, F_SUM, 1},
        {"sum", O_SUM, MPI_SUM, L_INT, F_SUM, 0},
        {"sum", O_SUM, MPI_SUM, L_INT64, F_SUM, 0},
        {"sum", O_SUM, MPI_SUM, L_COMPLEX, F_SUM, 0},
        {"prod", O_PROD, MPI_PROD, L_INT64, F_PRODUCT, 0},
        {"prod", O_PROD, MPI_PROD, L_DOUBLE, F_PRODUCT, 0},
        {"max", O_MAX, MPI_MAX, L_INT, F_BITS, 1},
        {"max", O_MAX, MPI_MAX, L_DOUBLE, F_DATA, 0},
        {"min", O_MIN, MPI_MIN, L_INT64, F_BITS, 0},
        {"min", O_MIN, MPI_MIN, L_DOUBLE, F_DATA, 0},
        {"band", O_BAND, MPI_BAND, L_INT, F_BITS, 0},
        {"band", O_BAND, MPI_BAND, L_BYTE, F_BITS, 0},
        {"bor", O_BOR, MPI_BOR, L_BYTE, F_BITS, 0},
        {"bor", O_BOR, MPI_BOR, L_INT64, F_BITS, 0},
        {"bxor", O_BXOR, MPI_BXOR, L_BYTE, F_BITS, 0},
        {"bxor", O_BXOR, MPI_BXOR, L_INT, F_BITS, 0},
        {"land", O_LAND, MPI_LAND, L_INT, F_AND, 0},
        {"lor", O_LOR, MPI_LOR, L_INT, F_OR, 0},
        {"minloc", O_MINLOC, MPI_MINLOC, L_DOUBLE_INT, F_LOCATION, 0},
        {"minloc", O_MINLOC, MPI_MINLOC, L_2INT, F_LOCATION, 0},
        {"maxloc", O_MAXLOC, MPI_MAXLOC, L_DOUBLE_INT, F_LOCATION, 0},
        {"maxloc", O_MAXLOC, MPI_MAXLOC, L_2INT, F_LOCATION, 0},
        {"user", O_USER, user_op, L_INT, F_RESIDUE, 0},
        {"user", O_USER, user_op, L_CONTIGUOUS, F_RESIDUE, 0},
        {"user", O_USER, user_op, L_VECTOR, F_RESIDUE, 0},
        {"user", O_USER, user_op, L_INDEXED, F_RESIDUE, 0},
        {"user", O_USER, user_op, L_STRUCT, F_RESIDUE, 1},
        {"user", O_USER, user_op, L_NEGATIVE_LB, F_RESIDUE, 0},
        {"user", O_USER, user_op, L_WIDE, F_RESIDUE, 0},
        {"matrix", O_MATRIX, matrix_op, L_MATRIX, F_RESIDUE, 1},
    };
    memcpy(out, all, sizeof all);
    return (int)(sizeof all / sizeof *all);
}

#endif
