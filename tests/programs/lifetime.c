/* Communicator soak: create, use and free over and over. Reports memory and descriptors after 10 % and at the end, and
   counts the user's attribute callbacks exactly: a hidden duplicate must not copy or delete the user's attributes.
   Options: cycles=10000 bytes=4096 */
#include "check.h"
#include <dirent.h>

static long copies, deletions;

static int on_copy(MPI_Comm old, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)old, (void)keyval, (void)extra;
    copies++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int keyval, void *in, void *extra)
{
    (void)comm, (void)keyval, (void)in, (void)extra;
    deletions++;
    return MPI_SUCCESS;
}

static void expect_callbacks(long want_copies, long want_deletions, const char *when)
{
    if (copies != want_copies || deletions != want_deletions)
        fail("attribute callbacks %s: got copies=%ld deletions=%ld expected copies=%ld deletions=%ld", when, copies,
             deletions, want_copies, want_deletions);
}

static long resident_kb(void)
{
    long total = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &total, &resident) != 2)
        fail("/proc/self/statm: cannot be read");
    fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static long open_descriptors(void)
{
    long n = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (!directory)
        fail("/proc/self/fd: cannot be read");
    while (readdir(directory))
        n++;
    closedir(directory);
    return n - 3; /* ".", ".." and the directory itself */
}

/* Cycle by cycle another constructor, another set of members in another order: a handle value that comes back belongs
   to a communicator that differs from the one before. */
static MPI_Comm create(long cycle, MPI_Comm parent, MPI_Group world, int *dup)
{
    MPI_Comm comm = MPI_COMM_NULL;
    *dup = cycle % 4 == 0;
    switch (cycle % 4) {
    case 0:
        MPI_Comm_dup(parent, &comm);
        break;
    case 1:
        MPI_Comm_split(parent, check_rank % 2, -check_rank, &comm);
        break;
    case 2: {
        MPI_Group part;
        int range[1][3] = {{check_size - 1, (int)(cycle / 4 % check_size), -1}};
        MPI_Group_range_incl(world, 1, range, &part);
        MPI_Comm_create(parent, part, &comm);
        MPI_Group_free(&part);
        break;
    }
    default:
        MPI_Comm_split(parent, check_rank == cycle / 4 % check_size && check_size > 1 ? MPI_UNDEFINED : 0, -check_rank,
                       &comm);
    }
    return comm;
}

static int contribution(int world_rank, long cycle, int index)
{
    return (int)(((unsigned)world_rank * 7919u + (unsigned)cycle * 31u + (unsigned)index) % 10007u);
}

static void use(MPI_Comm comm, MPI_Group world, long cycle, int count, int *data)
{
    MPI_Group group;
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_group(comm, &group);
    int members[size], numbers[size];
    for (int r = 0; r < size; r++)
        numbers[r] = r;
    MPI_Group_translate_ranks(group, size, numbers, world, members);
    MPI_Group_free(&group);
    for (int i = 0; i < count; i++)
        data[i] = contribution(check_rank, cycle, i);
    const int root = (int)(cycle % size), reduce = cycle / 2 % 2 == 0;
    snprintf(check_current, sizeof check_current, "%s cycle=%ld size=%d comm_rank=%d count=%d root=%d",
             reduce ? "allreduce" : "bcast", cycle, size, rank, count, root);
    if (reduce)
        MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_INT, MPI_SUM, comm);
    else
        MPI_Bcast(data, count, MPI_INT, root, comm);
    for (int i = 0; i < count; i++) {
        int want = reduce ? 0 : contribution(members[root], cycle, i);
        for (int r = 0; reduce && r < size; r++)
            want += contribution(members[r], cycle, i);
        if (data[i] != want)
            fail("index=%d got=%d expected=%d", i, data[i], want);
    }
    check_cases++;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("lifetime", "cycles,bytes", argc, argv);
    const long cycles = option_number(argc, argv, "cycles", 0, 10000);
    const int count = (int)(option_number(argc, argv, "bytes", 1, 4096) / (long)sizeof(int));
    alarm((unsigned)option_number(argc, argv, "watchdog", 1000, 1800));
    int *data = malloc((size_t)count * sizeof *data + 1);
    if (!data)
        fail("out of memory");

    int keyval, marker = 0;
    MPI_Comm parent, previous = MPI_COMM_NULL;
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_create_keyval(on_copy, on_delete, &keyval, NULL);
    MPI_Comm_set_attr(parent, keyval, &marker);
    /* The parent itself is used too: if a private duplicate is made of it, that must not run the user's callbacks. */
    use(parent, world, 0, count, data);
    expect_callbacks(0, 0, "after a collective on the parent");

    long dups = 0, reused = 0, rss_start = 0, fds_start = 0;
    for (long cycle = 0; cycle < cycles; cycle++) {
        int dup;
        MPI_Comm comm = create(cycle, parent, world, &dup);
        dups += dup;
        expect_callbacks(dups, dups - dup, "after the constructor");
        if (comm != MPI_COMM_NULL) {
            reused += comm == previous;
            previous = comm;
            void *value;
            int found;
            MPI_Comm_get_attr(comm, keyval, &value, &found);
            if (found != dup || (found && value != &marker))
                fail("cycle=%ld: attribute found=%d expected=%d", cycle, found, dup);
            use(comm, world, cycle, count, data);
            expect_callbacks(dups, dups - dup, "after a collective");
            MPI_Comm_free(&comm);
        }
        expect_callbacks(dups, dups, "after MPI_Comm_free");
        if (cycle == cycles / 10) {
            rss_start = resident_kb();
            fds_start = open_descriptors();
        }
    }
    const long rss_end = resident_kb(), fds_end = open_descriptors();
    for (int r = 0; r < check_size; r++) {
        message_barrier(MPI_COMM_WORLD);
        if (r == check_rank)
            printf("lifetime rank=%d cycles=%ld reused=%ld rss_kb_start=%ld rss_kb_end=%ld fds_start=%ld fds_end=%ld\n",
                   r, cycles, reused, rss_start, rss_end, fds_start, fds_end);
        fflush(stdout);
    }
    MPI_Comm_free(&parent);
    expect_callbacks(dups, dups + 1, "after the parent was freed");
    MPI_Comm_free_keyval(&keyval);
    MPI_Group_free(&world);
    free(data);
    check_finish();
    return 0;
}
