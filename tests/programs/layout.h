/* Datatypes whose items' byte offsets are known here, and guarded buffers described by them.
   An expected buffer is a whole image: items, gaps and guards are all compared byte by byte. */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "combine.h"

enum { MAX_ITEMS = 8, GUARD = 64, SENTINEL = 0xA5 };

struct layout {
    const char *name;
    MPI_Datatype type;
    int derived;
    /* Distance between consecutive elements, in bytes. */
    MPI_Aint extent;
    /* Items of one element in type-map order; offsets from the element's address, in bytes. */
    int items;
    struct {
        enum kind kind;
        MPI_Aint at;
    } item[MAX_ITEMS];
};

enum {
    L_INT, L_DOUBLE, L_BYTE, L_INT64, L_COMPLEX, L_DOUBLE_INT, L_2INT, L_MATRIX,
    L_CONTIGUOUS, L_VECTOR, L_INDEXED, L_STRUCT, L_NEGATIVE_LB, L_WIDE, LAYOUTS
};

static struct layout layouts[LAYOUTS];

static inline void layout_basic(int which, const char *name, MPI_Datatype type, enum kind kind)
{
    struct layout *l = &layouts[which];
    *l = (struct layout){.name = name, .type = type, .items = 1, .item = {{kind, 0}}};
    MPI_Aint lb;
    MPI_Type_get_extent(type, &lb, &l->extent);
}

static inline void layout_derived(int which, const char *name, MPI_Datatype type, enum kind kind, int items,
                                  const MPI_Aint *at)
{
    MPI_Type_commit(&type);
    layout_basic(which, name, type, kind);
    struct layout *l = &layouts[which];
    l->derived = 1;
    l->items = items;
    for (int k = 0; k < items; k++) {
        l->item[k].kind = kind;
        l->item[k].at = at[k];
    }
}

static inline MPI_Datatype resized(MPI_Datatype old, MPI_Aint lb, MPI_Aint extent)
{
    MPI_Datatype type;
    MPI_Type_create_resized(old, lb, extent, &type);
    MPI_Type_free(&old);
    return type;
}

static inline void layouts_create(void)
{
    MPI_Datatype type;
    layout_basic(L_INT, "int", MPI_INT, K_INT);
    layout_basic(L_DOUBLE, "double", MPI_DOUBLE, K_DOUBLE);
    layout_basic(L_BYTE, "byte", MPI_BYTE, K_BYTE);
    layout_basic(L_INT64, "int64", MPI_INT64_T, K_INT64);
    layout_basic(L_COMPLEX, "complex", MPI_C_DOUBLE_COMPLEX, K_COMPLEX);
    layout_basic(L_DOUBLE_INT, "double_int", MPI_DOUBLE_INT, K_DOUBLE_INT);
    layout_basic(L_2INT, "2int", MPI_2INT, K_2INT);

    MPI_Type_contiguous(4, MPI_INT, &type);
    layout_derived(L_MATRIX, "matrix", type, K_MATRIX, 1, (MPI_Aint[]){0});

    MPI_Type_contiguous(3, MPI_INT, &type);
    layout_derived(L_CONTIGUOUS, "contiguous", type, K_INT, 3, (MPI_Aint[]){0, 4, 8});

    MPI_Type_vector(3, 2, 4, MPI_INT, &type);
    layout_derived(L_VECTOR, "vector", type, K_INT, 6, (MPI_Aint[]){0, 4, 16, 20, 32, 36});

    /* Displacements out of order: the type map's order is not the address order. */
    MPI_Type_indexed(3, (int[]){2, 1, 3}, (int[]){5, 0, 9}, MPI_INT, &type);
    layout_derived(L_INDEXED, "indexed", type, K_INT, 6, (MPI_Aint[]){20, 24, 0, 36, 40, 44});

    MPI_Type_create_struct(3, (int[]){1, 1, 3}, (MPI_Aint[]){0, 16, 32},
                           (MPI_Datatype[]){MPI_INT, MPI_DOUBLE, MPI_BYTE}, &type);
    layout_derived(L_STRUCT, "struct", type, K_BYTE, 5, (MPI_Aint[]){0, 16, 32, 33, 34});
    layouts[L_STRUCT].item[0].kind = K_INT;
    layouts[L_STRUCT].item[1].kind = K_DOUBLE;

    MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){-8, 4}, MPI_INT, &type);
    layout_derived(L_NEGATIVE_LB, "negative_lb", resized(type, -12, 28), K_INT, 2, (MPI_Aint[]){-8, 4});

    MPI_Type_contiguous(1, MPI_INT64_T, &type);
    layout_derived(L_WIDE, "wide", resized(type, 0, 24), K_INT64, 1, (MPI_Aint[]){0});
}

static inline void layouts_free(void)
{
    for (int l = 0; l < LAYOUTS; l++)
        if (layouts[l].derived)
            MPI_Type_free(&layouts[l].type);
}

/* Room for `elements` of a layout with guards on both sides, all sentinel bytes. */
struct buffer {
    unsigned char *raw;
    size_t bytes;
    /* What is passed to MPI. */
    unsigned char *base;
};

static inline struct buffer buffer_new(const struct layout *l, size_t elements)
{
    MPI_Aint low = 0, high = 0;
    for (int k = 0; k < l->items; k++) {
        const MPI_Aint end = l->item[k].at + (MPI_Aint)kind_size(l->item[k].kind);
        low = l->item[k].at < low ? l->item[k].at : low;
        high = end > high ? end : high;
    }
    struct buffer b;
    const size_t span = elements ? (elements - 1) * (size_t)l->extent + (size_t)high : 0;
    const size_t before = GUARD + (size_t)((-low + 15) / 16 * 16);
    b.bytes = before + span + GUARD;
    b.raw = malloc(b.bytes);
    if (!b.raw)
        fail("out of memory: %zu bytes", b.bytes);
    memset(b.raw, SENTINEL, b.bytes);
    b.base = b.raw + before;
    return b;
}

static inline struct buffer buffer_copy(const struct buffer *from)
{
    struct buffer b = {malloc(from->bytes), from->bytes, NULL};
    if (!b.raw)
        fail("out of memory: %zu bytes", b.bytes);
    memcpy(b.raw, from->raw, b.bytes);
    b.base = b.raw + (from->base - from->raw);
    return b;
}

static inline void buffer_free(struct buffer *b)
{
    free(b->raw);
    b->raw = b->base = NULL;
}

static inline unsigned char *item_at(const struct buffer *b, const struct layout *l, size_t element, int k)
{
    return b->base + (MPI_Aint)element * l->extent + l->item[k].at;
}

/* Writes elements first .. first+elements as rank `origin` has them from item index `index` on. */
static inline void buffer_fill(struct buffer *b, const struct layout *l, size_t first, size_t elements,
                               enum flavour flavour, int origin, size_t index)
{
    for (size_t e = first; e < first + elements; e++)
        for (int k = 0; k < l->items; k++) {
            const value v = make_value(l->item[k].kind, flavour, origin, index++);
            store_value(l->item[k].kind, item_at(b, l, e, k), &v);
        }
}

/* Fails at the first byte of `got` that differs from the expected image. */
static inline void buffer_expect(const struct buffer *got, const struct buffer *want, const struct layout *l,
                                 size_t elements, const char *which)
{
    if (memcmp(got->raw, want->raw, got->bytes) == 0)
        return;
    size_t byte = 0;
    while (got->raw[byte] == want->raw[byte])
        byte++;
    const unsigned char *bad = got->raw + byte;
    for (size_t e = 0; e < elements; e++)
        for (int k = 0; k < l->items; k++) {
            const unsigned char *at = item_at(got, l, e, k);
            if (bad < at || bad >= at + kind_size(l->item[k].kind))
                continue;
            char a[96], b[96];
            print_value(a, sizeof a, l->item[k].kind, load_value(l->item[k].kind, at));
            print_value(b, sizeof b, l->item[k].kind, load_value(l->item[k].kind, item_at(want, l, e, k)));
            fail("%s index=%zu item=%d got=%s expected=%s", which, e, k, a, b);
        }
    fail("%s byte=%td of a gap or guard was overwritten, got=0x%02x expected=0x%02x", which, bad - got->base, *bad,
         want->raw[byte]);
}

#endif
