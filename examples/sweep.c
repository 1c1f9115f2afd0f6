/* sweep: times MPI_Bcast, MPI_Reduce, MPI_Allreduce and MPI_Alltoall, the library's own and Nagare's in turn, in one
   job.
 *
 *   mpicc -std=c11 -O2 -o sweep sweep.c
 *   mpirun -x LD_PRELOAD=.../libnagare.so -np 16 ./sweep [largest bytes] [iterations]
 *
 * Nagare's C interface (c_api/nagare.h) is looked up at run time, so the program also runs without it and then shows
 * the library alone. In the first calls of a size Nagare tries what could be the fastest way and keeps it: those are
 * made before, and not counted. Every figure is the median over the iterations of the time of the slowest rank; ranks
 * start together by a barrier of the program's own. Every result is compared with what it must be. One line per
 * collective and size, without a ratio where both sides ran the library's own:
 *   SWEEP bcast 1048576 stock 0.012345 nagare 0.006789 ratio 1.818 ran grouped_two_tree
 *   SWEEP bcast 1024 stock 0.001234 nagare 0.001233 ratio - ran stock
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*set_algorithm_fn)(MPI_Comm, const char *);
typedef size_t (*report_fn)(const char *, char *, size_t);

static int rank, size, *send_data, *receive_data;
enum { MAX_ITERATIONS = 101, COLLECTIVES = 4, MOST_ALGORITHMS = 32 };

/* Calls of a size before its figures: as many as Nagare measures at most, and more where they are short. */
enum { FIRST_CALLS = 12, MOST_FIRST_CALLS = 40 };
static const double FIRST_SECONDS = 0.5;

static const char *const names[COLLECTIVES] = {"bcast", "reduce", "allreduce", "alltoall"};

/* A dissemination barrier, so that the library's own choice of algorithm does not show in the figures. */
static void barrier(void)
{
    for (int distance = 1; distance < size; distance *= 2) {
        int to = (rank + distance) % size, from = (rank - distance + size) % size;
        MPI_Sendrecv(NULL, 0, MPI_BYTE, to, 7, NULL, 0, MPI_BYTE, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* The slowest rank's time, at every rank, without a collective of the library. */
static double slowest(double seconds)
{
    for (int distance = 1; distance < size; distance *= 2) {
        double other;
        int to = (rank + distance) % size, from = (rank - distance + size) % size;
        MPI_Sendrecv(&seconds, 1, MPI_DOUBLE, to, 8, &other, 1, MPI_DOUBLE, from, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (other > seconds)
            seconds = other;
    }
    return seconds;
}

static int value(int from, int to, int i) { return from * 31 + to * 7 + i % 1000; }

static void prepare(int collective, int count)
{
    int blocks = collective == 3 ? size : 1;
    for (int b = 0; b < blocks; b++)
        for (int i = 0; i < count; i++)
            send_data[(size_t)b * count + i] = value(rank, b, i);
    if (collective == 0 && rank == 0)
        memcpy(receive_data, send_data, (size_t)count * sizeof(int));
    else
        memset(receive_data, 0xff, (size_t)blocks * count * sizeof(int));
}

static void call(int collective, int count)
{
    switch (collective) {
    case 0: MPI_Bcast(receive_data, count, MPI_INT, 0, MPI_COMM_WORLD); break;
    case 1: MPI_Reduce(send_data, receive_data, count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); break;
    case 2: MPI_Allreduce(send_data, receive_data, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    default: MPI_Alltoall(send_data, count, MPI_INT, receive_data, count, MPI_INT, MPI_COMM_WORLD);
    }
}

static void verify(int collective, int count)
{
    if (collective == 1 && rank != 0)
        return;
    int blocks = collective == 3 ? size : 1;
    for (int b = 0; b < blocks; b++)
        for (int i = 0; i < count; i++) {
            int expected = 0, got = receive_data[(size_t)b * count + i];
            if (collective == 0)
                expected = value(0, 0, i);
            else if (collective == 3)
                expected = value(b, rank, i);
            else
                expected = 31 * (size * (size - 1) / 2) + size * (i % 1000);
            if (got != expected) {
                fprintf(stderr, "sweep: %s of %d ints, rank %d, element %d of block %d: got %d, expected %d\n",
                        names[collective], count, rank, i, b, got, expected);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
}

static double once(int collective, int count)
{
    prepare(collective, count);
    barrier();
    double start = MPI_Wtime();
    call(collective, count);
    double elapsed = slowest(MPI_Wtime() - start);
    verify(collective, count);
    return elapsed;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The algorithm that this rank's report counts the most calls of `collective` for beyond those of the question before;
   `stock` if at most half of `iterations` ran on any. */
static void what_ran(report_fn report, int collective, int iterations, char *out, size_t length)
{
    static char text[1 << 16];
    static struct { char name[64]; long calls; } counted[COLLECTIVES][MOST_ALGORITHMS];
    long most = 0, all = 0;
    snprintf(out, length, "stock");
    if (!report || report("text", text, sizeof text) >= sizeof text)
        return;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char name[64], ran[64];
        if (sscanf(line, "%63s %63s", name, ran) != 2 || strcmp(name, names[collective]) != 0 ||
            strcmp(ran, "stock:") == 0 || strcmp(ran, "all") == 0)
            continue;
        /* The columns from the right: s least, s, bytes, calls. */
        char *at = line + strlen(line);
        for (int column = 0; column < 4; column++) {
            while (at > line && at[-1] == ' ')
                at--;
            while (at > line && at[-1] != ' ')
                at--;
        }
        int known = 0;
        while (known < MOST_ALGORITHMS - 1 && counted[collective][known].name[0] &&
               strcmp(counted[collective][known].name, ran) != 0)
            known++;
        long calls = atol(at), more = calls - counted[collective][known].calls;
        snprintf(counted[collective][known].name, sizeof counted[collective][known].name, "%s", ran);
        counted[collective][known].calls = calls;
        all += more;
        if (more > most) {
            most = more;
            snprintf(out, length, "%s", ran);
        }
    }
    if (all <= iterations / 2)
        snprintf(out, length, "stock");
}

/* Calls of this size until Nagare has settled; all ranks make equally many, since they know the same times. */
static void first_calls(int collective, int count)
{
    double seconds = 0;
    for (int i = 0; i < FIRST_CALLS || (i < MOST_FIRST_CALLS && seconds < FIRST_SECONDS); i++)
        seconds += once(collective, count);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long largest = argc > 1 ? atol(argv[1]) : 1 << 20;
    int iterations = argc > 2 ? atoi(argv[2]) : 7;
    if (largest < 4 || largest > 64 << 20 || iterations < 1 || iterations > MAX_ITERATIONS) {
        if (rank == 0)
            fprintf(stderr, "sweep: expected the largest size (4 bytes to 64 MiB) and the iterations (1 to %d)\n",
                    MAX_ITERATIONS);
        MPI_Finalize();
        return 2;
    }
    set_algorithm_fn set_algorithm = (set_algorithm_fn)(size_t)dlsym(RTLD_DEFAULT, "nagare_set_algorithm");
    report_fn report = (report_fn)(size_t)dlsym(RTLD_DEFAULT, "nagare_report");
    send_data = malloc((size_t)largest);
    receive_data = malloc((size_t)largest);
    if (!send_data || !receive_data) {
        fprintf(stderr, "sweep: no memory for two buffers of %ld bytes\n", largest);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0)
        printf("SWEEP medians of %d calls, after %d to %d others of the same size\n", iterations, FIRST_CALLS,
               MOST_FIRST_CALLS);
    for (int collective = 0; collective < COLLECTIVES; collective++)
        for (long bytes = 1024; bytes <= largest; bytes *= 4) {
            int count = (int)(bytes / (long)sizeof(int) / (collective == 3 ? size : 1));
            double stock[MAX_ITERATIONS], nagare[MAX_ITERATIONS];
            char ran[64] = "-";
            if (count == 0)
                continue;
            if (set_algorithm)
                set_algorithm(MPI_COMM_WORLD, "all=stock");
            once(collective, count);
            if (set_algorithm) {
                set_algorithm(MPI_COMM_WORLD, NULL);
                first_calls(collective, count);
            }
            what_ran(report, collective, iterations, ran, sizeof ran);
            for (int i = 0; i < iterations; i++) {
                if (set_algorithm)
                    set_algorithm(MPI_COMM_WORLD, "all=stock");
                stock[i] = once(collective, count);
                if (set_algorithm) {
                    set_algorithm(MPI_COMM_WORLD, NULL);
                    nagare[i] = once(collective, count);
                }
            }
            qsort(stock, (size_t)iterations, sizeof *stock, ascending);
            what_ran(report, collective, iterations, ran, sizeof ran);
            if (rank == 0 && set_algorithm) {
                qsort(nagare, (size_t)iterations, sizeof *nagare, ascending);
                double s = stock[iterations / 2], n = nagare[iterations / 2];
                char ratio[32] = "-";
                if (strcmp(ran, "stock") != 0)
                    snprintf(ratio, sizeof ratio, "%.3f", s / n);
                printf("SWEEP %s %ld stock %.6f nagare %.6f ratio %s ran %s\n", names[collective], bytes, s, n, ratio,
                       ran);
            } else if (rank == 0) {
                printf("SWEEP %s %ld stock %.6f\n", names[collective], bytes, stock[iterations / 2]);
            }
            fflush(stdout);
        }
    if (rank == 0)
        printf("SWEEP verified\n");
    free(send_data);
    free(receive_data);
    MPI_Finalize();
    return 0;
}
