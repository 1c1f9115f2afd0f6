/* Reduce and Allreduce against a fold in rank order over what every rank is known to contribute. */
#ifndef CASE_REDUCE_H
#define CASE_REDUCE_H

#include "ops.h"

/* Writes the result of elements first .. first+count to the beginning of `want`: contributions of ranks 0 .. size-1
   combined in this order. */
static inline void reduced_range(struct buffer *want, const struct reduction *r, int size, size_t first, size_t count)
{
    const struct layout *l = &layouts[r->layout];
    size_t index = first * (size_t)l->items;
    for (size_t e = 0; e < count; e++)
        for (int k = 0; k < l->items; k++, index++) {
            const enum kind kind = l->item[k].kind;
            value v = make_value(kind, r->flavour, 0, index);
            for (int origin = 1; origin < size; origin++)
                v = combine(kind, r->operation, v, make_value(kind, r->flavour, origin, index));
            store_value(kind, item_at(want, l, e, k), &v);
        }
}

static inline struct buffer reduced_image(const struct reduction *r, int size, size_t count)
{
    struct buffer want = buffer_new(&layouts[r->layout], count);
    reduced_range(&want, r, size, 0, count);
    return want;
}

static inline struct buffer contribution(const struct reduction *r, int rank, size_t count)
{
    struct buffer b = buffer_new(&layouts[r->layout], count);
    buffer_fill(&b, &layouts[r->layout], 0, count, r->flavour, rank, 0);
    return b;
}

/* root < 0: Allreduce. null_elsewhere: receive buffers away from the root are NULL, else they are guarded and must stay
   as they are. */
static inline void reduce_and_compare(const struct member *m, const struct reduction *r, size_t count, int root,
                                      int in_place, int null_elsewhere, const struct buffer *want)
{
    const struct layout *l = &layouts[r->layout];
    const int receives = root < 0 || m->rank == root;
    begin_case(root < 0 ? "allreduce" : "reduce", m, l->name, r->name, count, root, in_place);
    struct buffer mine = contribution(r, m->rank, count), sent = buffer_copy(&mine);
    struct buffer got = buffer_new(l, count), untouched = buffer_copy(&got);
    int code;
    const void *send = in_place && receives ? MPI_IN_PLACE : sent.base;
    if (in_place && receives) {
        buffer_free(&got);
        got = buffer_copy(&mine);
    }
    if (root < 0)
        code = CALL_ALLREDUCE(send, got.base, (count_t)count, l->type, r->op, m->comm);
    else
        code = CALL_REDUCE(send, receives || !null_elsewhere ? got.base : NULL, (count_t)count, l->type, r->op, root,
                           m->comm);
    if (code != MPI_SUCCESS)
        fail("returned error code %d", code);
    buffer_expect(&got, receives ? want : &untouched, l, count, "receive buffer");
    buffer_expect(&sent, &mine, l, count, "send buffer");
    buffer_free(&mine);
    buffer_free(&sent);
    buffer_free(&got);
    buffer_free(&untouched);
    check_cases++;
}

static inline void check_reduce(const struct member *m, const struct reduction *r, size_t count, const int *roots,
                                int n_roots)
{
    struct buffer want = {0};
    for (int i = 0; i < n_roots; i++) {
        if (m->rank == roots[i] && !want.raw)
            want = reduced_image(r, m->size, count);
        reduce_and_compare(m, r, count, roots[i], 0, (i + (int)count) % 2, &want);
        if (!reduce_in_place_broken(roots[i], m->size, count))
            reduce_and_compare(m, r, count, roots[i], 1, (i + (int)count) % 2 == 0, &want);
    }
    buffer_free(&want);
}

static inline void check_allreduce(const struct member *m, const struct reduction *r, size_t count)
{
    if (allreduce_true_lb_broken(&layouts[r->layout], count))
        return;
    struct buffer want = reduced_image(r, m->size, count);
    reduce_and_compare(m, r, count, -1, 0, 0, &want);
    reduce_and_compare(m, r, count, -1, 1, 0, &want);
    buffer_free(&want);
}

#endif
