/* Reading cases. Whatever is wrong in a file is said with its line before anything runs, by all ranks alike. */
#ifndef FUZZ_PARSE_H
#define FUZZ_PARSE_H

#include "fuzz_case.h"

static const char *parse_file;
static int parse_line;

/* Ends the program on every rank, since every rank reads the same file. */
__attribute__((format(printf, 1, 2))) static inline _Noreturn void problem(const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (check_rank == 0)
        fprintf(stderr, "fuzz: %s:%d: %s\n", parse_file, parse_line, text);
    MPI_Finalize();
    exit(2);
}

static inline int find_name(const char *what, const char *word, size_t length, const char *const *names, int n,
                            const char *key)
{
    for (int i = 0; i < n; i++)
        if (strlen(names[i]) == length && strncmp(names[i], word, length) == 0)
            return i;
    problem("%s=%.*s: no such %s", key, (int)length, word, what);
}

static inline long parse_number(const char *key, const char *text, long low, long high)
{
    char *end;
    const long n = strtol(text, &end, 10);
    if (end == text || *end || n < low || n > high)
        problem("%s=%s: expected a number from %ld to %ld", key, text, low, high);
    return n;
}

/* "-" stands for MPI_UNDEFINED. */
static inline struct numbers parse_numbers(const char *key, const char *text)
{
    struct numbers list = {0, {0}};
    for (const char *at = text; *at;) {
        char *end;
        const int undefined = at[0] == '-' && (at[1] == ',' || at[1] == '\0');
        const long n = strtol(at, &end, 10);
        end = undefined ? (char *)(uintptr_t)at + 1 : end;
        if (end == at || (*end && *end != ',') || list.n == MAX_RANKS || n < -1000000 || n > 1000000)
            problem("%s=%s: expected at most %d numbers separated by commas", key, text, MAX_RANKS);
        list.at[list.n++] = undefined ? MPI_UNDEFINED : (int)n;
        at = *end ? end + 1 : end;
    }
    if (list.n == 0)
        problem("%s=: expected at least one number", key);
    return list;
}

/* Forms of a kind; the name of the kind stands for "plain". */
static inline struct numbers parse_forms(const char *key, const char *text, enum kind kind)
{
    const char *names[FORMS];
    struct numbers list = {0, {0}};
    for (int f = 0; f < FORMS; f++)
        names[f] = form_facts[f].name;
    for (const char *at = text; at; at = strchr(at, ','), at = at ? at + 1 : NULL) {
        const size_t length = strcspn(at, ",");
        const char *basic = kind_facts[kind].name;
        if (list.n == MAX_RANKS)
            problem("%s=%s: expected at most %d types", key, text, MAX_RANKS);
        const int plain = strlen(basic) == length && strncmp(basic, at, length) == 0;
        list.at[list.n++] = plain ? T_PLAIN : find_name("form of a type", at, length, names, FORMS, key);
    }
    return list;
}

static inline enum kind parse_kind(const char *text)
{
    const char *names[KINDS];
    for (int k = 0; k < KINDS; k++)
        names[k] = kind_facts[k].name;
    return (enum kind)find_name("kind", text, strlen(text), names, KINDS, "kind");
}

static inline enum operation parse_operation(const char *text)
{
    const char *names[OPERATIONS];
    for (int o = 0; o < OPERATIONS; o++)
        names[o] = operation_facts[o].name;
    return (enum operation)find_name("operation", text, strlen(text), names, OPERATIONS, "op");
}

/* Lists are given in any order: what depends on the kind is read when the line is complete. */
struct words {
    const char *send, *receive;
};

static inline void parse_field(struct statement *s, struct words *words, const char *key, const char *text)
{
#define NUMBER(name, field, low, high) \
    if (strcmp(key, name) == 0) { s->field = (int)parse_number(key, text, low, high); return; }
#define LIST(name) \
    if (strcmp(key, #name) == 0) { s->name = parse_numbers(key, text); return; }
#define NAME(name, names, n) \
    if (strcmp(key, #name) == 0) { s->name = find_name(#name, text, strlen(text), names, n, key); return; }
    NUMBER("thread", thread, 0, MAX_THREADS - 1)
    if (s->verb == V_COMM) {
        NUMBER("of", of, 0, MAX_COMMS_OF_CASE - 1)
        NUMBER("reorder", reorder, 0, 1)
        NUMBER("low", low, 0, MAX_RANKS)
        NUMBER("high", high, 0, 1)
        NAME(make, make_names, MAKES)
        LIST(colors) LIST(keys) LIST(dims) LIST(periods) LIST(keep) LIST(ranks)
    } else if (s->verb == V_FREE) {
        NUMBER("disconnect", disconnect, 0, 1)
    } else if (s->verb == V_STALL) {
        NUMBER("ms", ms, 0, 1000)
    } else if (s->verb == V_CALL || s->verb == V_MESSAGE) {
        NUMBER("comm", comm, 0, MAX_COMMS_OF_CASE - 1)
        if (strcmp(key, "items") == 0) {
            s->items = (size_t)parse_number(key, text, 0, 1 << 24);
            return;
        }
    }
    if (s->verb == V_CALL) {
        NAME(what, what_names, WHATS)
        NAME(shape, shape_names, SHAPES)
        NUMBER("root", root, 0, MAX_RANKS)
        NUMBER("inplace", in_place, 0, 1)
        NUMBER("salt", salt, 0, 1000000)
        NUMBER("start", start, 0, 1)
        NUMBER("large", large, 0, 1)
        NUMBER("last", last, 0, 1)
        NUMBER("times", times, 1, 100000)
        NUMBER("every", every, 1, 100000)
        NUMBER("slow", slow, 0, MAX_RANKS)
        NUMBER("ms", ms, 0, 1000)
        if (strcmp(key, "data") == 0) {
            s->rounding = find_name("data", text, strlen(text), (const char *const[]){"exact", "rounding"}, 2, key);
            return;
        }
        if (strcmp(key, "kind") == 0 || strcmp(key, "op") == 0) {
            if (*key == 'k')
                s->kind = parse_kind(text);
            else
                s->operation = parse_operation(text);
            return;
        }
        if (strcmp(key, "send") == 0 || strcmp(key, "receive") == 0) {
            *(*key == 's' ? &words->send : &words->receive) = text;
            return;
        }
    }
    if (s->verb == V_MESSAGE) {
        NUMBER("from", from, 0, MAX_RANKS)
        NUMBER("to", to, 0, MAX_RANKS)
        NUMBER("tag", tag, 0, 32767)
        NUMBER("wild", wild, 0, 1)
        NUMBER("early", early, 0, 1)
    }
    problem("%s= has no meaning here", key);
#undef NUMBER
#undef LIST
#undef NAME
}

static inline void check_forms(const struct statement *s, const struct numbers *forms)
{
    for (int i = 0; i < forms->n; i++) {
        const struct form_facts *f = &form_facts[forms->at[i]];
        if (s->items % (size_t)f->items != 0)
            problem("items=%zu is no multiple of the %d of %s", s->items, f->items, f->name);
        if (reduces(s->what) && forms->at[i] != forms->at[0])
            problem("types of a reduction must not differ");
        if (reduces(s->what) && forms->at[i] != T_PLAIN && s->operation < O_USER)
            problem("predefined operations take plain types only");
        const int receives = reduces(s->what) || forms == &s->receive ? s->what != W_BCAST || i != s->root : 0;
        if (f->step && receives)
            problem("%s overlaps: it can be sent only", f->name);
        if (f->step && (size_t)f->step < form_span(f) && sends_blocks(s->what))
            problem("blocks of %s would overlap", f->name);
    }
}

static inline void check_call(struct statement *s, const struct words *words)
{
    s->send = parse_forms("send", words->send ? words->send : "plain", s->kind);
    s->receive = words->receive ? parse_forms("receive", words->receive, s->kind) : s->send;
    if (reduces(s->what) && !operation_fits(s->operation, s->kind))
        problem("operation %s has no meaning for %s", operation_facts[s->operation].name, kind_facts[s->kind].name);
    if (reduces(s->what) && words->receive)
        problem("reductions have one type: send=");
    const size_t part = kind_facts[s->kind].part;
    const enum category category = kind_facts[s->kind].category;
    if (s->rounding &&
        (!reduces(s->what) || s->operation != O_SUM || (category != C_FLOATING && category != C_COMPLEX) || part > 8))
        problem("data=rounding is for sums of float, double, float_complex and complex");
    check_forms(s, &s->send);
    check_forms(s, &s->receive);
    if ((s->shape == SHAPE_RARE) != (s->times > 1) ||
        (s->times > 1 && (s->what != W_ALLTOALLV || s->in_place || s->start || s->last)))
        problem("shape=rare and times= are for an alltoallv alone");
    if (s->last && s->start)
        problem("a last call is not started");
}

/* Reads a line that is no comment and neither `case` nor `end`; cuts it into words. */
static inline void parse_statement(struct test_case *c, char *line)
{
    if (c->statements == MAX_STATEMENTS)
        problem("more than %d statements in a case", MAX_STATEMENTS);
    struct statement *s = &c->statement[c->statements++];
    const struct numbers zero = {1, {0}};
    memset(s, 0, sizeof *s);
    s->line = parse_line;
    s->started = -1;
    s->colors = s->keys = s->periods = s->keep = s->ranks = zero;
    s->operation = O_SUM;
    s->times = s->every = 1;
    char *rest, *word = strtok_r(line, " \t", &rest);
    s->verb = (enum verb)find_name("statement", word, strlen(word), verb_names, VERBS, "statement");
    word = strtok_r(NULL, " \t", &rest);
    if (!word)
        problem("%s: expected a number", verb_names[s->verb]);
    s->id = (int)parse_number(verb_names[s->verb], word, 0, 1 << 24);
    if (s->verb == V_COMM || s->verb == V_FREE)
        s->comm = (int)parse_number(verb_names[s->verb], word, 0, MAX_COMMS_OF_CASE - 1);
    struct words words = {NULL, NULL};
    while ((word = strtok_r(NULL, " \t", &rest))) {
        char *equals = strchr(word, '=');
        if (!equals)
            problem("%s: expected key=value", word);
        *equals = '\0';
        parse_field(s, &words, word, equals + 1);
    }
    if (s->verb == V_CALL)
        check_call(s, &words);
}

#endif
