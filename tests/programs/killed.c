/* Every rank calls one collective, or several of a list, again and again with 4 MiB; one rank ends in the middle of a
   call, before the first, in MPI_Init, where the others are in MPI_Finalize, or never, after two rounds: what the
   launcher makes of that is for the test to compare.
   Options: collective=bcast rank=<last> how=kill|segv|exit|abort when=init|before|inside|finalize|never
   milliseconds=150 Prints "started" on rank 0 once all ranks are in the loop. */
#include "by_name.h"
#include <pthread.h>
#include <time.h>

static const char *how;
static long milliseconds;

static void die(void)
{
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "exit") == 0)
        _exit(5);
    MPI_Abort(MPI_COMM_WORLD, 7);
}

static void *wait_and_die(void *unused)
{
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
    die();
    return unused;
}

/* The rank as launchers tell it, before MPI does. */
static long launched_rank(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    return rank ? strtol(rank, NULL, 10) : -1;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t thread;
    how = option(argc, argv, "how", 2, "kill");
    milliseconds = option_number(argc, argv, "milliseconds", 4, 150);
    if (strcmp(option(argc, argv, "when", 3, "inside"), "init") == 0 &&
        launched_rank() == option_number(argc, argv, "rank", 1, 0) &&
        pthread_create(&thread, NULL, wait_and_die, NULL) != 0)
        return 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_start("killed", "collective,rank,how,when,milliseconds", argc, argv);
    const char *collective = option(argc, argv, "collective", 0, "bcast");
    const int victim = (int)option_number(argc, argv, "rank", 1, check_size - 1);
    const char *when = option(argc, argv, "when", 3, "inside");

    const int n = check_size, block = (4 << 20) / n / (int)sizeof(int), whole = block * n;
    int *in = calloc((size_t)whole, sizeof *in), *out = calloc((size_t)whole, sizeof *out);
    if (!in || !out)
        fail("out of memory");
    if (check_rank == 0) {
        printf("started\n");
        fflush(stdout);
    }
    if (check_rank == victim && strcmp(when, "before") == 0)
        die();
    if (check_rank == victim && strcmp(when, "inside") == 0 && pthread_create(&thread, NULL, wait_and_die, NULL) != 0)
        fail("no thread");
    const int rounds = strcmp(when, "finalize") == 0 || strcmp(when, "never") == 0 ? 2 : -1;
    for (int i = 0; i != rounds; i++)
        for (size_t k = 0; k < sizeof by_name / sizeof *by_name; k++)
            if (listed(collective, by_name[k]))
                call_by_name(by_name[k], in, out, block, MPI_INT, MPI_COMM_WORLD);
    /* The others are in MPI_Finalize, or on the way there, when this rank ends instead of following them. */
    if (check_rank == victim && strcmp(when, "never") != 0)
        wait_and_die(NULL);
    MPI_Finalize();
    return 0;
}
