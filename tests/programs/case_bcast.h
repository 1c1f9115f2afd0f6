/* Bcast checked as whole buffer images: one layout everywhere, and mixed representations of one signature. */
#ifndef CASE_BCAST_H
#define CASE_BCAST_H

#include "calls.h"

/* `elements` of layout l, passed to MPI as `count` of `type` (the same bytes). */
static inline void bcast_and_compare(const struct member *m, const struct layout *l, size_t elements, MPI_Datatype type,
                                     count_t count, int root)
{
    struct buffer want = buffer_new(l, elements), data = buffer_copy(&want);
    /* Starting elsewhere for each size, so that data left over from another call does not pass. */
    const size_t index = elements * (size_t)l->items;
    buffer_fill(&want, l, 0, elements, F_DATA, root, index);
    if (m->rank == root)
        buffer_fill(&data, l, 0, elements, F_DATA, root, index);
    const int code = CALL_BCAST(data.base, count, type, root, m->comm);
    if (code != MPI_SUCCESS)
        fail("returned error code %d", code);
    buffer_expect(&data, &want, l, elements, "buffer");
    buffer_free(&data);
    buffer_free(&want);
    check_cases++;
}

static inline void check_bcast(const struct member *m, const struct layout *l, size_t count, int root)
{
    begin_case("bcast", m, l->name, "-", count, root, 0);
    bcast_and_compare(m, l, count, l->type, (count_t)count, root);
}

/* The same int signature passed as 1 x contiguous(n) at the root; elsewhere, by rank, as n x int, vectors with gaps,
   elements with a negative lower bound, or 1 x contiguous(n) as well. Not with n = 0: 1 x contiguous(0) at the root and
   0 x int elsewhere is valid, but stock Open MPI 4.1 returns early only where the count is 0, and the root's empty
   messages then match the next broadcast. */
static inline void check_bcast_mixed(const struct member *m, size_t count, int root)
{
    const size_t ints = count / 6 * 6 + 6;
    if (bcast_two_types_broken(m->size, ints))
        return;
    const int form = m->rank == root ? 3 : m->rank % 4;
    const struct layout *l = &layouts[form == 1 ? L_VECTOR : form == 2 ? L_NEGATIVE_LB : L_INT];
    begin_case("bcast", m, form == 3 ? "mixed:1_x_contiguous" : l->name, "-", ints, root, 0);
    if (form != 3) {
        bcast_and_compare(m, l, ints / (size_t)l->items, l->type, (count_t)(ints / (size_t)l->items), root);
        return;
    }
    MPI_Datatype whole;
    MPI_Type_contiguous((int)ints, MPI_INT, &whole);
    MPI_Type_commit(&whole);
    bcast_and_compare(m, l, ints, whole, 1, root);
    MPI_Type_free(&whole);
}

#endif
