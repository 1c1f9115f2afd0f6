/* How much stack the collectives take: in the thread that calls MPI_Init, which has its first calls on
   communicators, and in a thread of its own that calls later. Threads run on memory of the program that is painted
   before each call. A line `stack thread=first|later call= bytes=` of rank 0 for each call: bytes from the top of the
   stack to the deepest that was written to; the call of a thread's first collectives says most. Options: count=5000
   kib=512. Ends like every program that verifies. */
#include "every_collective.h"
#include <pthread.h>

enum { PAINT = 0x5a };

static unsigned char *memory;
static size_t bytes;
static int count, is_first, given_argc;
static char **given_argv;
static MPI_Comm comms[3];

/* Bytes of the stack that have been written to. */
static long used(void)
{
    size_t untouched = 0;
    while (untouched < bytes && memory[untouched] == PAINT)
        untouched++;
    return (long)(bytes - untouched);
}

/* Paints what is below the caller's frame. */
static void __attribute__((noinline)) paint(void)
{
    unsigned char here;
    const size_t below = (size_t)(&here - memory);
    if (below < bytes)
        memset(memory, PAINT, below - 1024);
    else
        memset(memory, PAINT, bytes);
}

/* Of rank 0 alone: a line. */
static void say(const char *call)
{
    if (check_rank == 0)
        printf("stack thread=%s call=%s bytes=%ld\n", is_first ? "first" : "later", call, used());
    fflush(stdout);
}

static void call_all(int *data, int *result)
{
    for (int which = 0; which < COLLECTIVES; which++) {
        for (int c = 0; c < 3; c++) {
            char name[16];
            snprintf(name, sizeof name, "%d.%d", which, c);
            paint();
            check_cases += one(comms[c], which + c, which, count, data, result);
            say(name);
        }
    }
}

/* Two Bcasts on a new communicator, where Nagare makes none of its own as yet. */
static void call_early(int *data, int *result)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int c = 0; c < 2; c++) {
        char name[16];
        snprintf(name, sizeof name, "0.early%d", c);
        paint();
        check_cases += one(comm, c, 0, count, data, result);
        say(name);
    }
    MPI_Comm_free(&comm);
}

static void *run(void *ignored)
{
    (void)ignored;
    static int *data, *result;
    if (is_first) {
        int provided;
        MPI_Init_thread(&given_argc, &given_argv, MPI_THREAD_SERIALIZED, &provided);
        check_start("stack", "count,kib", given_argc, given_argv);
        say("init");
        paint();
        data = calloc((size_t)count * (size_t)check_size + 1, sizeof *data);
        result = calloc((size_t)count * (size_t)check_size + 1, sizeof *result);
        comms[0] = MPI_COMM_WORLD;
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
        MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comms[2]);
        say("dup");
    }
    call_early(data, result);
    call_all(data, result);
    return NULL;
}

static void in_thread(int first)
{
    pthread_attr_t attributes;
    pthread_t thread;
    is_first = first;
    paint();
    if (pthread_attr_init(&attributes) || pthread_attr_setstack(&attributes, memory, bytes) ||
        pthread_create(&thread, &attributes, run, NULL) || pthread_join(thread, NULL))
        fail("no thread with a stack of %zu bytes", bytes);
}

int main(int argc, char **argv)
{
    given_argc = argc, given_argv = argv;
    count = (int)option_number(argc, argv, "count", 0, 5000);
    bytes = (size_t)option_number(argc, argv, "kib", 1, 512) << 10;
    if (posix_memalign((void **)&memory, 4096, bytes))
        return 2;
    in_thread(1);
    in_thread(0);
    check_finish();
}
