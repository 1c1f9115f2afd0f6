/* The program's own messages, which stay open while collectives run. A wildcard receive may take any message to its
   rank on its communicator; what arrives says which statement it belongs to. */
#ifndef FUZZ_MESSAGE_H
#define FUZZ_MESSAGE_H

#include "fuzz_call.h"

enum { MESSAGE_HEAD = 2 };

/* A message of the case, by the index of its statement. */
struct message {
    int *sent, *received;
    MPI_Request send, receive;
    /* On the receiving rank: posted and not completed; whether this statement's message has come, in whichever
       receive. */
    int open, arrived;
    /* Received from whomever it comes. */
    int wild;
};

struct mailbox {
    const struct test_case *c;
    struct corruption corrupt;
    struct message message[MAX_STATEMENTS];
};

static inline int message_value(const struct statement *s, int i)
{
    return (int)(scramble((uint64_t)s->id, (uint64_t)i) & 0x7fffffff);
}

/* Room for the longest message of the case. */
static inline int *message_room(const struct test_case *c, size_t *ints)
{
    *ints = MESSAGE_HEAD;
    for (int i = 0; i < c->statements; i++)
        if (c->statement[i].verb == V_MESSAGE && c->statement[i].items + MESSAGE_HEAD > *ints)
            *ints = c->statement[i].items + MESSAGE_HEAD;
    int *room = calloc(*ints, sizeof *room);
    if (!room)
        fail("out of memory: %zu ints", *ints);
    return room;
}

/* Whether two messages are on the same communicator at the same time. */
static inline int overlap(const struct test_case *c, int a, int b)
{
    return c->statement[a].verb == V_MESSAGE && c->statement[b].verb == V_MESSAGE &&
           c->statement[a].comm == c->statement[b].comm && !is_finished(c, a, b) && !is_finished(c, b, a);
}

/* A wildcard among messages that overlap makes all of them wildcards: which message such a receive takes is not known,
   and a receive for a message that is gone would stay open. */
static inline void messages_prepare(struct mailbox *box)
{
    int changed = 1;
    for (int i = 0; i < box->c->statements; i++)
        box->message[i].wild = box->c->statement[i].verb == V_MESSAGE && box->c->statement[i].wild;
    while (changed) {
        changed = 0;
        for (int i = 0; i < box->c->statements; i++)
            for (int k = 0; box->message[i].wild && k < box->c->statements; k++)
                if (!box->message[k].wild && overlap(box->c, i, k))
                    box->message[k].wild = changed = 1;
    }
}

static inline void message_send(struct mailbox *box, int index, const struct fuzz_comm *comm)
{
    const struct statement *s = &box->c->statement[index];
    struct message *m = &box->message[index];
    const size_t ints = s->items + MESSAGE_HEAD;
    m->sent = malloc(ints * sizeof *m->sent);
    if (!m->sent)
        fail("out of memory: %zu ints", ints);
    m->sent[0] = s->id;
    m->sent[1] = (int)s->items;
    for (size_t i = 0; i < s->items; i++)
        m->sent[i + MESSAGE_HEAD] = message_value(s, (int)i);
    if (s->id == box->corrupt.statement && s->items > 0)
        m->sent[ints - 1] ^= 1;
    MPI_Isend(m->sent, (int)ints, MPI_INT, s->to % comm->size, s->tag, comm->comm, &m->send);
}

static inline void message_open(struct mailbox *box, int index, const struct fuzz_comm *comm)
{
    const struct statement *s = &box->c->statement[index];
    struct message *m = &box->message[index];
    const int wild = m->wild;
    size_t ints;
    m->received = message_room(box->c, &ints);
    m->open = 1;
    MPI_Irecv(m->received, (int)ints, MPI_INT, wild ? MPI_ANY_SOURCE : s->from % comm->size,
              wild ? MPI_ANY_TAG : s->tag, comm->comm, &m->receive);
}

/* A receive has completed: which statement's message is it, and is it whole? */
static inline void message_check(struct mailbox *box, int index, const struct fuzz_comm *comm, const MPI_Status *status)
{
    struct message *m = &box->message[index];
    int count, found = -1;
    MPI_Get_count(status, MPI_INT, &count);
    for (int i = 0; i < box->c->statements; i++)
        if (box->c->statement[i].verb == V_MESSAGE && box->c->statement[i].comm == box->c->statement[index].comm &&
            count >= MESSAGE_HEAD && box->c->statement[i].id == m->received[0])
            found = i;
    if (found < 0)
        fail("a receive matched a foreign message: source=%d tag=%d count=%d", status->MPI_SOURCE, status->MPI_TAG,
             count);
    const struct statement *s = &box->c->statement[found];
    if (status->MPI_SOURCE != s->from % comm->size || status->MPI_TAG != s->tag ||
        count != (int)s->items + MESSAGE_HEAD || comm->rank != s->to % comm->size || box->message[found].arrived)
        fail("message %d came from %d with tag %d and %d values, expected from %d with tag %d and %zu values", s->id,
             status->MPI_SOURCE, status->MPI_TAG, count - MESSAGE_HEAD, s->from % comm->size, s->tag, s->items);
    for (size_t i = 0; i < s->items; i++)
        if (m->received[i + MESSAGE_HEAD] != message_value(s, (int)i))
            fail("message %d index=%zu got=%d expected=%d", s->id, i, m->received[i + MESSAGE_HEAD],
                 message_value(s, (int)i));
    box->message[found].arrived = 1;
    m->open = 0;
    free(m->received);
    m->received = NULL;
}

/* Whether a receive that takes message `index` is open. */
static inline int receive_is_open(const struct mailbox *box, int index)
{
    const struct statement *s = &box->c->statement[index];
    for (int i = 0; i < box->c->statements; i++) {
        const struct statement *other = &box->c->statement[i];
        const int alike =
            box->message[index].wild ? box->message[i].wild : other->from == s->from && other->tag == s->tag;
        if (box->message[i].open && other->comm == s->comm && alike)
            return 1;
    }
    return 0;
}

/* Completes receives of this communicator until that statement's message has come. Another message may have taken the
   receive that was meant for it: then one more is opened, so that there are never more receives than messages to
   come. */
static inline void message_await(struct mailbox *box, int index, const struct fuzz_comm *comm)
{
    while (!box->message[index].arrived) {
        if (!receive_is_open(box, index))
            message_open(box, index, comm);
        MPI_Request requests[MAX_STATEMENTS];
        int of[MAX_STATEMENTS], n = 0, which;
        for (int i = 0; i < box->c->statements; i++)
            if (box->message[i].open && box->c->statement[i].comm == box->c->statement[index].comm) {
                requests[n] = box->message[i].receive;
                of[n++] = i;
            }
        MPI_Status status;
        MPI_Waitany(n, requests, &which, &status);
        box->message[of[which]].receive = requests[which];
        message_check(box, of[which], comm, &status);
    }
}

static inline void message_begin(struct mailbox *box, int index, const struct fuzz_comm *comm)
{
    const struct statement *s = &box->c->statement[index];
    if (s->early && comm->rank == s->from % comm->size)
        message_send(box, index, comm);
    /* A sender that is ahead may have sent it already, into the receive of a statement before. */
    if (!s->early && comm->rank == s->to % comm->size && !box->message[index].arrived)
        message_open(box, index, comm);
}

static inline void message_end(struct mailbox *box, int index, const struct fuzz_comm *comm)
{
    const struct statement *s = &box->c->statement[index];
    struct message *m = &box->message[index];
    if (!s->early && comm->rank == s->from % comm->size)
        message_send(box, index, comm);
    if (comm->rank == s->to % comm->size)
        message_await(box, index, comm);
    if (comm->rank == s->from % comm->size) {
        MPI_Wait(&m->send, MPI_STATUS_IGNORE);
        free(m->sent);
        m->sent = NULL;
    }
}

#endif
