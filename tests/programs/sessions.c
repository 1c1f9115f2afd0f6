/* Communicators that MPI_COMM_WORLD does not make: those of sessions (MPI 4.0 section 11.3), beside the world or
   without it. Every collective is verified. Where the MPI has no sessions: a line SKIP.
   Options: model=session|beside|after count=40000 Not here: a session after the last one has ended. Without Nagare,
   MPICH 4.0.2 crashes there and MPICH 5.0.2 does now and then. */
#include "check.h"

/* Open MPI 5.0 has them though it calls itself 3.1. */
#if MPI_VERSION < 4 && !(defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
int main(void)
{
    printf("SKIP sessions: MPI %d.%d has none\n", MPI_VERSION, MPI_SUBVERSION);
    return 0;
}
#else

static MPI_Session session;

static MPI_Comm communicator(const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

static void expect(const char *what, int index, int got, int want)
{
    if (got != want)
        fail("%s index=%d got=%d expected=%d", what, index, got, want);
}

/* Four collectives on `comm` and on a duplicate of it, large and small. */
static void use(MPI_Comm comm, int count)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int total = count * size;
    int *data = malloc((size_t)total * sizeof *data), *result = malloc((size_t)total * sizeof *result);
    if (!data || !result)
        fail("out of memory");
    for (int i = 0; i < total; i++)
        data[i] = rank * 1000 + i % 997;
    MPI_Allreduce(data, result, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; i++)
        expect("allreduce", i, result[i], 1000 * size * (size - 1) / 2 + size * (i % 997));
    MPI_Alltoall(data, count, MPI_INT, result, count, MPI_INT, comm);
    for (int i = 0; i < total; i++)
        expect("alltoall", i, result[i], i / count * 1000 + (rank * count + i % count) % 997);
    MPI_Allgather(data, count, MPI_INT, result, count, MPI_INT, comm);
    for (int i = 0; i < total; i++)
        expect("allgather", i, result[i], i / count * 1000 + i % count % 997);
    MPI_Bcast(data, count, MPI_INT, size - 1, comm);
    for (int i = 0; i < count; i++)
        expect("bcast", i, data[i], (size - 1) * 1000 + i % 997);
    check_cases += 4;
    free(data);
    free(result);
}

/* One session from its start to its end, during which two communicators are used. */
static void epoch(const char *tag, int count)
{
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Comm comm = communicator(tag), dup;
    MPI_Comm_rank(comm, &check_rank);
    MPI_Comm_size(comm, &check_size);
    use(comm, 1);
    use(comm, count);
    MPI_Comm_dup(comm, &dup);
    use(dup, count);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    const char *model = option(argc, argv, "model", 0, "session");
    const int count = (int)option_number(argc, argv, "count", 1, 40000);
    check_program = "sessions";
    snprintf(check_current, sizeof check_current, "model=%s count=%d", model, count);
    signal(SIGALRM, check_on_alarm);
    alarm(300);
    if (strcmp(model, "session") == 0) {
        epoch("one", count);
    } else {
        const int after = strcmp(model, "after") == 0;
        MPI_Init(&argc, &argv);
        use(MPI_COMM_WORLD, count);
        if (after) {
            /* The session outlives the world. */
            MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
            MPI_Comm comm = communicator("after");
            MPI_Comm_rank(comm, &check_rank);
            use(comm, count);
            MPI_Finalize();
            use(comm, count);
            MPI_Comm_free(&comm);
            MPI_Session_finalize(&session);
        } else {
            epoch("beside", count);
            use(MPI_COMM_WORLD, count);
            MPI_Finalize();
        }
    }
    if (check_rank == 0)
        printf("PASS sessions cases=%ld\n", check_cases);
    return 0;
}
#endif
