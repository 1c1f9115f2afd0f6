/* Preloaded into MPICH's ranks by the tests: a rank that finds no message lets another one have the core.

   MPICH waits by asking UCX again and again, MPICH 4.0 without ever yielding. Where ranks outnumber cores a message
   then costs a turn of the scheduler, and a test of seconds takes minutes. */
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>

/* Of libucp: moves messages on, returns how much was done. */
unsigned ucp_worker_progress(void *worker);

enum { PATIENCE = 20 };

unsigned ucp_worker_progress(void *worker)
{
    static _Thread_local unsigned (*next)(void *);
    static _Thread_local int in_vain;
    if (!next) {
        /* By its name: an MPI that Python has opened is out of RTLD_NEXT's sight. */
        void *ucp = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
        *(void **)&next = ucp ? dlsym(ucp, "ucp_worker_progress") : NULL;
        if (!next)
            abort();
    }
    const unsigned done = next(worker);
    if (done)
        in_vain = 0;
    else if (++in_vain > PATIENCE)
        sched_yield();
    return done;
}
