/* MPI_THREAD_MULTIPLE for a time: every thread runs the collectives on a communicator of its own, every few steps
   on a fresh one that is made, used for the first time and freed while the others do the same; the main thread receives
   its own messages with wildcards on the world meanwhile, which must never match what a collective sends.
   Options: threads=8 seconds=5 */
#include "every_collective.h"
#include <pthread.h>
#include <time.h>

enum { MOST = 6000, EVERY = 9 };

struct worker {
    pthread_t thread;
    MPI_Comm comm;
    int number;
    double seconds;
    long cases, fresh;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Whether rank 0 goes on, known to all by a collective that is itself under test. */
static int goes_on(MPI_Comm comm, double until)
{
    int on = now() < until;
    MPI_Bcast(&on, 1, MPI_INT, 0, comm);
    return on;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    int size;
    MPI_Comm_size(w->comm, &size);
    int *data = malloc((size_t)MOST * (size_t)size * sizeof *data),
        *result = malloc((size_t)MOST * (size_t)size * sizeof *result);
    if (!data || !result)
        fail("out of memory");
    const double until = now() + w->seconds;
    for (long step = 0; step % 16 != 0 || goes_on(w->comm, until); step++) {
        /* The same choice on all ranks, another one in each thread. */
        const uint64_t h = (uint64_t)(step * 64 + w->number + 1) * 0x9E3779B97F4A7C15u;
        const int count = 1 + (int)((h >> 44) % (h >> 20 & 3 ? 300 : MOST)), which = (int)((h >> 33) % COLLECTIVES);
        MPI_Comm comm = w->comm, fresh = MPI_COMM_NULL;
        if (step % EVERY == w->number % EVERY) {
            if (h >> 10 & 1)
                MPI_Comm_dup(w->comm, &fresh);
            else
                MPI_Comm_split(w->comm, 0, -(int)(h >> 12 & 7), &fresh);
            comm = fresh;
            w->fresh++;
        }
        w->cases += one(comm, step, which, count, data, result);
        if (fresh != MPI_COMM_NULL) {
            w->cases += one(comm, step + 1, (which + 1) % COLLECTIVES, count, data, result);
            MPI_Comm_free(&fresh);
        }
    }
    free(data);
    free(result);
    return NULL;
}

/* Messages around the ring of ranks on the world, received with wildcards, until rank 0 has seen enough of the time. */
static long ring(double seconds)
{
    const int right = (check_rank + 1) % check_size;
    const double until = now() + seconds;
    long round = 0;
    for (int on = 1; on; round++) {
        int sent[3] = {check_rank, (int)round, now() < until}, got[8] = {0}, count;
        MPI_Request request;
        MPI_Status status;
        /* Rank 0 starts each round, and says in it whether it is the last one. */
        if (check_rank == 0)
            MPI_Isend(sent, 3, MPI_INT, right, (int)(round % 1000), MPI_COMM_WORLD, &request);
        MPI_Recv(got, 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        const int left = (check_rank + check_size - 1) % check_size;
        if (count != 3 || got[0] != left || got[1] != (int)round || status.MPI_SOURCE != left ||
            status.MPI_TAG != round % 1000)
            fail("wildcard receive matched a foreign message: source=%d tag=%d count=%d round=%ld", status.MPI_SOURCE,
                 status.MPI_TAG, count, round);
        on = got[2];
        if (check_rank != 0) {
            sent[2] = on;
            MPI_Isend(sent, 3, MPI_INT, right, (int)(round % 1000), MPI_COMM_WORLD, &request);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        usleep(1000);
    }
    return round;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_start("storm", "threads,seconds", argc, argv);
    const int threads = (int)option_number(argc, argv, "threads", 0, 8);
    const double seconds = (double)option_number(argc, argv, "seconds", 1, 5);
    if (provided < MPI_THREAD_MULTIPLE) {
        if (check_rank == 0)
            printf("SKIP storm: the MPI library does not provide MPI_THREAD_MULTIPLE\n");
        MPI_Finalize();
        return 0;
    }
    alarm((unsigned)option_number(argc, argv, "watchdog", 1000, 120 + 10 * (long)seconds));
    snprintf(check_current, sizeof check_current, "%d threads", threads);
    struct worker *workers = calloc((size_t)threads + 1, sizeof *workers);
    if (!workers)
        fail("out of memory");
    for (int t = 0; t < threads; t++) {
        workers[t].number = t;
        workers[t].seconds = seconds;
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm);
    }
    MPI_Comm end;
    MPI_Comm_dup(MPI_COMM_WORLD, &end);
    for (int t = 0; t < threads; t++)
        if (pthread_create(&workers[t].thread, NULL, work, &workers[t]) != 0)
            fail("pthread_create failed for thread %d", t);
    check_cases += ring(seconds);
    long fresh = 0;
    for (int t = 0; t < threads; t++) {
        pthread_join(workers[t].thread, NULL);
        MPI_Comm_free(&workers[t].comm);
        check_cases += workers[t].cases;
        fresh += workers[t].fresh;
    }
    free(workers);
    /* No rank says how many cases it had while another's last wildcard is open. */
    message_barrier(end);
    MPI_Comm_free(&end);
    if (check_rank == 0)
        printf("storm fresh=%ld\n", fresh);
    check_finish();
    return 0;
}
