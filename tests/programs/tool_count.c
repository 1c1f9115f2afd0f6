/* A tool that counts: wrappers of the profiling interface, which know nothing of Nagare, and a line of counts per rank
   in MPI_Finalize. Preloaded, linked as a shared library or compiled into the program. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#define PLAIN(X)                                                                                                       \
    X(MPI_Init, (int *argc, char ***argv), (argc, argv))                                                               \
    X(MPI_Init_thread, (int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided))       \
    X(MPI_Pcontrol, (const int level, ...), (level))                                                                   \
    X(MPI_Bcast, (void *data, int n, MPI_Datatype type, int root, MPI_Comm comm), (data, n, type, root, comm))         \
    X(MPI_Reduce, (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),           \
      (in, out, n, type, op, root, comm))                                                                              \
    X(MPI_Allreduce, (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),                  \
      (in, out, n, type, op, comm))                                                                                    \
    X(MPI_Alltoall, (const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, MPI_Comm comm),      \
      (in, n, type, out, m, to, comm))                                                                                 \
    X(MPI_Alltoallv,                                                                                                   \
      (const void *in, const int *n, const int *at, MPI_Datatype type, void *out, const int *m, const int *to_at,      \
       MPI_Datatype to, MPI_Comm comm),                                                                                \
      (in, n, at, type, out, m, to_at, to, comm))                                                                      \
    X(MPI_Alltoallw,                                                                                                   \
      (const void *in, const int *n, const int *at, const MPI_Datatype *types, void *out, const int *m,                \
       const int *to_at, const MPI_Datatype *to, MPI_Comm comm),                                                       \
      (in, n, at, types, out, m, to_at, to, comm))                                                                     \
    X(MPI_Gather,                                                                                                      \
      (const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, int root, MPI_Comm comm),          \
      (in, n, type, out, m, to, root, comm))                                                                           \
    X(MPI_Allgather, (const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, MPI_Comm comm),     \
      (in, n, type, out, m, to, comm))                                                                                 \
    X(MPI_Reduce_scatter_block, (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),       \
      (in, out, n, type, op, comm))                                                                                    \
    X(MPI_Reduce_scatter, (const void *in, void *out, const int *n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),      \
      (in, out, n, type, op, comm))                                                                                    \
    X(MPI_Allgatherv,                                                                                                  \
      (const void *in, int n, MPI_Datatype type, void *out, const int *m, const int *at, MPI_Datatype to,              \
       MPI_Comm comm),                                                                                                 \
      (in, n, type, out, m, at, to, comm))                                                                             \
    X(MPI_Scatter,                                                                                                     \
      (const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, int root, MPI_Comm comm),          \
      (in, n, type, out, m, to, root, comm))                                                                           \
    X(MPI_Gatherv,                                                                                                     \
      (const void *in, int n, MPI_Datatype type, void *out, const int *m, const int *at, MPI_Datatype to, int root,    \
       MPI_Comm comm),                                                                                                 \
      (in, n, type, out, m, at, to, root, comm))                                                                       \
    X(MPI_Scatterv,                                                                                                    \
      (const void *in, const int *n, const int *at, MPI_Datatype type, void *out, int m, MPI_Datatype to, int root,    \
       MPI_Comm comm),                                                                                                 \
      (in, n, at, type, out, m, to, root, comm))                                                                       \
    X(MPI_Send, (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm),                          \
      (data, n, type, to, tag, comm))                                                                                  \
    X(MPI_Recv, (void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status),          \
      (data, n, type, from, tag, comm, status))                                                                        \
    X(MPI_Isend, (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request),   \
      (data, n, type, to, tag, comm, request))                                                                         \
    X(MPI_Issend, (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request),  \
      (data, n, type, to, tag, comm, request))                                                                         \
    X(MPI_Irecv, (void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request),       \
      (data, n, type, from, tag, comm, request))                                                                       \
    X(MPI_Waitall, (int n, MPI_Request *requests, MPI_Status *statuses), (n, requests, statuses))                      \
    X(MPI_Waitsome, (int n, MPI_Request *requests, int *done, int *which, MPI_Status *statuses),                       \
      (n, requests, done, which, statuses))                                                                            \
    X(MPI_Testsome, (int n, MPI_Request *requests, int *done, int *which, MPI_Status *statuses),                       \
      (n, requests, done, which, statuses))                                                                            \
    X(MPI_Iprobe, (int from, int tag, MPI_Comm comm, int *there, MPI_Status *status),                                  \
      (from, tag, comm, there, status))                                                                                \
    X(MPI_Sendrecv,                                                                                                    \
      (const void *in, int n, MPI_Datatype type, int to, int tag, void *out, int m, MPI_Datatype as, int from,         \
       int its, MPI_Comm comm, MPI_Status *status),                                                                    \
      (in, n, type, to, tag, out, m, as, from, its, comm, status))                                                     \
    X(MPI_Reduce_local, (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op), (in, out, n, type, op))      \
    X(MPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made))                          \
    X(MPI_Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request), (comm, made, request))                     \
    X(MPI_Comm_free, (MPI_Comm * comm), (comm))

#if MPI_VERSION >= 4
#define LARGE(X)                                                                                                       \
    X(MPI_Bcast_c, (void *data, MPI_Count n, MPI_Datatype type, int root, MPI_Comm comm), (data, n, type, root, comm)) \
    X(MPI_Allreduce_c, (const void *in, void *out, MPI_Count n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),          \
      (in, out, n, type, op, comm))
#else
#define LARGE(X)
#endif

#define NUMBER(name, parameters, arguments) NUMBER_##name,
enum { PLAIN(NUMBER) LARGE(NUMBER) NUMBERS };

#define NAME(name, parameters, arguments) #name,
static const char *const names[] = {PLAIN(NAME) LARGE(NAME)};
static long counts[NUMBERS];

#define WRAPPER(name, parameters, arguments)                                                                           \
    int name parameters                                                                                                \
    {                                                                                                                  \
        counts[NUMBER_##name]++;                                                                                       \
        return P##name arguments;                                                                                      \
    }
PLAIN(WRAPPER)
LARGE(WRAPPER)

int MPI_Finalize(void)
{
    char line[1024];
    int rank, length;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    length = snprintf(line, sizeof line, "tool_count rank=%d", rank);
    for (int n = 0; n < NUMBERS; n++)
        if (counts[n] > 0)
            length += snprintf(line + length, sizeof line - length, " %s=%ld", names[n], counts[n]);
    line[length++] = '\n';
    /* In one piece: lines of several ranks do not mix. */
    (void)!write(1, line, (size_t)length);
    return PMPI_Finalize();
}
