/*
 * IS: integer keys sorted by buckets, written from the description in
 * "The NAS Parallel Benchmarks" (Bailey et al., NASA Ames, RNR-94-007, 1994), kernel IS.
 *
 *   mpicc -std=c11 -O2 -o is is.c
 *   mpirun -np 4 ./is S                                       # classes S, W, A
 *   mpirun -x LD_PRELOAD=/path/to/libnagare.so -np 4 ./is S   # Open MPI
 *   mpiexec -genv LD_PRELOAD /path/to/libnagare.so -n 4 ./is S  # MPICH
 *
 * Every iteration changes two keys and ranks all keys again: rank of a key = number
 * of smaller keys. Buckets hold equal intervals of key values; each MPI rank
 * receives the keys of consecutive buckets, about as many as the others.
 *
 * The last line of output is the result: NAME SECONDS s for the timed iterations, for all their
 * collectives and for each, by the rank where it took longest (waiting for others counts);
 * then the verdict. The exit status is 0 when all checks passed, 1 when one failed, 2 when
 * the job is not valid.
 *
 * One file, since an example is to be read from top to bottom and compiled by one command.
 */
#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ITERATIONS = 10,
    TEST_KEYS = 5,
    BUCKETS_LOG2 = 10,
    BUCKETS = 1 << BUCKETS_LOG2,
};

/* What is timed: everything, all collectives, and each of them. */
enum { ALL, COLLECTIVES, ALLREDUCE, ALLTOALL, ALLTOALLV, REDUCE, TIMES };

static const char *const TIME_NAMES[TIMES] = {"time",     "collectives", "allreduce",
                                              "alltoall", "alltoallv",   "reduce"};

/* A class and its published partial verification (NAS technical report and NPB
 * releases): in iteration i the key at index[t] has rank rank[t] + (i - rising_offset)
 * for t < rising, and rank[t] - (i - falling_offset) for the others. */
typedef struct {
    char name;
    int keys_log2, max_key_log2;
    int index[TEST_KEYS], rank[TEST_KEYS];
    int rising, rising_offset, falling_offset;
} problem_class;

static const problem_class CLASSES[] = {
    {'S', 16, 11, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}, 3, 0, 0},
    {'W', 20, 16, {357773, 934767, 875723, 898999, 404505},
     {1249, 11698, 1039987, 1043896, 1048018}, 2, 2, 0},
    {'A', 23, 19, {2112377, 662041, 5336171, 3642833, 4250760},
     {104, 17523, 123928, 8288932, 8388264}, 3, 1, 1},
};

/* Everything one MPI rank holds. `keys` is its part of the unsorted sequence; after
 * rank_keys(), `mine` holds the received keys, all in [low, high), and smaller[k - low]
 * is the number of keys in the whole job that are smaller than k. */
typedef struct {
    const problem_class *problem;
    int rank, ranks;
    int key_count;
    int *keys, *by_bucket;
    int *mine, mine_count, mine_capacity;
    int low, high, below;
    int *smaller, smaller_capacity;
    int test_key[TEST_KEYS];
    int passed;
    double seconds[TIMES];
} sorter;

/* Runs one call of `collective` and adds its duration to the sorter's. */
#define TIMED(sorter, collective, call)               \
    do {                                              \
        double start_ = MPI_Wtime(), took_;           \
        call;                                         \
        took_ = MPI_Wtime() - start_;                 \
        (sorter)->seconds[collective] += took_;       \
        (sorter)->seconds[COLLECTIVES] += took_;      \
    } while (0)

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);

    if (memory == NULL) {
        fprintf(stderr, "is: not enough memory for %zu elements of %zu bytes\n", count, size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

static void reserve(int **array, int *capacity, int count)
{
    if (count > *capacity || *array == NULL) {
        free(*array);
        *array = allocate((size_t)count, sizeof **array);
        *capacity = count;
    }
}

/* The benchmark's generator: x <- 5^13 x mod 2^46. Unsigned products wrap modulo 2^64,
 * which 2^46 divides, so masking gives the exact residue. */
static const uint64_t MULTIPLIER = 1220703125;
static const uint64_t FIRST_SEED = 314159265;
static const uint64_t MASK = (UINT64_C(1) << 46) - 1;

static uint64_t seed_after(uint64_t steps)
{
    uint64_t seed = FIRST_SEED;

    for (uint64_t power = MULTIPLIER; steps > 0; steps /= 2, power = power * power & MASK) {
        if (steps % 2 == 1)
            seed = seed * power & MASK;
    }
    return seed;
}

/* A key is max_key times the mean of four numbers in [0, 1), rounded down. */
static void generate_keys(sorter *s)
{
    uint64_t seed = seed_after(4 * (uint64_t)s->rank * (uint64_t)s->key_count);

    for (int i = 0; i < s->key_count; i++) {
        uint64_t sum = 0;

        for (int j = 0; j < 4; j++) {
            seed = seed * MULTIPLIER & MASK;
            sum += seed;
        }
        s->keys[i] = (int)(sum >> (46 + 2 - s->problem->max_key_log2));
    }
}

/* Tells all ranks the keys that are verified; iterations never change these. */
static void share_test_keys(sorter *s)
{
    int known[TEST_KEYS] = {0};

    for (int t = 0; t < TEST_KEYS; t++) {
        int local = s->problem->index[t] - s->rank * s->key_count;

        if (local >= 0 && local < s->key_count)
            known[t] = s->keys[local];
    }
    TIMED(s, ALLREDUCE,
          MPI_Allreduce(known, s->test_key, TEST_KEYS, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
}

/* The MPI rank that receives bucket b, where `before` keys precede it: the one whose equal
 * share of all keys contains the middle of the bucket. Never decreases from b to b + 1. */
static int owner_of(const sorter *s, int64_t before, int64_t size)
{
    int64_t owner = (before + size / 2) * s->ranks >> s->problem->keys_log2;

    return owner < s->ranks ? (int)owner : s->ranks - 1;
}

/* Copies the keys to by_bucket, ordered by bucket. */
static void order_by_bucket(sorter *s, const int *bucket_size, int shift)
{
    int next[BUCKETS];

    next[0] = 0;
    for (int b = 1; b < BUCKETS; b++)
        next[b] = next[b - 1] + bucket_size[b - 1];
    for (int i = 0; i < s->key_count; i++)
        s->by_bucket[next[s->keys[i] >> shift]++] = s->keys[i];
}

/* Sends each key to the owner of its bucket; send_count has one entry per rank. */
static void exchange_keys(sorter *s, const int *send_count)
{
    size_t ranks = (size_t)s->ranks;
    int *receive_count = allocate(3 * ranks, sizeof(int));
    int *send_start = receive_count + ranks;
    int *receive_start = send_start + ranks;

    TIMED(s, ALLTOALL,
          MPI_Alltoall(send_count, 1, MPI_INT, receive_count, 1, MPI_INT, MPI_COMM_WORLD));
    for (int r = 1; r < s->ranks; r++) {
        send_start[r] = send_start[r - 1] + send_count[r - 1];
        receive_start[r] = receive_start[r - 1] + receive_count[r - 1];
    }
    s->mine_count = receive_start[ranks - 1] + receive_count[ranks - 1];
    reserve(&s->mine, &s->mine_capacity, s->mine_count);
    TIMED(s, ALLTOALLV,
          MPI_Alltoallv(s->by_bucket, send_count, send_start, MPI_INT, s->mine, receive_count,
                        receive_start, MPI_INT, MPI_COMM_WORLD));
    free(receive_count);
}

/* Fills `smaller` for the key values this rank owns. */
static void count_smaller(sorter *s)
{
    int values = s->high - s->low;
    int total = s->below;

    reserve(&s->smaller, &s->smaller_capacity, values);
    memset(s->smaller, 0, (size_t)values * sizeof *s->smaller);
    for (int i = 0; i < s->mine_count; i++)
        s->smaller[s->mine[i] - s->low]++;
    for (int k = 0; k < values; k++) {
        int equal = s->smaller[k];

        s->smaller[k] = total;
        total += equal;
    }
}

/* Partial verification, counted on MPI rank 0. */
static void verify_ranks(sorter *s, int iteration)
{
    const problem_class *p = s->problem;
    int found[TEST_KEYS] = {0}, key_rank[TEST_KEYS] = {0};

    for (int t = 0; t < TEST_KEYS; t++) {
        if (s->test_key[t] >= s->low && s->test_key[t] < s->high)
            found[t] = s->smaller[s->test_key[t] - s->low];
    }
    TIMED(s, REDUCE,
          MPI_Reduce(found, key_rank, TEST_KEYS, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    for (int t = 0; t < TEST_KEYS && s->rank == 0; t++) {
        int expected = t < p->rising ? p->rank[t] + (iteration - p->rising_offset)
                                     : p->rank[t] - (iteration - p->falling_offset);

        if (key_rank[t] == expected)
            s->passed++;
        else
            printf("iteration %d: the key at index %d has rank %d, expected %d\n", iteration,
                   p->index[t], key_rank[t], expected);
    }
}

/* One iteration of the benchmark. */
static void rank_keys(sorter *s, int iteration)
{
    int local_size[BUCKETS] = {0}, bucket_size[BUCKETS];
    int shift = s->problem->max_key_log2 - BUCKETS_LOG2;
    int *send_count = allocate((size_t)s->ranks, sizeof(int));
    int before = 0;

    if (s->rank == 0) {
        s->keys[iteration] = iteration;
        s->keys[iteration + ITERATIONS] = (1 << s->problem->max_key_log2) - iteration;
    }
    for (int i = 0; i < s->key_count; i++)
        local_size[s->keys[i] >> shift]++;
    TIMED(s, ALLREDUCE,
          MPI_Allreduce(local_size, bucket_size, BUCKETS, MPI_INT, MPI_SUM, MPI_COMM_WORLD));

    s->low = s->high = s->below = 0;
    for (int b = 0; b < BUCKETS; b++) {
        int owner = owner_of(s, before, bucket_size[b]);

        send_count[owner] += local_size[b];
        if (owner == s->rank) {
            if (s->high == 0) {
                s->low = b << shift;
                s->below = before;
            }
            s->high = (b + 1) << shift;
        }
        before += bucket_size[b];
    }
    order_by_bucket(s, local_size, shift);
    exchange_keys(s, send_count);
    count_smaller(s);
    verify_ranks(s, iteration);
    free(send_count);
}

/* Full verification: puts every key at its rank and checks that no place is left or taken
 * twice, that neighbours are in order within and across MPI ranks, and that no key was lost.
 * Uses up `smaller`. */
static bool fully_sorted(sorter *s)
{
    int count = s->mine_count;
    int *sorted = allocate((size_t)count, sizeof(int));
    int previous_last = -1, last = -1, wrong = 0, all_wrong = 0;
    int64_t sums[3] = {0}, total[3] = {0};

    memset(sorted, 0xff, (size_t)count * sizeof *sorted);
    for (int i = 0; i < count; i++) {
        int place = s->smaller[s->mine[i] - s->low]++ - s->below;

        if (place >= 0 && place < count && sorted[place] < 0)
            sorted[place] = s->mine[i];
        else
            wrong++;
    }
    for (int i = 1; i < count; i++)
        wrong += sorted[i - 1] > sorted[i];
    if (count > 0)
        last = sorted[count - 1];
    MPI_Exscan(&last, &previous_last, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (s->rank > 0 && count > 0)
        wrong += previous_last > sorted[0];

    sums[0] = count;
    for (int i = 0; i < s->key_count; i++)
        sums[1] += s->keys[i];
    for (int i = 0; i < count; i++)
        sums[2] += sorted[i];
    MPI_Reduce(sums, total, 3, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    free(sorted);
    return all_wrong == 0 && total[0] == INT64_C(1) << s->problem->keys_log2 && total[1] == total[2];
}

/* The class named on the command line, S without one; NULL and a message if the job is not
 * valid. All ranks come to the same result. */
static const problem_class *read_class(int argc, char **argv, int ranks, char *message, size_t size)
{
    const char *name = argc > 1 ? argv[1] : "S";
    const problem_class *found = NULL;

    for (size_t c = 0; c < sizeof CLASSES / sizeof CLASSES[0]; c++) {
        if ((name[0] == CLASSES[c].name || name[0] == CLASSES[c].name - 'A' + 'a') && name[1] == 0)
            found = &CLASSES[c];
    }
    if (argc > 2) {
        snprintf(message, size, "expected one argument, the class S, W or A");
        return NULL;
    }
    if (found == NULL)
        snprintf(message, size, "class \"%s\" is not known: expected S, W or A", name);
    if (ranks > BUCKETS || (ranks & (ranks - 1)) != 0) {
        snprintf(message, size, "the number of ranks must be a power of two up to %d, not %d",
                 BUCKETS, ranks);
        return NULL;
    }
    return found;
}

static void sort_keys(sorter *s)
{
    s->key_count = (1 << s->problem->keys_log2) / s->ranks;
    s->keys = allocate((size_t)s->key_count, sizeof(int));
    s->by_bucket = allocate((size_t)s->key_count, sizeof(int));
    generate_keys(s);
    share_test_keys(s);

    /* An untimed first iteration, so that the timed ones meet no untouched memory or
     * connection. Repeating it changes nothing. */
    rank_keys(s, 1);
    s->passed = 0;
    memset(s->seconds, 0, sizeof s->seconds);
    MPI_Barrier(MPI_COMM_WORLD);
    s->seconds[ALL] = -MPI_Wtime();
    for (int i = 1; i <= ITERATIONS; i++)
        rank_keys(s, i);
    s->seconds[ALL] += MPI_Wtime();
}

int main(int argc, char **argv)
{
    sorter s = {0};
    double slowest[TIMES] = {0};
    char message[128];
    int verified = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
    s.problem = read_class(argc, argv, s.ranks, message, sizeof message);
    if (s.problem == NULL) {
        if (s.rank == 0)
            fprintf(stderr, "is: %s\n", message);
        MPI_Finalize();
        return 2;
    }

    sort_keys(&s);
    MPI_Reduce(s.seconds, slowest, TIMES, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    verified = fully_sorted(&s) && s.passed == ITERATIONS * TEST_KEYS;
    MPI_Bcast(&verified, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (s.rank == 0) {
        printf("IS class %c ranks %d", s.problem->name, s.ranks);
        for (int t = 0; t < TIMES; t++)
            printf(" %s %.6f s", TIME_NAMES[t], slowest[t]);
        printf(" verification %s\n", verified ? "SUCCESSFUL" : "FAILED");
    }

    free(s.keys);
    free(s.by_bucket);
    free(s.mine);
    free(s.smaller);
    MPI_Finalize();
    return verified ? 0 : 1;
}
