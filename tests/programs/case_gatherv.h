/* Gatherv and Scatterv: blocks of any size (SHARES), in order, in reverse with gaps, or around the address that is
   passed; every root, in place there, and with types that differ from rank to rank and between the two sides. */
#ifndef CASE_GATHERV_H
#define CASE_GATHERV_H

#include "case_allgatherv.h"

/* What only the root looks at is nonsense elsewhere: no type, no counts, a guarded buffer or none. */
static inline void gatherv_and_compare(const struct member *m, struct form out, struct form in, int shares,
                                       size_t count, int root, int in_place, int placement)
{
    struct blocks *to = shared_blocks(m, in, shares, count, placement);
    const int receives = m->rank == root;
    struct buffer want = blocks_buffer(to), got = buffer_copy(&want);
    for (int peer = 0; receives && peer < m->size; peer++)
        buffer_fill(&want, in.layout, to->at[peer] * in.per_unit, to->units[peer] * in.per_unit, F_DATA, peer, 0);
    const size_t own = to->units[m->rank];
    int code;
    if (in_place && receives) {
        buffer_fill(&got, in.layout, to->at[m->rank] * in.per_unit, own * in.per_unit, F_DATA, m->rank, 0);
        code = CALL_GATHERV(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks_address(to, &got), to->count, to->displacement,
                            in.type, root, m->comm);
    } else {
        struct buffer mine = buffer_new(out.layout, own * out.per_unit);
        buffer_fill(&mine, out.layout, 0, own * out.per_unit, F_DATA, m->rank, 0);
        struct buffer sent = buffer_copy(&mine);
        /* A rank without a block has no use for a buffer. */
        const void *from = own == 0 && count % 2 ? NULL : sent.base;
        const count_t n = (count_t)(own * out.counted);
        if (receives)
            code = CALL_GATHERV(from, n, out.type, blocks_address(to, &got), to->count, to->displacement, in.type,
                                root, m->comm);
        else
            code = CALL_GATHERV(from, n, out.type, in_place ? NULL : got.base, NULL, NULL, MPI_DATATYPE_NULL, root,
                                m->comm);
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

static inline void scatterv_and_compare(const struct member *m, struct form out, struct form in, int shares,
                                        size_t count, int root, int in_place, int placement)
{
    struct blocks *from = shared_blocks(m, out, shares, count, placement);
    const int sends = m->rank == root;
    struct buffer all = blocks_buffer(from);
    for (int peer = 0; sends && peer < m->size; peer++)
        buffer_fill(&all, out.layout, from->at[peer] * out.per_unit, from->units[peer] * out.per_unit, F_DATA, peer, 0);
    struct buffer sent = buffer_copy(&all);
    const size_t own = from->units[m->rank];
    int code;
    if (in_place && sends) {
        code = CALL_SCATTERV(blocks_address(from, &sent), from->count, from->displacement, out.type, MPI_IN_PLACE, 0,
                             MPI_DATATYPE_NULL, root, m->comm);
    } else {
        struct buffer want = buffer_new(in.layout, own * in.per_unit), got = buffer_copy(&want);
        buffer_fill(&want, in.layout, 0, own * in.per_unit, F_DATA, m->rank, 0);
        void *to = own == 0 && count % 2 ? NULL : got.base;
        const count_t n = (count_t)(own * in.counted);
        if (sends)
            code = CALL_SCATTERV(blocks_address(from, &sent), from->count, from->displacement, out.type, to, n,
                                 in.type, root, m->comm);
        else
            code = CALL_SCATTERV(in_place ? NULL : sent.base, NULL, NULL, MPI_DATATYPE_NULL, to, n, in.type, root,
                                 m->comm);
        if (code == MPI_SUCCESS)
            buffer_expect(&got, &want, in.layout, own * in.per_unit, "receive buffer");
        buffer_free(&got);
        buffer_free(&want);
    }
    if (code != MPI_SUCCESS)
        fail("returned error code %d", code);
    buffer_expect(&sent, &all, out.layout, from->total * out.per_unit, "send buffer");
    buffer_free(&sent);
    buffer_free(&all);
    free(from);
    check_cases++;
}

/* Gatherv or Scatterv. */
static inline void check_rooted_shares(const struct member *m, const struct layout *l, int shares, size_t count,
                                       int root, int scatters)
{
    const struct form both = {l, 1, l->type, 1};
    for (int in_place = 0; in_place < 2; in_place++) {
        begin_case(scatters ? "scatterv" : "gatherv", m, l->name, gathered_names[shares], count, root, in_place);
        (scatters ? scatterv_and_compare : gatherv_and_compare)(m, both, both, shares, count, root, in_place,
                                                                (int)(count + (size_t)in_place) % PLACEMENTS);
    }
}

/* Every rank has another form of one int signature on the side of its own block; a unit is 6 ints. */
static inline void check_rooted_shares_mixed(const struct member *m, int shares, size_t count, int root, int scatters)
{
    MPI_Datatype six;
    MPI_Type_contiguous(6, MPI_INT, &six);
    MPI_Type_commit(&six);
    for (int shift = 0; shift < 4; shift++) {
        const struct form own = form_of_six(m->rank, six), all = form_of_six(m->rank + shift, six);
        begin_case(scatters ? "scatterv" : "gatherv", m, "mixed", gathered_names[shares], count / 6, root, shift == 3);
        if (scatters)
            scatterv_and_compare(m, all, own, shares, count / 6, root, shift == 3, shift % PLACEMENTS);
        else
            gatherv_and_compare(m, own, all, shares, count / 6, root, shift == 3, shift % PLACEMENTS);
    }
    MPI_Type_free(&six);
}

#endif
