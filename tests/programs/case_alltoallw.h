/* Alltoallw: how much each rank has for each other (PATTERNS), with a type for each block: of one layout, or of forms
   that differ from block to block and between its two sides, some of them consecutive bytes and some not. */
#ifndef CASE_ALLTOALLW_H
#define CASE_ALLTOALLW_H

#include "case_alltoallv.h"

/* Forms of six ints, of which there are eight. Those of one rank, as its own types are. */
struct six {
    /* A row of an array, which is consecutive bytes; two columns of one, which are not. */
    struct layout row, columns;
    MPI_Datatype contiguous;
};

static inline struct layout part_of_array(const char *name, const int *size, const int *part, const int *from)
{
    struct layout l = {.name = name, .extent = size[0] * size[1] * (MPI_Aint)sizeof(int)};
    for (int y = from[0]; y < from[0] + part[0]; y++)
        for (int x = from[1]; x < from[1] + part[1]; x++) {
            l.item[l.items].kind = K_INT;
            l.item[l.items++].at = (y * size[1] + x) * (MPI_Aint)sizeof(int);
        }
    MPI_Type_create_subarray(2, size, part, from, MPI_ORDER_C, MPI_INT, &l.type);
    MPI_Type_commit(&l.type);
    return l;
}

static inline struct six six_new(void)
{
    struct six six;
    six.row = part_of_array("row", (int[]){4, 6}, (int[]){1, 6}, (int[]){2, 0});
    six.columns = part_of_array("columns", (int[]){3, 5}, (int[]){3, 2}, (int[]){0, 1});
    MPI_Type_contiguous(6, MPI_INT, &six.contiguous);
    MPI_Type_commit(&six.contiguous);
    return six;
}

static inline void six_free(struct six *six)
{
    MPI_Type_free(&six->row.type);
    MPI_Type_free(&six->columns.type);
    MPI_Type_free(&six->contiguous);
}

static inline struct form form_of_pair(const struct six *six, uint64_t h)
{
    const struct form forms[8] = {
        {&six->row, 1, six->row.type, 1},
        {&six->columns, 1, six->columns.type, 1},
        {&layouts[L_INT], 6, MPI_INT, 6},
        {&layouts[L_VECTOR], 1, layouts[L_VECTOR].type, 1},
        {&layouts[L_INDEXED], 1, layouts[L_INDEXED].type, 1},
        {&layouts[L_NEGATIVE_LB], 3, layouts[L_NEGATIVE_LB].type, 3},
        {&layouts[L_CONTIGUOUS], 2, layouts[L_CONTIGUOUS].type, 2},
        {&layouts[L_INT], 6, six->contiguous, 1},
    };
    return forms[h % 8];
}

/* One side of a call on one rank. */
struct typed {
    struct form form[256];
    size_t elements[256];
    /* First byte of each block's first element, from where the data begins; bytes of all. */
    size_t at[256], bytes;
    /* By which the address that is passed lies above that. */
    size_t shift;
    count_t count[256];
    displacement_t displacement[256];
    MPI_Datatype type[256];
};

/* `l`: the layout of all blocks, or none. */
static inline struct typed *typed_new(const struct six *six, const struct layout *l, int pattern, size_t count,
                                      const struct member *m, uint64_t seed, int outgoing, int in_place, int placement)
{
    struct typed *t = calloc(1, sizeof *t);
    if (!t || m->size > 256)
        fail("no room for the blocks of %d ranks", m->size);
    const size_t gap = 64;
    for (int k = 0; k < m->size; k++) {
        const int peer = placement == PACKED ? k : m->size - 1 - k, from = outgoing ? m->rank : peer,
                  to = outgoing ? peer : m->rank, low = from < to ? from : to, high = from < to ? to : from;
        /* In place both ranks describe it alike, elsewhere each side has a type of its own. */
        const uint64_t h = in_place ? scramble(seed * 512 + (uint64_t)low, (uint64_t)high)
                                    : scramble(seed * 1024 + (uint64_t)(2 * from + outgoing), (uint64_t)to);
        const struct form form = l ? (struct form){l, 1, l->type, 1} : form_of_pair(six, h);
        const size_t units = amount(pattern, count, from, to, m->size, seed, in_place);
        t->form[peer] = form;
        t->elements[peer] = units * form.per_unit;
        t->at[peer] = t->bytes + gap;
        t->bytes += t->elements[peer] * (size_t)form.layout->extent + (units ? 2 * gap : 0);
        t->count[peer] = (count_t)(units * form.counted);
        t->type[peer] = form.type;
    }
    t->shift = placement == NEGATIVE ? t->bytes / 2 : 0;
    for (int peer = 0; peer < m->size; peer++) {
        t->displacement[peer] = (displacement_t)t->at[peer] - (displacement_t)t->shift;
        /* What lies nowhere may be said to lie anywhere, and where the call is ours to be of no type; Open MPI demands
           one. */
        if (t->elements[peer] == 0 && placement == REVERSED) {
            t->displacement[peer] = 1 << 20;
            if (!avoids() && m->size > 1)
                t->type[peer] = MPI_DATATYPE_NULL;
        }
    }
    return t;
}

static inline struct buffer typed_buffer(const struct typed *t)
{
    static const struct layout bytes = {.name = "bytes", .extent = 1, .items = 1, .item = {{K_BYTE, 0}}};
    return buffer_new(&bytes, t->bytes);
}

/* `outgoing`: what this rank sends, else what it is to receive. */
static inline void typed_fill(struct buffer *buffer, const struct typed *t, const struct member *m, int outgoing)
{
    for (int peer = 0; peer < m->size; peer++) {
        struct buffer block = *buffer;
        block.base += t->at[peer];
        buffer_fill(&block, t->form[peer].layout, 0, t->elements[peer], F_DATA, outgoing ? m->rank : peer,
                    (size_t)(outgoing ? peer : m->rank) << 24);
    }
}

static inline void typed_expect(const struct buffer *got, const struct buffer *want, const struct typed *t,
                                const struct member *m, const char *which)
{
    if (memcmp(got->raw, want->raw, got->bytes) == 0)
        return;
    size_t byte = 0;
    while (got->raw[byte] == want->raw[byte])
        byte++;
    const ptrdiff_t at = got->raw + byte - got->base;
    int block = -1;
    for (int peer = 0; peer < m->size; peer++)
        if (t->elements[peer] && at >= (ptrdiff_t)t->at[peer] - 64 &&
            (block < 0 || t->at[peer] > t->at[block]))
            block = peer;
    fail("%s byte=%td, in or behind block=%d of %s at %zu, got=0x%02x expected=0x%02x", which, at, block,
         block < 0 ? "nothing" : t->form[block].layout->name, block < 0 ? 0 : t->at[block], got->raw[byte],
         want->raw[byte]);
}

static inline void alltoallw_and_compare(const struct member *m, const struct six *six, const struct layout *l,
                                         int pattern, size_t count, uint64_t seed, int in_place, int placement)
{
    struct typed *to = typed_new(six, l, pattern, count, m, seed, 1, in_place, placement);
    struct typed *from = typed_new(six, l, pattern, count, m, seed, 0, in_place, (placement + 1) % PLACEMENTS);
    struct buffer want = typed_buffer(from), got = buffer_copy(&want);
    typed_fill(&want, from, m, 0);
    int code;
    if (in_place) {
        typed_fill(&got, from, m, 1);
        code = CALL_ALLTOALLW(MPI_IN_PLACE, NULL, NULL, NULL, got.base + from->shift, from->count, from->displacement,
                              from->type, m->comm);
    } else {
        struct buffer mine = typed_buffer(to);
        typed_fill(&mine, to, m, 1);
        struct buffer sent = buffer_copy(&mine);
        code = CALL_ALLTOALLW(sent.base + to->shift, to->count, to->displacement, to->type, got.base + from->shift,
                              from->count, from->displacement, from->type, m->comm);
        typed_expect(&sent, &mine, to, m, "send buffer");
        buffer_free(&sent);
        buffer_free(&mine);
    }
    if (code != MPI_SUCCESS)
        fail("returned error code %d", code);
    typed_expect(&got, &want, from, m, "receive buffer");
    buffer_free(&got);
    buffer_free(&want);
    free(to);
    free(from);
    check_cases++;
}

static inline void check_alltoallw(const struct member *m, const struct layout *l, int pattern, size_t count,
                                   uint64_t seed)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        if (alltoallw_alone_broken(m->size) || (in_place && alltoall_in_place_broken(l, m->size, count)))
            continue;
        begin_case("alltoallw", m, l->name, pattern_names[pattern], count, -1, in_place);
        alltoallw_and_compare(m, NULL, l, pattern, count, seed, in_place,
                              (int)((seed + (uint64_t)pattern) % PLACEMENTS));
    }
}

/* Every block in a form of its own of one int signature; a unit is 6 ints. */
static inline void check_alltoallw_mixed(const struct member *m, int pattern, size_t count, uint64_t seed)
{
    struct six six = six_new();
    for (int turn = 0; turn < 4 && !alltoallw_alone_broken(m->size); turn++) {
        /* Single elements may be consecutive bytes where several are not. */
        const size_t units = turn == 2 ? 1 : count / 6;
        begin_case("alltoallw", m, "mixed", pattern_names[pattern], units, -1, turn == 3);
        alltoallw_and_compare(m, &six, NULL, turn == 2 ? P_SPARSE : pattern, units, seed + (uint64_t)turn, turn == 3,
                              turn % PLACEMENTS);
    }
    six_free(&six);
}

#endif
