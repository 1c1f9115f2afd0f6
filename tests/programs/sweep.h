/* Walks communicators x sizes x types x operations x roots. Small sizes get everything on the world; large sizes and
   derived communicators get a selection, so that the default run takes seconds. */
#ifndef SWEEP_H
#define SWEEP_H

#include "case_allgather.h"
#include "case_allgatherv.h"
#include "case_alltoall.h"
#include "case_alltoallw.h"
#include "case_bcast.h"
#include "case_gatherv.h"
#include "case_reduce.h"
#include "case_reduce_scatter.h"
#include "case_scatter.h"
#include "case_rounding.h"
#include <dlfcn.h>

enum { LARGE = 5000, MAX_SIZES = 32, ALLTOALL_BYTES = 2 << 20 };

struct sweep {
    long size[MAX_SIZES];
    int sizes;
    int all_roots;
    /* Only every thin-th type or operation is tried at a size (MPICH spins: few calls where ranks outnumber cores). */
    int thin;
    const char *only, *types;
    struct reduction reduction[MAX_REDUCTIONS];
    int reductions;
};

static inline int neighbour_of_previous(const struct sweep *s, int step)
{
    return step > 0 && s->size[step] == s->size[step - 1] + 1;
}

/* Item number i is taken in this step: all on the world, else every stride-th, another one for each size; every second
   where the size is the previous one plus 1; `thin` times fewer. */
static inline int selected(const struct sweep *s, const struct member *m, int i, int step, int stride)
{
    const int sparse = s->size[step] > LARGE / 2 && neighbour_of_previous(s, step) ? 2 : 1;
    return (i + step) % (s->thin * sparse * (m->comm == MPI_COMM_WORLD ? 1 : stride)) == 0;
}

/* Large counts stand for 8 bytes each: fewer elements where an element is bigger. */
static inline size_t bounded(int layout, size_t count)
{
    return count < LARGE || layouts[layout].extent <= 8 ? count : count * 8 / (size_t)layouts[layout].extent;
}

static inline void sweep_bcast(const struct sweep *s, const struct member *m, int step, size_t count, const int *roots,
                               int n)
{
    for (int i = 0; i < n; i++) {
        for (int l = 0; l < LAYOUTS; l++) {
            const int large = l == L_DOUBLE || l == L_BYTE || (l == L_VECTOR && m->comm == MPI_COMM_WORLD);
            if (listed(s->types, layouts[l].name) && (count < LARGE ? selected(s, m, l, step, 4) : large))
                check_bcast(m, &layouts[l], bounded(l, count), roots[i]);
        }
        if (listed(s->types, "mixed"))
            check_bcast_mixed(m, count, roots[i]);
    }
}

static inline void sweep_reduce(const struct sweep *s, const struct member *m, int step, size_t count, const int *roots,
                                int n)
{
    for (int i = 0; i < s->reductions; i++) {
        const struct reduction *r = &s->reduction[i];
        if (!listed(s->types, layouts[r->layout].name) ||
            (count < LARGE ? !selected(s, m, i, step, 5) && r->operation != O_MATRIX : !r->large))
            continue;
        /* Computing what is expected takes most of the time at large sizes: one root each, another one for each
           operation. */
        if (listed(s->only, "reduce") && count < LARGE)
            check_reduce(m, r, count, roots, n);
        else if (listed(s->only, "reduce"))
            check_reduce(m, r, bounded(r->layout, count), &roots[(i + step) % n], 1);
        if (listed(s->only, "allreduce"))
            check_allreduce(m, r, bounded(r->layout, count));
    }
    for (int variant = 0; variant < 4 && listed(s->types, "rounding"); variant++) {
        if (count >= LARGE && (m->comm == MPI_COMM_WORLD ? variant % 3 != 0 : variant != step % 4))
            continue;
        const size_t doubles = count / 2 * 2;
        if (listed(s->only, "allreduce"))
            check_rounding(m, doubles, variant / 2, -1, variant % 2);
        if (listed(s->only, "reduce") && !(variant % 2 && reduce_in_place_broken(roots[n - 1], m->size, count)))
            check_rounding(m, doubles, variant / 2, roots[n - 1], variant % 2);
    }
}

static inline void sweep_alltoall(const struct sweep *s, const struct member *m, int step, size_t count)
{
    /* A block goes to every rank: large counts are shared out over them. */
    const size_t block = count < LARGE ? count : count / (size_t)m->size;
    for (int l = 0; l < LAYOUTS; l++) {
        const size_t bytes = block * (size_t)layouts[l].extent * (size_t)m->size;
        const int large = l == L_DOUBLE || l == L_BYTE;
        if (listed(s->types, layouts[l].name) &&
            (count < LARGE ? selected(s, m, l, step, 4) && (bytes <= ALLTOALL_BYTES || l <= L_DOUBLE) : large))
            check_alltoall(m, &layouts[l], block);
    }
    if (listed(s->types, "mixed"))
        check_alltoall_mixed(m, block);
}

/* Alltoallv or Alltoallw: every layout with every pattern in turn. */
static inline void sweep_own_blocks(const struct sweep *s, const struct member *m, int step, size_t count, int typed)
{
    const size_t block = count < LARGE ? count : count / (size_t)m->size;
    const uint64_t seed = (uint64_t)s->size[step];
    for (int item = step % 4; item < LAYOUTS * PATTERNS; item += 4) {
        const int l = item / PATTERNS, pattern = item % PATTERNS;
        const size_t bytes = 2 * block * (size_t)layouts[l].extent * (size_t)m->size;
        const int large = l == L_DOUBLE || l == L_VECTOR;
        if (listed(s->types, layouts[l].name) &&
            (count < LARGE ? selected(s, m, item / 4, step, 4) && (bytes <= ALLTOALL_BYTES || l <= L_DOUBLE) : large))
            (typed ? check_alltoallw : check_alltoallv)(m, &layouts[l], pattern, bounded(l, block), seed);
    }
    if (listed(s->types, "mixed"))
        (typed ? check_alltoallw_mixed : check_alltoallv_mixed)(m, (step + m->size) % PATTERNS, block, seed);
}

/* Gather or Scatter. Roots take turns among the layouts of a size. */
static inline void sweep_rooted_blocks(const struct sweep *s, const struct member *m, int step, size_t count,
                                       const int *roots, int n, int scatters)
{
    const size_t block = count < LARGE ? count : count / (size_t)m->size;
    for (int i = 0; i < n; i++) {
        for (int l = 0; l < LAYOUTS; l++) {
            const int large =
                (l == L_DOUBLE || l == L_BYTE || (l == L_VECTOR && m->comm == MPI_COMM_WORLD)) && (l + step) % n == i;
            const int small = (l + i + step) % 3 == 0 && selected(s, m, (l + i * LAYOUTS) / 3, step, 4);
            if (listed(s->types, layouts[l].name) && (count < LARGE ? small : large))
                (scatters ? check_scatter : check_gather)(m, &layouts[l], bounded(l, block), roots[i]);
        }
        if (listed(s->types, "mixed") && selected(s, m, i, step, 2))
            (scatters ? check_scatter_mixed : check_gather_mixed)(m, block, roots[i], step);
    }
}

static inline void sweep_allgather(const struct sweep *s, const struct member *m, int step, size_t count)
{
    const size_t block = count < LARGE ? count : count / (size_t)m->size;
    for (int l = 0; l < LAYOUTS; l++) {
        const size_t bytes = block * (size_t)layouts[l].extent * (size_t)m->size;
        const int large = l == L_DOUBLE || l == L_BYTE || (l == L_VECTOR && m->comm == MPI_COMM_WORLD);
        if (listed(s->types, layouts[l].name) &&
            (count < LARGE ? selected(s, m, l, step, 4) && (bytes <= ALLTOALL_BYTES || l <= L_DOUBLE) : large))
            check_allgather(m, &layouts[l], bounded(l, block));
    }
    if (listed(s->types, "mixed"))
        check_allgather_mixed(m, block, step);
}

/* Every layout with every way of sharing in turn. */
static inline void sweep_allgatherv(const struct sweep *s, const struct member *m, int step, size_t count)
{
    const size_t block = count < LARGE ? count : count / (size_t)m->size;
    for (int item = step % 3; item < LAYOUTS * (SHARES - 1); item += 3) {
        const int l = item / (SHARES - 1), shares = S_EVEN + item % (SHARES - 1);
        const size_t bytes = 2 * block * (size_t)layouts[l].extent * (size_t)m->size;
        const int large = l == L_DOUBLE || (l == L_VECTOR && m->comm == MPI_COMM_WORLD);
        if (listed(s->types, layouts[l].name) &&
            (count < LARGE ? selected(s, m, item / 3, step, 4) && (bytes <= ALLTOALL_BYTES || l <= L_DOUBLE) : large))
            check_allgatherv(m, &layouts[l], shares, bounded(l, block));
    }
    if (listed(s->types, "mixed"))
        check_allgatherv_mixed(m, S_EVEN + (step + m->size) % (SHARES - 1), block);
}

/* Gatherv or Scatterv: every layout with every way of sharing in turn, and roots that take turns. */
static inline void sweep_rooted_shares(const struct sweep *s, const struct member *m, int step, size_t count,
                                       const int *roots, int n, int scatters)
{
    const size_t block = count < LARGE ? count : count / (size_t)m->size;
    for (int item = step % 3; item < LAYOUTS * (SHARES - 1); item += 3) {
        const int l = item / (SHARES - 1), shares = S_EVEN + item % (SHARES - 1);
        const size_t bytes = 2 * block * (size_t)layouts[l].extent * (size_t)m->size;
        const int large = l == L_DOUBLE || (l == L_VECTOR && m->comm == MPI_COMM_WORLD);
        if (listed(s->types, layouts[l].name) &&
            (count < LARGE ? selected(s, m, item / 3, step, 4) && (bytes <= ALLTOALL_BYTES || l <= L_DOUBLE) : large))
            check_rooted_shares(m, &layouts[l], shares, bounded(l, block), roots[(item / 3 + step) % n], scatters);
    }
    for (int i = 0; i < n && listed(s->types, "mixed"); i++)
        if (selected(s, m, i, step, 2))
            check_rooted_shares_mixed(m, S_EVEN + (step + i) % (SHARES - 1), block, roots[i], scatters);
}

/* Every reduction in one way of sharing at a time; the double sums in all of them. */
static inline void sweep_reduce_scatter(const struct sweep *s, const struct member *m, int step, size_t count)
{
    const size_t block = count < LARGE ? count : count / (size_t)m->size;
    for (int shares = 0; shares < SHARES; shares++) {
        if (!listed(s->only, shares == S_BLOCK ? "reduce_scatter_block" : "reduce_scatter"))
            continue;
        for (int i = 0; i < s->reductions; i++) {
            const struct reduction *r = &s->reduction[i];
            const int turn = i == 0 || shares == S_BLOCK || (i + step) % (SHARES - 1) == shares - 1;
            if (turn && listed(s->types, layouts[r->layout].name) &&
                (count < LARGE ? selected(s, m, i, step, 5) || r->operation == O_MATRIX : r->large))
                check_reduce_scatter(m, r, shares, bounded(r->layout, block));
        }
        if (listed(s->types, "rounding") && (count < LARGE || m->comm == MPI_COMM_WORLD))
            check_rounding_scatter(m, block, shares, (shares + step) % 2);
    }
}

static inline void sweep_communicator(const struct sweep *s, const struct member *m)
{
    int roots[m->size + 1];
    const int n = choose_roots(m->size, s->all_roots, roots);
    for (int step = 0; step < s->sizes; step++) {
        const size_t count = (size_t)s->size[step];
        /* Derived communicators skip the neighbours of a size, and try one large size with one root. */
        if (m->comm != MPI_COMM_WORLD && step > 0 && count > LARGE / 2 &&
            (neighbour_of_previous(s, step) || s->size[step - 1] >= LARGE))
            continue;
        const int one_root = m->comm != MPI_COMM_WORLD && count >= LARGE && !s->all_roots;
        const int *from = one_root ? roots + n - 1 : roots;
        if (listed(s->only, "bcast"))
            sweep_bcast(s, m, step, count, from, one_root ? 1 : n);
        sweep_reduce(s, m, step, count, from, one_root ? 1 : n);
        if (listed(s->only, "alltoall"))
            sweep_alltoall(s, m, step, count);
        if (listed(s->only, "alltoallv"))
            sweep_own_blocks(s, m, step, count, 0);
        if (listed(s->only, "alltoallw"))
            sweep_own_blocks(s, m, step, count, 1);
        if (listed(s->only, "gather"))
            sweep_rooted_blocks(s, m, step, count, from, one_root ? 1 : n, 0);
        if (listed(s->only, "scatter"))
            sweep_rooted_blocks(s, m, step, count, from, one_root ? 1 : n, 1);
        if (listed(s->only, "gatherv"))
            sweep_rooted_shares(s, m, step, count, from, one_root ? 1 : n, 0);
        if (listed(s->only, "scatterv"))
            sweep_rooted_shares(s, m, step, count, from, one_root ? 1 : n, 1);
        if (listed(s->only, "allgather"))
            sweep_allgather(s, m, step, count);
        if (listed(s->only, "allgatherv"))
            sweep_allgatherv(s, m, step, count);
        sweep_reduce_scatter(s, m, step, count);
    }
}

/* Sets the algorithms of a communicator, on all of its ranks. */
static inline void sweep_set_algorithm(MPI_Comm comm, const char *rule)
{
    int (*set)(MPI_Comm, const char *);
    *(void **)&set = dlsym(RTLD_DEFAULT, "nagare_set_algorithm");
    if (!set || set(comm, rule) != 0)
        fail("rule %s: not set", rule);
}

/* Sweeps once for each rule COLLECTIVE=ALGORITHM of a list with slashes, with the calls of that collective only. */
static inline void sweep_rules(struct sweep *s, const struct member *m, const char *rules)
{
    for (const char *at = rules; *at; at += *at == '/') {
        char rule[64], collective[64];
        const int length = (int)strcspn(at, "/");
        snprintf(rule, sizeof rule, "%.*s", length, at);
        snprintf(collective, sizeof collective, "%.*s", (int)strcspn(rule, "="), rule);
        sweep_set_algorithm(m->comm, rule);
        s->only = collective;
        sweep_communicator(s, m);
        at += length;
    }
}

static const char sweep_options[] = "sizes,roots,comms,only,rules,types,thin,avoid";

/* Options: sizes=0,1,3 roots=sample|all comms=all|world,dup,…
   only=all|bcast,reduce,allreduce,alltoall,alltoallv,alltoallw,gather,gatherv,scatter,scatterv,allgather,allgatherv,
        reduce_scatter_block,reduce_scatter
   rules=bcast=chain/bcast=two_tree/… in place of only (needs Nagare) types=all|int,vector,…,mixed,rounding thin=1
   avoid=stock|none (see calls.h) */
static inline void sweep_run(int argc, char **argv, const char *default_sizes)
{
    struct sweep s = {0};
    s.sizes = number_list(option(argc, argv, "sizes", 0, default_sizes), s.size, MAX_SIZES);
    s.all_roots = strcmp(option(argc, argv, "roots", 1000, "sample"), "all") == 0;
    s.thin = (int)option_number(argc, argv, "thin", 1000, 1);
    s.thin += s.thin == 0;
    s.only = option(argc, argv, "only", 1000, "all");
    s.types = option(argc, argv, "types", 1000, "all");
    avoid_stock_bugs = strcmp(option(argc, argv, "avoid", 1000, "stock"), "none") != 0;
    const char *comms = option(argc, argv, "comms", 1000, "all");
    const char *rules = option(argc, argv, "rules", 1000, NULL);

    struct member list[MAX_COMMS];
    layouts_create();
    ops_create();
    s.reductions = reductions_create(s.reduction);
    const int n = comms_create(list);
    for (int c = 0; c < n; c++)
        if (list[c].comm != MPI_COMM_NULL && listed(comms, list[c].name) && rules)
            sweep_rules(&s, &list[c], rules);
        else if (list[c].comm != MPI_COMM_NULL && listed(comms, list[c].name))
            sweep_communicator(&s, &list[c]);
    comms_free(list, n);
    ops_free();
    layouts_free();
    digest_of_all_ranks();
    if (check_rank == 0)
        printf("digest=%016llx\n", (unsigned long long)rounding_digest);
}

#endif
