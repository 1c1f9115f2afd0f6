/* The last rank calls one collective with another count than the others do, an error that must not look like success.
   Options: collective=bcast count=<of the others> other=<of the last rank>, integers in a block; a block for every
   rank. After the call every rank gives its buffers other contents and lets a while pass: nothing may still be written
   to them, nor ever around them. A rank that gets an error prints "error CLASS" and ends the job with exit code 4; the
   watchdog ends one that is left waiting; the job ends with 0 if nobody has noticed. */
#include "by_name.h"
#include <time.h>

enum { FENCE = 16 << 10, INSIDE = 0x5a5a5a5a, AROUND = 0x3c3c3c3c };

/* `length` integers of zeros between two fences. */
static int *fenced(size_t length)
{
    int *memory = calloc(length + 2 * (size_t)FENCE, sizeof *memory);
    if (!memory)
        fail("out of memory");
    for (size_t i = 0; i < FENCE; i++)
        memory[i] = memory[FENCE + length + i] = AROUND;
    return memory + FENCE;
}

static void keep_fences(const int *data, size_t length)
{
    for (size_t i = 0; i < FENCE; i++)
        if (data[(ptrdiff_t)i - FENCE] != AROUND || data[length + i] != AROUND)
            fail("CORRUPT: written outside a buffer");
}

static void keep_contents(const int *data, size_t length)
{
    keep_fences(data, length);
    for (size_t i = 0; i < length; i++)
        if (data[i] != INSIDE)
            fail("CORRUPT: written to a buffer after the call");
}

/* Lets the library receive what it still wants to. */
static void linger(void)
{
    const struct timespec step = {0, 1000000};
    for (int i = 0; i < 200; i++) {
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        nanosleep(&step, NULL);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("disagree", "collective,count,other", argc, argv);
    const char *collective = option(argc, argv, "collective", 0, "bcast");
    const char *own = check_rank == check_size - 1 ? "other" : "count";
    const int block = (int)option_number(argc, argv, own, 1, 1000);
    const size_t length = (size_t)block * (size_t)check_size;
    int *in = fenced(length), *out = fenced(length);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    snprintf(check_current, sizeof check_current, "%s", collective);

    const int code = call_by_name(collective, in, out, block, MPI_INT, MPI_COMM_WORLD);
    keep_fences(in, length);
    keep_fences(out, length);
    for (size_t i = 0; i < length; i++)
        in[i] = out[i] = INSIDE;
    linger();
    keep_contents(in, length);
    keep_contents(out, length);
    if (code != MPI_SUCCESS) {
        int class;
        MPI_Error_class(code, &class);
        printf("error %s\n", class == MPI_ERR_TRUNCATE ? "MPI_ERR_TRUNCATE" : "of another class");
        fflush(stdout);
        /* MPICH's launcher does not read what is left in the pipes of an aborted job. */
        linger();
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    MPI_Finalize();
    return 0;
}
