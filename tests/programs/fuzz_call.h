/* A collective call: its buffers, the function called, and the comparison when it has completed. */
#ifndef FUZZ_CALL_H
#define FUZZ_CALL_H

#include "fuzz_avoid.h"

/* A call that has begun. */
struct pending {
    struct statement s;
    MPI_Comm comm;
    int rank, size, root;
    struct side_blocks out, in;
    /* What is sent, its copy that MPI sees, what is received, and what should be. Some may be absent. */
    struct buffer mine, sent, got, want;
    /* Elements of the result of a reduction; its first value in the whole vector, and the last rank combined. */
    size_t result, first;
    int last;
    MPI_Request request;
};

static inline const struct layout *layout_of(const struct statement *s, const struct numbers *forms, int rank)
{
    return &fuzz_types[s->kind][entry(forms, rank)];
}

static inline int receives(const struct pending *p)
{
    switch (p->s.what) {
    case W_REDUCE:
    case W_GATHER:
    case W_GATHERV:
        return p->rank == p->root;
    case W_SCATTER:
    case W_SCATTERV:
        return !(p->s.in_place && p->rank == p->root);
    case W_BARRIER:
        return 0;
    default:
        return 1;
    }
}

static inline int sends(const struct pending *p)
{
    switch (p->s.what) {
    case W_BARRIER:
    case W_BCAST:
        return 0;
    case W_SCATTER:
    case W_SCATTERV:
        return p->rank == p->root;
    case W_REDUCE:
    case W_GATHER:
    case W_GATHERV:
        return !(p->s.in_place && p->rank == p->root);
    default:
        return !p->s.in_place;
    }
}

static inline int placement_of(const struct statement *s, int shift)
{
    const int displaced =
        own_blocks(s->what) || s->what == W_GATHERV || s->what == W_SCATTERV || s->what == W_ALLGATHERV;
    return displaced ? (s->salt + shift) % 3 : PLACED_IN_ORDER;
}

/* The size of block k of one side. */
static inline size_t side_items(const struct pending *p, int is_out, int k)
{
    switch (p->s.what) {
    case W_ALLTOALLV:
    case W_ALLTOALLW:
        return is_out ? block_items(&p->s, p->size, p->rank, k) : block_items(&p->s, p->size, k, p->rank);
    case W_GATHERV:
    case W_ALLGATHERV:
        return is_out ? block_items(&p->s, p->size, p->rank, p->rank) : block_items(&p->s, p->size, k, k);
    case W_SCATTERV:
        return is_out ? block_items(&p->s, p->size, k, k) : block_items(&p->s, p->size, p->rank, p->rank);
    case W_REDUCE_SCATTER: /* the vector is one block for each rank */
        return block_items(&p->s, p->size, k, k);
    default:
        return p->s.items;
    }
}

static inline void side_prepare(struct pending *p, struct side_blocks *side, int is_out, int blocks)
{
    side->layout = layout_of(&p->s, is_out ? &p->s.send : &p->s.receive, p->rank);
    side->blocks = blocks;
    for (int k = 0; k < blocks; k++)
        side->elements[k] = side_items(p, is_out, k) / (size_t)side->layout->items;
    /* A single block has no displacement. */
    blocks_place(side, blocks > 1 ? placement_of(&p->s, is_out ? 0 : 1) : PLACED_IN_ORDER);
    if (p->s.what == W_ALLTOALLW)
        blocks_type(side);
}

/* The whole vector of a reduction on the sending side, and this rank's part of the result on the other. */
static inline void prepare_reduction(struct pending *p)
{
    const struct statement *s = &p->s;
    const int scattered = s->what == W_REDUCE_SCATTER || s->what == W_REDUCE_SCATTER_BLOCK;
    side_prepare(p, &p->out, 1, scattered ? p->size : 1);
    const struct layout *l = p->out.layout;
    const size_t total = p->out.total;
    p->result = scattered ? p->out.elements[p->rank] : total;
    p->first = scattered ? p->out.at[p->rank] * (size_t)l->items : 0;
    p->last = s->what == W_SCAN ? p->rank : s->what == W_EXSCAN ? p->rank - 1 : p->size - 1;
    p->mine = buffer_new(l, total);
    buffer_fill(&p->mine, l, 0, total, contribution_flavour(s), p->rank, data_index(s, 0));
    const int in_place = s->in_place && receives(p);
    p->got = in_place ? buffer_copy(&p->mine) : buffer_new(l, p->result);
    p->want = buffer_copy(&p->got);
    p->in.layout = l;
    p->in.total = in_place ? total : p->result;
    if (receives(p) && p->last >= 0)
        combined_fill(&p->want, l, s, p->last, p->first, p->result);
    if (sends(p))
        p->sent = buffer_copy(&p->mine);
}

static inline void prepare_bcast(struct pending *p)
{
    side_prepare(p, &p->in, p->rank == p->root, 1);
    p->want = buffer_new(p->in.layout, p->in.total);
    p->got = buffer_copy(&p->want);
    block_fill(&p->want, &p->in, 0, &p->s, p->root, 0);
    if (p->rank == p->root)
        block_fill(&p->got, &p->in, 0, &p->s, p->root, 0);
}

/* Which rank a block is for, as far as data depend on it. */
static inline int addressee(const struct pending *p, int to)
{
    return p->s.what == W_ALLGATHER || p->s.what == W_ALLGATHERV ? 0 : to;
}

static inline void prepare_blocks(struct pending *p)
{
    const enum what what = p->s.what;
    const int to_all = what == W_ALLTOALL || own_blocks(what) || what == W_SCATTER || what == W_SCATTERV;
    const int scatters = what == W_SCATTER || what == W_SCATTERV, gathers = what == W_GATHER || what == W_GATHERV;
    side_prepare(p, &p->out, 1, to_all ? p->size : 1);
    side_prepare(p, &p->in, 0, scatters ? 1 : p->size);
    p->mine = buffer_new(p->out.layout, p->out.total);
    for (int k = 0; k < p->out.blocks; k++)
        block_fill(&p->mine, &p->out, k, &p->s, p->rank, addressee(p, to_all ? k : p->root));
    if (sends(p))
        p->sent = buffer_copy(&p->mine);
    p->want = buffer_new(p->in.layout, p->in.total);
    p->got = buffer_copy(&p->want);
    if (!receives(p))
        return;
    for (int k = 0; k < p->in.blocks; k++) {
        block_fill(&p->want, &p->in, k, &p->s, scatters ? p->root : k, addressee(p, gathers ? p->root : p->rank));
        if (p->s.in_place && (what == W_ALLTOALL || own_blocks(what)))
            block_fill(&p->got, &p->in, k, &p->s, p->rank, k);
        else if (p->s.in_place && !scatters && k == p->rank)
            block_fill(&p->got, &p->in, k, &p->s, p->rank, addressee(p, p->root));
    }
}

#if MPI_VERSION >= 4
#define RUN(name, iname, ...) \
    (p->s.start ? (p->s.large ? MPI_##iname##_c(__VA_ARGS__, &p->request) : MPI_##iname(__VA_ARGS__, &p->request)) \
                : (p->s.large ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__)))
#define RUN_LISTS(name, iname, arguments) \
    (p->s.start ? (p->s.large ? MPI_##iname##_c(arguments(large_count, large_displacement), &p->request) \
                              : MPI_##iname(arguments(count, displacement), &p->request)) \
                : (p->s.large ? MPI_##name##_c(arguments(large_count, large_displacement)) \
                              : MPI_##name(arguments(count, displacement))))
#else
#define RUN(name, iname, ...) (p->s.start ? MPI_##iname(__VA_ARGS__, &p->request) : MPI_##name(__VA_ARGS__))
#define RUN_LISTS(name, iname, arguments) \
    (p->s.start ? MPI_##iname(arguments(count, displacement), &p->request) : MPI_##name(arguments(count, displacement)))
#endif

#define ALLTOALLV_ARGUMENTS(c, d) \
    send, in_place ? NULL : p->out.c, in_place ? NULL : p->out.d, type, receive, p->in.c, p->in.d, in_type, p->comm
#define ALLTOALLW_ARGUMENTS(c, d) \
    send, in_place ? NULL : p->out.c, in_place ? NULL : p->out.d, in_place ? NULL : p->out.type, receive, p->in.c, \
        p->in.d, p->in.type, p->comm
#define GATHERV_ARGUMENTS(c, d) send, count, type, receive, p->in.c, p->in.d, in_type, p->root, p->comm
#define SCATTERV_ARGUMENTS(c, d) send, p->out.c, p->out.d, type, receive, in_count, in_type, p->root, p->comm
#define ALLGATHERV_ARGUMENTS(c, d) send, count, type, receive, p->in.c, p->in.d, in_type, p->comm
#define REDUCE_SCATTER_ARGUMENTS(c, d) send, receive, p->out.c, in_type, op, p->comm

/* Calls MPI. What is not significant on a rank is absent or nonsense there, or neither, as the salt says. */
static inline int issue(struct pending *p)
{
    const int in_place = p->s.in_place && !sends(p), nonsense = p->s.salt % 2;
    const int scatters = p->s.what == W_SCATTER || p->s.what == W_SCATTERV;
    const MPI_Op op = operation_facts[p->s.operation].op;
    const void *send = in_place ? MPI_IN_PLACE : sends(p) ? blocks_pointer(&p->out, &p->sent) : NULL;
    void *receive = p->got.raw ? blocks_pointer(&p->in, &p->got) : NULL;
    MPI_Datatype type = p->out.layout ? p->out.layout->type : MPI_DATATYPE_NULL;
    MPI_Datatype in_type = p->in.layout ? p->in.layout->type : MPI_DATATYPE_NULL;
    int count = p->out.count[0], in_count = p->in.count[0];
    if (!receives(p) && nonsense) {
        receive = NULL;
        if (p->s.what == W_GATHER || p->s.what == W_GATHERV) {
            in_count = -1;
            in_type = MPI_DATATYPE_NULL;
        }
    }
    if (in_place && !reduces(p->s.what)) {
        count = 0;
        type = MPI_DATATYPE_NULL;
    }
    if (scatters && !sends(p) && nonsense) {
        count = -1;
        type = MPI_DATATYPE_NULL;
    }
    if (scatters && p->s.in_place && p->rank == p->root) {
        send = blocks_pointer(&p->out, &p->sent);
        receive = MPI_IN_PLACE;
    }
    switch (p->s.what) {
    case W_BCAST:
        return RUN(Bcast, Ibcast, receive, in_count, in_type, p->root, p->comm);
    case W_REDUCE:
        return RUN(Reduce, Ireduce, send, receive, count, in_type, op, p->root, p->comm);
    case W_ALLREDUCE:
        return RUN(Allreduce, Iallreduce, send, receive, count, in_type, op, p->comm);
    case W_SCAN:
        return RUN(Scan, Iscan, send, receive, count, in_type, op, p->comm);
    case W_EXSCAN:
        return RUN(Exscan, Iexscan, send, receive, count, in_type, op, p->comm);
    case W_REDUCE_SCATTER_BLOCK:
        return RUN(Reduce_scatter_block, Ireduce_scatter_block, send, receive, count, in_type, op, p->comm);
    case W_REDUCE_SCATTER:
        return RUN_LISTS(Reduce_scatter, Ireduce_scatter, REDUCE_SCATTER_ARGUMENTS);
    case W_ALLTOALL:
        return RUN(Alltoall, Ialltoall, send, count, type, receive, in_count, in_type, p->comm);
    case W_ALLTOALLV:
        return RUN_LISTS(Alltoallv, Ialltoallv, ALLTOALLV_ARGUMENTS);
    case W_ALLTOALLW:
        return RUN_LISTS(Alltoallw, Ialltoallw, ALLTOALLW_ARGUMENTS);
    case W_GATHER:
        return RUN(Gather, Igather, send, count, type, receive, in_count, in_type, p->root, p->comm);
    case W_GATHERV:
        return RUN_LISTS(Gatherv, Igatherv, GATHERV_ARGUMENTS);
    case W_SCATTER:
        return RUN(Scatter, Iscatter, send, count, type, receive, in_count, in_type, p->root, p->comm);
    case W_SCATTERV:
        return RUN_LISTS(Scatterv, Iscatterv, SCATTERV_ARGUMENTS);
    case W_ALLGATHER:
        return RUN(Allgather, Iallgather, send, count, type, receive, in_count, in_type, p->comm);
    case W_ALLGATHERV:
        return RUN_LISTS(Allgatherv, Iallgatherv, ALLGATHERV_ARGUMENTS);
    default:
        return p->s.start ? MPI_Ibarrier(p->comm, &p->request) : MPI_Barrier(p->comm);
    }
}

/* Begins a call; a blocking one has completed then. */
static inline struct pending *call_begin(const struct statement *s, const struct fuzz_comm *comm, int messages)
{
    struct pending *p = calloc(1, sizeof *p);
    if (!p)
        fail("out of memory: %zu bytes", sizeof *p);
    p->s = *s;
    p->comm = comm->comm;
    p->rank = comm->rank;
    p->size = comm->size;
    p->root = s->root % comm->size;
    p->request = MPI_REQUEST_NULL;
    avoid_broken(&p->s, p->size, p->root, messages);
    if (reduces(p->s.what))
        prepare_reduction(p);
    else if (p->s.what == W_BCAST)
        prepare_bcast(p);
    else if (p->s.what != W_BARRIER)
        prepare_blocks(p);
    const int code = issue(p);
    if (code != MPI_SUCCESS)
        fail("returned error code %d", code);
    return p;
}

/* Of the bits of the result (FNV-1a). */
static inline uint64_t digest_of(const struct pending *p)
{
    uint64_t sum = 1469598103934665603u;
    for (size_t i = 0; i < p->got.bytes; i++)
        sum = (sum ^ p->got.raw[i]) * 1099511628211u;
    return sum;
}

/* Rank 0 receives everybody's digest, over the test's own communicator. */
static inline void same_bits(const struct pending *p, const struct fuzz_comm *comm, MPI_Comm own)
{
    const int tag = p->s.id % 30000;
    uint64_t mine = digest_of(p), other;
    if (p->rank != 0) {
        MPI_Send(&mine, 1, MPI_UINT64_T, comm->world[0], tag, own);
        return;
    }
    for (int r = 1; r < p->size; r++) {
        MPI_Recv(&other, 1, MPI_UINT64_T, comm->world[r], tag, own, MPI_STATUS_IGNORE);
        if (other != mine)
            fail("rank 0 and rank %d have different bits", r);
    }
}

/* A statement whose result is spoiled on purpose, and at which byte of the whole buffer: below 0 is none, and the
   middle. */
struct corruption {
    int statement;
    long byte;
};

static inline void spoil(struct buffer *b, long byte)
{
    b->raw[byte < 0 ? b->bytes / 2 : (size_t)byte % b->bytes] ^= 0x40;
}

/* Waits for a call that was started, compares, and forgets it. */
static inline void call_end(struct pending *p, const struct fuzz_comm *comm, MPI_Comm own,
                            const struct corruption *corrupt)
{
    if (p->s.start)
        MPI_Wait(&p->request, MPI_STATUS_IGNORE);
    if (p->s.what != W_BARRIER) {
        const struct layout *l = p->in.layout;
        if (p->s.id == corrupt->statement && p->rank == p->size - 1)
            spoil(&p->got, corrupt->byte);
        if (p->s.what == W_EXSCAN && p->rank == 0)
            memcpy(p->want.base, p->got.base, (size_t)(p->got.raw + p->got.bytes - GUARD - p->got.base));
        padding_accept(&p->got, &p->want, l, p->in.total);
        if (p->s.in_place && !rest_is_kept(&p->s))
            rest_accept(&p->got, &p->want, l, p->result, p->in.total);
        if (reduces(p->s.what) && p->s.operation == O_PROD && kind_facts[p->s.kind].category == C_COMPLEX) {
            zeros_accept(&p->got, l, p->result);
            zeros_accept(&p->want, l, p->result);
        }
        if (p->s.rounding && receives(p) && p->last >= 0)
            rounding_accept(&p->got, &p->want, l, &p->s, p->last, p->first, p->result);
        buffer_expect(&p->got, &p->want, l, p->in.total, "receive buffer");
        if (p->sent.raw)
            buffer_expect(&p->sent, &p->mine, p->out.layout, p->out.total, "send buffer");
        if (p->s.rounding && p->s.what == W_ALLREDUCE)
            same_bits(p, comm, own);
    }
    buffer_free(&p->mine);
    buffer_free(&p->sent);
    buffer_free(&p->got);
    buffer_free(&p->want);
    free(p);
}

#endif
