/* While one thread is still freeing a communicator, another is given its number, and makes verified calls on it. On one
   rank a thread frees communicators of its own, and sleeps wherever the library lets go of a lock in between. Ends when
   the number was one that was still being freed so often on that rank as asked, or after 20 000 calls. Options: met=20.
   A line `handed_on calls=`: how many calls that took. */
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

enum { ELEMENTS = 30000, MOST_CALLS = 20000 };

static _Thread_local int slow;
static atomic_uintptr_t freeing;
static atomic_int stop;

/* Before the library's own, whose calls of it come here. */
int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    static int (*real)(pthread_mutex_t *);
    if (!real)
        real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    const int code = real(mutex);
    if (slow)
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    return code;
}

static void *free_slowly(void *nothing)
{
    while (!atomic_load(&stop)) {
        MPI_Comm own;
        MPI_Comm_dup(MPI_COMM_SELF, &own);
        atomic_store(&freeing, (uintptr_t)own);
        slow = 1;
        MPI_Comm_free(&own);
        slow = 0;
        atomic_store(&freeing, 0);
        nanosleep(&(struct timespec){0, 3000000}, NULL);
    }
    return nothing;
}

int main(int argc, char **argv)
{
    int level, met = 0, most = 0, call = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    check_start("handed_on", "met", argc, argv);
    if (level < MPI_THREAD_MULTIPLE) {
        printf("SKIP\n");
        check_finish();
    }
    const int asked = atoi(option(argc, argv, "met", 0, "20"));
    static int in[ELEMENTS], out[ELEMENTS];
    MPI_Comm parent;
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    pthread_t thread;
    const int frees = check_rank == check_size / 2;
    if (frees)
        pthread_create(&thread, NULL, free_slowly, NULL);
    for (; most < asked && call < MOST_CALLS; call++) {
        MPI_Comm comm;
        MPI_Comm_dup(parent, &comm);
        met += (uintptr_t)comm == atomic_load(&freeing);
        snprintf(check_current, sizeof check_current, "call %d", call);
        for (int i = 0; i < ELEMENTS; i++)
            in[i] = check_rank + i + call, out[i] = -1;
        MPI_Allreduce(in, out, ELEMENTS, MPI_INT, MPI_SUM, comm);
        for (int i = 0; i < ELEMENTS; i++)
            if (out[i] != check_size * (check_size - 1) / 2 + check_size * (i + call))
                fail("element %d is %d", i, out[i]);
        check_cases++;
        MPI_Comm_free(&comm);
        if (call % 20 == 0)
            MPI_Allreduce(&met, &most, 1, MPI_INT, MPI_MAX, parent);
    }
    atomic_store(&stop, 1);
    if (frees)
        pthread_join(thread, NULL);
    MPI_Comm_free(&parent);
    if (check_rank == 0)
        printf("handed_on calls=%d\n", call);
    check_finish();
}
