#ifndef TERN_COMBINE_H
#define TERN_COMBINE_H

/*
 * Combining: streams of updates that commute, such as counts, sums and maxima of objects that other
 * workers hold. An update is a call to the worker that holds the object (there is no other writer,
 * so the function needs no lock). A combiner keeps updates back and merges those of one object, so
 * that many become one call. It pays where a worker updates the same objects again and again: some
 * objects much more often than others, or fewer objects than it has entries. Where nearly every
 * update is of another object, tern_call itself is cheaper.
 *
 * A combiner is a table: each object has its place in it, by its hash. An update finds its object
 * there and is merged; or it takes the place, and what was there is sent. Nothing else sends but
 * tern_combiner_flush and tern_combiner_destroy: what is kept back is not under way, and neither
 * tern_quiesce nor tern_barrier know of it. What has been sent is a call like any other, published
 * as tern_call_policy says; updates are not ordered with calls that were made meanwhile.
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
    /* Makes of into what both updates do together, in any order; into is 8-byte aligned. It may not
     * call tern. NULL: sums of 64-bit words, which wrap around; bytes is then a multiple of 8. */
    void (*combine)(void *into, const void *update, size_t bytes);
    size_t entries; /* objects whose updates are kept back at most; rounded up to a power of 2, at
                       most 2^24; 0: 1,024 */
} tern_combiner_options;

/* Makes a combiner in this process's own memory: 16 bytes and an update an entry. [out] combiner.
 * TERN_ERR_ARGUMENT; TERN_ERR_MEMORY; TERN_ERR_NOT_FOUND: as tern_call. Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_combiner_create(tern_worker *worker,
                                                         const tern_combiner_options *options,
                                                         tern_combiner **combiner);

/* Sends what is kept back as tern_combiner_flush does, and frees the combiner: on an error of that,
 * what it is about is lost. NULL is fine. TERN_ERR_STATE in a handler, TERN_ERR_ARGUMENT: nothing
 * is done. */
TERN_NODISCARD TERN_API tern_status tern_combiner_destroy(tern_worker *worker,
                                                          tern_combiner *combiner);

/* Updates object key of target, sooner or later, once; the update is copied. What it drives out of
 * the table is sent as tern_call sends: a full ring is waited for, making progress; in a handler
 * the call is queued instead, and TERN_ERR_AGAIN when TERN_OVERFLOW_MEMORY is used up. On any error
 * the update is not taken, and all others are where they were. TERN_ERR_ARGUMENT: no such worker,
 * NULL, another worker's combiner; TERN_ERR_PEER. */
TERN_NODISCARD TERN_API tern_status tern_combine(tern_worker *worker, tern_combiner *combiner,
                                                 tern_worker_id target, uint64_t key,
                                                 const void *update);

/* Sends all that is kept back, waiting for rings as tern_combine does, and publishes it
 * (tern_call_flush_all). TERN_ERR_AGAIN, in a handler: some is left. TERN_ERR_PEER and others: the
 * first such error; what it is about stays, the rest is sent. */
TERN_NODISCARD TERN_API tern_status tern_combiner_flush(tern_worker *worker,
                                                        tern_combiner *combiner);

#ifdef __cplusplus
}
#endif

#endif
