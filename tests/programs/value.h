/* The basic kinds of data: what every rank contributes (a pure function of rank and index) and how two values combine. */
#ifndef VALUE_H
#define VALUE_H

#include "check.h"

enum kind { K_INT, K_DOUBLE, K_BYTE, K_INT64, K_COMPLEX, K_DOUBLE_INT, K_2INT, K_MATRIX };

/* What a contribution must satisfy so that results are exact and do not overflow. */
enum flavour { F_DATA, F_SUM, F_PRODUCT, F_BITS, F_AND, F_OR, F_LOCATION, F_RESIDUE };

enum operation {
    O_SUM, O_PROD, O_MAX, O_MIN, O_BAND, O_BOR, O_BXOR, O_LAND, O_LOR, O_MINLOC, O_MAXLOC, O_USER, O_MATRIX
};

typedef union {
    int32_t i;
    double d;
    uint8_t b;
    int64_t l;
    double complex_parts[2];
    struct {
        double value;
        int32_t location;
    } pair;
    int32_t ints[4];
} value;

/* User-defined operations work modulo primes, so that they are exact and associative. */
#define INT_PRIME 1000003
#define INT64_PRIME 2305843009213693951LL
#define MATRIX_PRIME 32749

static inline size_t kind_size(enum kind kind)
{
    /* MPI_DOUBLE_INT occupies 16 bytes, of which the last 4 are padding. */
    static const size_t size[] = {4, 8, 1, 8, 16, 16, 8, 16};
    return size[kind];
}

static inline uint64_t scramble(uint64_t origin, uint64_t index)
{
    uint64_t x = (origin + 1) * 0x9E3779B97F4A7C15u ^ (index + 1) * 0xD1B54A32D192ED03u;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    return x ^ x >> 32;
}

static inline int64_t raw_integer(uint64_t h, enum flavour flavour, int origin)
{
    switch (flavour) {
    case F_SUM:
        return (int64_t)(h % 2001) - 1000;
    case F_PRODUCT: /* at most 30 factors of 2 over all ranks */
        return origin < 30 && h % 4 == 0 ? 2 : (h % 4 == 1 ? -1 : 1);
    case F_AND:
        return h % 16 ? (int64_t)(h % 5) + 1 : 0;
    case F_OR:
        return h % 16 ? 0 : 3;
    case F_LOCATION: /* few distinct values, so that there are ties */
        return (int64_t)(h % 5);
    case F_RESIDUE:
        return (int64_t)(h % INT_PRIME);
    default:
        return (int64_t)(h >> 1);
    }
}

/* What rank `origin` contributes at `index`. */
static inline value make_value(enum kind kind, enum flavour flavour, int origin, size_t index)
{
    const uint64_t h = scramble((uint64_t)origin, index);
    const int64_t n = raw_integer(h, flavour, origin);
    value v;
    memset(&v, 0, sizeof v);
    switch (kind) {
    case K_INT:
        v.i = (int32_t)n;
        break;
    case K_DOUBLE:
        v.d = flavour == F_DATA ? (double)(h >> 12) / 3.0 : (double)n;
        break;
    case K_BYTE:
        v.b = (uint8_t)(h >> 24);
        break;
    case K_INT64:
        v.l = flavour == F_RESIDUE ? (int64_t)(h % (uint64_t)INT64_PRIME) : n;
        break;
    case K_COMPLEX:
        v.complex_parts[0] = (double)n;
        v.complex_parts[1] = (double)((h >> 20) % 1000) - 400.0;
        break;
    case K_DOUBLE_INT:
        v.pair.value = (double)n;
        v.pair.location = (int32_t)((h >> 20) % 1000);
        break;
    case K_2INT:
        v.ints[0] = (int32_t)n;
        v.ints[1] = (int32_t)((h >> 20) % 1000);
        break;
    case K_MATRIX:
        for (int k = 0; k < 4; k++)
            v.ints[k] = (int32_t)((h >> (12 * k)) % MATRIX_PRIME);
        break;
    }
    return v;
}

static inline void store_value(enum kind kind, void *at, const value *v)
{
    if (kind == K_DOUBLE_INT) { /* not the padding */
        memcpy(at, &v->pair.value, 8);
        memcpy((char *)at + 8, &v->pair.location, 4);
    } else {
        memcpy(at, v, kind_size(kind));
    }
}

static inline value load_value(enum kind kind, const void *at)
{
    value v;
    memset(&v, 0, sizeof v);
    memcpy(&v, at, kind == K_DOUBLE_INT ? 12 : kind_size(kind));
    return v;
}

static inline int64_t combine_integer(enum operation operation, int64_t a, int64_t b)
{
    switch (operation) {
    case O_SUM:
        return a + b;
    case O_PROD:
        return a * b;
    case O_MAX:
        return a > b ? a : b;
    case O_MIN:
        return a < b ? a : b;
    case O_BAND:
        return a & b;
    case O_BOR:
        return a | b;
    case O_BXOR:
        return a ^ b;
    case O_LAND:
        return a && b;
    case O_LOR:
        return a || b;
    default:
        fail("no integer operation %d", (int)operation);
    }
}

static inline double combine_double(enum operation operation, double a, double b)
{
    switch (operation) {
    case O_SUM:
        return a + b;
    case O_PROD:
        return a * b;
    case O_MIN:
        return a < b ? a : b;
    default: /* O_MAX, and what the user-defined operation does to doubles */
        return a > b ? a : b;
    }
}

/* Whether pair b replaces pair a: the better value, or the smaller location among equals. */
static inline int takes_over(enum operation operation, double a, int a_location, double b, int b_location)
{
    if (a == b)
        return b_location < a_location;
    return operation == O_MINLOC ? b < a : b > a;
}

/* a (of the lower ranks) combined with b (of the higher ranks). */
static inline value combine(enum kind kind, enum operation operation, value a, value b)
{
    switch (kind) {
    case K_INT:
        a.i = operation == O_USER ? (a.i + b.i) % INT_PRIME : (int32_t)combine_integer(operation, a.i, b.i);
        break;
    case K_DOUBLE:
        a.d = combine_double(operation, a.d, b.d);
        break;
    case K_BYTE:
        a.b = (uint8_t)(operation == O_USER ? a.b ^ b.b : combine_integer(operation, a.b, b.b));
        break;
    case K_INT64:
        a.l = operation == O_USER ? (a.l + b.l) % INT64_PRIME : combine_integer(operation, a.l, b.l);
        break;
    case K_COMPLEX:
        a.complex_parts[0] += b.complex_parts[0];
        a.complex_parts[1] += b.complex_parts[1];
        break;
    case K_DOUBLE_INT:
        if (takes_over(operation, a.pair.value, a.pair.location, b.pair.value, b.pair.location))
            a = b;
        break;
    case K_2INT:
        if (takes_over(operation, a.ints[0], a.ints[1], b.ints[0], b.ints[1]))
            a = b;
        break;
    case K_MATRIX: {
        const value l = a;
        for (int row = 0; row < 2; row++)
            for (int column = 0; column < 2; column++) {
                const int64_t sum = (int64_t)l.ints[2 * row] * b.ints[column] + (int64_t)l.ints[2 * row + 1] * b.ints[2 + column];
                a.ints[2 * row + column] = (int32_t)(sum % MATRIX_PRIME);
            }
        break;
    }
    }
    return a;
}

static inline void print_value(char *out, size_t room, enum kind kind, value v)
{
    switch (kind) {
    case K_INT:
        snprintf(out, room, "%d", v.i);
        break;
    case K_DOUBLE:
        snprintf(out, room, "%.17g", v.d);
        break;
    case K_BYTE:
        snprintf(out, room, "0x%02x", v.b);
        break;
    case K_INT64:
        snprintf(out, room, "%lld", (long long)v.l);
        break;
    case K_COMPLEX:
        snprintf(out, room, "(%.17g,%.17g)", v.complex_parts[0], v.complex_parts[1]);
        break;
    case K_DOUBLE_INT:
        snprintf(out, room, "(%.17g,%d)", v.pair.value, v.pair.location);
        break;
    case K_2INT:
        snprintf(out, room, "(%d,%d)", v.ints[0], v.ints[1]);
        break;
    case K_MATRIX:
        snprintf(out, room, "[%d %d;%d %d]", v.ints[0], v.ints[1], v.ints[2], v.ints[3]);
        break;
    }
}

#endif
