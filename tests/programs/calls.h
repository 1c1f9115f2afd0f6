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
#define CALL_ALLTOALLW MPI_Alltoallw_c
#define CALL_GATHER MPI_Gather_c
#define CALL_GATHERV MPI_Gatherv_c
#define CALL_SCATTER MPI_Scatter_c
#define CALL_SCATTERV MPI_Scatterv_c
#define CALL_ALLGATHER MPI_Allgather_c
#define CALL_ALLGATHERV MPI_Allgatherv_c
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
#define CALL_ALLTOALLW MPI_Alltoallw
#define CALL_GATHER MPI_Gather
#define CALL_GATHERV MPI_Gatherv
#define CALL_SCATTER MPI_Scatter
#define CALL_SCATTERV MPI_Scatterv
#define CALL_ALLGATHER MPI_Allgather
#define CALL_ALLGATHERV MPI_Allgatherv
#define CALL_REDUCE_SCATTER_BLOCK MPI_Reduce_scatter_block
#define CALL_REDUCE_SCATTER MPI_Reduce_scatter
#endif

/* Cases in which a stock library is broken are left out, unless avoid=none says that every call is replaced. */
static int avoid_stock_bugs = 1;
/* Or that this thread's call is the library's own in any case. */
static _Thread_local int passed_on;

static inline int avoids(void)
{
    return avoid_stock_bugs || passed_on;
}

/* Whether elements are made of different basic types. */
static inline int several_basic_types(const struct layout *l)
{
    return l == &layouts[L_STRUCT] || l->item[0].kind == K_STRUCT ||
           (kind_facts[l->item[0].kind].category == C_PAIR && l->item[0].kind != K_2INT);
}

/* MPICH before 4.1 (Debian's 4.0.2) crashes in MPI_Reduce with MPI_IN_PLACE at a root other than 0 when several ranks
   share a node: for all but short messages it treats the marker as an address. */
static inline int reduce_in_place_broken(int root, int size, size_t count)
{
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
    return avoids() && root != 0 && size > 1 && count > 16;
#else
    (void)root, (void)size, (void)count;
    return 0;
#endif
}

/* Whether data of an element begin elsewhere than at its address. */
static inline int has_true_lb(const struct layout *l)
{
    MPI_Aint lowest = l->item[0].at;
    for (int k = 1; k < l->items; k++)
        lowest = l->item[k].at < lowest ? l->item[k].at : lowest;
    return lowest != 0;
}

/* Open MPI's ring Allreduce does not shift its temporary buffers by the true lower bound and writes before or behind
   them (seen in 4.1.4 with AddressSanitizer, in 5.0.11 as a crash); it takes the ring for larger counts. */
static inline int allreduce_true_lb_broken(const struct layout *l, size_t count)
{
#ifdef OPEN_MPI
    return avoids() && has_true_lb(l) && count > 3;
#else
    (void)l, (void)count;
    return 0;
#endif
}

/* Nor do its non-blocking reductions (MPI_Ireduce crashes in 4.1.4 and 5.0.11). */
static inline int started_reduction_true_lb_broken(const struct layout *l)
{
#ifdef OPEN_MPI
    return has_true_lb(l);
#else
    (void)l;
    return 0;
#endif
}

/* Open MPI's scatter-allgather Bcast (from 1 MiB, 16 ranks) cuts the message by the local count, so that ranks which
   describe the same signature by other counts wait for messages of other sizes (Open MPI issues 199, 1763, 10523). */
static inline int bcast_two_types_broken(int size, size_t ints)
{
#ifdef OPEN_MPI
    return avoids() && size > 13 && ints >= 100000;
#else
    (void)size, (void)ints;
    return 0;
#endif
}

/* Open MPI's Bruck Alltoall (small blocks, many ranks) reads the send buffer as if it had the receive type; seen in
   4.1.4 with 16 ranks, where the same signature is sent as 6 x int and received as a vector. */
static inline int alltoall_two_types_broken(int size, size_t ints)
{
#ifdef OPEN_MPI
    return avoids() && size > 13 && ints < 1000;
#else
    (void)size, (void)ints;
    return 0;
#endif
}

/* MPICH (4.0.2, 5.0.2) writes beyond its temporary buffers where a Reduce_scatter combines elements with gaps by an
   operation that does not commute, on 2, 4, 8 ... ranks. Such calls are never ours. */
static inline int reduce_scatter_in_order_broken(int size)
{
#ifdef MPICH_NUMVERSION
    return size > 1 && (size & (size - 1)) == 0;
#else
    (void)size;
    return 0;
#endif
}

/* In-place Reduce_scatter of elements with gaps by an operation that does not commute gives wrong results in Open MPI
   (seen in 5.0.11 on two ranks, three matrices in one element). Such calls are never ours. */
static inline int reduce_scatter_in_order_in_place_broken(void)
{
#ifdef OPEN_MPI
    return 1;
#else
    return 0;
#endif
}

/* In-place MPI_Ialltoallv of Open MPI: a communicator made meanwhile hangs (4.1.4), long blocks come out wrong
   (5.0.11). */
static inline int ialltoallv_in_place_broken(void)
{
#ifdef OPEN_MPI
    return 1;
#else
    return 0;
#endif
}

/* Open MPI (4.1.4, 5.0.11) crashes when a communicator is freed while a non-blocking collective on it is under way. */
static inline int free_during_call_broken(void)
{
#ifdef OPEN_MPI
    return 1;
#else
    return 0;
#endif
}

/* MPI_Comm_create_group of Open MPI (4.1.4, 5.0.11) sends messages that the program's own wildcard receives take. */
static inline int create_group_messages_broken(void)
{
#ifdef OPEN_MPI
    return 1;
#else
    return 0;
#endif
}

/* MPI_Comm_idup of MPICH 4.0.2 beside threads that make communicators: on one rank it tries again and again for a
   number that another thread holds, and keeps that thread out; others end in "Invalid communicator". */
static inline int duplicating_in_threads_broken(int threads)
{
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 50000000
    return threads > 1;
#else
    (void)threads;
    return 0;
#endif
}

/* Of several threads that make communicators Open MPI (4.1.4, 5.0.11) lets only that go on, on each rank for itself,
   whose parent has the lowest number: where that is another on other ranks, all wait for each other. Parents of all
   ranks have one order everywhere. It also initialises its topologies in the first MPI_Cart_create without a lock: two
   at once crash (4.1.4) or give MPI_COMM_NULL (5.0.11). */
static inline int making_in_threads_broken(int threads)
{
#ifdef OPEN_MPI
    return threads > 1;
#else
    (void)threads;
    return 0;
#endif
}

/* MPI_Intercomm_create of MPICH 5.0.2, after communicators of some of the ranks have come and gone, ends in "message
   sizes do not match: Received 4 but expected 8" (4.0.2 does not). MPI_Intercomm_merge of 4.0.2 in several threads at
   once ends in "Failure during collective" or hangs, one time in twenty. */
static inline int intercommunicator_broken(int threads)
{
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000
    (void)threads;
    return 1;
#elif defined(MPICH_NUMVERSION)
    return threads > 1;
#else
    (void)threads;
    return 0;
#endif
}

/* What an Alltoall of MPICH (4.0.2, 5.0.2) sends itself on a communicator of one rank is taken by the program's own
   wildcard receives ("Message truncated", or it waits for ever). */
static inline int alone_beside_messages_broken(int size)
{
#ifdef MPICH_NUMVERSION
    return size == 1;
#else
    (void)size;
    return 0;
#endif
}

/* MPICH 4.0.2 compares MPI_UINT8_T and its like as if they had a sign (5.0.2 does not). The operation is the library's
   own, whoever calls it. */
static inline int unsigned_order_broken(void)
{
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 50000000
    return 1;
#else
    return 0;
#endif
}

/* MPICH before 4.1: in-place Alltoall of types made of different basic types ends in "Message truncated" (seen with
   MPI_DOUBLE_INT and a struct, 1000 elements): the packed replacement message is sized differently from what it
   receives. */
static inline int alltoall_in_place_broken(const struct layout *l, int size, size_t count)
{
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
    return avoids() && size > 1 && count > 100 && several_basic_types(l);
#else
    (void)l, (void)size, (void)count;
    return 0;
#endif
}

/* Open MPI (4.1.4, 5.0.11) counts the displacements of an Alltoallw on one rank in elements, not bytes. */
static inline int alltoallw_alone_broken(int size)
{
#ifdef OPEN_MPI
    return size == 1;
#else
    (void)size;
    return 0;
#endif
}

/* MPICH's binomial Gather receives types made of different basic types as bytes of another count: "Message truncated"
   in 4.0.2, "Invalid datatype" in 5.0.2 (seen with MPI_DOUBLE_INT and a struct, 1000 elements). */
static inline int gather_types_broken(const struct layout *l, int size, size_t count)
{
#ifdef MPICH_NUMVERSION
    return avoids() && size > 1 && count > 10 && several_basic_types(l);
#else
    (void)l, (void)size, (void)count;
    return 0;
#endif
}

/* Open MPI's binomial Gather (4.1.4, 5.0.11) receives what it passes on in the type with which the rank itself sends:
   wrong data where that overlaps. */
static inline int gather_overlap_broken(void)
{
#ifdef OPEN_MPI
    return avoids();
#else
    return 0;
#endif
}

/* MPICH's binomial Scatter does the same as its Gather. */
static inline int scatter_types_broken(const struct layout *l, int size)
{
#ifdef MPICH_NUMVERSION
    return avoids() && size > 1 && several_basic_types(l);
#else
    (void)l, (void)size;
    return 0;
#endif
}

/* MPICH (seen in 4.0.2) copies a block of a long in-place Reduce_scatter (from 512 KiB) onto itself and stops itself
   for it. */
static inline int reduce_scatter_in_place_broken(size_t bytes)
{
#ifdef MPICH_NUMVERSION
    return avoids() && bytes > 400000;
#else
    (void)bytes;
    return 0;
#endif
}

/* Both libraries use the vector of an in-place Reduce_scatter as room for what is on its way (MPICH 4.0.2 for long
   blocks): what is behind the result changes. */
static inline int reduce_scatter_rest_kept(int commutes)
{
    return !avoids() && commutes;
}

/* Names the case for failures and for the watchdog. */
static inline void begin_case(const char *collective, const struct member *m, const char *type, const char *op,
                              size_t count, int root, int in_place)
{
    snprintf(check_current, sizeof check_current,
             "%s comm=%s comm_rank=%d/%d type=%s op=%s count=%zu root=%d in_place=%s", collective, m->name, m->rank,
             m->size, type, op, count, root, in_place ? "yes" : "no");
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
