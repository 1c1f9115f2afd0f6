/* Reduce_scatter_block, and Reduce_scatter with blocks of any size (SHARES), against a fold over what every rank
   contributes to the block at hand. In place the result is at the beginning of the vector, and what is behind it stays
   as it was. */
#ifndef CASE_REDUCE_SCATTER_H
#define CASE_REDUCE_SCATTER_H

#include "case_reduce.h"

enum { S_BLOCK, S_EVEN, S_RANDOM, S_ZEROS, S_ONE, S_FEW, SHARES };
static const char *const share_names[] = {"reduce_scatter_block",  "reduce_scatter(even)", "reduce_scatter(random)",
                                          "reduce_scatter(zeros)", "reduce_scatter(one)",  "reduce_scatter(few)"};

/* Elements of a rank's block. */
static inline size_t share(int shares, size_t count, int rank, int size)
{
    switch (shares) {
    case S_RANDOM: /* sometimes nothing, sometimes twice the mean */
        return scramble(count * 64 + (size_t)size, (uint64_t)rank) % (2 * count + 1);
    case S_ZEROS: /* two of three ranks have a block */
        return rank % 3 == size % 2 ? 0 : count;
    case S_ONE:
        return rank == size / 2 ? count * (size_t)size : 0;
    case S_FEW: /* fewer elements than ranks */
        return count > 0 && rank % 2 == 0 ? 1 : 0;
    default:
        return count;
    }
}

static inline void reduce_scatter_and_compare(const struct member *m, const struct reduction *r, int shares,
                                              size_t count, int in_place)
{
    const struct layout *l = &layouts[r->layout];
    count_t counts[256];
    size_t total = 0, first = 0;
    if (m->size > 256)
        fail("no room for the counts of %d ranks", m->size);
    for (int k = 0; k < m->size; k++) {
        first = k == m->rank ? total : first;
        counts[k] = (count_t)share(shares, count, k, m->size);
        total += (size_t)counts[k];
    }
    if (in_place && reduce_scatter_in_place_broken(total * (size_t)l->extent))
        return;
    const size_t own = (size_t)counts[m->rank];
    begin_case(share_names[shares], m, l->name, r->name, count, -1, in_place);
    struct buffer mine = contribution(r, m->rank, total), sent = buffer_copy(&mine);
    struct buffer want = in_place ? buffer_copy(&mine) : buffer_new(l, own),
                  got = in_place ? buffer_copy(&mine) : buffer_new(l, own);
    reduced_range(&want, r, m->size, first, own);
    const void *send = in_place ? MPI_IN_PLACE : sent.base;
    /* A rank without a block has no use for a buffer. */
    void *receive = own == 0 && !in_place && count % 2 ? NULL : got.base;
    const int code = shares == S_BLOCK
                         ? CALL_REDUCE_SCATTER_BLOCK(send, receive, (count_t)count, l->type, r->op, m->comm)
                         : CALL_REDUCE_SCATTER(send, receive, counts, l->type, r->op, m->comm);
    if (code != MPI_SUCCESS)
        fail("returned error code %d", code);
    if (in_place && !reduce_scatter_rest_kept(r->operation != O_MATRIX)) {
        const MPI_Aint behind = (MPI_Aint)own * l->extent + (l->item[0].at < 0 ? l->item[0].at : 0);
        memcpy(want.base + behind, got.base + behind, (total - own) * (size_t)l->extent);
    }
    buffer_expect(&got, &want, l, in_place ? total : own, "receive buffer");
    buffer_expect(&sent, &mine, l, total, "send buffer");
    buffer_free(&mine);
    buffer_free(&sent);
    buffer_free(&want);
    buffer_free(&got);
    check_cases++;
}

static inline void check_reduce_scatter(const struct member *m, const struct reduction *r, int shares, size_t count)
{
    for (int in_place = 0; in_place < 2; in_place++)
        reduce_scatter_and_compare(m, r, shares, count, in_place);
}

#endif
