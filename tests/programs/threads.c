/* MPI_THREAD_MULTIPLE: threads run collectives on communicators of their own while the main thread receives its own
   messages on the world with MPI_ANY_SOURCE and MPI_ANY_TAG, which must never match what a collective sends.
   Options: threads=3 iterations=60 */
#include "check.h"
#include <pthread.h>

struct worker {
    pthread_t thread;
    MPI_Comm comm;
    int number, iterations;
    long cases;
};

/* Small enough that sums over many ranks are exact in an int. */
static int contribution(int rank, int salt, int index)
{
    return (int)(((unsigned)rank * 2654435761u + (unsigned)salt * 40503u + (unsigned)index * 97u) >> 8) % 10007;
}

/* fail() names one global case; here several run at once, so each message carries its own. */
static void expect(const struct worker *w, int step, const char *what, int index, int got, int want)
{
    if (got != want)
        fail("thread=%d step=%d %s index=%d got=%d expected=%d", w->number, step, what, index, got, want);
}

static void bcast(struct worker *w, MPI_Comm comm, int step, int count, int rank, int root, int *data)
{
    for (int i = 0; i < count; i++)
        data[i] = rank == root ? contribution(root, step, i) : -1;
    MPI_Bcast(data, count, MPI_INT, root, comm);
    for (int i = 0; i < count; i++)
        expect(w, step, "bcast", i, data[i], contribution(root, step, i));
}

/* root < 0: Allreduce. */
static void reduce(struct worker *w, MPI_Comm comm, int step, int count, int rank, int size, int root, int *data,
                   int *result)
{
    for (int i = 0; i < count; i++) {
        data[i] = contribution(rank, step, i);
        result[i] = -1;
    }
    if (root < 0)
        MPI_Allreduce(data, result, count, MPI_INT, MPI_SUM, comm);
    else
        MPI_Reduce(data, rank == root ? result : NULL, count, MPI_INT, MPI_SUM, root, comm);
    for (int i = 0; i < count && (root < 0 || rank == root); i++) {
        int want = 0;
        for (int r = 0; r < size; r++)
            want += contribution(r, step, i);
        expect(w, step, root < 0 ? "allreduce" : "reduce", i, result[i], want);
    }
}

static void alltoall(struct worker *w, MPI_Comm comm, int step, int count, int rank, int size, int *data, int *result)
{
    const int block = count / size;
    for (int i = 0; i < block * size; i++)
        data[i] = contribution(rank, step, i);
    MPI_Alltoall(data, block, MPI_INT, result, block, MPI_INT, comm);
    for (int peer = 0; peer < size; peer++)
        for (int i = 0; i < block; i++)
            expect(w, step, "alltoall", peer * block + i, result[peer * block + i],
                   contribution(peer, step, rank * block + i));
}

static void *work(void *argument)
{
    static const int counts[] = {1, 100, 3000, 20000, 60001};
    struct worker *w = argument;
    int *data = malloc(60001 * sizeof *data), *result = malloc(60001 * sizeof *result);
    if (!data || !result)
        fail("out of memory");
    for (int step = 0; step < w->iterations; step++) {
        /* The same choice on all ranks, another one for each thread. */
        const uint64_t h = (uint64_t)(step * 64 + w->number + 1) * 0x9E3779B97F4A7C15u;
        const int count = counts[(h >> 40) % 5];
        MPI_Comm comm = w->comm;
        int rank, size;
        /* Now and then on a communicator made, used for the first time and freed while other threads communicate. */
        const int fresh = step % 15 == 7;
        if (fresh)
            MPI_Comm_dup(w->comm, &comm);
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        const int root = (int)((h >> 20) % (uint64_t)size);
        switch ((h >> 50) % 4) {
        case 0:
            bcast(w, comm, step, count, rank, root, data);
            break;
        case 1:
            reduce(w, comm, step, count, rank, size, root, data, result);
            break;
        case 2:
            reduce(w, comm, step, count, rank, size, -1, data, result);
            break;
        default:
            alltoall(w, comm, step, count, rank, size, data, result);
        }
        if (fresh)
            MPI_Comm_free(&comm);
        w->cases++;
    }
    free(data);
    free(result);
    return NULL;
}

/* In round k every rank sends to the rank k + 1 places on and receives one message from anybody. */
static void exchange(int rounds)
{
    int *next = calloc((size_t)check_size, sizeof *next);
    if (!next)
        fail("out of memory");
    for (int k = 0; k < rounds; k++) {
        const int to = (check_rank + k + 1) % check_size;
        const int sent[3] = {check_rank, k, contribution(check_rank, k, to)};
        int got[8] = {0};
        MPI_Request request;
        MPI_Status status;
        MPI_Isend(sent, 3, MPI_INT, to, k % 1000, MPI_COMM_WORLD, &request);
        MPI_Recv(got, 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        int count;
        MPI_Get_count(&status, MPI_INT, &count);
        /* This sender's messages to this rank come in the rounds with (from + k + 1) % size == rank, in order. */
        const int from = status.MPI_SOURCE;
        const int first = ((check_rank - from - 1) % check_size + check_size) % check_size;
        const int round = first + check_size * next[from]++;
        if (count != 3 || got[0] != from || got[1] != round || status.MPI_TAG != round % 1000 ||
            got[2] != contribution(from, round, check_rank))
            fail("wildcard receive matched a foreign message: source=%d tag=%d count=%d got=%d,%d,%d expected=%d,%d,%d",
                 from, status.MPI_TAG, count, got[0], got[1], got[2], from, round,
                 contribution(from, round, check_rank));
        check_cases++;
    }
    free(next);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_start("threads", "threads,iterations", argc, argv);
    const int threads = (int)option_number(argc, argv, "threads", 0, 3),
              iterations = (int)option_number(argc, argv, "iterations", 1, 60);
    if (provided < MPI_THREAD_MULTIPLE) {
        if (check_rank == 0)
            printf("SKIP threads: the MPI library does not provide MPI_THREAD_MULTIPLE\n");
        MPI_Finalize();
        return 0;
    }
    int level, is_main;
    MPI_Query_thread(&level);
    MPI_Is_thread_main(&is_main);
    if (level != provided || !is_main)
        fail("level of threads: %d after MPI_Init_thread provided %d; main thread: %d", level, provided, is_main);
    struct worker *workers = calloc((size_t)threads + 1, sizeof *workers);
    if (!workers)
        fail("out of memory");
    for (int t = 0; t < threads; t++) {
        workers[t].number = t;
        workers[t].iterations = iterations;
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm);
    }
    for (int t = 0; t < threads; t++)
        if (pthread_create(&workers[t].thread, NULL, work, &workers[t]) != 0)
            fail("pthread_create failed for thread %d", t);
    /* Synchronises without putting anything on the world, where nothing but exchange() may be seen. */
    MPI_Comm apart;
    MPI_Comm_dup(MPI_COMM_WORLD, &apart);
    snprintf(check_current, sizeof check_current, "%d threads", threads);
    /* A multiple of the number of ranks, so that everybody receives as many messages as it sends. */
    exchange(check_size * (1 + 2 * iterations / check_size));
    int pending;
    MPI_Status status;
    for (int t = 0; t < threads; t++) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &pending, &status);
        if (pending)
            fail("a message nobody sent is pending on the world: source=%d tag=%d", status.MPI_SOURCE, status.MPI_TAG);
        pthread_join(workers[t].thread, NULL);
        MPI_Comm_free(&workers[t].comm);
        check_cases += workers[t].cases;
    }
    free(workers);
    message_barrier(apart);
    MPI_Comm_free(&apart);
    check_finish();
    return 0;
}
