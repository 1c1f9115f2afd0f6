/* Turns of threads: statements that make communicators begin in the order of the text, and those that the library
   cannot carry out beside others are alone. */
#ifndef FUZZ_TURN_H
#define FUZZ_TURN_H

#include "calls.h"
#include "fuzz_comm.h"
#include <pthread.h>

struct turns {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Statements before this one have begun, and have ended if they had to be alone, or make no communicator. */
    int next;
    /* Statements that have begun and not ended. */
    int open;
};

static inline void turns_create(struct turns *turns)
{
    pthread_mutex_init(&turns->lock, NULL);
    pthread_cond_init(&turns->changed, NULL);
    turns->next = turns->open = 0;
}

static inline void turns_free(struct turns *turns)
{
    pthread_cond_destroy(&turns->changed);
    pthread_mutex_destroy(&turns->lock);
}

/* Whether a statement is alone; all ranks say the same, also those that have no part in it. */
static inline int is_alone(const struct statement *s, const struct fuzz_comm *of)
{
    return of->size < check_size || s->make == M_GROUP || s->make == M_MERGE || s->make == M_CART;
}

/* Waits for its turn. Nobody waits for ever: the text is an order in which one thread could carry out all of it. */
static inline void turn_begin(struct turns *turns, const struct test_case *c, int index, int alone)
{
    if (!making_in_threads_broken(c->threads))
        return;
    pthread_mutex_lock(&turns->lock);
    for (;;) {
        while (turns->next < index && c->statement[turns->next].verb != V_COMM)
            turns->next++;
        if (turns->next == index && (!alone || turns->open == 0))
            break;
        pthread_cond_wait(&turns->changed, &turns->lock);
    }
    turns->open++;
    turns->next += !alone;
    pthread_cond_broadcast(&turns->changed);
    pthread_mutex_unlock(&turns->lock);
}

static inline void turn_end(struct turns *turns, const struct test_case *c, int alone)
{
    if (!making_in_threads_broken(c->threads))
        return;
    pthread_mutex_lock(&turns->lock);
    turns->open--;
    turns->next += alone;
    pthread_cond_broadcast(&turns->changed);
    pthread_mutex_unlock(&turns->lock);
}

#endif
