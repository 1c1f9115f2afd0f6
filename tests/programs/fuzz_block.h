/* The blocks of a call: how much one rank has for another, where it lies, and which data it is. */
#ifndef FUZZ_BLOCK_H
#define FUZZ_BLOCK_H

#include "fuzz_comm.h"

/* One side of a call on one rank: a block for or of each peer, or one block. */
struct side_blocks {
    const struct layout *layout;
    int blocks;
    /* In elements of the layout. */
    size_t elements[MAX_RANKS], at[MAX_RANKS], total;
    /* Elements by which the address that is passed lies above the buffer's beginning. */
    size_t shift;
    /* Of an Alltoallw in bytes, with a type for each. */
    int count[MAX_RANKS], displacement[MAX_RANKS];
    MPI_Count large_count[MAX_RANKS];
    MPI_Aint large_displacement[MAX_RANKS];
    MPI_Datatype type[MAX_RANKS];
};

static inline size_t common_multiple(size_t a, size_t b)
{
    size_t x = a, y = b;
    while (y) {
        const size_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* The fewest values that are whole elements of every type in the statement. */
static inline size_t unit_items(const struct statement *s)
{
    size_t unit = 1;
    for (int i = 0; i < s->send.n; i++)
        unit = common_multiple(unit, (size_t)form_facts[s->send.at[i]].items);
    for (int i = 0; i < s->receive.n; i++)
        unit = common_multiple(unit, (size_t)form_facts[s->receive.at[i]].items);
    return unit;
}

/* Values of the block that `from` has for `to`. Where all blocks of a rank are alike, both are that rank. The same both
   ways for an Alltoallv or Alltoallw in place, as these demand. */
static inline size_t block_items(const struct statement *s, int size, int from, int to)
{
    const size_t unit = unit_items(s), units = s->items / unit;
    if (!shaped(s->what))
        return s->items;
    const int both_ways = own_blocks(s->what) && s->in_place;
    if (both_ways && from > to)
        return block_items(s, size, to, from);
    const uint64_t h = scramble((uint64_t)s->salt * 4096 + (uint64_t)from, (uint64_t)to);
    switch (s->shape) {
    case SHAPE_RAGGED: /* rarely nothing at all, sometimes twice the mean */
        return (h % 7 == 0 ? 0 : h / 7 % (2 * units + 1)) * unit;
    case SHAPE_SPARSE:
        return (from + 2 * to + size) % 3 == 0 || (from == to && from % 2) ? s->items : 0;
    case SHAPE_ONE:
        return to == size / 2 || (both_ways && from == size / 2) ? s->items : 0;
    case SHAPE_ZERO:
        return 0;
    case SHAPE_RARE: /* upwards only: the lower ranks can run ahead */
        return from < to && ((uint64_t)s->salt + scramble((uint64_t)from, (uint64_t)to)) % (uint64_t)s->every == 0
                   ? (1 + h % (units + 1)) * unit
                   : 0;
    default:
        return s->items;
    }
}

/* Where blocks with displacements lie: in order; in reverse order with gaps; the same below the address that is
   passed. */
enum { PLACED_IN_ORDER, PLACED_IN_REVERSE, PLACED_BELOW };

static inline void blocks_place(struct side_blocks *b, int placement)
{
    b->total = 0;
    for (int k = 0; k < b->blocks; k++) {
        const int peer = placement == PLACED_IN_ORDER ? k : b->blocks - 1 - k;
        b->total += placement == PLACED_IN_ORDER ? 0 : (size_t)(k % 3);
        b->at[peer] = b->total;
        b->total += b->elements[peer];
    }
    b->shift = placement == PLACED_BELOW ? b->total / 2 : 0;
    for (int k = 0; k < b->blocks; k++) {
        b->count[k] = (int)b->elements[k];
        b->displacement[k] = (int)b->at[k] - (int)b->shift;
        /* What lies nowhere may be said to lie anywhere. */
        if (b->elements[k] == 0 && placement == PLACED_IN_REVERSE)
            b->displacement[k] = 1 << 20;
        b->large_count[k] = b->count[k];
        b->large_displacement[k] = b->displacement[k];
    }
}

/* As an Alltoallw has them. */
static inline void blocks_type(struct side_blocks *b)
{
    for (int k = 0; k < b->blocks; k++) {
        b->type[k] = b->layout->type;
        b->displacement[k] *= (int)b->layout->extent;
        b->large_displacement[k] = b->displacement[k];
    }
}

static inline void *blocks_pointer(const struct side_blocks *b, const struct buffer *buffer)
{
    return buffer->base + b->shift * (size_t)b->layout->extent;
}

/* What distinguishes data: of another statement, for another rank. */
static inline size_t data_index(const struct statement *s, int to)
{
    return ((size_t)s->salt << 40) + ((size_t)to << 26);
}

/* Writes block k as rank `from` has it for rank `to`. Where the type that sends it overlaps, what is sent twice is the
   same value: values are numbered by where they are sent from. */
static inline void block_fill(struct buffer *buffer, const struct side_blocks *b, int k, const struct statement *s,
                              int from, int to)
{
    const struct form_facts *f = &form_facts[entry(&s->send, from)];
    const struct layout *l = b->layout;
    const size_t index = data_index(s, to);
    if (!f->step) {
        buffer_fill(buffer, l, b->at[k], b->elements[k], F_DATA, from, index);
        return;
    }
    size_t sent = 0;
    for (size_t e = b->at[k]; e < b->at[k] + b->elements[k]; e++)
        for (int i = 0; i < l->items; i++, sent++) {
            const size_t place = sent / (size_t)f->items * (size_t)f->step + (size_t)f->at[sent % (size_t)f->items];
            const value v = make_value(s->kind, F_DATA, from, index + place);
            store_value(s->kind, item_at(buffer, l, e, i), &v);
        }
}

static inline enum flavour contribution_flavour(const struct statement *s)
{
    if (s->rounding)
        return F_ROUNDING;
    /* A floating number has no bits to be compared. */
    const int floating = kind_facts[s->kind].floating;
    return floating && operation_facts[s->operation].flavour == F_BITS ? F_DATA : operation_facts[s->operation].flavour;
}

/* The contributions of ranks first .. last to the values from `item` on, combined in rank order, written to elements 0
   .. of `want`. */
static inline void combined_fill(struct buffer *want, const struct layout *l, const struct statement *s, int last,
                                 size_t item, size_t elements)
{
    const enum flavour flavour = contribution_flavour(s);
    size_t index = data_index(s, 0) + item;
    for (size_t e = 0; e < elements; e++)
        for (int k = 0; k < l->items; k++, index++) {
            value v = make_value(s->kind, flavour, 0, index);
            for (int origin = 1; origin <= last; origin++)
                v = combine(s->kind, s->operation, v, make_value(s->kind, flavour, origin, index));
            store_value(s->kind, item_at(want, l, e, k), &v);
        }
}

/* What an item occupies without being part of its value: whatever `got` has there is right. */
static inline void padding_accept(struct buffer *got, const struct buffer *want, const struct layout *l,
                                  size_t elements)
{
    for (size_t e = 0; e < elements; e++)
        for (int k = 0; k < l->items; k++) {
            const struct kind_facts *f = &kind_facts[l->item[k].kind];
            const size_t number = f->category == C_PAIR || f->category == C_FLOATING
                                      ? (f->floating ? number_bytes(f->part) : f->part)
                                      : f->size;
            unsigned char *at = item_at(got, l, e, k);
            const unsigned char *other = item_at(want, l, e, k);
            const size_t end = f->category == C_PAIR ? f->location : f->size;
            memcpy(at + number, other + number, end > number ? end - number : 0);
            if (f->category == C_PAIR)
                memcpy(at + f->location + sizeof(int), other + f->location + sizeof(int),
                       f->size - f->location - sizeof(int));
        }
}

/* A product's zero may have either sign, as the order says. */
static inline void zeros_accept(const struct buffer *b, const struct layout *l, size_t elements)
{
    for (size_t e = 0; e < elements; e++)
        for (int k = 0; k < l->items; k++) {
            value v = load_value(l->item[k].kind, item_at(b, l, e, k));
            v.x += 0.0L;
            v.y += 0.0;
            store_value(l->item[k].kind, item_at(b, l, e, k), &v);
        }
}

/* Accepts sums that are near the exact ones: P - 1 additions in any order, each with a relative error of at most
   epsilon. */
static inline void rounding_accept(const struct buffer *got, struct buffer *want, const struct layout *l,
                                   const struct statement *s, int last, size_t item, size_t elements)
{
    const long double epsilon = kind_facts[s->kind].part == sizeof(float) ? 1.1920929e-7L : 2.220446049250313e-16L;
    for (size_t e = 0; e < elements; e++) {
        value exact = {0, 0, 0};
        long double magnitude = 0, other = 0;
        for (int origin = 0; origin <= last; origin++) {
            const value v = make_value(s->kind, F_ROUNDING, origin, data_index(s, 0) + item + e);
            exact.x += v.x;
            exact.y += v.y;
            magnitude += v.x < 0 ? -v.x : v.x;
            other += v.y < 0 ? -v.y : v.y;
        }
        const value is = load_value(s->kind, item_at(got, l, e, 0));
        const long double x = is.x - exact.x, y = (long double)is.y - exact.y;
        const long double bound = last * epsilon * magnitude, other_bound = last * epsilon * (other + 1e-6L);
        if (!(x <= bound && -x <= bound && y <= other_bound && -y <= other_bound))
            fail("receive buffer index=%zu got=(%.17Lg,%.17g) expected=(%.20Lg,%.17g) +- %.3Lg", e, is.x, is.y, exact.x,
                 exact.y, bound);
        memcpy(item_at(want, l, e, 0), item_at(got, l, e, 0), l->extent > 0 ? (size_t)l->extent : 0);
    }
}

#endif
