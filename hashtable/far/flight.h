#ifndef TERN_HASHTABLE_FAR_FLIGHT_H
#define TERN_HASHTABLE_FAR_FLIGHT_H

/*
 * Flight: an operation by RMA whose gets, puts and atomics are under way while the caller does
 * something else. It takes the steps of the operation (hashtable/operations.c) one by one, each
 * when the one before is complete, and never waits:
 *
 *     find                                  insert, add
 *     ENTRY    get the entry of a bucket    ENTRY    the same, where the key is expected
 *     STATE    if not whole: its state      CLAIM    CAS of a state that should be free
 *     COUNTER  load the counter             FIRST    add: to the counter of a new key
 *                                           PUT      the entry, where it was
 *                                           ARRIVAL  get it back, if others may look for it now
 *
 *     insert of a key that is there         add to a key that is there
 *     LOCK     CAS of the state             COUNTER  add to the counter
 *     PUT      the entry                    REVIVE   CAS of the counter, if it was erased
 *     UNLOCK   CAS of the state
 *
 * A bucket that another rank is just writing is looked at again and again; if that rank died, the
 * flight ends with TERN_ERR_PEER. Others look likewise at a bucket that a flight has claimed or
 * locked, so a worker that has flights keeps stepping them in all its waits.
 *
 * ARRIVAL is the flush of a new entry, which MPI has no form of that does not wait: a rank that has
 * got an entry whole from a bucket knows that it is there. An entry that replaces another is
 * followed by tern_fence instead, since the one before was whole too.
 */

#include "hashtable/batch/run.h"
#include "hashtable/near/probe.h"
#include "rma/transfer.h"

typedef enum tern_flight_kind {
    TERN_FLIGHT_FIND,
    TERN_FLIGHT_INSERT,
    TERN_FLIGHT_INSERT_NEW,
    TERN_FLIGHT_ADD
} tern_flight_kind;

typedef enum tern_flight_stage {
    TERN_FLIGHT_DONE,
    TERN_FLIGHT_ENTRY,
    TERN_FLIGHT_STATE,
    TERN_FLIGHT_COUNTER,
    TERN_FLIGHT_REVIVE,
    TERN_FLIGHT_CLAIM,
    TERN_FLIGHT_FIRST,
    TERN_FLIGHT_LOCK,
    TERN_FLIGHT_PUT,
    TERN_FLIGHT_ARRIVAL,
    TERN_FLIGHT_UNLOCK
} tern_flight_stage;

/* What is to be done. */
typedef struct tern_flight_plan {
    tern_flight_kind kind;
    tern_flags promise;
    const void *given; /* the value to insert */
    void *taken;       /* where a find's value goes */
    uint64_t delta;    /* of an add */
} tern_flight_plan;

/* Not to be moved until it is done. */
typedef struct tern_flight {
    tern_worker *worker;
    tern_hashtable *table;
    tern_flight_plan plan;
    tern_flight_stage stage;
    tern_status outcome; /* when done: TERN_OK, TERN_ERR_NOT_FOUND or TERN_ERR_FULL, or the error */
    uint64_t result;     /* of an insert: 1 if the key was there; of an add: the counter before */
    tern_key_search probe;
    tern_transfer transfer; /* what is under way */
    uint64_t word;          /* what an atomic gave */
    uint64_t expected;      /* what it compared with; at CLAIM: the state that the last one met */
    bool locked;            /* the key's bucket, by this flight */
    tern_wait_state wait;   /* for the bucket that is looked at */
    uint64_t key[TERN_KEY_MAX / 8];
    uint64_t entry[]; /* tern_entry_words */
} tern_flight;

static inline size_t tern_flight_bytes(const tern_hashtable *table) {
    return sizeof(tern_flight) + 8 * tern_entry_words(table->shape);
}

/* Whether flights take this operation: load/store does not reach the key's part, and its keys do
 * not move: an operation that meets a move waits for the owner, which the blocking ones can. */
static inline bool tern_flight_takes(const tern_hashtable *table, uint64_t hash) {
    return table->part[tern_hash_owner(table, hash)].near == NULL && !tern_table_moves(table);
}

/* Starts one that flights take. key and hash: of the key's own size; the key is copied. What the
 * plan points to has to stay until the flight is done. */
void tern_flight_begin(tern_flight *flight, tern_worker *worker, tern_hashtable *table,
                       const void *key, uint64_t hash, const tern_flight_plan *plan);

/* Takes the steps whose time has come; may be used in progress. Returns how many. If an error is
 * the outcome, the transfer may be under way for ever, and the flight's memory is MPI's. */
size_t tern_flight_advance(tern_flight *flight);

static inline bool tern_flight_is_lost(const tern_flight *flight) {
    return flight->transfer.under_way;
}

/*
 * pipeline.c: a batch by RMA of which some parts are far. Several keys are under way at once, each
 * of which takes round trips. Items are begun and ended in their order, and no two of one key are
 * under way together, so of several values the last stays. What flights do not take is done apart,
 * when nothing is under way: it may wait for others, who may wait for this.
 */

/* As tern_run_insert and tern_run_find. Nothing is flushed. */
tern_status tern_pipeline_insert(tern_worker *worker, tern_hashtable *table,
                                 const tern_items *items, size_t *stored);
tern_status tern_pipeline_find(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                               tern_flags promise, char *values, unsigned char *found,
                               size_t *present);

#endif
