/* A library that covers functions of the MPI library that Nagare calls for itself: whoever looks them up in the order
   of symbols, and not in the MPI library, ends here. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define COVER(name, parameters)                                                                                        \
    int name parameters                                                                                                \
    {                                                                                                                  \
        fprintf(stderr, "tool_covers: %s was called\n", #name);                                                        \
        abort();                                                                                                       \
    }
COVER(PMPI_Isend, (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request))
COVER(PMPI_Issend, (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request))
COVER(PMPI_Irecv, (void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request))
COVER(PMPI_Testsome, (int n, MPI_Request *requests, int *done, int *which, MPI_Status *statuses))
COVER(PMPI_Waitsome, (int n, MPI_Request *requests, int *done, int *which, MPI_Status *statuses))
COVER(PMPI_Reduce_local, (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op))
COVER(PMPI_Test, (MPI_Request *request, int *done, MPI_Status *status))
COVER(PMPI_Iallreduce, (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                        MPI_Request *request))
COVER(PMPI_Iallgather, (const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype other, MPI_Comm comm,
                        MPI_Request *request))
#ifndef OPEN_MPI /* there Nagare has a function of this name */
COVER(PMPI_Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request))
#endif
COVER(PMPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made))
COVER(PMPI_Comm_get_attr, (MPI_Comm comm, int key, void *value, int *found))
