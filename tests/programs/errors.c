/* Invalid calls. For every name of every collective, every argument that can be wrong and two ways to hear of it, every
   rank tells the class of the error, which communicators' handlers were called how often, and whether the communicator
   still works:

     MPI_Bcast root_negative handler rank=0 MPI_ERR_ROOT calls=1 on=own heard=MPI_ERR_ROOT works

   to be compared with what the stock library does. With call= and what= one such call is made by rank 0, on a
   communicator that ends the job.
   Options: call=<name of a collective> what=<argument> */
#include "errors_invalid.h"

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

/* What the handlers have heard since the last line. */
static int heard_calls, heard_code;
static char heard_on[64];
static MPI_Comm own;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    const char *on = *comm == own              ? "own"
                     : *comm == MPI_COMM_WORLD ? "world"
                     : *comm == MPI_COMM_SELF  ? "self"
                                               : "other";
    heard_calls++;
    heard_code = *code;
    snprintf(heard_on + strlen(heard_on), sizeof heard_on - strlen(heard_on), "%s%s", *heard_on ? "," : "", on);
}

static void handle_errors_by(MPI_Errhandler handler)
{
    /* Errors without a communicator go to the world's handler (MPI 3.1) or to that of MPI_COMM_SELF (MPI 4.0). */
    MPI_Comm_set_errhandler(own, handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
}

/* Rank 0 prints every rank's line. */
static void print_line(char *line, size_t room)
{
    if (check_rank != 0) {
        MPI_Send(line, (int)room, MPI_CHAR, 0, TAG_GATHER, MPI_COMM_WORLD);
        return;
    }
    puts(line);
    for (int r = 1; r < check_size; r++) {
        MPI_Recv(line, (int)room, MPI_CHAR, r, TAG_GATHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        puts(line);
    }
    fflush(stdout);
}

static const char *still_works(MPI_Comm comm)
{
    static int ones[1000], sums[1000];
    for (int i = 0; i < 1000; i++)
        ones[i] = i, sums[i] = -1;
    if (MPI_Allreduce(ones, sums, 1000, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS)
        return "fails";
    for (int i = 0; i < 1000; i++)
        if (sums[i] != i * check_size)
            return "errs";
    return "works";
}

static void attempt(const struct names *by, enum collective which, const char *what, const char *handler,
                    struct arguments a)
{
    char line[240];
    heard_calls = 0, heard_code = MPI_SUCCESS, *heard_on = '\0';
    snprintf(check_current, sizeof check_current, "%s%s%s %s %s", by->before, collective_names[which], by->after, what,
             handler);
    const int code = by->call(which, &a);
    const int length = snprintf(line, sizeof line, "%s rank=%d %s calls=%d on=%s", check_current, check_rank,
                                class_name(code), heard_calls, *heard_on ? heard_on : "none");
    snprintf(line + length, sizeof line - (size_t)length, " heard=%s %s", class_name(heard_code), still_works(own));
    print_line(line, sizeof line);
    check_cases++;
}

/* The handle of a communicator that was freed, after its use or before any. */
static MPI_Comm freed_comm(const struct names *by, enum collective which, int used)
{
    MPI_Comm comm, handle;
    MPI_Comm_dup(own, &comm);
    const struct arguments a = valid_arguments(comm);
    if (used && by->call(which, &a) != MPI_SUCCESS)
        fail("the call before the communicator is freed");
    handle = comm;
    MPI_Comm_free(&comm);
    return handle;
}

static void try_name(const struct names *by, const char *handler)
{
    for (int c = 0; c < COLLECTIVES; c++) {
        const enum collective which = (enum collective)c;
        attempt(by, which, "valid", handler, valid_arguments(own));
        for (int k = 0; k < INVALIDS; k++) {
            struct arguments a = valid_arguments(own);
            invalids[k].spoil(&a);
            if ((invalids[k].collectives & ONLY(which)) && !stock_crashes(which, invalids[k].what))
                attempt(by, which, invalids[k].what, handler, a);
        }
        for (int used = 0; used < 2; used++)
            if (!stock_crashes(which, "comm_freed"))
                attempt(by, which, used ? "comm_freed_used" : "comm_freed", handler,
                        valid_arguments(freed_comm(by, which, used)));
        attempt(by, which, "valid_again", handler, valid_arguments(own));
    }
}

static void make_handles(void)
{
    MPI_Type_contiguous(1, MPI_INT, &uncommitted);
    MPI_Type_contiguous(1, MPI_INT, &derived);
    MPI_Type_commit(&derived);
}

/* One call that ends the job, of rank 0; the others are not in MPI, where they would notice and end it another way. */
static void end_by(enum collective which, const char *what)
{
    struct arguments a = valid_arguments(own);
    int found = 0;
    /* Before a handle is freed: what is made later may get it. */
    attempt(&names[0], which, "valid", "fatal", a);
    for (int used = 0; used < 2; used++)
        if (strcmp(what, used ? "comm_freed_used" : "comm_freed") == 0)
            a.comm = freed_comm(&names[0], which, used), found = 1;
    for (int k = 0; k < INVALIDS; k++)
        if (strcmp(invalids[k].what, what) == 0)
            invalids[k].spoil(&a), found = 1;
    if (!found)
        fail("what=%s is not known", what);
    if (check_rank == 0)
        names[0].call(which, &a);
    else
        sleep(20);
    fail("%s has not ended the job", what);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("errors", "call,what", argc, argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    /* Messages name a communicator. */
    MPI_Comm_set_name(own, "own");
    make_handles();
    const char *call = option(argc, argv, "call", 0, NULL);
    for (int c = 0; call && c < COLLECTIVES; c++)
        if (strcmp(collective_names[c], call) == 0)
            end_by((enum collective)c, option(argc, argv, "what", 1, ""));
    if (call)
        fail("call=%s is not known", call);

    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(on_error, &handler);
    for (int n = 0; n < NAMES; n++) {
        handle_errors_by(MPI_ERRORS_RETURN);
        try_name(&names[n], "return");
        handle_errors_by(handler);
        try_name(&names[n], "handler");
    }
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&own);
    MPI_Type_free(&uncommitted);
    MPI_Type_free(&derived);
    check_finish();
    return 0;
}
