/* What grows: communicators made, used and freed over and over, or small collectives on one, all of them in turn.
   Every result is verified. After a tenth and at the end each rank tells what it holds: soak rank= rss_kb_start=
   rss_kb_end= fds_start= fds_end= maps_start= maps_end= threads_start= threads_end= deleted= Context ids: a library has
   a few thousand, so that a leak of one in a cycle ends the job by itself.
   Options: cycles=0 calls=0 bytes=2048 */
#include "every_collective.h"
#include <dirent.h>

enum { KINDS = 5 };

struct held {
    long rss_kb, fds, maps, threads;
};

static long deletions;

static int on_delete(MPI_Comm comm, int keyval, void *in, void *extra)
{
    (void)comm, (void)keyval, (void)in, (void)extra;
    deletions++;
    return MPI_SUCCESS;
}

static long entries(const char *path)
{
    long n = 0;
    DIR *directory = opendir(path);
    if (!directory)
        fail("%s: cannot be read", path);
    while (readdir(directory))
        n++;
    closedir(directory);
    return n;
}

static struct held look(void)
{
    struct held held = {0, entries("/proc/self/fd"), 0, entries("/proc/self/task")};
    long total = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &total, &held.rss_kb) != 2)
        fail("/proc/self/statm: cannot be read");
    fclose(f);
    held.rss_kb *= sysconf(_SC_PAGESIZE) / 1024;
    f = fopen("/proc/self/maps", "r");
    if (!f)
        fail("/proc/self/maps: cannot be read");
    for (int c; (c = getc(f)) != EOF;)
        held.maps += c == '\n';
    fclose(f);
    return held;
}

/* Messages that nobody waits for yet, more of them and more often than the collectives make by chance: a library's
   pools for them (UCX: 144 KiB at its first) reach their size at a moment that no one chooses, with Nagare and
   without. */
static void fill_pools(int bytes)
{
    enum { MESSAGES = 128, TAG_POOLS = 6 };
    MPI_Request request[MESSAGES];
    char *sent = calloc((size_t)bytes, 1), *received = calloc((size_t)bytes, 1);
    if (!sent || !received)
        fail("out of memory");
    for (int shift = 1; shift < check_size; shift++) {
        const int to = (check_rank + shift) % check_size, from = (check_rank - shift + check_size) % check_size;
        for (int k = 0; k < MESSAGES; k++)
            MPI_Isend(sent, (int)((long)bytes * k / MESSAGES), MPI_BYTE, to, TAG_POOLS, MPI_COMM_WORLD, &request[k]);
        message_barrier(MPI_COMM_WORLD);
        for (int k = 0; k < MESSAGES; k++)
            MPI_Recv(received, bytes, MPI_BYTE, from, TAG_POOLS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 0; k < MESSAGES; k++)
            MPI_Wait(&request[k], MPI_STATUS_IGNORE);
    }
    free(sent);
    free(received);
}

/* Cycle by cycle another constructor and another order of the ranks. */
static MPI_Comm create(long cycle, MPI_Group world)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group reversed;
    const int range[1][3] = {{check_size - 1, 0, -1}}, dims[1] = {check_size}, periods[1] = {(int)(cycle / KINDS % 2)};
    switch (cycle % KINDS) {
    case 0:
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        break;
    case 1:
        MPI_Comm_split(MPI_COMM_WORLD, 0, (check_rank + (int)(cycle % check_size)) % check_size, &comm);
        break;
    case 2:
        MPI_Group_range_incl(world, 1, (int(*)[3])range, &reversed);
        MPI_Comm_create(MPI_COMM_WORLD, reversed, &comm);
        MPI_Group_free(&reversed);
        break;
    case 3:
        MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 1, &comm);
        break;
    default:
        MPI_Comm_split(MPI_COMM_WORLD, check_rank == check_size - 1, 0, &comm);
    }
    return comm;
}

static void cycle(long number, MPI_Group world, int keyval, int count, int *data, int *result)
{
    MPI_Comm comm = create(number, world);
    const long before = deletions;
    snprintf(check_current, sizeof check_current, "cycle=%ld", number);
    MPI_Comm_set_attr(comm, keyval, data);
    /* Plans of three collectives; sometimes none: a communicator that is only made. */
    for (int k = 0; k < 3 && number % 11 != 0; k++)
        check_cases += one(comm, number * 3 + k, (int)((number * 3 + k) % COLLECTIVES), count, data, result);
    /* Now and then freed while a message of the program is under way, so that the library keeps it for longer. */
    MPI_Request request[2];
    const int pending = number % 7 == 3;
    if (pending) {
        int rank;
        MPI_Comm_rank(comm, &rank);
        MPI_Irecv(result, count, MPI_INT, rank, 5, comm, &request[0]);
        MPI_Isend(data, count, MPI_INT, rank, 5, comm, &request[1]);
    }
    MPI_Comm_free(&comm);
    for (int k = 0; pending && k < 2; k++)
        MPI_Wait(&request[k], MPI_STATUS_IGNORE);
    if (deletions != before + 1)
        fail("%ld attributes deleted, expected 1", deletions - before);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("soak", "cycles,calls,bytes", argc, argv);
    const long cycles = option_number(argc, argv, "cycles", 0, 0), calls = option_number(argc, argv, "calls", 1, 0);
    const int count = (int)(option_number(argc, argv, "bytes", 2, 2048) / (long)sizeof(int));
    alarm((unsigned)option_number(argc, argv, "watchdog", 1000, 1800));
    int *data = calloc((size_t)(count * check_size) + 1, sizeof *data),
        *result = calloc((size_t)(count * check_size) + 1, sizeof *result);
    if (!data || !result || count < 1)
        fail("out of memory");
    int keyval;
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL);
    fill_pools(count * (int)sizeof(int));
    struct held start = look();
    const long most = cycles > calls ? cycles : calls;
    for (long k = 0; k < most; k++) {
        if (k < cycles)
            cycle(k, world, keyval, count, data, result);
        if (k < calls) {
            /* From one element up: the number of elements has nothing to do with which collective it is. */
            snprintf(check_current, sizeof check_current, "call=%ld", k);
            check_cases +=
                one(MPI_COMM_WORLD, k, (int)(k % COLLECTIVES), 1 + (int)(k / COLLECTIVES * 37 % count), data, result);
        }
        if (k == most / 10)
            start = look();
    }
    const struct held end = look();
    for (int r = 0; r < check_size; r++) {
        message_barrier(MPI_COMM_WORLD);
        if (r == check_rank)
            printf("soak rank=%d rss_kb_start=%ld rss_kb_end=%ld fds_start=%ld fds_end=%ld maps_start=%ld maps_end=%ld "
                   "threads_start=%ld threads_end=%ld deleted=%ld\n",
                   r, start.rss_kb, end.rss_kb, start.fds, end.fds, start.maps, end.maps, start.threads, end.threads,
                   deletions);
        fflush(stdout);
    }
    MPI_Comm_free_keyval(&keyval);
    MPI_Group_free(&world);
    free(data);
    free(result);
    check_finish();
    return 0;
}
