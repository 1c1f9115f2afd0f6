/* Cases as they are read: statements in order. The language is described in crates/verify/src/fuzz/mod.rs. */
#ifndef FUZZ_CASE_H
#define FUZZ_CASE_H

#include "fuzz_type.h"

enum { MAX_RANKS = 64, MAX_STATEMENTS = 1024, MAX_COMMS_OF_CASE = 1024, MAX_THREADS = 8 };

enum verb { V_COMM, V_FREE, V_CALL, V_FINISH, V_MESSAGE, V_STALL, VERBS };
static const char *const verb_names[VERBS] = {"comm", "free", "call", "finish", "message", "stall"};

enum make { M_DUP, M_IDUP, M_SPLIT, M_CART, M_SUB, M_GROUP, M_CREATE, M_MERGE, MAKES };
static const char *const make_names[MAKES] = {"dup", "idup", "split", "cart", "sub", "group", "create", "merge"};

enum what {
    W_BCAST, W_REDUCE, W_ALLREDUCE, W_ALLTOALL, W_ALLTOALLV, W_GATHER, W_ALLGATHER, W_REDUCE_SCATTER_BLOCK,
    W_REDUCE_SCATTER, W_BARRIER, W_SCATTER, W_GATHERV, W_SCATTERV, W_ALLGATHERV, W_ALLTOALLW, W_SCAN, W_EXSCAN,
    WHATS
};
static const char *const what_names[WHATS] = {"bcast",          "reduce",     "allreduce", "alltoall",
                                              "alltoallv",      "gather",     "allgather", "reduce_scatter_block",
                                              "reduce_scatter", "barrier",    "scatter",   "gatherv",
                                              "scatterv",       "allgatherv", "alltoallw", "scan",
                                              "exscan"};

enum shape { SHAPE_EVEN, SHAPE_RAGGED, SHAPE_SPARSE, SHAPE_ONE, SHAPE_ZERO, SHAPE_RARE, SHAPES };
static const char *const shape_names[SHAPES] = {"even", "ragged", "sparse", "one", "zero", "rare"};

/* One entry for each rank, or one for all. */
struct numbers {
    int n;
    int at[MAX_RANKS];
};

static inline int entry(const struct numbers *list, int rank)
{
    return list->at[rank % list->n];
}

struct statement {
    enum verb verb;
    int line, id, thread;
    /* The communicator used, or the one made. */
    int comm;
    /* comm */
    int of, reorder, low, high;
    enum make make;
    /* free */
    int disconnect;
    struct numbers colors, keys, dims, periods, keep, ranks;
    /* call */
    enum what what;
    enum kind kind;
    enum operation operation;
    enum shape shape;
    size_t items;
    struct numbers send, receive;
    int root, in_place, salt, rounding, start, large;
    /* Carried out when the communicator's attribute is deleted. */
    int last;
    /* shape=rare: how often the call is made, every how many times a rank has data for another, who is stopped while it
       waits, and for how many milliseconds (also of a stall). */
    int times, every, slow, ms;
    /* message */
    int from, to, tag, wild, early;
    /* finish: the index of the statement that started */
    int started;
};

struct test_case {
    int id, line, threads, statements;
    struct statement statement[MAX_STATEMENTS];
};

static inline int reduces(enum what what)
{
    return what == W_REDUCE || what == W_ALLREDUCE || what == W_REDUCE_SCATTER_BLOCK || what == W_REDUCE_SCATTER ||
           what == W_SCAN || what == W_EXSCAN;
}

static inline int rooted(enum what what)
{
    return what == W_BCAST || what == W_REDUCE || what == W_GATHER || what == W_SCATTER || what == W_GATHERV ||
           what == W_SCATTERV;
}

/* Whether each rank has a block of its own size for each other. */
static inline int own_blocks(enum what what)
{
    return what == W_ALLTOALLV || what == W_ALLTOALLW;
}

/* Whether a rank that sends has a block for each rank. */
static inline int sends_blocks(enum what what)
{
    return what == W_ALLTOALL || own_blocks(what) || what == W_SCATTER || what == W_SCATTERV;
}

/* Whether blocks of different ranks may differ in size. */
static inline int shaped(enum what what)
{
    return own_blocks(what) || what == W_REDUCE_SCATTER || what == W_GATHERV || what == W_SCATTERV ||
           what == W_ALLGATHERV;
}

#endif
