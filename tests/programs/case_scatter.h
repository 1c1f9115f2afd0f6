/* Scatter: every root, one layout on both sides, in place at the root, and receive types that differ from rank to rank
   and from the root's send type. */
#ifndef CASE_SCATTER_H
#define CASE_SCATTER_H

#include "case_gather.h"

/* What is not significant away from the root is nonsense there: a count below 0, no type, a null or a guarded
   buffer. */
static inline void scatter_and_compare(const struct member *m, const struct side *out, const struct side *in, int root,
                                       int in_place, int null_elsewhere)
{
    const size_t total = out->elements * (size_t)m->size, items = out->elements * (size_t)out->layout->items;
    const int sends = m->rank == root;
    struct buffer all = buffer_new(out->layout, total);
    buffer_fill(&all, out->layout, 0, total, F_DATA, root, (size_t)root);
    struct buffer sent = buffer_copy(&all);
    int code;
    if (in_place && sends) {
        code = CALL_SCATTER(sent.base, out->count, out->type, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, m->comm);
    } else {
        struct buffer want = buffer_new(in->layout, in->elements), got = buffer_copy(&want);
        buffer_fill(&want, in->layout, 0, in->elements, F_DATA, root, (size_t)root + (size_t)m->rank * items);
        if (sends)
            code = CALL_SCATTER(sent.base, out->count, out->type, got.base, in->count, in->type, root, m->comm);
        else
            code = CALL_SCATTER(null_elsewhere ? NULL : sent.base, -1, MPI_DATATYPE_NULL, got.base, in->count,
                                in->type, root, m->comm);
        if (code == MPI_SUCCESS)
            buffer_expect(&got, &want, in->layout, in->elements, "receive buffer");
        buffer_free(&got);
        buffer_free(&want);
    }
    if (code != MPI_SUCCESS)
        fail("returned error code %d", code);
    buffer_expect(&sent, &all, out->layout, total, "send buffer");
    buffer_free(&sent);
    buffer_free(&all);
    check_cases++;
}

static inline void check_scatter(const struct member *m, const struct layout *l, size_t count, int root)
{
    const struct side both = plain_side(l, count);
    if (scatter_types_broken(l, m->size))
        return;
    for (int in_place = 0; in_place < 2; in_place++) {
        begin_case("scatter", m, l->name, "-", count, root, in_place);
        scatter_and_compare(m, &both, &both, root, in_place, in_place == (int)(count % 2));
    }
}

/* The root sends in one form of an int signature, and every rank receives in another (see check_gather_mixed). Once not
   in place, once in place. */
static inline void check_scatter_mixed(const struct member *m, size_t count, int root, int step)
{
    const size_t ints = count / 6 * 6 + 6;
    MPI_Datatype whole;
    MPI_Type_contiguous((int)ints, MPI_INT, &whole);
    MPI_Type_commit(&whole);
    const struct side forms[5] = {
        plain_side(&layouts[L_INT], ints),
        plain_side(&layouts[L_VECTOR], ints / 6),
        plain_side(&layouts[L_NEGATIVE_LB], ints / 2),
        {&layouts[L_INT], ints, whole, 1},
        plain_side(&layouts[L_CONTIGUOUS], ints / 3),
    };
    for (int shift = step % 4; shift < 5; shift += 4 - step % 4) {
        const struct side *in = &forms[(m->rank + shift) % 5], *out = &forms[(root + 2 * shift) % 5];
        begin_case("scatter", m, "mixed", "-", ints, root, shift == 4);
        scatter_and_compare(m, out, in, root, shift == 4, shift % 2);
    }
    MPI_Type_free(&whole);
}

#endif
