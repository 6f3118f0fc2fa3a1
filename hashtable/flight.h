#ifndef TERN_HASHTABLE_FLIGHT_H
#define TERN_HASHTABLE_FLIGHT_H

/*
 * Flight: a find or an insert by RMA whose gets, puts and atomics are under way while the caller
 * does something else. It takes the steps of the operation (hashtable/operations.c) one by one:
 *
 *     find                                 insert
 *     ENTRY    get the entry of a bucket   ENTRY  the same, where the key is expected
 *     STATE    if not whole: its state     CLAIM  CAS of a state that should be free
 *     COUNTER  load the counter            PUT    the entry, where it was
 *
 * What the common path does not lead to the end (an insert that meets its key, or a bucket that
 * another rank is just writing) is BLOCKED: tern_flight_finish does it as the operation does.
 * Meanwhile no flight of the worker may stand at CLAIM: others wait for a bucket that was claimed
 * until its entry is there, and might be what is waited for.
 */

#include "hashtable/probe.h"
#include "rma/atomic_nb.h"

typedef enum tern_flight_stage {
    TERN_FLIGHT_DONE,
    TERN_FLIGHT_ENTRY,
    TERN_FLIGHT_STATE,
    TERN_FLIGHT_COUNTER,
    TERN_FLIGHT_CLAIM,
    TERN_FLIGHT_PUT,
    TERN_FLIGHT_BLOCKED
} tern_flight_stage;

/* Not to be moved until it is done. */
typedef struct tern_flight {
    tern_worker *worker;
    tern_hashtable *table;
    tern_flight_stage stage;
    tern_status outcome; /* when done: TERN_OK, TERN_ERR_NOT_FOUND or TERN_ERR_FULL, or the error */
    bool existed;        /* of an insert */
    tern_promise promise;
    const void *given; /* an insert's value; NULL: a find */
    void *taken;       /* where a find's value goes */
    tern_search probe;
    tern_request request; /* what is under way */
    uint64_t word;        /* what an atomic gave */
    uint64_t key[TERN_KEY_MAX / 8];
    uint64_t entry[]; /* tern_entry_words */
} tern_flight;

static inline size_t tern_flight_bytes(const tern_hashtable *table) {
    return sizeof(tern_flight) + 8 * tern_entry_words(table->shape);
}

/* Starts. Where load/store reaches the bucket the operation is done, or blocked, at once. key and
 * hash: of the key's own size. given and taken have to stay until the flight is done. */
void tern_flight_find(tern_flight *flight, tern_worker *worker, tern_hashtable *table,
                      const void *key, uint64_t hash, tern_promise promise, void *taken);
void tern_flight_insert(tern_flight *flight, tern_worker *worker, tern_hashtable *table,
                        const void *key, uint64_t hash, const void *given, tern_promise promise);

static inline bool tern_flight_moves(const tern_flight *flight) {
    return flight->stage != TERN_FLIGHT_DONE && flight->stage != TERN_FLIGHT_BLOCKED;
}

/* Takes the next step of one that moves and whose request is complete. */
void tern_flight_step(tern_flight *flight);

/* Waits, with progress, until it does not stand at CLAIM. */
void tern_flight_land(tern_flight *flight);

/* Does a blocked one. An insert is flushed unless its promise says that the phase will be. */
void tern_flight_finish(tern_flight *flight);

#endif
