/* A tool that does not call PMPI_X: it looks up the function that follows its own in the order of symbols. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int (*next)(int *, char ***, int, int *);
    *(void **)&next = dlsym(RTLD_NEXT, "MPI_Init_thread");
    return next(argc, argv, required, provided);
}

int MPI_Bcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    int (*next)(void *, int, MPI_Datatype, int, MPI_Comm);
    *(void **)&next = dlsym(RTLD_NEXT, "MPI_Bcast");
    return next(data, n, type, root, comm);
}
