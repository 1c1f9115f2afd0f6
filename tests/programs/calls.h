/* The collectives, with int counts or (LARGE_COUNT) the MPI-4 functions with MPI_Count, under one name each. */
#ifndef CALLS_H
#define CALLS_H

#include "comms.h"
#include "layout.h"

#ifdef LARGE_COUNT
typedef MPI_Count count_t;
typedef MPI_Aint displacement_t;
#define CALL_BCAST MPI_Bcast_c
#define CALL_REDUCE MPI_Reduce_c
#define CALL_ALLREDUCE MPI_Allreduce_c
#define CALL_ALLTOALL MPI_Alltoall_c
#define CALL_ALLTOALLV MPI_Alltoallv_c
#define CALL_GATHER MPI_Gather_c
#define CALL_ALLGATHER MPI_Allgather_c
#define CALL_REDUCE_SCATTER_BLOCK MPI_Reduce_scatter_block_c
#define CALL_REDUCE_SCATTER MPI_Reduce_scatter_c
#else
typedef int count_t;
typedef int displacement_t;
#define CALL_BCAST MPI_Bcast
#define CALL_REDUCE MPI_Reduce
#define CALL_ALLREDUCE MPI_Allreduce
#define CALL_ALLTOALL MPI_Alltoall
#define CALL_ALLTOALLV MPI_Alltoallv
#define CALL_GATHER MPI_Gather
#define CALL_ALLGATHER MPI_Allgather
#define CALL_REDUCE_SCATTER_BLOCK MPI_Reduce_scatter_block
#define CALL_REDUCE_SCATTER MPI_Reduce_scatter
#endif

/* Cases in which a stock library is broken are left out, unless avoid=none says that every call is replaced. */
static int avoid_stock_bugs = 1;

/* MPICH before 4.1 (Debian's 4.0.2) crashes in MPI_Reduce with MPI_IN_PLACE at a root other than 0 when several ranks share a
   node: for all but short messages it treats the marker as an address. */
static inline int reduce_in_place_broken(int root, int size, size_t count)
{
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
    return avoid_stock_bugs && root != 0 && size > 1 && count > 16;
#else
    (void)root, (void)size, (void)count;
    return 0;
#endif
}

/* Open MPI's ring Allreduce does not shift its temporary buffers by a negative true lower bound and writes before them (seen in
   4.1.4 with AddressSanitizer); it takes the ring for larger counts. */
static inline int allreduce_negative_lb_broken(const struct layout *l, size_t count)
{
#ifdef OPEN_MPI
    return avoid_stock_bugs && l->item[0].at < 0 && count > 3;
#else
    (void)l, (void)count;
    return 0;
#endif
}

/* Open MPI's scatter-allgather Bcast (from 1 MiB, 16 ranks) cuts the message by the local count, so that ranks which describe the
   same signature by other counts wait for messages of other sizes (Open MPI issues 199, 1763, 10523). */
static inline int bcast_two_types_broken(int size, size_t ints)
{
#ifdef OPEN_MPI
    return avoid_stock_bugs && size > 13 && ints >= 100000;
#else
    (void)size, (void)ints;
    return 0;
#endif
}

/* Open MPI's Bruck Alltoall (small blocks, many ranks) reads the send buffer as if it had the receive type; seen in 4.1.4 with 16
   ranks, where the same signature is sent as 6 x int and received as a vector. */
static inline int alltoall_two_types_broken(int size, size_t ints)
{
#ifdef OPEN_MPI
    return avoid_stock_bugs && size > 13 && ints < 1000;
#else
    (void)size, (void)ints;
    return 0;
#endif
}

/* MPICH before 4.1: in-place Alltoall of types made of different basic types ends in "Message truncated" (seen with
   MPI_DOUBLE_INT and a struct, 1000 elements): the packed replacement message is sized differently from what it receives. */
static inline int alltoall_in_place_broken(const struct layout *l, int size, size_t count)
{
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
    return avoid_stock_bugs && size > 1 && count > 100 && (l == &layouts[L_DOUBLE_INT] || l == &layouts[L_STRUCT]);
#else
    (void)l, (void)size, (void)count;
    return 0;
#endif
}

/* MPICH's binomial Gather receives types made of different basic types as bytes of another count: "Message truncated" in 4.0.2,
   "Invalid datatype" in 5.0.2 (seen with MPI_DOUBLE_INT and a struct, 1000 elements). */
static inline int gather_types_broken(const struct layout *l, int size, size_t count)
{
#ifdef MPICH_NUMVERSION
    return avoid_stock_bugs && size > 1 && count > 10 && (l == &layouts[L_DOUBLE_INT] || l == &layouts[L_STRUCT]);
#else
    (void)l, (void)size, (void)count;
    return 0;
#endif
}

/* MPICH (seen in 4.0.2) copies a block of a long in-place Reduce_scatter (from 512 KiB) onto itself and stops itself for it. */
static inline int reduce_scatter_in_place_broken(size_t bytes)
{
#ifdef MPICH_NUMVERSION
    return avoid_stock_bugs && bytes > 400000;
#else
    (void)bytes;
    return 0;
#endif
}

/* Both libraries use the vector of an in-place Reduce_scatter as room for what is on its way (MPICH 4.0.2 for long blocks): what is behind
   the result changes. */
static inline int reduce_scatter_rest_kept(int commutes)
{
    return !avoid_stock_bugs && commutes;
}

/* Names the case for failures and for the watchdog. */
static inline void begin_case(const char *collective, const struct member *m, const char *type, const char *op, size_t count, int root,
                              int in_place)
{
    snprintf(check_current, sizeof check_current, "%s comm=%s comm_rank=%d/%d type=%s op=%s count=%zu root=%d in_place=%s", collective,
             m->name, m->rank, m->size, type, op, count, root, in_place ? "yes" : "no");
}

/* Which roots of a communicator are tried: all, or the first, the last and the middle one. Returns how many. */
static inline int choose_roots(int size, int all, int *roots)
{
    int n = 0;
    for (int r = 0; r < size; r++)
        if (all || r == 0 || r == size - 1 || r == size / 2)
            roots[n++] = r;
    return n;
}

#endif
