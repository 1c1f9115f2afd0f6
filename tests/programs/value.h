/* Values: what every rank contributes (a pure function of rank and index), how they lie in memory, and how two of them
   combine. */
#ifndef VALUE_H
#define VALUE_H

#include "kind.h"

/* What a contribution must satisfy so that results are exact and do not overflow; F_ROUNDING: sums that round. */
enum flavour { F_DATA, F_SUM, F_PRODUCT, F_BITS, F_AND, F_OR, F_LOCATION, F_RESIDUE, F_ROUNDING };

enum operation {
    O_SUM, O_PROD, O_MAX, O_MIN, O_BAND, O_BOR, O_BXOR, O_LAND, O_LOR, O_LXOR, O_MINLOC, O_MAXLOC, O_USER, O_MATRIX,
    O_FIRST, OPERATIONS
};

/* Whatever its kind: x is a number, the first of a pair, or the real part; n is an integer, the location of a pair, or
   a matrix, 16 bits for each entry; a struct has its int and, from bit 32 on, its bytes in n, its double in y. No
   union: compilers may copy a long double without its padding. */
typedef struct {
    long double x;
    double y;
    int64_t n;
} value;

/* User-defined operations work modulo primes, so that they are exact and associative. */
#define INT_PRIME 1000003
#define INT64_PRIME 2305843009213693951LL
#define MATRIX_PRIME 32749

static inline int64_t modulus(size_t bytes)
{
    return bytes == 1 ? 113 : bytes == 2 ? 32749 : bytes == 4 ? INT_PRIME : INT64_PRIME;
}

static inline uint64_t scramble(uint64_t origin, uint64_t index)
{
    uint64_t x = (origin + 1) * 0x9E3779B97F4A7C15u ^ (index + 1) * 0xD1B54A32D192ED03u;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    return x ^ x >> 32;
}

static inline int64_t load_integer(size_t bytes, int is_signed, const void *at)
{
    int8_t a;
    int16_t b;
    int32_t c;
    int64_t d;
    switch (bytes) {
    case 1:
        memcpy(&a, at, 1);
        return is_signed ? a : (uint8_t)a;
    case 2:
        memcpy(&b, at, 2);
        return is_signed ? b : (uint16_t)b;
    case 4:
        memcpy(&c, at, 4);
        return is_signed ? c : (int64_t)(uint32_t)c;
    default:
        memcpy(&d, at, 8);
        return d;
    }
}

static inline void store_integer(size_t bytes, void *at, int64_t n)
{
    const int8_t a = (int8_t)n;
    const int16_t b = (int16_t)n;
    const int32_t c = (int32_t)n;
    memcpy(at,
           bytes == 1   ? (const void *)&a
           : bytes == 2 ? (const void *)&b
           : bytes == 4 ? (const void *)&c
                        : &n,
           bytes);
}

static inline long double load_number(size_t bytes, const void *at)
{
    float a;
    double b;
    long double c = 0;
    if (bytes == sizeof a)
        return memcpy(&a, at, sizeof a), a;
    if (bytes == sizeof b)
        return memcpy(&b, at, sizeof b), b;
    return memcpy(&c, at, number_bytes(bytes)), c;
}

static inline void store_number(size_t bytes, void *at, long double x)
{
    const float a = (float)x;
    const double b = (double)x;
    memcpy(at, bytes == sizeof a ? (const void *)&a : bytes == sizeof b ? (const void *)&b : &x, number_bytes(bytes));
}

static inline int32_t matrix_entry(const value *v, int k)
{
    return (int32_t)((uint64_t)v->n >> (16 * k) & 0xffff);
}

static inline void set_matrix_entry(value *v, int k, int64_t entry)
{
    v->n = (int64_t)(((uint64_t)v->n & ~((uint64_t)0xffff << (16 * k))) | (uint64_t)entry << (16 * k));
}

/* Only the bytes that carry the value: no padding. */
static inline void store_value(enum kind kind, void *at, const value *v)
{
    const struct kind_facts *f = &kind_facts[kind];
    switch (f->category) {
    case C_FLOATING:
        store_number(f->part, at, v->x);
        break;
    case C_COMPLEX:
        store_number(f->part, at, v->x);
        store_number(f->part, (char *)at + f->part, v->y);
        break;
    case C_PAIR:
        if (f->floating)
            store_number(f->part, at, v->x);
        else
            store_integer(f->part, at, (int64_t)v->x);
        store_integer(sizeof(int), (char *)at + f->location, v->n);
        break;
    case C_MATRIX:
        for (int k = 0; k < 4; k++)
            store_integer(4, (char *)at + 4 * k, matrix_entry(v, k));
        break;
    case C_STRUCT:
        store_integer(sizeof(int), at, v->n);
        memcpy((char *)at + offsetof(struct mixed, other), &v->y, sizeof v->y);
        for (int k = 0; k < 3; k++)
            store_integer(1, (char *)at + offsetof(struct mixed, bytes) + k, v->n >> (32 + 8 * k));
        break;
    default:
        store_integer(f->part, at, v->n);
    }
}

static inline value load_value(enum kind kind, const void *at)
{
    const struct kind_facts *f = &kind_facts[kind];
    value v = {0, 0, 0};
    switch (f->category) {
    case C_FLOATING:
        v.x = load_number(f->part, at);
        break;
    case C_COMPLEX:
        v.x = load_number(f->part, at);
        v.y = (double)load_number(f->part, (const char *)at + f->part);
        break;
    case C_PAIR:
        v.x = f->floating ? load_number(f->part, at) : (long double)load_integer(f->part, 1, at);
        v.n = load_integer(sizeof(int), 1, (const char *)at + f->location);
        break;
    case C_MATRIX:
        for (int k = 0; k < 4; k++)
            set_matrix_entry(&v, k, load_integer(4, 1, (const char *)at + 4 * k) & 0xffff);
        break;
    case C_STRUCT:
        v.n = load_integer(sizeof(int), 0, at);
        memcpy(&v.y, (const char *)at + offsetof(struct mixed, other), sizeof v.y);
        for (int k = 0; k < 3; k++)
            v.n |= load_integer(1, 0, (const char *)at + offsetof(struct mixed, bytes) + k) << (32 + 8 * k);
        break;
    default:
        v.n = load_integer(f->part, f->category == C_SIGNED || f->category == C_CHARACTER, at);
    }
    return v;
}

/* As wide as it is in memory. */
static inline int64_t fitted_integer(size_t bytes, int is_signed, int64_t n)
{
    unsigned char raw[8];
    store_integer(bytes, raw, n);
    return load_integer(bytes, is_signed, raw);
}

static inline int64_t raw_integer(uint64_t h, enum flavour flavour, int origin, size_t bytes)
{
    switch (flavour) {
    case F_SUM:
        return bytes == 1 ? (int64_t)(h % 5) - 2 : (int64_t)(h % 2001) - 1000;
    case F_PRODUCT: /* as many factors of 2 over all ranks as there is room for */
        return origin < (bytes == 1 ? 6 : bytes == 2 ? 14 : 30) && h % 4 == 0 ? 2 : (h % 4 == 1 ? -1 : 1);
    case F_AND:
        return h % 16 ? (int64_t)(h % 5) + 1 : 0;
    case F_OR:
        return h % 16 ? 0 : 3;
    case F_LOCATION: /* few distinct values, so that there are ties */
        return (int64_t)(h % 5);
    case F_RESIDUE:
        return (int64_t)(h % (uint64_t)modulus(bytes));
    default:
        return (int64_t)(h >> 1);
    }
}

static inline long double fitted_number(size_t bytes, long double x)
{
    return bytes == sizeof(float) ? (long double)(float)x : bytes == sizeof(double) ? (long double)(double)x : x;
}

/* Both signs, ten binary orders of magnitude, no short binary fraction. */
static inline long double rounding_number(uint64_t h)
{
    return ((long double)(h >> 11) - 4503599627370496.0L) / (long double)(1 << (h % 10)) / 3.0L;
}

/* What rank `origin` contributes at `index`. */
static inline value make_value(enum kind kind, enum flavour flavour, int origin, size_t index)
{
    const struct kind_facts *f = &kind_facts[kind];
    const uint64_t h = scramble((uint64_t)origin, index);
    const int64_t n = raw_integer(h, flavour, origin, f->part);
    value v = {0, 0, 0};
    switch (f->category) {
    case C_SIGNED:
        v.n = fitted_integer(f->part, 1, n);
        break;
    case C_UNSIGNED:
        /* Libraries multiply short ones as int, which a factor near the top would overflow, and Open MPI's sums of
           short ones (with AVX) end at the top instead of wrapping round. */
        v.n = fitted_integer(f->part, 0, flavour == F_PRODUCT && n < 0 ? 3 : flavour == F_SUM && n < 0 ? -n : n);
        break;
    case C_BYTE:
        v.n = (int64_t)(h >> 24 & 0xff);
        break;
    case C_CHARACTER:
        v.n = (int8_t)(h >> 24 & 0xff);
        break;
    case C_LOGICAL:
        v.n = flavour == F_AND || flavour == F_OR ? n != 0 : (int64_t)(h >> 7 & 1);
        break;
    case C_FLOATING:
        v.x = fitted_number(f->part, flavour == F_ROUNDING ? rounding_number(h)
                                     : flavour == F_DATA   ? (long double)(h >> 12) / 3
                                                           : n);
        break;
    case C_COMPLEX:
        v.x = fitted_number(f->part, flavour == F_ROUNDING ? rounding_number(h) : flavour == F_SUM ? n : n % 1000);
        v.y = (double)fitted_number(f->part, flavour == F_ROUNDING ? rounding_number(scramble(h, index))
                                                                   : (int)((h >> 20) % 1000) - 400);
        if (flavour == F_PRODUCT) { /* powers of i, and few of 1 + i */
            v.x = origin < 20 && h % 8 == 0 ? 1 : (h % 4 == 0) - (h % 4 == 2);
            v.y = origin < 20 && h % 8 == 0 ? 1 : (h % 4 == 1) - (h % 4 == 3);
        }
        break;
    case C_PAIR:
        v.x = f->floating ? fitted_number(f->part, (int32_t)n) : fitted_integer(f->part, 1, (int32_t)n);
        v.n = (int64_t)((h >> 20) % 1000);
        break;
    case C_MATRIX:
        for (int k = 0; k < 4; k++)
            set_matrix_entry(&v, k, (int64_t)((h >> (12 * k)) % MATRIX_PRIME));
        break;
    case C_STRUCT:
        v.n = (int64_t)(h % INT_PRIME) | (int64_t)(h >> 24 & 0xffffff) << 32;
        v.y = (double)(h >> 12) / 3;
        break;
    }
    return v;
}

#endif
