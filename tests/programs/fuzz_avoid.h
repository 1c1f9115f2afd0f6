/* What a stock library gets wrong is not asked of it (calls.h says what). Every rank decides alike, from the
   statement. */
#ifndef FUZZ_AVOID_H
#define FUZZ_AVOID_H

#include "fuzz_block.h"

static inline int types_differ(const struct statement *s)
{
    int differ = 0;
    for (int i = 0; i < s->send.n; i++)
        differ = differ || s->send.at[i] != s->send.at[0];
    for (int i = 0; i < s->receive.n; i++)
        differ = differ || s->receive.at[i] != s->send.at[0];
    return differ;
}

static inline int sends_overlap(const struct statement *s)
{
    for (int i = 0; i < s->send.n; i++)
        if (form_facts[s->send.at[i]].step)
            return 1;
    return 0;
}

/* The ranks between root and leaves of a binomial tree send what does not overlap. */
static inline void plain_inside(struct statement *s, int size, int root)
{
    struct numbers send = {size, {0}};
    for (int rank = 0; rank < size; rank++) {
        const int above = (rank - root + size) % size, inner = above > 0 && above % 2 == 0 && above + 1 < size;
        const int form = entry(&s->send, rank);
        send.at[rank] = inner && form_facts[form].step ? T_PLAIN : form;
    }
    s->send = send;
}

static inline void all_plain(struct statement *s)
{
    const struct numbers plain = {1, {T_PLAIN}};
    s->send = s->receive = plain;
}

/* Changes a statement into a similar one that the library at hand can carry out. `messages`: some of the program's own
   are open on the communicator. */
static inline void avoid_broken(struct statement *s, int size, int root, int messages)
{
    const struct layout *l = &fuzz_types[s->kind][s->send.at[0]];
    const size_t count = s->items / (size_t)form_facts[s->send.at[0]].items;
    passed_on = s->start || (reduces(s->what) && !commutes(s->operation));
    if (reduces(s->what) && s->start && started_reduction_true_lb_broken(l))
        all_plain(s);
    if (s->what == W_REDUCE && reduce_in_place_broken(root, size, count))
        s->in_place = 0;
    if (s->what == W_ALLREDUCE && allreduce_true_lb_broken(l, count))
        all_plain(s);
    if (s->what == W_GATHER && gather_types_broken(l, size, s->items)) {
        s->what = W_GATHERV;
        s->shape = SHAPE_EVEN;
    }
    if (s->what == W_GATHER && sends_overlap(s) && gather_overlap_broken())
        plain_inside(s, size, root);
    if (s->what == W_SCATTER && scatter_types_broken(l, size)) {
        s->what = W_SCATTERV;
        s->shape = SHAPE_EVEN;
    }
    if (s->what == W_BCAST && types_differ(s) && bcast_two_types_broken(size, s->items))
        all_plain(s);
    if (s->what == W_ALLTOALL && types_differ(s) && alltoall_two_types_broken(size, s->items))
        all_plain(s);
    /* Open MPI (4.1.4, 5.0.11) chooses the algorithm of an Allgatherv by the sizes of the local send type and the local
       receive counts: ranks that describe the same signature by other types choose differently and wait for each other.
       MPICH (4.0.2, 5.0.2) cuts the blocks of its ring into pieces by the local counts: "Message truncated". */
    if (s->what == W_ALLGATHERV && types_differ(s))
        all_plain(s);
    if (kind_facts[s->kind].category == C_UNSIGNED && unsigned_order_broken() &&
        (s->operation == O_MAX || s->operation == O_MIN))
        s->operation = s->operation == O_MAX ? O_BOR : O_BAND;
    if ((s->what == W_ALLTOALL || own_blocks(s->what)) && alltoall_in_place_broken(l, size, s->items))
        s->in_place = 0;
    if (alone_beside_messages_broken(size))
        s->start = 0;
    if (alone_beside_messages_broken(size) && messages)
        s->what = W_BARRIER;
    if (own_blocks(s->what) && s->start && ialltoallv_in_place_broken())
        s->in_place = 0;
    if (s->what == W_ALLTOALLW && alltoallw_alone_broken(size))
        s->what = W_ALLTOALLV;
    if (s->what == W_REDUCE_SCATTER || s->what == W_REDUCE_SCATTER_BLOCK) {
        if (!commutes(s->operation) && reduce_scatter_in_order_broken(size)) {
            all_plain(s);
            s->operation = s->operation == O_FIRST && s->kind != K_MATRIX ? O_USER : s->operation;
        }
        if (!commutes(s->operation) && s->send.at[0] != T_PLAIN && reduce_scatter_in_order_in_place_broken())
            s->in_place = 0;
        const size_t bytes = s->items * 2 * kind_size(s->kind) * (size_t)size;
        if (reduce_scatter_in_place_broken(bytes * (s->send.at[0] == T_PLAIN ? 1 : 6)))
            s->in_place = 0;
    }
}

/* Whether what is behind the result of an in-place Reduce_scatter stays as it was. */
static inline int rest_is_kept(const struct statement *s)
{
    return !(s->what == W_REDUCE_SCATTER || s->what == W_REDUCE_SCATTER_BLOCK) ||
           (!s->start && reduce_scatter_rest_kept(commutes(s->operation)));
}

static inline void rest_accept(const struct buffer *got, struct buffer *want, const struct layout *l, size_t result,
                               size_t total)
{
    const MPI_Aint behind = (MPI_Aint)result * l->extent + (l->item[0].at < 0 ? l->item[0].at : 0);
    /* The last element may end before its extent does. */
    if (total > result)
        memcpy(want->base + behind, got->base + behind, (size_t)(got->raw + got->bytes - GUARD - (got->base + behind)));
}

#endif
