/* Datatypes of every kind in every form, made for a case and freed at its end; the operations by name. */
#ifndef FUZZ_TYPE_H
#define FUZZ_TYPE_H

#include "fuzz_form.h"

/* Those of the case at hand have a type; written by the main thread while there is no other. */
static struct layout fuzz_types[KINDS][FORMS];

static inline MPI_Datatype basic_type(enum kind kind)
{
    MPI_Datatype type = kind_type(kind);
    if (kind == K_MATRIX)
        MPI_Type_contiguous(4, MPI_INT, &type);
    if (kind == K_STRUCT) {
        const MPI_Aint at[] = {0, offsetof(struct mixed, other), offsetof(struct mixed, bytes)};
        MPI_Type_create_struct(3, (int[]){1, 1, 3}, at, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE, MPI_BYTE}, &type);
        type = resized(type, 0, sizeof(struct mixed));
    }
    /* Unnamed and predefined: never freed. */
    if (kind == K_F90_REAL)
        MPI_Type_create_f90_real(15, MPI_UNDEFINED, &type);
    if (kind == K_F90_INTEGER)
        MPI_Type_create_f90_integer(9, &type);
    if (kind == K_F90_COMPLEX)
        MPI_Type_create_f90_complex(15, MPI_UNDEFINED, &type);
    return type;
}

static inline void fuzz_type_create(enum kind kind, enum form_of_type form)
{
    struct layout *l = &fuzz_types[kind][form];
    if (l->items)
        return;
    MPI_Aint lb, extent;
    MPI_Datatype basic = basic_type(kind), type = basic;
    MPI_Type_get_extent(basic, &lb, &extent);
    *l = (struct layout){.name = form == T_PLAIN ? kind_facts[kind].name : form_facts[form].name,
                         .items = form_facts[form].items};
    l->derived = form != T_PLAIN || kind == K_MATRIX || kind == K_STRUCT;
    if (form != T_PLAIN) {
        type = formed_type(basic, extent, form);
        if (kind == K_MATRIX || kind == K_STRUCT)
            MPI_Type_free(&basic);
    }
    if (l->derived)
        MPI_Type_commit(&type);
    l->type = type;
    MPI_Type_get_extent(type, &lb, &l->extent);
    for (int k = 0; k < l->items; k++) {
        l->item[k].kind = kind;
        l->item[k].at = form_facts[form].at[k] * extent;
    }
}

static inline void fuzz_types_free(void)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int form = 0; form < FORMS; form++) {
            struct layout *l = &fuzz_types[kind][form];
            if (l->items && l->derived)
                MPI_Type_free(&l->type);
            l->items = 0;
        }
}

/* What is on the way of a user's operation has exactly the type that the collective was called with. */
static inline void fuzz_apply(const void *in, void *inout, int n, MPI_Datatype type, enum operation operation)
{
    const struct layout *l = &fuzz_types[0][0], *end = l + KINDS * FORMS;
    while (l < end && !(l->items && l->type == type))
        l++;
    if (l == end)
        fail("user-defined operation called with a datatype that no call passed");
    apply_to_elements(l, in, inout, (size_t)n, operation);
}

static inline void fuzz_user(void *in, void *inout, int *n, MPI_Datatype *type)
{
    fuzz_apply(in, inout, *n, *type, O_USER);
}

static inline void fuzz_matrix(void *in, void *inout, int *n, MPI_Datatype *type)
{
    fuzz_apply(in, inout, *n, *type, O_MATRIX);
}

static inline void fuzz_first(void *in, void *inout, int *n, MPI_Datatype *type)
{
    fuzz_apply(in, inout, *n, *type, O_FIRST);
}

static struct operation_facts {
    const char *name;
    MPI_Op op;
    enum flavour flavour;
} operation_facts[OPERATIONS];

static inline void fuzz_operations_create(void)
{
    const struct operation_facts all[OPERATIONS] = {
        [O_SUM] = {"sum", MPI_SUM, F_SUM},          [O_PROD] = {"prod", MPI_PROD, F_PRODUCT},
        [O_MAX] = {"max", MPI_MAX, F_BITS},         [O_MIN] = {"min", MPI_MIN, F_BITS},
        [O_BAND] = {"band", MPI_BAND, F_BITS},      [O_BOR] = {"bor", MPI_BOR, F_BITS},
        [O_BXOR] = {"bxor", MPI_BXOR, F_BITS},      [O_LAND] = {"land", MPI_LAND, F_AND},
        [O_LOR] = {"lor", MPI_LOR, F_OR},           [O_LXOR] = {"lxor", MPI_LXOR, F_OR},
        [O_MINLOC] = {"minloc", MPI_MINLOC, F_LOCATION}, [O_MAXLOC] = {"maxloc", MPI_MAXLOC, F_LOCATION},
        [O_USER] = {"user", MPI_OP_NULL, F_RESIDUE}, [O_MATRIX] = {"matrix", MPI_OP_NULL, F_RESIDUE},
        [O_FIRST] = {"first", MPI_OP_NULL, F_BITS},
    };
    memcpy(operation_facts, all, sizeof all);
    MPI_Op_create(fuzz_user, 1, &operation_facts[O_USER].op);
    MPI_Op_create(fuzz_matrix, 0, &operation_facts[O_MATRIX].op);
    MPI_Op_create(fuzz_first, 0, &operation_facts[O_FIRST].op);
}

static inline void fuzz_operations_free(void)
{
    for (int o = O_USER; o < OPERATIONS; o++)
        MPI_Op_free(&operation_facts[o].op);
}

/* Commutes up to rounding. */
static inline int commutes(enum operation operation)
{
    return operation != O_MATRIX && operation != O_FIRST;
}

/* Whether the standard defines the operation on this kind (MPI-4, sections 6.9.2 and 6.9.4), or we do. */
static inline int operation_fits(enum operation operation, enum kind kind)
{
    const enum category c = kind_facts[kind].category;
    switch (operation) {
    case O_SUM:
    case O_PROD:
        return c == C_SIGNED || c == C_UNSIGNED || c == C_FLOATING || c == C_COMPLEX;
    case O_MAX:
    case O_MIN:
        return c == C_SIGNED || c == C_UNSIGNED || c == C_FLOATING;
    case O_BAND:
    case O_BOR:
    case O_BXOR:
        return c == C_SIGNED || c == C_UNSIGNED || c == C_BYTE;
    case O_LAND:
    case O_LOR:
    case O_LXOR:
        return kind != K_F90_INTEGER && (c == C_SIGNED || c == C_UNSIGNED || c == C_LOGICAL);
    case O_MINLOC:
    case O_MAXLOC:
        return c == C_PAIR;
    case O_MATRIX:
        return c == C_MATRIX;
    case O_USER:
        return c != C_MATRIX;
    default:
        return 1;
    }
}

#endif
