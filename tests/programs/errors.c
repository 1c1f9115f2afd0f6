/* Invalid calls: which error class each collective returns, one line per case "bcast negative_count MPI_ERR_COUNT", so that the
   output of the stock library and of the library under test can be compared. After each, a valid call must still work. */
#include "check.h"

enum collective { BCAST, REDUCE, ALLREDUCE, ALLTOALL, ALLTOALLV, GATHER, ALLGATHER, REDUCE_SCATTER_BLOCK, REDUCE_SCATTER, COLLECTIVES };
static const char *const collective_names[] = {"bcast",  "reduce",    "allreduce",            "alltoall",      "alltoallv",
                                               "gather", "allgather", "reduce_scatter_block", "reduce_scatter"};

struct arguments {
    int count, root;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Comm comm;
};

static int send_data[64], receive_data[64];
/* Of Alltoallv and Reduce_scatter: the same count for all ranks but the last. */
static int counts[16], places[16];
static int last_count_negative, no_counts;

static const char *class_name(int code)
{
    static const struct {
        int number;
        const char *name;
    } known[] = {
        {MPI_SUCCESS, "MPI_SUCCESS"}, {MPI_ERR_BUFFER, "MPI_ERR_BUFFER"}, {MPI_ERR_COUNT, "MPI_ERR_COUNT"},
        {MPI_ERR_TYPE, "MPI_ERR_TYPE"}, {MPI_ERR_COMM, "MPI_ERR_COMM"},   {MPI_ERR_ROOT, "MPI_ERR_ROOT"},
        {MPI_ERR_OP, "MPI_ERR_OP"},     {MPI_ERR_ARG, "MPI_ERR_ARG"},     {MPI_ERR_RANK, "MPI_ERR_RANK"},
        {MPI_ERR_OTHER, "MPI_ERR_OTHER"}, {MPI_ERR_INTERN, "MPI_ERR_INTERN"}, {MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE"},
    };
    static char other[32];
    int number = code;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &number);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (known[k].number == number)
            return known[k].name;
    snprintf(other, sizeof other, "class_%d", number);
    return other;
}

static int call(enum collective which, const struct arguments *a)
{
    for (int r = 0; r < check_size; r++) {
        counts[r] = a->count;
        places[r] = 4 * r;
    }
    if (last_count_negative)
        counts[check_size - 1] = -1;
    switch (which) {
    case BCAST:
        return MPI_Bcast(send_data, a->count, a->type, a->root, a->comm);
    case REDUCE:
        return MPI_Reduce(send_data, receive_data, a->count, a->type, a->op, a->root, a->comm);
    case ALLREDUCE:
        return MPI_Allreduce(send_data, receive_data, a->count, a->type, a->op, a->comm);
    case ALLTOALLV:
        return MPI_Alltoallv(send_data, no_counts ? NULL : counts, places, a->type, receive_data, no_counts ? NULL : counts, places,
                             a->type, a->comm);
    case GATHER:
        return MPI_Gather(send_data, a->count, a->type, receive_data, a->count, a->type, a->root, a->comm);
    case ALLGATHER:
        return MPI_Allgather(send_data, a->count, a->type, receive_data, a->count, a->type, a->comm);
    case REDUCE_SCATTER_BLOCK:
        return MPI_Reduce_scatter_block(send_data, receive_data, a->count, a->type, a->op, a->comm);
    case REDUCE_SCATTER:
        return MPI_Reduce_scatter(send_data, receive_data, no_counts ? NULL : counts, a->type, a->op, a->comm);
    default:
        return MPI_Alltoall(send_data, a->count, a->type, receive_data, a->count, a->type, a->comm);
    }
}

/* Rank 0 prints its own line, and one for each rank that differs. */
static void print_line(const char *line)
{
    char other[160] = {0};
    if (check_rank != 0) {
        snprintf(other, sizeof other, "%s", line);
        MPI_Send(other, sizeof other, MPI_CHAR, 0, TAG_GATHER, MPI_COMM_WORLD);
        return;
    }
    printf("%s\n", line);
    for (int r = 1; r < check_size; r++) {
        MPI_Recv(other, sizeof other, MPI_CHAR, r, TAG_GATHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (strcmp(other, line) != 0)
            printf("rank=%d %s\n", r, other);
    }
    fflush(stdout);
}

static void expect_still_works(MPI_Comm comm)
{
    int size, one = 1, sum = 0;
    MPI_Comm_size(comm, &size);
    if (MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS || sum != size)
        fail("allreduce after the invalid call: got=%d expected=%d", sum, size);
    check_cases++;
}

static void try_invalid(enum collective which, const char *what, struct arguments a)
{
    char line[160];
    snprintf(check_current, sizeof check_current, "%s %s", collective_names[which], what);
    snprintf(line, sizeof line, "%s %s %s", collective_names[which], what, class_name(call(which, &a)));
    print_line(line);
    expect_still_works(MPI_COMM_WORLD);
}

static int handler_calls, handler_code;
static MPI_Comm handler_comm;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    handler_calls++;
    handler_code = *code;
    handler_comm = *comm;
}

/* A user's error handler is called once, with the user's communicator. */
static void try_handler(enum collective which, const char *what, struct arguments a)
{
    char line[160];
    handler_calls = 0;
    handler_comm = MPI_COMM_NULL;
    snprintf(check_current, sizeof check_current, "%s %s handler", collective_names[which], what);
    const int code = call(which, &a);
    snprintf(line, sizeof line, "%s %s handler calls=%d same_communicator=%s same_code=%s %s", collective_names[which], what,
             handler_calls, handler_comm == a.comm ? "yes" : "no", handler_code == code ? "yes" : "no", class_name(handler_code));
    print_line(line);
    expect_still_works(a.comm);
}

/* MPICH (4.0.2, 5.0.2) does not check the count of reductions that have one, and copies -4 bytes. */
static int crashes_with_negative_count(enum collective which)
{
#ifdef MPICH_NUMVERSION
    return which == REDUCE || which == ALLREDUCE || which == REDUCE_SCATTER_BLOCK;
#else
    (void)which;
    return 0;
#endif
}

/* Open MPI 4.1's MPI_Allgather looks into the communicator before it checks it. */
static int crashes_without_communicator(enum collective which)
{
#ifdef OPEN_MPI
    return which == ALLGATHER;
#else
    (void)which;
    return 0;
#endif
}

static void try_all(void (*attempt)(enum collective, const char *, struct arguments), MPI_Comm comm)
{
    const struct arguments valid = {4, 0, MPI_INT, MPI_SUM, comm};
    MPI_Datatype uncommitted;
    MPI_Type_contiguous(1, MPI_INT, &uncommitted);
    for (int c = 0; c < COLLECTIVES; c++) {
        const enum collective which = (enum collective)c;
        const int rooted = which == BCAST || which == REDUCE || which == GATHER, scatters = which >= REDUCE_SCATTER_BLOCK;
        const int reduces = which == REDUCE || which == ALLREDUCE || scatters;
        struct arguments a = valid;
        a.count = -1;
        if (!crashes_with_negative_count(which))
            attempt(which, "negative_count", a);
        if (which == ALLTOALLV || which == REDUCE_SCATTER) {
            last_count_negative = 1;
            attempt(which, "one_negative_count", valid);
            last_count_negative = 0;
            /* MPICH does not check for it and reads them. */
#ifdef OPEN_MPI
            no_counts = 1;
            attempt(which, "no_counts", valid);
            no_counts = 0;
#endif
        }
        a = valid, a.type = MPI_DATATYPE_NULL;
        attempt(which, "datatype_null", a);
        a = valid, a.type = uncommitted;
        attempt(which, "datatype_uncommitted", a);
        a = valid, a.root = check_size;
        if (rooted)
            attempt(which, "root_too_large", a);
        a = valid, a.root = -7;
        if (rooted)
            attempt(which, "root_negative", a);
        a = valid, a.op = MPI_OP_NULL;
        if (reduces)
            attempt(which, "op_null", a);
        a = valid, a.op = MPI_BAND, a.type = MPI_DOUBLE;
        if (reduces)
            attempt(which, "op_not_for_type", a);
    }
    MPI_Type_free(&uncommitted);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("errors", "", argc, argv);
    /* Errors without a communicator go to the world's handler (MPI 3.1) or to that of MPI_COMM_SELF (MPI 4.0). */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    try_all(try_invalid, MPI_COMM_WORLD);
    for (int c = 0; c < COLLECTIVES; c++)
        if (!crashes_without_communicator((enum collective)c))
            try_invalid((enum collective)c, "comm_null", (struct arguments){4, 0, MPI_INT, MPI_SUM, MPI_COMM_NULL});

    MPI_Errhandler handler;
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(dup, handler);
    MPI_Errhandler_free(&handler);
    try_all(try_handler, dup);
    MPI_Comm_free(&dup);
    check_finish();
    return 0;
}
