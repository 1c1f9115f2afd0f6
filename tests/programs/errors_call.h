/* One call of a collective by any of its names, all of whose arguments can be wrong. */
#ifndef ERRORS_CALL_H
#define ERRORS_CALL_H

#include "check.h"

enum collective {
    BCAST, REDUCE, ALLREDUCE, ALLTOALL, ALLTOALLV, ALLTOALLW, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER,
    ALLGATHERV, REDUCE_SCATTER_BLOCK, REDUCE_SCATTER, COLLECTIVES
};
static const char *const collective_names[] = {
    "Bcast", "Reduce", "Allreduce", "Alltoall", "Alltoallv", "Alltoallw", "Gather", "Gatherv", "Scatter", "Scatterv",
    "Allgather", "Allgatherv", "Reduce_scatter_block", "Reduce_scatter",
};

/* ELEMENTS of every block, which no library sends without asking. */
enum { MOST_RANKS = 8, ELEMENTS = 20000 };

struct arguments {
    const void *send;
    void *receive;
    int count, receive_count;
    /* Of the last rank's block, where every rank has a count of its own. */
    int last_count, last_receive_count;
    int no_counts, no_places, no_types;
    MPI_Datatype type, receive_type;
    MPI_Op op;
    int root;
    MPI_Comm comm;
};

#define CALL call_mpi
#define NAME(x) MPI_##x
#define COUNT int
#define PLACE int
#include "errors_call.inc"

#define CALL call_pmpi
#define NAME(x) PMPI_##x
#define COUNT int
#define PLACE int
#include "errors_call.inc"

#if MPI_VERSION >= 4
#define CALL call_mpi_large
#define NAME(x) MPI_##x##_c
#define COUNT MPI_Count
#define PLACE MPI_Aint
#include "errors_call.inc"

#define CALL call_pmpi_large
#define NAME(x) PMPI_##x##_c
#define COUNT MPI_Count
#define PLACE MPI_Aint
#include "errors_call.inc"
#endif

struct names {
    const char *before, *after;
    int (*call)(enum collective which, const struct arguments *a);
};

static const struct names names[] = {
    {"MPI_", "", call_mpi},
    {"PMPI_", "", call_pmpi},
#if MPI_VERSION >= 4
    {"MPI_", "_c", call_mpi_large},
    {"PMPI_", "_c", call_pmpi_large},
#endif
};
enum { NAMES = sizeof names / sizeof *names };

static int send_data[MOST_RANKS * ELEMENTS], receive_data[MOST_RANKS * ELEMENTS];

static inline struct arguments valid_arguments(MPI_Comm comm)
{
    return (struct arguments){
        .send = send_data,
        .receive = receive_data,
        .count = ELEMENTS,
        .receive_count = ELEMENTS,
        .last_count = ELEMENTS,
        .last_receive_count = ELEMENTS,
        .type = MPI_INT,
        .receive_type = MPI_INT,
        .op = MPI_SUM,
        .root = 0,
        .comm = comm,
    };
}

#endif
