/* Alltoall: one layout on both sides, in place, and send types that differ from receive types by the same signature. */
#ifndef CASE_ALLTOALL_H
#define CASE_ALLTOALL_H

#include "calls.h"

/* One side's view of a block: `elements` of a layout, passed as `count` of `type`. */
struct side {
    const struct layout *layout;
    size_t elements;
    MPI_Datatype type;
    count_t count;
};

static inline struct side plain_side(const struct layout *l, size_t count)
{
    return (struct side){l, count, l->type, (count_t)count};
}

/* Where in its contribution rank `origin` keeps the item block meant for `target`: block `target`, `items` long. */
static inline void fill_blocks(struct buffer *b, const struct side *s, int size, int rank, int outgoing)
{
    const size_t items = s->elements * (size_t)s->layout->items;
    for (int peer = 0; peer < size; peer++)
        buffer_fill(b, s->layout, (size_t)peer * s->elements, s->elements, F_DATA, outgoing ? rank : peer,
                    (size_t)(outgoing ? peer : rank) * items);
}

static inline void alltoall_and_compare(const struct member *m, const struct side *out, const struct side *in,
                                        int in_place)
{
    const size_t in_total = in->elements * (size_t)m->size, out_total = out->elements * (size_t)m->size;
    struct buffer want = buffer_new(in->layout, in_total), got = buffer_copy(&want);
    fill_blocks(&want, in, m->size, m->rank, 0);
    int code;
    if (in_place) {
        fill_blocks(&got, in, m->size, m->rank, 1);
        code = CALL_ALLTOALL(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got.base, in->count, in->type, m->comm);
    } else {
        struct buffer mine = buffer_new(out->layout, out_total);
        fill_blocks(&mine, out, m->size, m->rank, 1);
        struct buffer sent = buffer_copy(&mine);
        code = CALL_ALLTOALL(sent.base, out->count, out->type, got.base, in->count, in->type, m->comm);
        buffer_expect(&sent, &mine, out->layout, out_total, "send buffer");
        buffer_free(&sent);
        buffer_free(&mine);
    }
    if (code != MPI_SUCCESS)
        fail("returned error code %d", code);
    buffer_expect(&got, &want, in->layout, in_total, "receive buffer");
    buffer_free(&got);
    buffer_free(&want);
    check_cases++;
}

static inline void check_alltoall(const struct member *m, const struct layout *l, size_t count)
{
    const struct side both = plain_side(l, count);
    for (int in_place = 0; in_place < 2; in_place++) {
        if (in_place && alltoall_in_place_broken(l, m->size, count))
            continue;
        begin_case("alltoall", m, l->name, "-", count, -1, in_place);
        alltoall_and_compare(m, &both, &both, in_place);
    }
}

/* Every rank takes another pair of forms of one int signature: n x int, vectors with gaps, negative lower bounds, 1 x
   contiguous(n). Not with n = 0, for the reason given at check_bcast_mixed. */
static inline void check_alltoall_mixed(const struct member *m, size_t count)
{
    const size_t ints = count / 6 * 6 + 6;
    MPI_Datatype whole;
    MPI_Type_contiguous((int)ints, MPI_INT, &whole);
    MPI_Type_commit(&whole);
    const struct side forms[4] = {
        plain_side(&layouts[L_INT], ints),
        plain_side(&layouts[L_VECTOR], ints / 6),
        plain_side(&layouts[L_NEGATIVE_LB], ints / 2),
        {&layouts[L_INT], ints, whole, 1},
    };
    for (int shift = 0; shift < 4; shift++) {
        const struct side *out = &forms[m->rank % 4], *in = &forms[(m->rank + shift) % 4];
        const int in_place = shift == 3;
        if (!in_place && shift != 0 && alltoall_two_types_broken(m->size, ints))
            continue;
        char types[64];
        snprintf(types, sizeof types, "mixed:%s->%s", out == &forms[3] ? "1_x_contiguous" : out->layout->name,
                 in == &forms[3] ? "1_x_contiguous" : in->layout->name);
        begin_case("alltoall", m, in_place ? strchr(types, '>') + 1 : types, "-", ints, -1, in_place);
        alltoall_and_compare(m, out, in, in_place);
    }
    MPI_Type_free(&whole);
}

#endif
