/* How two values combine, and how a value is printed. */
#ifndef COMBINE_H
#define COMBINE_H

#include "value.h"

static inline int64_t combine_integer(enum operation operation, int64_t a, int64_t b, int is_signed)
{
    const uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    const int above = is_signed ? a > b : ua > ub;
    switch (operation) {
    case O_SUM:
        return (int64_t)(ua + ub);
    case O_PROD:
        return (int64_t)(ua * ub);
    case O_MAX:
        return above ? a : b;
    case O_MIN:
        return above ? b : a;
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
    case O_LXOR:
        return !a != !b;
    default:
        fail("no integer operation %d", (int)operation);
    }
}

/* MPI_MAX for O_MAX, and what the user-defined operation does to floating numbers. */
static inline long double combine_number(enum operation operation, long double a, long double b)
{
    switch (operation) {
    case O_SUM:
        return a + b;
    case O_PROD:
        return a * b;
    case O_MIN:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

static inline value combine_complex(enum operation operation, value a, value b)
{
    value c = a;
    c.x = operation == O_PROD ? a.x * b.x - (long double)a.y * b.y : a.x + b.x;
    c.y = (double)(operation == O_PROD ? a.x * b.y + a.y * b.x : (long double)a.y + b.y);
    return c;
}

static inline value combine_matrix(value a, value b)
{
    value c = a;
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 2; column++) {
            const int64_t left = (int64_t)matrix_entry(&a, 2 * row) * matrix_entry(&b, column);
            const int64_t right = (int64_t)matrix_entry(&a, 2 * row + 1) * matrix_entry(&b, 2 + column);
            set_matrix_entry(&c, 2 * row + column, (left + right) % MATRIX_PRIME);
        }
    return c;
}

/* Whether pair b replaces pair a: the better value, or the smaller location among equals. */
static inline int takes_over(enum operation operation, const value *a, const value *b)
{
    if (a->x == b->x)
        return b->n < a->n;
    return operation == O_MINLOC ? b->x < a->x : b->x > a->x;
}

/* a (of the lower ranks) combined with b (of the higher ranks). Integers may be wider than their kind: storing cuts
   them. */
static inline value combine(enum kind kind, enum operation operation, value a, value b)
{
    const struct kind_facts *f = &kind_facts[kind];
    if (operation == O_FIRST)
        return a;
    switch (f->category) {
    case C_SIGNED:
    case C_UNSIGNED:
        a.n = operation == O_USER ? (a.n + b.n) % modulus(f->part)
                                  : combine_integer(operation, a.n, b.n, f->category == C_SIGNED);
        break;
    case C_BYTE:
    case C_CHARACTER:
    case C_LOGICAL:
        a.n = operation == O_USER ? a.n ^ b.n : combine_integer(operation, a.n, b.n, 0);
        break;
    case C_FLOATING:
        a.x = combine_number(operation, a.x, b.x);
        break;
    case C_COMPLEX:
        a = combine_complex(operation, a, b);
        break;
    case C_PAIR:
        if (takes_over(operation, &a, &b))
            a = b;
        break;
    case C_MATRIX:
        a = combine_matrix(a, b);
        break;
    case C_STRUCT:
        a.n = (((a.n & 0xffffffff) + (b.n & 0xffffffff)) % INT_PRIME) | ((a.n ^ b.n) >> 32 << 32);
        a.y = a.y > b.y ? a.y : b.y;
        break;
    }
    return a;
}

static inline void print_value(char *out, size_t room, enum kind kind, value v)
{
    switch (kind_facts[kind].category) {
    case C_SIGNED:
        snprintf(out, room, "%lld", (long long)v.n);
        break;
    case C_FLOATING:
        snprintf(out, room, "%.21Lg", v.x);
        break;
    case C_COMPLEX:
        snprintf(out, room, "(%.17Lg,%.17g)", v.x, v.y);
        break;
    case C_PAIR:
        snprintf(out, room, "(%.21Lg,%lld)", v.x, (long long)v.n);
        break;
    case C_STRUCT:
        snprintf(out, room, "{%lld %.17g 0x%llx}", (long long)(v.n & 0xffffffff), v.y, (long long)(v.n >> 32));
        break;
    case C_MATRIX:
        snprintf(out, room, "[%d %d;%d %d]", matrix_entry(&v, 0), matrix_entry(&v, 1), matrix_entry(&v, 2),
                 matrix_entry(&v, 3));
        break;
    default:
        snprintf(out, room, "0x%llx", (unsigned long long)v.n);
        break;
    }
}

#endif
