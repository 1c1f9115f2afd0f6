/* One rank comes late to a large Bcast, Reduce and Allreduce. Everybody reports by how much its peak memory rose during
   the call: nobody may buffer a whole message for the sleeper.
   Options: rank=<last> seconds=1 bytes=16777216 */
#include "check.h"

/* A line "name:  123 kB" of /proc/self/status. */
static long status_kb(const char *name)
{
    char line[256];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && kb < 0 && fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            kb = strtol(line + strlen(name) + 1, NULL, 10);
    if (f)
        fclose(f);
    if (kb < 0)
        fail("/proc/self/status: no line %s", name);
    return kb;
}

/* Makes VmHWM start again from what is resident now. Where the kernel does not allow it, VmHWM only shows new
   records. */
static void reset_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (f) {
        fputs("5\n", f);
        fclose(f);
    }
}

static double contribution(int rank, size_t index)
{
    return (double)((index * 31 + (size_t)rank * 17) % 1009);
}

static void print_in_order(const char *collective, size_t bytes, int sleeper, long seconds, long growth, long anonymous)
{
    for (int r = 0; r < check_size; r++) {
        message_barrier(MPI_COMM_WORLD);
        if (r == check_rank)
            printf("late collective=%s bytes=%zu sleeper=%d seconds=%ld rank=%d growth_kb=%ld anonymous_after_kb=%ld\n",
                   collective, bytes, sleeper, seconds, r, growth, anonymous);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("late", "rank,seconds,bytes", argc, argv);
    const int sleeper = (int)option_number(argc, argv, "rank", 0, check_size - 1);
    const long seconds = option_number(argc, argv, "seconds", 1, 1);
    const size_t count = (size_t)option_number(argc, argv, "bytes", 2, 16 << 20) / sizeof(double);
    static const char *const names[] = {"bcast", "reduce", "allreduce"};

    double *send = malloc(count * sizeof *send + 1), *receive = malloc(count * sizeof *receive + 1);
    if (!send || !receive)
        fail("out of memory");
    for (int which = 0; which < 3; which++) {
        snprintf(check_current, sizeof check_current, "%s sleeper=%d bytes=%zu root=0", names[which], sleeper,
                 count * sizeof *send);
        /* All user pages are touched before the peak is reset. */
        for (size_t i = 0; i < count; i++) {
            send[i] = which == 0 && check_rank != 0 ? -1 : contribution(check_rank, i);
            receive[i] = -1;
        }
        message_barrier(MPI_COMM_WORLD);
        reset_peak();
        const long before = status_kb("VmHWM"), anonymous = status_kb("RssAnon");
        if (check_rank == sleeper)
            sleep((unsigned)seconds);
        if (which == 0)
            MPI_Bcast(send, (int)count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        else if (which == 1)
            MPI_Reduce(send, check_rank == 0 ? receive : NULL, (int)count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        else
            MPI_Allreduce(send, receive, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        const long growth = status_kb("VmHWM") - before, kept = status_kb("RssAnon") - anonymous;

        for (size_t i = 0; i < count; i++) {
            double sum = 0;
            for (int r = 0; r < check_size; r++)
                sum += contribution(r, i);
            const double got = which == 0 ? send[i] : receive[i], want = which == 0 ? contribution(0, i) : sum;
            if ((which != 1 || check_rank == 0) && got != want)
                fail("index=%zu got=%.17g expected=%.17g", i, got, want);
        }
        check_cases++;
        print_in_order(names[which], count * sizeof *send, sleeper, seconds, growth, kept);
    }
    free(send);
    free(receive);
    check_finish();
    return 0;
}
