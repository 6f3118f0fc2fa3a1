#ifndef TERN_HASHTABLE_BATCH_H
#define TERN_HASHTABLE_BATCH_H

/*
 * Many keys of a hash table (tern/hashtable.h) in one operation. Keys lie one after the other, each
 * of key_bytes, and so do values. By call they travel in one message per owner and some hundred
 * keys, and results come back in one or two; by RMA gets and atomics of several keys are under way
 * at once, and where load/store reaches the table, the buckets of keys ahead are prefetched.
 * tern_hashtable_add_many is the operation of this kind on counters.
 *
 * By call equal keys travel together, so that a few keys which are most of a batch cost next to
 * nothing: if a quarter of the batch's first 128 keys are repetitions, all repetitions within each
 * 1,024 keys are one item. That holds for tern_hashtable_add_many, too.
 *
 * Each key is an operation of its own, which takes effect between the beginning and the end of the
 * batch; of several values of one key the last one stays. Other ranks are served meanwhile. Not in
 * handlers: TERN_ERR_STATE.
 */

#include "tern/hashtable.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Stores count values under count keys, whether these are there or not. values: may be NULL where
 * value_bytes is 0. Keys that find no room are passed over: TERN_ERR_FULL, and the others are
 * stored. [out] done (may be NULL; set whatever the status, once the arguments have been
 * checked): keys that are known to be. TERN_ERR_UNSUPPORTED: the table has counters, is call_only
 * and flags have TERN_BY_RMA, or key and value are too large for a call. TERN_ERR_ARGUMENT: too
 * many keys for the memory there is, too. TERN_ERR_PEER: an owner, or who writes a bucket, has
 * died; what was to be stored behind that key may be lost. TERN_ERR_AGAIN: by call, and the program
 * holds all TERN_CALL_REQUESTS; some may have been stored. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_insert_many(tern_worker *worker,
                                                               tern_hashtable *table,
                                                               const void *keys, const void *values,
                                                               size_t count, tern_flags flags,
                                                               size_t *done);

/* Looks count keys up. [out] values: value_bytes each, or a uint64_t counter, at the place of its
 * key; those of absent keys stay as they are. [out] found (may be NULL): 1 or 0 for each key. [out]
 * done (may be NULL): how many are there. keys may not overlap what is written. On an error what
 * is written to values and found is not defined. By call a value has to fit TERN_RING_SIZE / 2 with
 * 640 bytes to spare, TERN_ERR_UNSUPPORTED, but may be larger than TERN_RESULT_MAX. Other errors as
 * above. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_find_many(tern_worker *worker,
                                                             tern_hashtable *table,
                                                             const void *keys, size_t count,
                                                             tern_flags flags, void *values,
                                                             unsigned char *found, size_t *done);

#ifdef __cplusplus
}
#endif

#endif
