/* What every test program shares: options, failing loudly, a watchdog, synchronisation without collectives, the PASS
   line. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *check_program;
static int check_rank, check_size;
/* Verified calls on this rank. */
static long check_cases;
/* The case at hand in this thread, in words: named by failures and by the watchdog. */
static _Thread_local char check_current[320] = "start";

/* Prints one line and ends the job; the line is complete before the other ranks are killed. */
__attribute__((format(printf, 1, 2))) static inline _Noreturn void fail(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "FAIL %s: rank=%d %s: %s\n", check_program, check_rank, check_current, text);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* A hang says where it is instead of being killed silently by the harness's own time limit. */
static inline void check_on_alarm(int signal_number)
{
    (void)signal_number;
    static const char head[] = "HANG ", middle[] = ": watchdog expired in ";
    (void)!write(2, head, sizeof head - 1);
    (void)!write(2, check_program, strlen(check_program));
    (void)!write(2, middle, sizeof middle - 1);
    (void)!write(2, check_current, strlen(check_current));
    (void)!write(2, "\n", 1);
    _exit(3);
}

/* The value of "key=value" on the command line, else the position-th argument without '=', else the default. */
static inline const char *option(int argc, char **argv, const char *key, int position, const char *otherwise)
{
    const size_t length = strlen(key);
    for (int a = 1; a < argc; a++)
        if (strncmp(argv[a], key, length) == 0 && argv[a][length] == '=')
            return argv[a] + length + 1;
    for (int a = 1; a < argc; a++)
        if (!strchr(argv[a], '=') && position-- == 0)
            return argv[a];
    return otherwise;
}

/* Whether name is in a comma-separated list; "all" lists everything. */
static inline int listed(const char *list, const char *name)
{
    const size_t length = strlen(name);
    if (strcmp(list, "all") == 0)
        return 1;
    for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return 1;
    return 0;
}

static inline long option_number(int argc, char **argv, const char *key, int position, long otherwise)
{
    const char *text = option(argc, argv, key, position, NULL);
    if (!text)
        return otherwise;
    char *end;
    const long number = strtol(text, &end, 10);
    if (end == text || *end || number < 0)
        fail("option %s=%s: expected a number >= 0", key, text);
    return number;
}

/* Parses a comma-separated list of numbers into out, returns how many. */
static inline int number_list(const char *text, long *out, int room)
{
    int n = 0;
    while (*text) {
        char *end;
        const long number = strtol(text, &end, 10);
        if (end == text || number < 0 || (*end && *end != ',') || n == room)
            fail("list \"%s\": expected at most %d numbers >= 0 separated by commas", text, room);
        out[n++] = number;
        text = *end ? end + 1 : end;
    }
    return n;
}

/* Checks option names against `known` (comma-separated) and starts the watchdog. Call after MPI_Init. */
static inline void check_start(const char *program, const char *known, int argc, char **argv)
{
    check_program = program;
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
    for (int a = 1; a < argc; a++) {
        char key[32];
        const char *equals = strchr(argv[a], '=');
        if (!equals)
            continue;
        snprintf(key, sizeof key, "%.*s", (int)(equals - argv[a]), argv[a]);
        if (!listed(known, key) && strcmp(key, "watchdog") != 0)
            fail("unknown option %s, expected one of %s,watchdog", argv[a], known);
    }
    signal(SIGALRM, check_on_alarm);
    alarm((unsigned)option_number(argc, argv, "watchdog", 1000, 300));
}

enum { TAG_BARRIER = 31001, TAG_CASES, TAG_GATHER };

/* Dissemination barrier of messages: synchronises without any collective that a library under test could replace. */
static inline void message_barrier(MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int step = 1; step < size; step *= 2)
        MPI_Sendrecv(NULL, 0, MPI_BYTE, (rank + step) % size, TAG_BARRIER, NULL, 0, MPI_BYTE,
                     (rank - step + size) % size, TAG_BARRIER, comm, MPI_STATUS_IGNORE);
}

/* Waits until every rank has verified everything, then rank 0 prints PASS with the number of cases over all ranks. */
static inline void check_finish(void)
{
    snprintf(check_current, sizeof check_current, "finish");
    long total = check_cases;
    if (check_rank != 0) {
        MPI_Send(&check_cases, 1, MPI_LONG, 0, TAG_CASES, MPI_COMM_WORLD);
    } else {
        for (int r = 1; r < check_size; r++) {
            long cases;
            MPI_Recv(&cases, 1, MPI_LONG, r, TAG_CASES, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            total += cases;
        }
        printf("PASS %s cases=%ld\n", check_program, total);
        fflush(stdout);
    }
    MPI_Finalize();
}

#endif
