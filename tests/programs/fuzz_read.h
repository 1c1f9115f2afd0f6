/* A file of cases: read as a whole, one case at a time; what statements say of each other is checked here. */
#ifndef FUZZ_READ_H
#define FUZZ_READ_H

#include "fuzz_parse.h"

/* Which communicators there are at a statement, and whose they are. */
struct scope {
    int thread[MAX_COMMS_OF_CASE], is_cart[MAX_COMMS_OF_CASE];
    enum { NEVER_MADE, EXISTS, FREED } exists[MAX_COMMS_OF_CASE];
};

static inline int is_finished(const struct test_case *c, int index, int before)
{
    for (int k = index + 1; k < before; k++)
        if (c->statement[k].verb == V_FINISH && c->statement[k].started == index)
            return 1;
    return 0;
}

/* Whether something of that kind on the communicator has begun and not ended at a statement. */
static inline int is_under_way(const struct test_case *c, enum verb verb, int comm, int at)
{
    for (int i = 0; i < at; i++) {
        const struct statement *s = &c->statement[i];
        if (s->verb == verb && s->comm == comm && (verb == V_MESSAGE || s->start) && !is_finished(c, i, at))
            return 1;
    }
    return 0;
}

static inline int had_messages(const struct test_case *c, int comm, int before)
{
    for (int i = 0; i < before; i++)
        if (c->statement[i].verb == V_MESSAGE && c->statement[i].comm == comm)
            return 1;
    return 0;
}

static inline void expect_comm(const struct scope *scope, int comm, int thread)
{
    if (scope->exists[comm] != EXISTS)
        problem("there is no communicator %d here", comm);
    if (scope->thread[comm] != thread)
        problem("communicator %d belongs to thread %d", comm, scope->thread[comm]);
}

static inline int any(const struct numbers *list)
{
    for (int i = 0; i < list->n; i++)
        if (list->at[i])
            return 1;
    return 0;
}

static inline void check_scope(struct test_case *c, struct scope *scope, int index)
{
    struct statement *s = &c->statement[index];
    if (s->thread >= c->threads)
        problem("there is no thread %d", s->thread);
    switch (s->verb) {
    case V_COMM:
        expect_comm(scope, s->of, s->thread);
        if (scope->exists[s->comm] != NEVER_MADE)
            problem("there has been a communicator %d already", s->comm);
        if (s->make == M_SUB && !scope->is_cart[s->of])
            problem("communicator %d is no grid", s->of);
        if (s->make == M_CART && s->dims.n == 0)
            problem("make=cart needs dims=");
        if (s->make == M_SUB && !any(&s->keep))
            problem("keep= keeps no dimension");
        scope->exists[s->comm] = EXISTS;
        scope->thread[s->comm] = s->thread;
        scope->is_cart[s->comm] =
            s->make == M_CART || s->make == M_SUB || ((s->make == M_DUP || s->make == M_IDUP) && scope->is_cart[s->of]);
        break;
    case V_FREE:
        expect_comm(scope, s->comm, s->thread);
        if (s->comm < c->threads)
            problem("communicator %d is not the case's to free", s->comm);
        if (is_under_way(c, V_MESSAGE, s->comm, index))
            problem("a message on communicator %d is not finished", s->comm);
        scope->exists[s->comm] = FREED;
        break;
    case V_CALL:
    case V_MESSAGE:
        expect_comm(scope, s->comm, s->thread);
        if (s->last && (s->comm < c->threads || c->threads > 1))
            problem("a last call needs a communicator that the case frees, and a case of one thread");
        for (int i = 0; i < index; i++)
            if ((c->statement[i].verb == V_CALL || c->statement[i].verb == V_MESSAGE) && c->statement[i].id == s->id)
                problem("statement %d exists already", s->id);
        break;
    case V_FINISH:
        for (int i = 0; i < index; i++) {
            const struct statement *f = &c->statement[i];
            if (f->id == s->id && (f->verb == V_MESSAGE || (f->verb == V_CALL && f->start)))
                s->started = i;
            if (f->verb == V_FINISH && f->id == s->id)
                problem("statement %d is finished already", s->id);
        }
        if (s->started < 0)
            problem("statement %d has not been started", s->id);
        if (c->statement[s->started].thread != s->thread)
            problem("statement %d belongs to thread %d", s->id, c->statement[s->started].thread);
        s->comm = c->statement[s->started].comm;
        break;
    default:
        break;
    }
}

static inline void parse_case(struct test_case *c, char *line)
{
    char *rest, *word = strtok_r(line, " \t", &rest);
    if (strcmp(word, "case") != 0)
        problem("%s: expected `case`", word);
    word = strtok_r(NULL, " \t", &rest);
    c->id = (int)parse_number("case", word ? word : "", 0, 1 << 30);
    c->line = parse_line;
    c->threads = 1;
    c->statements = 0;
    while ((word = strtok_r(NULL, " \t", &rest))) {
        if (strncmp(word, "threads=", 8) != 0)
            problem("%s has no meaning here", word);
        c->threads = (int)parse_number("threads", word + 8, 1, MAX_THREADS);
    }
}

static inline void check_all_finished(const struct test_case *c)
{
    for (int i = 0; i < c->statements; i++) {
        const struct statement *s = &c->statement[i];
        const int starts = s->verb == V_MESSAGE || (s->verb == V_CALL && s->start);
        if (starts && !is_finished(c, i, c->statements))
            problem("statement %d is never finished", s->id);
    }
}

/* The next case from *at on, which moves behind it; 0 at the end of the text. */
static inline int next_case(const char **at, struct test_case *c)
{
    static struct scope scope;
    char line[4096];
    int inside = 0;
    while (**at) {
        const size_t length = strcspn(*at, "\n"), used = strcspn(*at, "#\n");
        parse_line++;
        if (used >= sizeof line)
            problem("the line is longer than %zu characters", sizeof line - 1);
        memcpy(line, *at, used);
        line[used] = '\0';
        *at += length + ((*at)[length] == '\n');
        char *start = line + strspn(line, " \t\r");
        for (size_t n = strlen(start); n > 0 && strchr(" \t\r", start[n - 1]); n--)
            start[n - 1] = '\0';
        if (*start == '\0')
            continue;
        if (!inside) {
            parse_case(c, start);
            memset(&scope, 0, sizeof scope);
            for (int t = 0; t < c->threads; t++) {
                scope.exists[t] = EXISTS;
                scope.thread[t] = t;
            }
            inside = 1;
        } else if (strcmp(start, "end") == 0) {
            check_all_finished(c);
            return 1;
        } else {
            parse_statement(c, start);
            check_scope(c, &scope, c->statements - 1);
        }
    }
    if (inside)
        problem("case %d has no end", c->id);
    return 0;
}

/* The whole file, to be freed; NULL if it cannot be read. */
static inline char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    size_t room = 1 << 16, length = 0, got;
    char *text = malloc(room);
    while (text && (got = fread(text + length, 1, room - length - 1, file)) > 0) {
        length += got;
        if (room - length < 2) {
            char *more = realloc(text, room *= 2);
            if (!more)
                free(text);
            text = more;
        }
    }
    fclose(file);
    if (text)
        text[length] = '\0';
    return text;
}

#endif
