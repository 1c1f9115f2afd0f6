/* The forms of derived types: where the values of an element are, and the constructors that say so. */
#ifndef FUZZ_FORM_H
#define FUZZ_FORM_H

#include "ops.h"

enum form_of_type {
    T_PLAIN, T_CONTIGUOUS, T_VECTOR, T_INDEXED, T_NEGATIVE_LB, T_WIDE, T_SUBARRAY, T_NESTED, T_STRUCT, T_DEEP,
    T_OVERLAP, T_REPEATED, T_OVERLAP_STRUCT, T_SHRUNK, T_LARGE_CONTIGUOUS, T_LARGE_VECTOR, T_LARGE_HVECTOR,
    T_LARGE_INDEXED, T_LARGE_STRUCT, T_LARGE_NESTED, T_LARGE_SUBARRAY, FORMS
};

/* Where the values of one element are, in extents of the kind, in type-map order. A type that sends a value more than
   once has a step: from one element to the next, in the same unit. */
static const struct form_facts {
    const char *name;
    int items;
    int at[MAX_ITEMS];
    int step;
} form_facts[FORMS] = {
    [T_PLAIN] = {"plain", 1, {0}, 0},
    [T_CONTIGUOUS] = {"contiguous", 3, {0, 1, 2}, 0},
    [T_VECTOR] = {"vector", 6, {0, 1, 4, 5, 8, 9}, 0},
    [T_INDEXED] = {"indexed", 6, {5, 6, 0, 9, 10, 11}, 0},
    [T_NEGATIVE_LB] = {"negative_lb", 2, {-2, 1}, 0},
    [T_WIDE] = {"wide", 1, {0}, 0},
    [T_SUBARRAY] = {"subarray", 4, {5, 6, 9, 10}, 0},
    [T_NESTED] = {"nested", 2, {0, 3}, 0},
    [T_STRUCT] = {"struct", 3, {1, 2, 6}, 0},
    [T_DEEP] = {"deep", 2, {0, 2}, 0},
    [T_OVERLAP] = {"overlap", 4, {0, 1, 1, 3}, 4},
    [T_REPEATED] = {"repeated", 3, {0, 0, 0}, 1},
    [T_OVERLAP_STRUCT] = {"overlap_struct", 6, {0, 1, 1, 3, 4, 5}, 6},
    [T_SHRUNK] = {"shrunk", 2, {0, 1}, 1},
    [T_LARGE_CONTIGUOUS] = {"large_contiguous", 3, {0, 1, 2}, 0},
    [T_LARGE_VECTOR] = {"large_vector", 6, {0, 1, 4, 5, 8, 9}, 0},
    [T_LARGE_HVECTOR] = {"large_hvector", 4, {0, 1, 3, 4}, 0},
    [T_LARGE_INDEXED] = {"large_indexed", 6, {5, 6, 0, 9, 10, 11}, 0},
    [T_LARGE_STRUCT] = {"large_struct", 3, {0, 1, 2}, 0},
    [T_LARGE_NESTED] = {"large_nested", 2, {0, 3}, 0},
    [T_LARGE_SUBARRAY] = {"large_subarray", 4, {5, 6, 9, 10}, 0},
};

/* Extents of the kind from the first value of an element of an overlapping form to the end of the last. */
static inline size_t form_span(const struct form_facts *f)
{
    int last = 0;
    for (int i = 0; i < f->items; i++)
        last = f->at[i] > last ? f->at[i] : last;
    return (size_t)last + 1;
}

/* The constructors with counts of MPI_Count, where the library has them. */
#if MPI_VERSION >= 4
typedef MPI_Count type_count, type_distance;
#define LARGE(constructor) constructor##_c
#else
typedef int type_count;
typedef MPI_Aint type_distance;
#define LARGE(constructor) constructor
#endif

static inline MPI_Datatype large_type(MPI_Datatype old, MPI_Aint extent, enum form_of_type form)
{
    MPI_Datatype type = MPI_DATATYPE_NULL, inner;
    switch (form) {
    case T_LARGE_CONTIGUOUS:
        LARGE(MPI_Type_contiguous)(3, old, &type);
        break;
    case T_LARGE_VECTOR:
        LARGE(MPI_Type_vector)(3, 2, 4, old, &type);
        break;
    case T_LARGE_HVECTOR:
        LARGE(MPI_Type_create_hvector)(2, 2, 3 * extent, old, &type);
        break;
    case T_LARGE_INDEXED:
        LARGE(MPI_Type_indexed)(3, (type_count[]){2, 1, 3}, (type_count[]){5, 0, 9}, old, &type);
        break;
    case T_LARGE_STRUCT: /* without gaps */
        LARGE(MPI_Type_create_struct)(2, (type_count[]){1, 2}, (type_distance[]){0, extent}, (MPI_Datatype[]){old, old},
                                      &type);
        break;
    case T_LARGE_NESTED: /* inside a type that any constructor made */
        LARGE(MPI_Type_create_resized)(old, 0, 3 * extent, &inner);
        MPI_Type_contiguous(2, inner, &type);
        MPI_Type_free(&inner);
        break;
    default:
        LARGE(MPI_Type_create_subarray)(2, (type_count[]){3, 4}, (type_count[]){2, 2}, (type_count[]){1, 1},
                                        MPI_ORDER_C, old, &type);
    }
    return type;
}

/* A struct in a struct, and so on. */
static inline MPI_Datatype deep_type(MPI_Datatype old, MPI_Aint extent)
{
    enum { DEPTH = 8 };
    MPI_Datatype type, outer;
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 2 * extent}, (MPI_Datatype[]){old, old}, &type);
    for (int depth = 1; depth < DEPTH; depth++) {
        MPI_Type_create_struct(1, (int[]){1}, (MPI_Aint[]){0}, &type, &outer);
        MPI_Type_free(&type);
        type = outer;
    }
    return type;
}

static inline MPI_Datatype formed_type(MPI_Datatype old, MPI_Aint extent, enum form_of_type form)
{
    MPI_Datatype type = MPI_DATATYPE_NULL, inner;
    switch (form) {
    case T_CONTIGUOUS:
        MPI_Type_contiguous(3, old, &type);
        break;
    case T_VECTOR:
        MPI_Type_vector(3, 2, 4, old, &type);
        break;
    case T_INDEXED: /* out of order: the type map's order is not the address order */
        MPI_Type_indexed(3, (int[]){2, 1, 3}, (int[]){5, 0, 9}, old, &type);
        break;
    case T_NEGATIVE_LB:
        MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){-2 * extent, extent}, old, &type);
        type = resized(type, -3 * extent, 7 * extent);
        break;
    case T_WIDE:
        MPI_Type_create_resized(old, 0, 3 * extent, &type);
        break;
    case T_SUBARRAY:
        MPI_Type_create_subarray(2, (int[]){3, 4}, (int[]){2, 2}, (int[]){1, 1}, MPI_ORDER_C, old, &type);
        break;
    case T_NESTED:
        MPI_Type_create_resized(old, 0, 3 * extent, &inner);
        MPI_Type_contiguous(2, inner, &type);
        MPI_Type_free(&inner);
        break;
    case T_STRUCT:
        MPI_Type_create_struct(2, (int[]){2, 1}, (MPI_Aint[]){extent, 6 * extent}, (MPI_Datatype[]){old, old}, &type);
        break;
    case T_DEEP:
        type = deep_type(old, extent);
        break;
    case T_OVERLAP: /* as long as it is wide, and yet with a gap */
        MPI_Type_indexed(3, (int[]){2, 1, 1}, (int[]){0, 1, 3}, old, &type);
        break;
    case T_REPEATED:
        MPI_Type_vector(3, 1, 0, old, &type);
        break;
    case T_OVERLAP_STRUCT:
        MPI_Type_create_struct(3, (int[]){2, 1, 3}, (MPI_Aint[]){0, extent, 3 * extent},
                               (MPI_Datatype[]){old, old, old}, &type);
        break;
    case T_SHRUNK: /* each element shares a value with the next */
        MPI_Type_contiguous(2, old, &type);
        type = resized(type, 0, extent);
        break;
    case T_PLAIN:
    case FORMS:
        MPI_Type_dup(old, &type);
        break;
    default:
        type = large_type(old, extent, form);
    }
    return type;
}

#endif
