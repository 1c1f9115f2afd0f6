/* Alltoallv: how much each rank has for each other (PATTERNS), where the blocks lie (PLACEMENTS), and in which form of
   a type. */
#ifndef CASE_ALLTOALLV_H
#define CASE_ALLTOALLV_H

#include "calls.h"

enum { P_EVEN, P_RANDOM, P_SPARSE, P_SILENT, P_NEIGHBOUR, P_NOTHING, PATTERNS };
static const char *const pattern_names[] = {"even", "random", "sparse", "silent_rank", "neighbour", "nothing"};

/* Units from one rank to another, at most 2 * count; `seed` tells random cases apart. The same both ways if
   `symmetric`, as in place demands. */
static inline size_t amount(int pattern, size_t count, int from, int to, int size, uint64_t seed, int symmetric)
{
    if (symmetric && from > to)
        return amount(pattern, count, to, from, size, seed, 1);
    const uint64_t h = scramble(seed * 4096 + (uint64_t)from, (uint64_t)to);
    switch (pattern) {
    case P_EVEN:
        return count;
    case P_RANDOM: /* rarely nothing at all, often less than a segment, sometimes much more than the mean */
        return h % 5 == 0 ? h / 5 % 3 : h % 7 == 0 ? h / 7 % (2 * count + 1) : h / 16 % (count + 1);
    case P_SPARSE:
        return (from + 2 * to) % 3 == 0 ? count : 0;
    case P_SILENT: /* the last rank has nothing for anyone, and nobody for it */
        return from == size - 1 || to == size - 1 ? 0 : count + (size_t)((from + to) % 3);
    case P_NEIGHBOUR:
        return to == (from + 1) % size || (symmetric && from == (to + 1) % size) ? count : 0;
    default:
        return 0;
    }
}

enum { PACKED, REVERSED, NEGATIVE, PLACEMENTS };

/* A form of a type: a unit is `per_unit` elements of a layout, passed as `counted` of `type`. */
struct form {
    const struct layout *layout;
    size_t per_unit;
    MPI_Datatype type;
    size_t counted;
};

/* One side of a call on one rank. */
struct blocks {
    struct form form;
    size_t units[256], at[256];
    size_t total;
    /* Units by which the address that is passed lies above the buffer's beginning. */
    size_t shift;
    count_t count[256];
    displacement_t displacement[256];
};

static inline struct blocks *blocks_new(struct form form, int pattern, size_t count, const struct member *m,
                                        uint64_t seed, int outgoing, int symmetric, int placement)
{
    struct blocks *b = calloc(1, sizeof *b);
    if (!b || m->size > 256)
        fail("no room for the blocks of %d ranks", m->size);
    b->form = form;
    for (int k = 0; k < m->size; k++) {
        const int peer = placement == PACKED ? k : m->size - 1 - k;
        b->units[peer] =
            amount(pattern, count, outgoing ? m->rank : peer, outgoing ? peer : m->rank, m->size, seed, symmetric);
        b->total += placement == PACKED ? 0 : (size_t)(k % 3);
        b->at[peer] = b->total;
        b->total += b->units[peer];
    }
    b->shift = placement == NEGATIVE ? b->total / 2 : 0;
    for (int peer = 0; peer < m->size; peer++) {
        b->count[peer] = (count_t)(b->units[peer] * form.counted);
        b->displacement[peer] =
            (displacement_t)(b->at[peer] * form.counted) - (displacement_t)(b->shift * form.counted);
        /* What lies nowhere may be said to lie anywhere. */
        if (b->units[peer] == 0 && placement == REVERSED)
            b->displacement[peer] = 1 << 20;
    }
    return b;
}

static inline struct buffer blocks_buffer(const struct blocks *b)
{
    return buffer_new(b->form.layout, b->total * b->form.per_unit);
}

static inline void *blocks_address(const struct blocks *b, const struct buffer *buffer)
{
    return buffer->base + b->shift * b->form.per_unit * (size_t)b->form.layout->extent;
}

/* `outgoing`: what this rank sends, else what it is to receive. */
static inline void blocks_fill(struct buffer *buffer, const struct blocks *b, const struct member *m, int outgoing)
{
    const size_t apart = 1 << 24;
    for (int peer = 0; peer < m->size; peer++)
        buffer_fill(buffer, b->form.layout, b->at[peer] * b->form.per_unit, b->units[peer] * b->form.per_unit, F_DATA,
                    outgoing ? m->rank : peer, (size_t)(outgoing ? peer : m->rank) * apart);
}

static inline void alltoallv_and_compare(const struct member *m, struct form out, struct form in, int pattern,
                                         size_t count, uint64_t seed, int in_place, int placement)
{
    struct blocks *to = blocks_new(out, pattern, count, m, seed, 1, in_place, placement);
    struct blocks *from = blocks_new(in, pattern, count, m, seed, 0, in_place, (placement + 1) % PLACEMENTS);
    struct buffer want = blocks_buffer(from), got = buffer_copy(&want);
    blocks_fill(&want, from, m, 0);
    int code;
    if (in_place) {
        blocks_fill(&got, from, m, 1);
        code = CALL_ALLTOALLV(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, blocks_address(from, &got), from->count,
                              from->displacement, in.type, m->comm);
    } else {
        struct buffer mine = blocks_buffer(to);
        blocks_fill(&mine, to, m, 1);
        struct buffer sent = buffer_copy(&mine);
        code = CALL_ALLTOALLV(blocks_address(to, &sent), to->count, to->displacement, out.type,
                              blocks_address(from, &got), from->count, from->displacement, in.type, m->comm);
        buffer_expect(&sent, &mine, out.layout, to->total * out.per_unit, "send buffer");
        buffer_free(&sent);
        buffer_free(&mine);
    }
    if (code != MPI_SUCCESS)
        fail("returned error code %d", code);
    buffer_expect(&got, &want, in.layout, from->total * in.per_unit, "receive buffer");
    buffer_free(&got);
    buffer_free(&want);
    free(to);
    free(from);
    check_cases++;
}

static inline void check_alltoallv(const struct member *m, const struct layout *l, int pattern, size_t count,
                                   uint64_t seed)
{
    const struct form both = {l, 1, l->type, 1};
    for (int in_place = 0; in_place < 2; in_place++) {
        if (in_place && alltoall_in_place_broken(l, m->size, count))
            continue;
        begin_case("alltoallv", m, l->name, pattern_names[pattern], count, -1, in_place);
        alltoallv_and_compare(m, both, both, pattern, count, seed, in_place,
                              (int)((seed + (uint64_t)pattern) % PLACEMENTS));
    }
}

/* A form of 6 ints, of which there are four; `six`: a type of as many. */
static inline struct form form_of_six(int which, MPI_Datatype six)
{
    const struct form forms[4] = {
        {&layouts[L_INT], 6, MPI_INT, 6},
        {&layouts[L_VECTOR], 1, layouts[L_VECTOR].type, 1},
        {&layouts[L_NEGATIVE_LB], 3, layouts[L_NEGATIVE_LB].type, 3},
        {&layouts[L_INT], 6, six, 1},
    };
    return forms[which % 4];
}

/* Every rank takes another pair of forms of one int signature; a unit is 6 ints. */
static inline void check_alltoallv_mixed(const struct member *m, int pattern, size_t count, uint64_t seed)
{
    MPI_Datatype six;
    MPI_Type_contiguous(6, MPI_INT, &six);
    MPI_Type_commit(&six);
    for (int shift = 0; shift < 4; shift++) {
        begin_case("alltoallv", m, "mixed", pattern_names[pattern], count / 6, -1, shift == 3);
        alltoallv_and_compare(m, form_of_six(m->rank, six), form_of_six(m->rank + shift, six), pattern, count / 6, seed,
                              shift == 3, shift % PLACEMENTS);
    }
    MPI_Type_free(&six);
}

#endif
