/* Stops one rank inside its calls: while it waits for data in a series, it is interrupted and sleeps, and the others
   run ahead. By the time it goes on they may have sent what belongs to much later calls. */
#ifndef FUZZ_STOP_H
#define FUZZ_STOP_H

#include "fuzz_block.h"
#include <sys/syscall.h>
#include <time.h>

/* How often in a series, how long before it is stopped the slow rank waits, and how long those that send to it let it
   wait. */
enum { STOPS = 8, WAIT_BEFORE = 1000000, LATE = 3000 };

struct stopper {
    int is_slow, left;
    timer_t timer;
};

static volatile sig_atomic_t stop_milliseconds;

static void stop_here(int signal_number)
{
    (void)signal_number;
    const struct timespec pause = {stop_milliseconds / 1000, stop_milliseconds % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

/* The signal goes to the calling thread: others of the process, the library's too, go on. */
static struct stopper stopper_new(int milliseconds, int is_slow)
{
    struct stopper stopper = {is_slow, STOPS, 0};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2};
    const struct sigaction action = {.sa_handler = stop_here, .sa_flags = SA_RESTART};
    if (!is_slow)
        return stopper;
    stop_milliseconds = milliseconds;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    sigaction(SIGUSR2, &action, NULL);
    if (timer_create(CLOCK_MONOTONIC, &event, &stopper.timer) != 0)
        fail("timer_create failed");
    return stopper;
}

static void stopper_free(const struct stopper *stopper)
{
    if (stopper->is_slow)
        timer_delete(stopper->timer);
}

/* Before a call of a series: where the slow rank receives, it will be stopped while it waits, as those that send to it
   are late. */
static void stop_slow_rank(struct stopper *stopper, const struct statement *s, const struct fuzz_comm *comm)
{
    const struct itimerspec after = {{0, 0}, {0, WAIT_BEFORE}};
    int receives = 0;
    for (int from = 0; stopper->is_slow && from < comm->size; from++)
        receives = receives || block_items(s, comm->size, from, comm->rank) > 0;
    const int sends = s->slow < comm->size && block_items(s, comm->size, comm->rank, s->slow) > 0;
    if (stopper->left == 0 || !(receives || sends))
        return;
    stopper->left--;
    if (receives)
        timer_settime(stopper->timer, 0, &after, NULL);
    else
        usleep(LATE);
}

#endif
