#ifndef TERN_COMBINE_H
#define TERN_COMBINE_H

/*
 * Combining: streams of updates that commute, such as counts, sums and maxima of objects that other
 * workers hold. An update is a call to the worker that holds the object. Only that worker writes
 * the object, so the function needs no lock. A combiner keeps updates back and merges those of one
 * object, so that many become one call. It pays if a worker updates the same objects again and
 * again: some objects much more often than others, or fewer objects than the combiner has entries.
 * If nearly every update is for another object, tern_call itself is cheaper.
 *
 * A combiner is a table in which each object has one entry, by its hash. An update is merged with
 * its object's update if that is in the entry. If the entry holds another object's update, the
 * combiner sends that one and puts the new one in its place. Apart from that only
 * tern_combiner_flush and tern_combiner_destroy send. tern_quiesce and tern_barrier do not know of
 * updates that are kept back. A sent update is a call like any other, published as tern_call_policy
 * says. Updates are not ordered with calls that the worker makes meanwhile.
 *
 * A combiner belongs to the worker that made it, with the worker's thread rules, and must be
 * destroyed before the context.
 */

#include "tern/call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest update, in bytes. */
#define TERN_COMBINE_MAX 1016u

/* A combiner. Its members are tern's own. */
typedef struct tern_combiner tern_combiner;

/* Options of tern_combiner_create. */
typedef struct tern_combiner_options {
    /* Runs at the target. Its arguments are the object's key, 8 bytes, and behind it the update. */
    const tern_function *function;
    size_t bytes; /* of an update: 1 to TERN_COMBINE_MAX */
    /* Merges update into the update at into, so that into does what both would do in any order.
     * into is 8-byte aligned. The function may not call tern. NULL: adds 64-bit words, which wrap
     * around; bytes must then be a multiple of 8. */
    void (*combine)(void *into, const void *update, size_t bytes);
    size_t entries; /* the most objects whose updates are kept back; rounded up to a power of 2, at
                       most 2^24; 0: 1,024 */
} tern_combiner_options;

/* Makes a combiner in this process's own memory: 16 bytes and an update for each entry. [out]
 * combiner. TERN_ERR_ARGUMENT; TERN_ERR_MEMORY; TERN_ERR_NOT_FOUND: as tern_call. Local, never
 * blocks. */
TERN_NODISCARD TERN_API tern_status tern_combiner_create(tern_worker *worker,
                                                         const tern_combiner_options *options,
                                                         tern_combiner **combiner);

/* Sends the updates that are kept back, as tern_combiner_flush does, and frees the combiner. On an
 * error of the flush the updates that could not be sent are lost. NULL is fine. TERN_ERR_STATE (in
 * a handler) and TERN_ERR_ARGUMENT: nothing is done. */
TERN_NODISCARD TERN_API tern_status tern_combiner_destroy(tern_worker *worker,
                                                          tern_combiner *combiner);

/* Updates object key of target once, at some later time; the update is copied. If this update
 * replaces another object's update in the table, that one is sent as tern_call sends: the call
 * waits for room in a full ring, making progress. In a handler it is queued instead, and the status
 * is TERN_ERR_AGAIN when TERN_OVERFLOW_MEMORY is used up. On any error the update is not taken, and
 * the table is unchanged. TERN_ERR_ARGUMENT: no such worker, NULL, another worker's combiner;
 * TERN_ERR_PEER. */
TERN_NODISCARD TERN_API tern_status tern_combine(tern_worker *worker, tern_combiner *combiner,
                                                 tern_worker_id target, uint64_t key,
                                                 const void *update);

/* Sends all updates that are kept back, waiting for full rings as tern_combine does, and publishes
 * them (tern_call_flush_all). TERN_ERR_AGAIN, in a handler: some updates are left. TERN_ERR_PEER
 * and others: the first such error; updates that could not be sent stay in the table, the others
 * are sent. */
TERN_NODISCARD TERN_API tern_status tern_combiner_flush(tern_worker *worker,
                                                        tern_combiner *combiner);

#ifdef __cplusplus
}
#endif

#endif
