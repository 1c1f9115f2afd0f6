/* Allgather: one layout on both sides, in place, and types that differ from rank to rank and between the two sides of a
   rank. */
#ifndef CASE_ALLGATHER_H
#define CASE_ALLGATHER_H

#include "case_alltoall.h"

static inline void allgather_and_compare(const struct member *m, const struct side *out, const struct side *in,
                                         int in_place)
{
    const size_t total = in->elements * (size_t)m->size;
    struct buffer want = buffer_new(in->layout, total), got = buffer_copy(&want);
    for (int peer = 0; peer < m->size; peer++)
        buffer_fill(&want, in->layout, (size_t)peer * in->elements, in->elements, F_DATA, peer, 0);
    int code;
    if (in_place) {
        buffer_fill(&got, in->layout, (size_t)m->rank * in->elements, in->elements, F_DATA, m->rank, 0);
        code = CALL_ALLGATHER(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got.base, in->count, in->type, m->comm);
    } else {
        struct buffer mine = buffer_new(out->layout, out->elements);
        buffer_fill(&mine, out->layout, 0, out->elements, F_DATA, m->rank, 0);
        struct buffer sent = buffer_copy(&mine);
        code = CALL_ALLGATHER(sent.base, out->count, out->type, got.base, in->count, in->type, m->comm);
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

static inline void check_allgather(const struct member *m, const struct layout *l, size_t count)
{
    const struct side both = plain_side(l, count);
    for (int in_place = 0; in_place < 2; in_place++) {
        begin_case("allgather", m, l->name, "-", count, -1, in_place);
        allgather_and_compare(m, &both, &both, in_place);
    }
}

/* Every rank sends one form of an int signature and receives in another; the last time in place. Not with n = 0, for
   the reason given at check_bcast_mixed. */
static inline void check_allgather_mixed(const struct member *m, size_t count, int step)
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
        begin_case("allgather", m, "mixed", "-", ints, -1, shift == 4);
        allgather_and_compare(m, &forms[(m->rank + shift) % 5], &forms[(m->rank + 2 * shift) % 5], shift == 4);
    }
    MPI_Type_free(&whole);
}

#endif
