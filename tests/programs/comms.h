/* Communicators made in every usual way. Ranks that are not members hold MPI_COMM_NULL. */
#ifndef COMMS_H
#define COMMS_H

#include "check.h"

struct member {
    const char *name;
    MPI_Comm comm;
    /* Of this communicator; -1 and 0 where this rank is not a member. */
    int rank, size;
};

enum { MAX_COMMS = 16 };

static inline void comm_add(struct member *list, int *n, const char *name, MPI_Comm comm)
{
    struct member m = {name, comm, -1, 0};
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_rank(comm, &m.rank);
        MPI_Comm_size(comm, &m.size);
    }
    list[(*n)++] = m;
}

static inline MPI_Comm comm_part(void)
{
    /* Ranks 1, 2, 4, 5, 7, 8, …: a sub-communicator that rank 0 has no part in (but for a world of one). */
    MPI_Group world, part;
    MPI_Comm comm;
    int ranks[check_size + 1], n = 0;
    for (int r = 0; r < check_size; r++)
        if (r % 3 != 0 || check_size == 1)
            ranks[n++] = r;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, n, ranks, &part);
    MPI_Comm_create(MPI_COMM_WORLD, part, &comm);
    MPI_Group_free(&part);
    MPI_Group_free(&world);
    return comm;
}

static inline MPI_Comm comm_by_group(void)
{
    /* The upper part of the world in descending order; only its members call the constructor. */
    MPI_Group world, part;
    MPI_Comm comm = MPI_COMM_NULL;
    const int first = check_size / 3;
    int range[1][3] = {{check_size - 1, first, -1}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &part);
    if (check_rank >= first)
        MPI_Comm_create_group(MPI_COMM_WORLD, part, 4711, &comm);
    MPI_Group_free(&part);
    MPI_Group_free(&world);
    return comm;
}

/* The intercommunicator between the ranks below and above the middle; needs two ranks. */
static inline MPI_Comm comm_inter(MPI_Comm *half)
{
    const int middle = check_size / 2;
    const int high = check_rank >= middle;
    MPI_Comm inter;
    MPI_Comm_split(MPI_COMM_WORLD, high, check_rank, half);
    MPI_Intercomm_create(*half, 0, MPI_COMM_WORLD, high ? 0 : middle, 4712, &inter);
    return inter;
}

static inline MPI_Comm comm_merged(void)
{
    MPI_Comm half, inter, merged;
    inter = comm_inter(&half);
    /* The upper half comes first, so the order is not that of the world. */
    MPI_Intercomm_merge(inter, check_rank < check_size / 2, &merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    return merged;
}

static inline int comms_create(struct member *list)
{
    int n = 0;
    MPI_Comm comm;
    comm_add(list, &n, "world", MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    comm_add(list, &n, "dup", comm);
    MPI_Request request;
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    comm_add(list, &n, "idup", comm);
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, check_rank, &comm);
    comm_add(list, &n, "odd_even", comm);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comm);
    comm_add(list, &n, "reversed", comm);
    MPI_Comm_split(MPI_COMM_WORLD, check_rank == 0 ? MPI_UNDEFINED : 1, check_rank, &comm);
    comm_add(list, &n, "without_0", comm);
    comm_add(list, &n, "part", comm_part());
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, check_rank, MPI_INFO_NULL, &comm);
    comm_add(list, &n, "shared", comm);
    int dims[2] = {0, 0}, periods[2] = {1, 0};
    MPI_Dims_create(check_size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm);
    comm_add(list, &n, "cart", comm);
    comm_add(list, &n, "create_group", comm_by_group());
    if (check_size > 1)
        comm_add(list, &n, "merged", comm_merged());
    return n;
}

static inline void comms_free(struct member *list, int n)
{
    for (int c = 0; c < n; c++)
        if (list[c].comm != MPI_COMM_NULL && list[c].comm != MPI_COMM_WORLD)
            MPI_Comm_free(&list[c].comm);
}

#endif
