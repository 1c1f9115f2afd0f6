/* Communicators of a case. Who is a member of one, and in which order, follows from the statement that makes it and is
   compared with what MPI says. */
#ifndef FUZZ_COMM_H
#define FUZZ_COMM_H

#include "fuzz_label.h"
#include "fuzz_read.h"

struct fuzz_comm {
    /* MPI_COMM_NULL where this rank is no member. */
    MPI_Comm comm;
    /* Ranks of the world in order of rank; 0 members where this rank is none. */
    int size, rank, world[MAX_RANKS];
    /* Of a grid. */
    int dimensions, dims[MAX_RANKS], periods[MAX_RANKS];
    int created;
};

static inline int index_in_world(const struct fuzz_comm *c, int world_rank)
{
    for (int r = 0; r < c->size; r++)
        if (c->world[r] == world_rank)
            return r;
    return -1;
}

/* Coordinates of a rank of a grid: the last dimension runs fastest. */
static inline void grid_position(const struct fuzz_comm *c, int rank, int *position)
{
    for (int d = c->dimensions - 1; d >= 0; d--) {
        position[d] = rank % c->dims[d];
        rank /= c->dims[d];
    }
}

/* Members of this rank's colour by key, then by rank. */
static inline void expect_split(const struct fuzz_comm *of, const struct statement *s, struct fuzz_comm *made)
{
    const int color = entry(&s->colors, of->rank);
    int key[MAX_RANKS];
    if (color == MPI_UNDEFINED)
        return;
    for (int r = 0; r < of->size; r++) {
        if (entry(&s->colors, r) != color)
            continue;
        int at = made->size++;
        for (; at > 0 && key[at - 1] > entry(&s->keys, r); at--) {
            key[at] = key[at - 1];
            made->world[at] = made->world[at - 1];
        }
        key[at] = entry(&s->keys, r);
        made->world[at] = of->world[r];
    }
}

static inline void expect_sub(const struct fuzz_comm *of, const struct statement *s, struct fuzz_comm *made)
{
    int mine[MAX_RANKS], other[MAX_RANKS];
    grid_position(of, of->rank, mine);
    for (int d = 0; d < of->dimensions; d++)
        if (entry(&s->keep, d)) {
            made->dims[made->dimensions] = of->dims[d];
            made->periods[made->dimensions++] = of->periods[d];
        }
    for (int r = 0; r < of->size; r++) {
        grid_position(of, r, other);
        int same = 1;
        for (int d = 0; d < of->dimensions; d++)
            same = same && (entry(&s->keep, d) || mine[d] == other[d]);
        if (same)
            made->world[made->size++] = of->world[r];
    }
}

/* The ranks that a statement lists, those that exist, each once. */
static inline int listed_ranks(const struct fuzz_comm *of, const struct statement *s, int *ranks)
{
    int n = 0;
    for (int i = 0; i < s->ranks.n; i++) {
        int known = s->ranks.at[i] < 0 || s->ranks.at[i] >= of->size;
        for (int k = 0; k < n; k++)
            known = known || ranks[k] == s->ranks.at[i];
        if (!known)
            ranks[n++] = s->ranks.at[i];
    }
    return n;
}

/* How many ranks are on the first side of a merge; 0 where there are too few for two sides. */
static inline int first_side(const struct fuzz_comm *of, const struct statement *s)
{
    const int low = s->low < of->size ? s->low : of->size - 1;
    return low < 1 && of->size > 1 ? 1 : low;
}

static inline int grid_size(const struct statement *s)
{
    int size = 1;
    for (int d = 0; d < s->dims.n; d++)
        size = s->dims.at[d] > 0 && size <= MAX_RANKS ? size * s->dims.at[d] : MAX_RANKS + 1;
    return size;
}

/* Fills in the members of the communicator that `s` makes of `of`. */
static inline void expect_members(const struct fuzz_comm *of, const struct statement *s, struct fuzz_comm *made)
{
    int ranks[MAX_RANKS], n;
    switch (s->make) {
    case M_SPLIT:
        expect_split(of, s, made);
        break;
    case M_SUB:
        expect_sub(of, s, made);
        break;
    case M_CART:
        if (grid_size(s) > of->size)
            fail("the grid has more than the %d ranks of its communicator", of->size);
        made->dimensions = s->dims.n;
        for (int d = 0; d < s->dims.n; d++) {
            made->dims[d] = s->dims.at[d];
            made->periods[d] = entry(&s->periods, d);
        }
        if (of->rank < grid_size(s) || s->reorder)
            for (int r = 0; r < grid_size(s); r++)
                made->world[made->size++] = of->world[r];
        break;
    case M_GROUP:
    case M_CREATE:
        n = listed_ranks(of, s, ranks);
        for (int i = 0; i < n; i++)
            made->world[i] = of->world[ranks[i]];
        for (int i = 0; i < n; i++)
            made->size = ranks[i] == of->rank ? n : made->size;
        break;
    case M_MERGE: /* the side that is not high comes first */
        n = first_side(of, s);
        for (int r = 0; r < of->size; r++)
            made->world[s->high ? (r + of->size - n) % of->size : r] = of->world[r];
        made->size = of->size;
        break;
    default:
        made->dimensions = of->dimensions;
        memcpy(made->dims, of->dims, sizeof made->dims);
        memcpy(made->periods, of->periods, sizeof made->periods);
        memcpy(made->world, of->world, sizeof made->world);
        made->size = of->size;
    }
}

/* Intercommunicators are made by messages on the bridge, which a receive of the program must not take: `own` connects
   the world. Without it no intercommunicator is made. */
static inline MPI_Comm make_merged(const struct fuzz_comm *of, const struct statement *s, MPI_Comm own)
{
    const int low = first_side(of, s), second = of->rank >= low;
    MPI_Comm half, inter, merged;
    if (low == 0 || own == MPI_COMM_NULL) {
        MPI_Comm_split(of->comm, 0, second == s->high ? 0 : 1, &merged);
        return merged;
    }
    MPI_Comm_split(of->comm, second, 0, &half);
    MPI_Intercomm_create(half, 0, own, of->world[second ? 0 : low], s->comm, &inter);
    MPI_Intercomm_merge(inter, second ? !s->high : s->high, &merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    return merged;
}

static inline MPI_Comm make_of_group(const struct fuzz_comm *of, const struct statement *s, int is_member)
{
    int ranks[MAX_RANKS];
    const int n = listed_ranks(of, s, ranks);
    MPI_Group all, some;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_group(of->comm, &all);
    MPI_Group_incl(all, n, ranks, &some);
    if (s->make == M_CREATE)
        MPI_Comm_create(of->comm, some, &comm);
    else if (is_member)
        MPI_Comm_create_group(of->comm, some, s->comm, &comm);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return comm;
}

static inline MPI_Comm make_comm(const struct fuzz_comm *of, const struct statement *s, int is_member, MPI_Comm own)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request request;
    int periods[MAX_RANKS], keep[MAX_RANKS];
    switch (s->make) {
    case M_DUP:
        MPI_Comm_dup(of->comm, &comm);
        break;
    case M_IDUP:
        MPI_Comm_idup(of->comm, &comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case M_SPLIT:
        MPI_Comm_split(of->comm, entry(&s->colors, of->rank), entry(&s->keys, of->rank), &comm);
        break;
    case M_CART:
        for (int d = 0; d < s->dims.n; d++)
            periods[d] = entry(&s->periods, d);
        MPI_Cart_create(of->comm, s->dims.n, s->dims.at, periods, s->reorder, &comm);
        break;
    case M_SUB:
        for (int d = 0; d < of->dimensions; d++)
            keep[d] = entry(&s->keep, d);
        MPI_Cart_sub(of->comm, keep, &comm);
        break;
    case M_MERGE:
        comm = make_merged(of, s, own);
        break;
    default:
        comm = make_of_group(of, s, is_member);
    }
    return comm;
}

/* Ranks of the world in the order of comm, as MPI has them. */
static inline void translate(MPI_Comm comm, int size, int *world)
{
    MPI_Group all, some;
    int ranks[MAX_RANKS];
    for (int r = 0; r < size; r++)
        ranks[r] = r;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_group(comm, &some);
    MPI_Group_translate_ranks(some, size, ranks, all, world);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
}

static inline void check_grid(const struct fuzz_comm *c)
{
    int dims[MAX_RANKS], periods[MAX_RANKS], mine[MAX_RANKS], want[MAX_RANKS];
    MPI_Cart_get(c->comm, c->dimensions, dims, periods, mine);
    grid_position(c, c->rank, want);
    for (int d = 0; d < c->dimensions; d++)
        if (dims[d] != c->dims[d] || !periods[d] != !c->periods[d] || mine[d] != want[d])
            fail("dimension %d: size %d, period %d, position %d, expected %d, %d, %d", d, dims[d], periods[d], mine[d],
                 c->dims[d], c->periods[d], want[d]);
}

/* Which ranks a reordered grid has, and in which order, is the library's choice: each once. */
static inline void accept_reordering(const struct fuzz_comm *of, struct fuzz_comm *made, const int *world)
{
    for (int r = 0; r < made->size; r++) {
        int times = 0;
        for (int k = 0; k < made->size; k++)
            times += world[k] == world[r];
        if (index_in_world(of, world[r]) < 0 || times != 1)
            fail("rank %d of the grid is rank %d of the world", r, world[r]);
    }
    memcpy(made->world, world, (size_t)made->size * sizeof *world);
}

/* Carries out `comm` and compares the new communicator with what is expected of it. */
static inline void create_comm(const struct fuzz_comm *of, const struct statement *s, struct fuzz_comm *made,
                               MPI_Comm own)
{
    memset(made, 0, sizeof *made);
    made->comm = MPI_COMM_NULL;
    made->created = 1;
    if (of->comm == MPI_COMM_NULL)
        return;
    expect_members(of, s, made);
    made->comm = make_comm(of, s, made->size > 0, own);
    if (s->make == M_CART && s->reorder && made->comm == MPI_COMM_NULL)
        made->size = 0;
    if ((made->comm == MPI_COMM_NULL) != (made->size == 0))
        fail("%s",
             made->size ? "no member of the new communicator" : "member of a communicator that should exclude it");
    if (made->size == 0)
        return;
    int size, world[MAX_RANKS];
    MPI_Comm_size(made->comm, &size);
    MPI_Comm_rank(made->comm, &made->rank);
    if (size != made->size)
        fail("the new communicator has %d ranks, expected %d", size, made->size);
    translate(made->comm, size, world);
    if (s->make == M_CART && s->reorder)
        accept_reordering(of, made, world);
    for (int r = 0; r < size; r++)
        if (world[r] != made->world[r])
            fail("rank %d is rank %d of the world, expected %d", r, world[r], made->world[r]);
    if (index_in_world(made, check_rank) != made->rank)
        fail("rank %d of the new communicator, expected %d", made->rank, index_in_world(made, check_rank));
    label(made->comm, s->comm);
    if (made->dimensions > 0)
        check_grid(made);
    int same;
    MPI_Comm_compare(of->comm, made->comm, &same);
    if ((s->make == M_DUP || s->make == M_IDUP) && same != MPI_CONGRUENT)
        fail("a duplicate is not congruent");
}

static inline void world_comm(struct fuzz_comm *made, MPI_Comm comm)
{
    memset(made, 0, sizeof *made);
    made->comm = comm;
    made->size = check_size;
    made->rank = check_rank;
    for (int r = 0; r < check_size; r++)
        made->world[r] = r;
}

#endif
