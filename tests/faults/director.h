/*
 * What happens to the ranks of a job of the campaign, all of it drawn from the seed: which of them
 * die, when, and which are stopped for a while before. A thread of a rank that lives on does it.
 */

#ifndef TERN_TESTS_DIRECTOR_H
#define TERN_TESTS_DIRECTOR_H

#include <stdbool.h>
#include <stdint.h>

enum { DIRECTOR_EVENTS = 8 };

typedef enum director_act { DIRECTOR_KILL, DIRECTOR_STOP, DIRECTOR_GO_ON } director_act;

typedef struct director_event {
    uint32_t at_us; /* since the start */
    int rank;
    director_act act;
} director_event;

typedef struct director_plan {
    director_event events[DIRECTOR_EVENTS]; /* in order of time */
    int count, kills;
    int director;     /* a rank that no event is about */
    bool victims[64]; /* by rank */
    bool outside_mpi; /* victims kill themselves, under the lock of MPI */
} director_plan;

/* For so many ranks, 2 or more. The same on every rank. Without kills: stops alone. */
director_plan director_draw(uint64_t *state, int size, bool kills, bool outside_mpi);

/* Collective over MPI, before there is a context: learns the processes. */
void director_meet(const director_plan *plan);
/* Starts the thread, if this rank has something to do. */
void director_start(void);
/* Whether all that this rank's thread has to do is done. */
bool director_done(void);
/* Waits for the thread. False: it could not do something. */
bool director_join(void);

#endif
