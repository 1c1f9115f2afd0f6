/* What can be wrong with an argument, for which collectives, and where a stock library does not live to tell. */
#ifndef ERRORS_INVALID_H
#define ERRORS_INVALID_H

#include "errors_call.h"

#define ONLY(x) (1u << (x))
enum {
    EVERY = ONLY(COLLECTIVES) - 1,
    ROOTED = ONLY(BCAST) | ONLY(REDUCE) | ONLY(GATHER) | ONLY(GATHERV) | ONLY(SCATTER) | ONLY(SCATTERV),
    SCATTERING = ONLY(REDUCE_SCATTER_BLOCK) | ONLY(REDUCE_SCATTER),
    REDUCING = ONLY(REDUCE) | ONLY(ALLREDUCE) | SCATTERING,
    COUNTING = ONLY(ALLTOALLV) | ONLY(ALLTOALLW) | ONLY(REDUCE_SCATTER),
    GATHERING = ONLY(ALLGATHER) | ONLY(ALLGATHERV),
    /* What only the root of Reduce, Gather and Scatter looks at is not tried there: the others would wait for it, or it
       for them. */
    RECEIVING = EVERY & ~ROOTED,
    TYPED_TWICE = ONLY(ALLTOALL) | ONLY(ALLTOALLV) | ONLY(ALLTOALLW) | GATHERING,
    PLACING = ONLY(ALLTOALLV) | ONLY(ALLTOALLW) | ONLY(ALLGATHERV),
};

/* Handles of freed types and operations are not among them: no library checks those, all use what was freed. */
static MPI_Datatype uncommitted, derived;

static void count_negative(struct arguments *a)
{
    a->count = a->last_count = a->receive_count = a->last_receive_count = -1;
}
static void receive_count_negative(struct arguments *a) { a->receive_count = a->last_receive_count = -1; }
static void one_count_negative(struct arguments *a) { a->last_count = -1; }
static void one_receive_count_negative(struct arguments *a) { a->last_receive_count = -1; }
static void counts_missing(struct arguments *a) { a->no_counts = 1; }
static void places_missing(struct arguments *a) { a->no_places = 1; }
static void types_missing(struct arguments *a) { a->no_types = 1; }
static void type_null(struct arguments *a) { a->type = MPI_DATATYPE_NULL; }
static void type_uncommitted(struct arguments *a) { a->type = uncommitted; }
static void receive_type_null(struct arguments *a) { a->receive_type = MPI_DATATYPE_NULL; }
static void receive_type_uncommitted(struct arguments *a) { a->receive_type = uncommitted; }
/* MPICH's handles are numbers that say of what kind they are. */
static void type_of_other_kind(struct arguments *a) { a->type = (MPI_Datatype)(intptr_t)MPI_SUM; }
static void receive_type_of_other_kind(struct arguments *a) { a->receive_type = (MPI_Datatype)(intptr_t)MPI_SUM; }
static void op_of_other_kind(struct arguments *a) { a->op = (MPI_Op)(intptr_t)MPI_INT; }
static void op_null(struct arguments *a) { a->op = MPI_OP_NULL; }
static void op_one_sided(struct arguments *a) { a->op = MPI_REPLACE; }
static void op_not_for_double(struct arguments *a)
{
    a->op = MPI_BAND, a->type = MPI_DOUBLE, a->count = a->last_count = ELEMENTS / 2;
}
static void op_not_for_pair(struct arguments *a) { a->op = MPI_MAXLOC; }
static void op_not_for_derived(struct arguments *a) { a->type = derived; }
static void root_too_large(struct arguments *a) { a->root = check_size; }
static void root_minus_one(struct arguments *a) { a->root = -1; }
static void root_negative(struct arguments *a) { a->root = -7; }
static void buffers_aliased(struct arguments *a) { a->send = receive_data; }
static void own_block_aliased(struct arguments *a) { a->send = receive_data + check_rank * ELEMENTS; }
static void receives_in_place(struct arguments *a) { a->receive = MPI_IN_PLACE; }
static void both_in_place(struct arguments *a) { a->send = a->receive = MPI_IN_PLACE; }
static void send_null(struct arguments *a) { a->send = NULL; }
static void receive_null(struct arguments *a) { a->receive = NULL; }
static void comm_null(struct arguments *a) { a->comm = MPI_COMM_NULL; }

struct invalid {
    const char *what;
    unsigned collectives;
    void (*spoil)(struct arguments *a);
};

static const struct invalid invalids[] = {
    {"count_negative", EVERY, count_negative},
    {"receive_count_negative", ONLY(ALLTOALL) | GATHERING, receive_count_negative},
    {"one_count_negative", COUNTING, one_count_negative},
    {"one_receive_count_negative", PLACING, one_receive_count_negative},
    {"counts_missing", COUNTING | ONLY(ALLGATHERV), counts_missing},
    {"places_missing", PLACING, places_missing},
    {"types_missing", ONLY(ALLTOALLW), types_missing},
    {"type_null", EVERY, type_null},
    {"type_uncommitted", EVERY, type_uncommitted},
    {"receive_type_null", TYPED_TWICE, receive_type_null},
    {"receive_type_uncommitted", TYPED_TWICE, receive_type_uncommitted},
    {"type_of_other_kind", EVERY, type_of_other_kind},
    {"receive_type_of_other_kind", TYPED_TWICE, receive_type_of_other_kind},
    {"op_of_other_kind", REDUCING, op_of_other_kind},
    {"op_null", REDUCING, op_null},
    {"op_one_sided", REDUCING, op_one_sided},
    {"op_not_for_double", REDUCING, op_not_for_double},
    {"op_not_for_pair", REDUCING, op_not_for_pair},
    {"op_not_for_derived", REDUCING, op_not_for_derived},
    {"root_too_large", ROOTED, root_too_large},
    {"root_minus_one", ROOTED, root_minus_one},
    {"root_negative", ROOTED, root_negative},
    {"buffers_aliased", RECEIVING & ~GATHERING, buffers_aliased},
    {"own_block_aliased", GATHERING, own_block_aliased},
    {"receives_in_place", RECEIVING, receives_in_place},
    {"both_in_place", RECEIVING, both_in_place},
    {"send_null", RECEIVING, send_null},
    {"receive_null", RECEIVING, receive_null},
    {"comm_null", EVERY, comm_null},
};
enum { INVALIDS = sizeof invalids / sizeof *invalids };

/* What the stock library itself ends in a crash: Open MPI 4.1.4 and 5.0.11, MPICH 4.0.2 and 5.0.2. */
static int stock_crashes(enum collective which, const char *what)
{
#ifdef OPEN_MPI
    /* A handle is an address: that of a freed communicator is read as if it were one. */
    if (listed("comm_freed,comm_freed_used", what))
        return 1;
    if (listed("type_of_other_kind,receive_type_of_other_kind,op_of_other_kind", what))
        return 1;
    /* Null buffers are not looked for. */
    if (listed("send_null,receive_null", what))
        return 1;
    /* MPI_Allgather looks into the communicator before it checks it. */
    if (which == ALLGATHER && strcmp(what, "comm_null") == 0)
        return 1;
    /* MPI_Allgatherv looks at its counts no sooner than it uses them. */
    return which == ALLGATHERV && listed("receive_count_negative,one_receive_count_negative,counts_missing", what);
#else
    /* Arrays are read before they are looked for. */
    if (listed("counts_missing,places_missing,types_missing", what))
        return 1;
    /* Reductions that have one count do not check it, and copy -4 bytes. */
    const unsigned reduces = ONLY(which) & REDUCING;
    if (reduces && which != REDUCE_SCATTER && strcmp(what, "count_negative") == 0)
        return 1;
    /* MPICH 5.0 asks whether the operation is for the type before it checks the type. */
    return MPICH_NUMVERSION >= 50000000 && reduces && strcmp(what, "type_null") == 0;
#endif
}

#endif
