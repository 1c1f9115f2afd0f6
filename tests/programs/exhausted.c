/* Memory runs out in one call of every collective, on all ranks: its error must be MPI_ERR_NO_MEM, told to the
   communicator's handler once, and the same call must work on another communicator when there is memory again. Elements
   have gaps where a reduction does not forbid it, so that copies are needed. With needed=some there are ranks that can
   do without, which may have the same error or none, in this call and in the next on the communicator: a line
   `without collective= call= rank=` for each error. Options: count=<elements in a block> collective=all
   handler=own|fatal needed=all|some ranks=ordered|reversed threads=single|multiple. Ends like every program that
   verifies, with handler=fatal by that handler. */
#include "by_name.h"
#include <sys/resource.h>

/* Memory that is left beyond what the process has: enough for the library under it, and where some are to go on for
   more. */
enum { LEFT = 4 << 20, LEFT_SOME = 12 << 20 };

static int heard, heard_class;

/* This rank in the communicators of the calls. */
static int own;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    heard++;
    MPI_Error_class(*code, &heard_class);
}

/* Bytes of address space in use. */
static rlim_t in_use(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        fail("/proc/self/statm cannot be read");
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void limit_to(rlim_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0)
        fail("getrlimit");
    limit.rlim_cur = bytes;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        fail("setrlimit");
}

/* Fails unless a call has had the error and the handler was called once, or, if `or_none`, neither. Says whether it has
   had it. */
static int had_error(int code, int or_none)
{
    int class = -1;
    MPI_Error_class(code, &class);
    const int none = or_none && code == MPI_SUCCESS && heard == 0;
    if (!none && (class != MPI_ERR_NO_MEM || heard != 1 || heard_class != MPI_ERR_NO_MEM))
        fail("error class %d, the handler was called %d times, with %d; expected MPI_ERR_NO_MEM (%d)", class, heard,
             heard_class, MPI_ERR_NO_MEM);
    heard = 0;
    check_cases++;
    return !none;
}

/* The number of rank `rank` at `index`. */
static int number(int rank, int index)
{
    return rank * 1000 + index % 997;
}

static int sum(int index)
{
    return check_size * (check_size - 1) / 2 * 1000 + check_size * (index % 997);
}

/* Integer `at` of the result of a call in which every rank gave number(rank, i) at its i-th element. */
static int expected(const char *name, int block, int at)
{
    if (strncmp(name, "reduce_scatter", 14) == 0)
        return sum(own * block + at);
    if (strcmp(name, "reduce") == 0 || strcmp(name, "allreduce") == 0)
        return sum(at);
    if (strncmp(name, "scatter", 7) == 0)
        return number(0, own * block + at);
    if (strncmp(name, "alltoall", 8) == 0)
        return number(at / block, own * block + at % block);
    return number(at / block, at % block);
}

int main(int argc, char **argv)
{
    const int multiple = strcmp(option(argc, argv, "threads", 5, "single"), "multiple") == 0;
    int provided;
    MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    check_start("exhausted", "count,collective,handler,needed,ranks,threads", argc, argv);
    if (multiple && provided != MPI_THREAD_MULTIPLE)
        fail("thread level %d, expected %d", provided, MPI_THREAD_MULTIPLE);
    const int reversed = strcmp(option(argc, argv, "ranks", 4, "ordered"), "reversed") == 0;
    MPI_Comm base;
    MPI_Comm_split(MPI_COMM_WORLD, 0, reversed ? -check_rank : check_rank, &base);
    MPI_Comm_rank(base, &own);
    const int block = (int)option_number(argc, argv, "count", 0, 1 << 20), whole = block * check_size;
    int *in = malloc(2 * (size_t)whole * sizeof *in), *out = malloc(2 * (size_t)whole * sizeof *out);
    MPI_Datatype spaced;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(on_error, &handler);
    const int fatal = strcmp(option(argc, argv, "handler", 2, "own"), "fatal") == 0;
    const int some = strcmp(option(argc, argv, "needed", 3, "all"), "some") == 0;
    for (size_t k = 0; k < sizeof by_name / sizeof *by_name; k++) {
        const char *name = by_name[k];
        if (!listed(option(argc, argv, "collective", 1, "all"), name))
            continue;
        const int plain = some || strstr(name, "reduce"), step = plain ? 1 : 2;
        MPI_Comm comm = MPI_COMM_NULL;
        for (int attempt = 0; attempt < 3; attempt++) {
            /* The communicator's first call makes its plans and meets its peers; one that has failed goes on
               failing. */
            if (attempt != 1) {
                if (comm != MPI_COMM_NULL)
                    MPI_Comm_free(&comm);
                MPI_Comm_dup(base, &comm);
                if (!fatal)
                    MPI_Comm_set_errhandler(comm, handler);
            }
            const int n = attempt == 0 ? 64 : block;
            for (int i = 0; i < n * check_size; i++) {
                in[step * i] = number(own, i);
                out[step * i] = -1;
            }
            snprintf(check_current, sizeof check_current, "%s attempt=%d", name, attempt);
            heard = 0;
            message_barrier(MPI_COMM_WORLD);
            if (attempt == 1)
                limit_to(in_use() + (some ? LEFT_SOME : LEFT));
            int code = call_by_name(name, in, out, n, plain ? MPI_INT : spaced, comm);
            /* What was left unread must not reach the communicators that come after. */
            for (int again = 0; attempt == 2 && again < 3 && code == MPI_SUCCESS; again++)
                code = call_by_name(name, in, out, n, plain ? MPI_INT : spaced, comm);
            limit_to(RLIM_INFINITY);
            message_barrier(MPI_COMM_WORLD);
            if (attempt == 1) {
                if (had_error(code, some) && some)
                    printf("without collective=%s call=1 rank=%d\n", name, check_rank);
                if (!some)
                    continue;
                snprintf(check_current, sizeof check_current, "%s after the error", name);
                if (had_error(call_by_name(name, in, out, n, MPI_INT, comm), 1))
                    printf("without collective=%s call=2 rank=%d\n", name, check_rank);
                fflush(stdout);
                snprintf(check_current, sizeof check_current, "%s barrier", name);
                message_barrier(MPI_COMM_WORLD);
                continue;
            }
            if (code != MPI_SUCCESS || heard != 0)
                fail("code %d, the handler was called %d times", code, heard);
            if ((strcmp(name, "reduce") == 0 || strncmp(name, "gather", 6) == 0) && own != 0)
                continue;
            const int bcast = strcmp(name, "bcast") == 0,
                      results = strstr(name, "scatter") ? n : n * check_size;
            for (int i = 0; i < results; i++) {
                const int got = bcast ? in[step * i] : out[step * i],
                          want = bcast ? number(0, i) : expected(name, n, i);
                if (got != want)
                    fail("element %d is %d, expected %d", i, got, want);
            }
            check_cases++;
        }
        MPI_Comm_free(&comm);
    }
    MPI_Comm_free(&base);
    MPI_Errhandler_free(&handler);
    MPI_Type_free(&spaced);
    check_finish();
}
