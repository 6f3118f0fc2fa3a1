/*
 * Threads of a host that serve the model (model.h), or call it as whole warps. C11 and C++.
 */

#ifndef TERN_TESTS_CUDA_HOSTS_H
#define TERN_TESTS_CUDA_HOSTS_H

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "model.h"

enum { HOSTS_MAX = 8, HOSTS_SLOTS_MAX = 200 };

struct hosts;

typedef struct host_start {
    struct hosts *all;
    uint32_t number;
} host_start;

/* What all threads of a host know. */
typedef struct hosts {
    tern_mailbox box;
    model_session *sessions; /* of all slots */
    uint32_t rounds;         /* of a client */
    uint64_t seed;
    uint32_t over;     /* set when no client calls any more */
    uint32_t wrong;    /* by client: calls without an answer, or with a wrong one */
    uint64_t asked;    /* by client: calls */
    uint32_t given_up; /* by client: calls that were not waited for to their end */
    uint32_t count;
    pthread_t threads[HOSTS_MAX];
    host_start starts[HOSTS_MAX];
} hosts;

/* The hook of a client: its server has forty seconds, for machines with more to do. */
static inline int hosts_late(void *argument, uint32_t calls) {
    (void)calls;
    sched_yield();
    return time(NULL) > *(const time_t *)argument;
}

/* The hook of a client that waits for so many calls of it only. */
static inline int hosts_soon(void *argument, uint32_t calls) {
    sched_yield();
    return calls >= *(const uint32_t *)argument;
}

static inline void *hosts_serve(void *argument) {
    const host_start *me = (const host_start *)argument;
    tern_mailbox_server server = tern_mailbox_server_at(&me->all->box, me->number + 1);
    uint32_t worked[HOSTS_SLOTS_MAX] = {0}, idle = 0;
    tern_mailbox_crew crew = {model_work, me->all->sessions, worked};
    /* The last steps are to clean, and to give back what clients have left in a call. */
    while (idle <= TERN_MAILBOX_SPINS + 1)
        if (tern_mailbox_serve(&server, tern_mailbox_warp_work, tern_mailbox_warp_clean, &crew) >
            0) {
            idle = 0;
        } else {
            idle += tern_mailbox_load32(&me->all->over);
            sched_yield();
        }
    return NULL;
}

/* Calls that are given up, or not; the answers of those that are not are right. Servers start when
 * each client has given its first call up; the second is not given up. */
static inline void *hosts_call_briefly(void *argument) {
    const host_start *me = (const host_start *)argument;
    uint64_t random = me->all->seed + me->number;
    tern_mailbox_client client = tern_mailbox_client_at(&me->all->box, me->number + 1);
    uint32_t most;
    time_t end = time(NULL) + 40;
    tern_mailbox_wait late = {hosts_late, &end}, soon = {hosts_soon, &most};
    for (uint32_t round = 0; round < me->all->rounds; round++) {
        model_call call = model_call_of(&random);
        most = (uint32_t)(model_random(&random) % 6);
        int stop = tern_mailbox_warp_call(&client, tern_mailbox_party_whole(1), model_fill_all,
                                          model_use_all, &call, round == 1 ? &late : &soon);
        if (stop != 0)
            __atomic_fetch_add(&me->all->given_up, 1, __ATOMIC_RELAXED);
        else
            __atomic_fetch_add(&me->all->asked, 1, __ATOMIC_RELAXED);
        if (stop < 0 || (stop == 0 && !model_call_is_right(&call)))
            __atomic_fetch_add(&me->all->wrong, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static inline void *hosts_call(void *argument) {
    const host_start *me = (const host_start *)argument;
    uint64_t random = me->all->seed + me->number;
    tern_mailbox_client client = tern_mailbox_client_at(&me->all->box, me->number + 1);
    time_t end;
    tern_mailbox_wait wait = {hosts_late, &end};
    for (uint32_t round = 0; round < me->all->rounds; round++) {
        model_call calls[TERN_MAILBOX_LANES];
        uint32_t lanes = model_mask(&random), wrong = 0;
        for (uint32_t lane = 0; lane < TERN_MAILBOX_LANES; lane++)
            calls[lane] = model_call_of(&random);
        end = time(NULL) + 40;
        int stop = tern_mailbox_warp_call(&client, tern_mailbox_party_whole(lanes), model_fill_all,
                                          model_use_all, calls, &wait);
        wrong += stop != 0;
        for (uint32_t lane = 0; lane < TERN_MAILBOX_LANES; lane++)
            wrong += lanes >> lane & 1 && !model_call_is_right(&calls[lane]);
        __atomic_fetch_add(&me->all->wrong, wrong, __ATOMIC_RELAXED);
        __atomic_fetch_add(&me->all->asked, (uint64_t)__builtin_popcount(lanes), __ATOMIC_RELAXED);
        /* Nor do later calls wait for a server that does not answer. */
        if (stop != 0)
            break;
    }
    return NULL;
}

/* So many threads that run one of the two. Not 0: they cannot be had. */
static inline int hosts_start(hosts *all, uint32_t count, void *(*run)(void *)) {
    for (all->count = 0; all->count < count; all->count++) {
        host_start *start = &all->starts[all->count];
        start->all = all;
        start->number = all->count;
        if (pthread_create(&all->threads[all->count], NULL, run, start) != 0)
            return 1;
    }
    return 0;
}

static inline void hosts_join(hosts *all) {
    for (uint32_t i = 0; i < all->count; i++)
        pthread_join(all->threads[i], NULL);
    all->count = 0;
}

/* Ends threads that serve, once no client calls any more. */
static inline void hosts_end(hosts *all) {
    tern_mailbox_store32(&all->over, 1);
    hosts_join(all);
}

/* After the end, what was seen where it was worked on. [out] wrong: packets out of order. Calls. */
static inline uint64_t hosts_served(const hosts *all, uint64_t *wrong) {
    uint64_t served = 0;
    *wrong = 0;
    for (uint32_t i = 0; i < all->box.slots * TERN_MAILBOX_LANES; i++) {
        served += all->sessions[i].calls;
        *wrong += all->sessions[i].wrong;
    }
    return served;
}

#endif
