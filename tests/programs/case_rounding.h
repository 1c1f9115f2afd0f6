/* Sums that round: all ranks hold the same bits, within the error bound of the exact sum; a digest lets runs be
   compared. */
#ifndef CASE_ROUNDING_H
#define CASE_ROUNDING_H

#include "case_reduce_scatter.h"

/* Of the bits of all rounded results seen by this rank (FNV-1a). */
static uint64_t rounding_digest = 1469598103934665603u;

static inline double rounding_value(int origin, size_t index)
{
    const uint64_t h = scramble((uint64_t)origin, index);
    /* 53 random bits, both signs, ten binary orders of magnitude */
    return ((double)(h >> 11) - 4503599627370496.0) / (double)(1 << (h % 10)) / 3.0;
}

/* The sums from index `first` on. Of many every seventh is computed: what this may miss, the exact sums of
   case_reduce.h show. */
static inline void expect_near(const double *got, int size, size_t first, size_t doubles)
{
    for (size_t i = 0; i < doubles; i += doubles < 10000 ? 1 : 7) {
        long double exact = 0, magnitude = 0;
        for (int origin = 0; origin < size; origin++) {
            const double v = rounding_value(origin, first + i);
            exact += v;
            magnitude += v < 0 ? -v : v;
        }
        const long double bound = (size + 1) * 1.2e-16L * magnitude, error = got[i] - exact;
        if (!(error <= bound && -error <= bound))
            fail("receive buffer index=%zu got=%.17g expected=%.20Lg +- %.3Lg", i, got[i], exact, bound);
    }
}

/* Rank 0 of the communicator receives everybody's result and compares bits. */
static inline void expect_same_bits(const struct member *m, const double *mine, size_t doubles)
{
    if (m->rank != 0) {
        MPI_Send(mine, (int)doubles, MPI_DOUBLE, 0, TAG_GATHER, m->comm);
        return;
    }
    double *other = malloc(doubles * sizeof *other + 1);
    if (!other)
        fail("out of memory: %zu bytes", doubles * sizeof *other);
    for (int r = 1; r < m->size; r++) {
        MPI_Recv(other, (int)doubles, MPI_DOUBLE, r, TAG_GATHER, m->comm, MPI_STATUS_IGNORE);
        for (size_t i = 0; i < doubles; i++)
            if (memcmp(&other[i], &mine[i], sizeof *mine) != 0)
                fail("not the same bits on all ranks: index=%zu rank %d got=%a rank 0 got=%a", i, r, other[i], mine[i]);
    }
    free(other);
}

static inline void digest(const double *data, size_t doubles)
{
    for (size_t i = 0; i < doubles; i++) {
        uint64_t bits;
        memcpy(&bits, &data[i], sizeof bits);
        rounding_digest = (rounding_digest ^ bits) * 1099511628211u;
    }
}

/* root < 0: Allreduce. `doubles` is even; they are passed as MPI_DOUBLE, or as half as many MPI_C_DOUBLE_COMPLEX. */
static inline void check_rounding(const struct member *m, size_t doubles, int complex_numbers, int root, int in_place)
{
    const int receives = root < 0 || m->rank == root;
    const MPI_Datatype type = complex_numbers ? MPI_C_DOUBLE_COMPLEX : MPI_DOUBLE;
    const count_t count = (count_t)(complex_numbers ? doubles / 2 : doubles);
    begin_case(root < 0 ? "allreduce" : "reduce", m, complex_numbers ? "complex" : "double", "sum(rounding)",
               (size_t)count, root, in_place);
    double *send = malloc(doubles * sizeof *send + 1), *receive = malloc(doubles * sizeof *receive + 1);
    if (!send || !receive)
        fail("out of memory: %zu bytes", doubles * sizeof *send);
    for (size_t i = 0; i < doubles; i++)
        send[i] = receive[i] = rounding_value(m->rank, i);
    const void *from = in_place && receives ? MPI_IN_PLACE : send;
    const int code = root < 0 ? CALL_ALLREDUCE(from, receive, count, type, MPI_SUM, m->comm)
                              : CALL_REDUCE(from, receives ? receive : NULL, count, type, MPI_SUM, root, m->comm);
    if (code != MPI_SUCCESS)
        fail("returned error code %d", code);
    if (receives) {
        expect_near(receive, m->size, 0, doubles);
        digest(receive, doubles);
    }
    if (root < 0)
        expect_same_bits(m, receive, doubles);
    free(send);
    free(receive);
    check_cases++;
}

/* `mean` doubles per rank. */
static inline void check_rounding_scatter(const struct member *m, size_t mean, int shares, int in_place)
{
    count_t counts[256];
    size_t total = 0, first = 0;
    for (int k = 0; k < m->size; k++) {
        first = k == m->rank ? total : first;
        counts[k] = (count_t)share(shares, mean, k, m->size);
        total += (size_t)counts[k];
    }
    begin_case(share_names[shares], m, "double", "sum(rounding)", mean, -1, in_place);
    double *send = malloc(total * sizeof *send + 1), *receive = malloc(total * sizeof *receive + 1);
    if (!send || !receive)
        fail("out of memory: %zu bytes", total * sizeof *send);
    for (size_t i = 0; i < total; i++)
        send[i] = receive[i] = rounding_value(m->rank, i);
    const void *from = in_place ? MPI_IN_PLACE : send;
    const int code = shares == S_BLOCK
                         ? CALL_REDUCE_SCATTER_BLOCK(from, receive, counts[0], MPI_DOUBLE, MPI_SUM, m->comm)
                         : CALL_REDUCE_SCATTER(from, receive, counts, MPI_DOUBLE, MPI_SUM, m->comm);
    if (code != MPI_SUCCESS)
        fail("returned error code %d", code);
    expect_near(receive, m->size, first, (size_t)counts[m->rank]);
    digest(receive, (size_t)counts[m->rank]);
    free(send);
    free(receive);
    check_cases++;
}

/* Of the results of all ranks, at rank 0. */
static inline void digest_of_all_ranks(void)
{
    if (check_rank != 0)
        MPI_Send(&rounding_digest, 1, MPI_UINT64_T, 0, TAG_GATHER, MPI_COMM_WORLD);
    for (int r = 1; check_rank == 0 && r < check_size; r++) {
        uint64_t other;
        MPI_Recv(&other, 1, MPI_UINT64_T, r, TAG_GATHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        rounding_digest = (rounding_digest ^ other) * 1099511628211u;
    }
}

#endif
