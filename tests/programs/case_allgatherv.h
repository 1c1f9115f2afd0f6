/* Allgatherv: blocks of any size (SHARES), in order, in reverse with gaps, or around the address that is passed; in
   place, and with types that differ from rank to rank and between the two sides of a rank. */
#ifndef CASE_ALLGATHERV_H
#define CASE_ALLGATHERV_H

#include "case_alltoallv.h"
#include "case_reduce_scatter.h"

static const char *const gathered_names[] = {"block", "even", "random", "zeros", "one", "few"};

/* Blocks of all ranks in one buffer. `count`: units of a mean block; a unit is `per_unit` elements of a form's
   layout. */
static inline struct blocks *shared_blocks(const struct member *m, struct form form, int shares, size_t count,
                                           int placement)
{
    if (m->size > 256)
        fail("no room for the blocks of %d ranks", m->size);
    struct blocks *to = calloc(1, sizeof *to);
    to->form = form;
    for (int k = 0; k < m->size; k++) {
        const int peer = placement == PACKED ? k : m->size - 1 - k;
        to->units[peer] = share(shares, count, peer, m->size);
        to->total += placement == PACKED ? 0 : (size_t)(k % 3);
        to->at[peer] = to->total;
        to->total += to->units[peer];
    }
    /* MPICH (4.0.2) takes no notice of the displacement on a communicator of one rank. */
    to->shift = placement == NEGATIVE && m->size > 1 ? to->total / 2 : 0;
    for (int peer = 0; peer < m->size; peer++) {
        to->count[peer] = (count_t)(to->units[peer] * form.counted);
        to->displacement[peer] =
            (displacement_t)(to->at[peer] * form.counted) - (displacement_t)(to->shift * form.counted);
    }
    return to;
}

static inline void allgatherv_and_compare(const struct member *m, struct form out, struct form in, int shares,
                                          size_t count, int in_place, int placement)
{
    struct blocks *to = shared_blocks(m, in, shares, count, placement);
    struct buffer want = blocks_buffer(to), got = buffer_copy(&want);
    for (int peer = 0; peer < m->size; peer++)
        buffer_fill(&want, in.layout, to->at[peer] * in.per_unit, to->units[peer] * in.per_unit, F_DATA, peer, 0);
    const size_t own = to->units[m->rank];
    int code;
    if (in_place) {
        buffer_fill(&got, in.layout, to->at[m->rank] * in.per_unit, own * in.per_unit, F_DATA, m->rank, 0);
        code = CALL_ALLGATHERV(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks_address(to, &got), to->count,
                               to->displacement, in.type, m->comm);
    } else {
        struct buffer mine = buffer_new(out.layout, own * out.per_unit);
        buffer_fill(&mine, out.layout, 0, own * out.per_unit, F_DATA, m->rank, 0);
        struct buffer sent = buffer_copy(&mine);
        /* A rank without a block has no use for a buffer. */
        code = CALL_ALLGATHERV(own == 0 && count % 2 ? NULL : sent.base, (count_t)(own * out.counted), out.type,
                               blocks_address(to, &got), to->count, to->displacement, in.type, m->comm);
        buffer_expect(&sent, &mine, out.layout, own * out.per_unit, "send buffer");
        buffer_free(&sent);
        buffer_free(&mine);
    }
    if (code != MPI_SUCCESS)
        fail("returned error code %d", code);
    buffer_expect(&got, &want, in.layout, to->total * in.per_unit, "receive buffer");
    buffer_free(&got);
    buffer_free(&want);
    free(to);
    check_cases++;
}

static inline void check_allgatherv(const struct member *m, const struct layout *l, int shares, size_t count)
{
    const struct form both = {l, 1, l->type, 1};
    for (int in_place = 0; in_place < 2; in_place++) {
        begin_case("allgatherv", m, l->name, gathered_names[shares], count, -1, in_place);
        allgatherv_and_compare(m, both, both, shares, count, in_place, (int)(count + (size_t)in_place) % PLACEMENTS);
    }
}

/* Every rank takes another pair of forms of one int signature; a unit is 6 ints. Open MPI chooses an algorithm by what
   it knows of the local types, which may differ from rank to rank (fuzz_avoid.h). */
static inline void check_allgatherv_mixed(const struct member *m, int shares, size_t count)
{
    if (avoids())
        return;
    MPI_Datatype six;
    MPI_Type_contiguous(6, MPI_INT, &six);
    MPI_Type_commit(&six);
    for (int shift = 0; shift < 4; shift++) {
        begin_case("allgatherv", m, "mixed", gathered_names[shares], count / 6, -1, shift == 3);
        allgatherv_and_compare(m, form_of_six(m->rank, six), form_of_six(m->rank + shift, six), shares, count / 6,
                               shift == 3, shift % PLACEMENTS);
    }
    MPI_Type_free(&six);
}

#endif
