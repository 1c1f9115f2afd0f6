/* Sparse Alltoallv: rank 0 sends to rank 1 in calls k and k + `distance`, blocks of different lengths, and nothing in
   between; nobody holds rank 0 back. Rank 1, which waits in call k, is stopped for a moment by a signal, at another
   place in each trial; both messages arrive meanwhile. Every block is verified.
   Options: distance=256 trials=1000 stop_ms=8 count=50. Ends like every program that verifies. */
#include "check.h"
#include <time.h>

static long stop_ms;

static void pause_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static void on_signal(int number)
{
    (void)number;
    pause_ms(stop_ms);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("stalled", "distance,trials,stop_ms,count", argc, argv);
    const long distance = option_number(argc, argv, "distance", 0, 256),
               trials = option_number(argc, argv, "trials", 1, 1000);
    stop_ms = option_number(argc, argv, "stop_ms", 2, 8);
    const int count = (int)option_number(argc, argv, "count", 3, 50);
    if (check_size < 2)
        fail("%d ranks, expected at least 2", check_size);
    int *sent = calloc((size_t)count * 2, sizeof *sent), *received = calloc((size_t)count * 2, sizeof *received);
    int send_counts[check_size], receive_counts[check_size], places[check_size];
    for (int r = 0; r < check_size; r++)
        send_counts[r] = receive_counts[r] = places[r] = 0;
    signal(SIGUSR1, on_signal);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        fail("timer_create");
    for (long trial = 0; trial < trials; trial++) {
        message_barrier(MPI_COMM_WORLD);
        if (check_rank == 1) {
            /* In the middle of waiting. */
            const struct itimerspec soon = {.it_value = {0, 1000000 + trial * 7919 % 100000}};
            timer_settime(timer, 0, &soon, NULL);
        } else if (check_rank == 0) {
            pause_ms(3);
        }
        for (long k = 0; k <= distance; k++) {
            const int length = k == 0 ? count : k == distance ? count + 5 : 0;
            snprintf(check_current, sizeof check_current, "trial %ld call %ld", trial, k);
            if (check_rank == 0)
                send_counts[1] = length;
            if (check_rank == 1)
                receive_counts[0] = length;
            for (int i = 0; i < length; i++)
                sent[i] = (int)(trial * 100003 + k * 31 + i), received[i] = -1;
            MPI_Alltoallv(sent, send_counts, places, MPI_INT, received, receive_counts, places, MPI_INT,
                          MPI_COMM_WORLD);
            for (int i = 0; check_rank == 1 && i < length; i++)
                if (received[i] != sent[i])
                    fail("element %d is %d, expected %d", i, received[i], sent[i]);
            check_cases += length > 0;
        }
    }
    timer_delete(timer);
    free(sent);
    free(received);
    check_finish();
}
