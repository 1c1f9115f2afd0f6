/* Gather: every root, one layout on both sides, in place at the root, and send types that differ from rank to rank and
   from the root's receive type. */
#ifndef CASE_GATHER_H
#define CASE_GATHER_H

#include "case_alltoall.h"

/* What is not significant away from the root is nonsense there: a count below 0, no type, a null or a guarded
   buffer. */
static inline void gather_and_compare(const struct member *m, const struct side *out, const struct side *in, int root,
                                      int in_place, int null_elsewhere)
{
    const size_t items = out->elements * (size_t)out->layout->items, total = in->elements * (size_t)m->size;
    const int receives = m->rank == root;
    struct buffer want = buffer_new(in->layout, total), got = buffer_copy(&want);
    for (int peer = 0; receives && peer < m->size; peer++)
        buffer_fill(&want, in->layout, (size_t)peer * in->elements, in->elements, F_DATA, peer, (size_t)root * items);
    int code;
    if (in_place && receives) {
        buffer_fill(&got, in->layout, (size_t)root * in->elements, in->elements, F_DATA, root, (size_t)root * items);
        code = CALL_GATHER(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got.base, in->count, in->type, root, m->comm);
    } else {
        struct buffer mine = buffer_new(out->layout, out->elements);
        buffer_fill(&mine, out->layout, 0, out->elements, F_DATA, m->rank, (size_t)root * items);
        struct buffer sent = buffer_copy(&mine);
        if (receives)
            code = CALL_GATHER(sent.base, out->count, out->type, got.base, in->count, in->type, root, m->comm);
        else
            code = CALL_GATHER(sent.base, out->count, out->type, null_elsewhere ? NULL : got.base, -1,
                               MPI_DATATYPE_NULL, root, m->comm);
        buffer_expect(&sent, &mine, out->layout, out->elements, "send buffer");
        buffer_free(&sent);
        buffer_free(&mine);
    }
    if (code != MPI_SUCCESS)
        fail("returned error code %d", code);
    buffer_expect(&got, &want, in->layout, total, "receive buffer");
    buffer_free(&got);
    buffer_free(&want);
    check_cases++;
}

static inline void check_gather(const struct member *m, const struct layout *l, size_t count, int root)
{
    const struct side both = plain_side(l, count);
    if (gather_types_broken(l, m->size, count))
        return;
    for (int in_place = 0; in_place < 2; in_place++) {
        begin_case("gather", m, l->name, "-", count, root, in_place);
        gather_and_compare(m, &both, &both, root, in_place, in_place == (int)(count % 2));
    }
}

/* Every rank sends another form of one int signature, and the root receives in a form of its own (see
   check_alltoall_mixed). Not with n = 0, for the reason given at check_bcast_mixed. Once not in place, once in
   place. */
static inline void check_gather_mixed(const struct member *m, size_t count, int root, int step)
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
        const struct side *out = &forms[(m->rank + shift) % 5], *in = &forms[(root + 2 * shift) % 5];
        begin_case("gather", m, "mixed", "-", ints, root, shift == 4);
        gather_and_compare(m, out, in, root, shift == 4, shift % 2);
    }
    MPI_Type_free(&whole);
}

#endif
