/* Arrays of ints that every rank can compute, and what each test of `edge.c` begins with. */
#ifndef EDGE_INTS_H
#define EDGE_INTS_H

#include "check.h"

static inline int contribution(int rank, int index)
{
    return rank * 1000 + index % 997 + 1;
}

static inline int sum_of(int first, int last, int index)
{
    int sum = 0;
    for (int r = first; r <= last; r++)
        sum += contribution(r, index);
    return sum;
}

static inline void expect(int index, int got, int want)
{
    if (got != want)
        fail("index=%d got=%d expected=%d", index, got, want);
}

static inline void begin(const char *what)
{
    snprintf(check_current, sizeof check_current, "%s", what);
}

static inline int *ints_new(int count)
{
    int *data = malloc((size_t)count * sizeof *data + 1);
    if (!data)
        fail("out of memory");
    for (int i = 0; i < count; i++)
        data[i] = -1;
    return data;
}

static inline int *own_ints(int count)
{
    int *data = ints_new(count);
    for (int i = 0; i < count; i++)
        data[i] = contribution(check_rank, i);
    return data;
}

#endif
