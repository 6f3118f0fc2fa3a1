/*
 * Histories of containers: actors (a worker each, one a rank or several) do random operations on
 * one container and record when each was called and had returned, by CLOCK_MONOTONIC, which all
 * processes of a machine share (clocks.h is for others). Rank 0 gathers what was recorded and
 * judges it.
 *
 * What can be done is a table of kinds: an operation more is an entry more.
 */

#ifndef TERN_TESTS_RECORD_H
#define TERN_TESTS_RECORD_H

#include "fixture.h"
#include "histories/linearize.h"

/* What operations work on; made by the test. */
typedef struct history_target {
    tern_hashtable *table;
    tern_map *map;
    tern_queue *queue;
    tern_distributed_queue *parts; /* whose parts are the objects */
    void *baseline;                /* of tests/baselines, whose kinds know what it is */
    size_t bytes;                  /* of a value or an item, 8 to TERN_RESULT_MAX */
    bool counts;                   /* the table is of counters */
    uint64_t churn;      /* other keys that come and go with each operation on the table */
    history_state start; /* of every object */
} history_target;

/* The phases of a history. Within one, an operation has the promise of the phase or, at random, the
 * one that promises nothing. */
typedef enum history_phase { PHASE_MIXED, PHASE_WRITES, PHASE_READS } history_phase;

typedef struct history_kind {
    const char *name;
    /* Does it: object, argument and flags are set; sets result, returns the status. */
    tern_status (*run)(tern_worker *worker, const history_target *target, history_operation *o);
    history_step *step;
    bool in_writes, in_reads; /* phases it may be in; those without promise take all */
    /* Instead of run: does count at once, which differ in object and argument, and sets status and
     * result of each, and where it knows them the times. What the call came to are the first so
     * many operations, which may be more by one: what it told by stopping. */
    size_t (*run_many)(tern_worker *worker, const history_target *target, history_operation *o,
                       size_t count);
    /* Instead of run: gives it to a buffer. It is over when that is flushed. */
    tern_status (*give)(tern_worker *worker, tern_hashtable_buffer *buffer,
                        const history_target *target, const history_operation *o);
    bool waits; /* as long as it takes, unless it has the promise of a phase */
} history_kind;

enum {
    HISTORY_MANY = 8,    /* in one batch */
    HISTORY_BYTES = 2048 /* the largest value */
};

/* What can be done with a container. */
typedef struct history_kinds {
    const history_kind *kind;
    size_t count;
} history_kinds;

extern const history_kinds history_of_values, history_of_counters, history_of_maps,
    history_of_queues, history_of_parts;

/* Steps of what is stored under a key. Word 0 is set if the key is present; word 1 is the number of
 * its value, or its counter. */
history_step history_step_insert, history_step_insert_new, history_step_erase, history_step_find;

/* Whose operations are recorded. Used by one thread at a time. */
typedef struct history_actor {
    tern_worker *worker;
    uint64_t random;
    uint16_t number; /* among all of all ranks */
    uint64_t used;   /* arguments */
    uint32_t chains;
    history_operation *log;
    size_t count, room;
    tern_hashtable_buffer *buffer; /* during a part */
    uint32_t buffered;             /* its chain */
    size_t given;                  /* no operation before this one waits for its flush */
} history_actor;

/* One part of a history, as one actor does it. */
typedef struct history_part {
    const history_target *target;
    const history_kinds *kinds;
    history_phase phase;
    uint64_t first_object, objects;
    int operations;
    bool uniform; /* all operations of a phase have its promise */
    bool pairs;   /* a push that succeeds is followed by a pop that waits, and waits end */
} history_part;

/* Collective. */
bool history_actor_open(history_actor *actor, fixture *f, tern_worker *worker, uint16_t number);
void history_actor_close(history_actor *actor);

/* Random operations of the kinds that are in the part's phase. */
void history_act(history_actor *actor, const history_part *part);

typedef struct history_outcome {
    uint64_t judged, wrong; /* objects' histories; those that do not linearize */
    uint64_t undecided;     /* those that were given up */
    uint64_t clock;         /* when rank 0 was done, ns */
} history_outcome;

/* Collective: rank 0 judges what the actors of all ranks have recorded, and every rank gets the
 * same outcome. The first history that does not linearize is printed, unless quiet. Empties the
 * logs. */
history_outcome history_verdicts(fixture *f, history_actor *actors, size_t count,
                                 const history_kinds *kinds, const history_state *start,
                                 bool quiet);

/* The clock of histories, ns. */
uint64_t history_clock(void);

/* Values and items from numbers: torn ones are found out. */
void history_fill(void *bytes, size_t size, uint64_t object, uint64_t number);
/* The number, or UINT64_MAX, which is no number. */
uint64_t history_number(const void *bytes, size_t size, uint64_t object);

/* request_kinds.c: what runs many of history_kind do with requests (tern/hashtable.h). */

size_t history_insert_requests(tern_worker *worker, const history_target *target,
                               history_operation *o, size_t count);
size_t history_insert_new_requests(tern_worker *worker, const history_target *target,
                                   history_operation *o, size_t count);
size_t history_find_requests(tern_worker *worker, const history_target *target,
                             history_operation *o, size_t count);
/* The same of counters. */
size_t history_count_requests(tern_worker *worker, const history_target *target,
                              history_operation *o, size_t count);
size_t history_add_requests(tern_worker *worker, const history_target *target, history_operation *o,
                            size_t count);

#endif
