/*
 * Crews: the actors of one rank, which do the parts of histories together with those of all others.
 * Either the fixture's own worker acts, or threads with workers of their own do, while the
 * fixture's serves calls. Campaigns: many short histories of one kind of container.
 */

#ifndef TERN_TESTS_CREW_H
#define TERN_TESTS_CREW_H

#include <pthread.h>
#include <stdatomic.h>

#include "histories/record.h"

enum { CREW_THREADS = 2 };

typedef struct history_crew {
    fixture *f;
    history_actor actor[CREW_THREADS];
    uint32_t threads, actors;
    pthread_t thread[CREW_THREADS];
    const history_part *part; /* NULL: the end */
    atomic_uint round;        /* of the part that is to be done */
    atomic_uint done;         /* threads that have done it */
    atomic_uint failures;
} history_crew;

/* threads: 0, or CREW_THREADS of the context's workers from 1 on. */
bool history_crew_open(history_crew *crew, fixture *f, uint32_t threads);
void history_crew_close(history_crew *crew);

typedef enum history_container {
    HISTORY_VALUES,
    HISTORY_COUNTERS,
    HISTORY_GROWING,          /* values in a table that moves its keys all the time */
    HISTORY_GROWING_COUNTERS, /* the same of counters */
    HISTORY_MAPS,
    HISTORY_QUEUE,
    HISTORY_PAIRS, /* of pushes and pops on a queue, some of which wait */
    HISTORY_PARTS, /* of a distributed queue */
    HISTORY_CONTAINERS
} history_container;

/* Collective: so many histories on a new container. number: another one, other histories. */
history_outcome history_batch(history_crew *crew, history_container container, uint64_t number,
                              int histories, bool quiet);

/* Collective: batches of histories until one does not linearize, or for the time that a test has.
 */
void history_campaign(history_crew *crew, history_container container);

#endif
