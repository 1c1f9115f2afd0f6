/* Turns of threads: the statements that make communicators, in the order of the text where the library needs that. */
#ifndef FUZZ_TURN_H
#define FUZZ_TURN_H

#include "calls.h"
#include "fuzz_case.h"
#include <pthread.h>

struct turns {
    pthread_mutex_t lock;
    pthread_cond_t taken;
    /* Statements before this one have been carried out, or make none. */
    int next;
};

static inline void turns_create(struct turns *turns)
{
    pthread_mutex_init(&turns->lock, NULL);
    pthread_cond_init(&turns->taken, NULL);
    turns->next = 0;
}

static inline void turns_free(struct turns *turns)
{
    pthread_cond_destroy(&turns->taken);
    pthread_mutex_destroy(&turns->lock);
}

/* Waits until this rank has carried out all statements before that make a communicator. Nobody waits for ever: the
   text is an order in which one thread could carry out all of it. */
static inline void turn_await(struct turns *turns, const struct test_case *c, int index)
{
    if (!making_in_threads_broken(c->threads))
        return;
    pthread_mutex_lock(&turns->lock);
    for (;;) {
        while (turns->next < index && c->statement[turns->next].verb != V_COMM)
            turns->next++;
        if (turns->next == index)
            break;
        pthread_cond_wait(&turns->taken, &turns->lock);
    }
    pthread_mutex_unlock(&turns->lock);
}

static inline void turn_done(struct turns *turns, const struct test_case *c)
{
    if (!making_in_threads_broken(c->threads))
        return;
    pthread_mutex_lock(&turns->lock);
    turns->next++;
    pthread_cond_broadcast(&turns->taken);
    pthread_mutex_unlock(&turns->lock);
}

#endif
