/* A tool that communicates for itself: collectives in MPI_Init, after every MPI_Bcast and in MPI_Finalize, some of them
   by the names MPI_X, which its own wrappers see again. What it receives is compared; rank 0 prints a line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 20000 };
static MPI_Comm own;
static int size;
static long broadcasts, nested;

static void expect(const char *what, int got, int want)
{
    if (got != want) {
        fprintf(stderr, "tool_talk: %s is %d, expected %d\n", what, got, want);
        PMPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static int communicate(int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm))
{
    static int in[COUNT], out[COUNT];
    for (int i = 0; i < COUNT; i++)
        in[i] = i % 1000;
    const int code = allreduce(in, out, COUNT, MPI_INT, MPI_SUM, own);
    for (int i = 0; i < COUNT; i++)
        expect("a sum", out[i], size * (i % 1000));
    return code;
}

static int begin(int code)
{
    PMPI_Comm_dup(MPI_COMM_WORLD, &own);
    PMPI_Comm_size(own, &size);
    communicate(PMPI_Allreduce);
    return code;
}

int MPI_Init(int *argc, char ***argv)
{
    return begin(PMPI_Init(argc, argv));
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return begin(PMPI_Init_thread(argc, argv, required, provided));
}

int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    nested += comm == own;
    return PMPI_Allreduce(in, out, n, type, op, comm);
}

int MPI_Bcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    const int code = PMPI_Bcast(data, n, type, root, comm);
    broadcasts++;
    communicate(MPI_Allreduce);
    return code;
}

int MPI_Finalize(void)
{
    static int mine[COUNT];
    int rank, *all = NULL;
    PMPI_Comm_rank(own, &rank);
    if (rank == 0)
        all = malloc((size_t)size * sizeof mine);
    for (int i = 0; i < COUNT; i++)
        mine[i] = rank + i;
    MPI_Gather(mine, COUNT, MPI_INT, all, COUNT, MPI_INT, 0, own);
    for (int i = 0; rank == 0 && i < size * COUNT; i++)
        expect("a gathered number", all[i], i / COUNT + i % COUNT);
    if (rank == 0) {
        printf("tool_talk broadcasts=%ld nested=%ld\n", broadcasts, nested);
        fflush(stdout);
    }
    free(all);
    PMPI_Comm_free(&own);
    return PMPI_Finalize();
}
