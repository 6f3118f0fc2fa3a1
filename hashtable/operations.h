#ifndef TERN_HASHTABLE_OPERATIONS_H
#define TERN_HASHTABLE_OPERATIONS_H

/*
 * The operations themselves, done by their caller: an origin by RMA, or the owner in a handler.
 * They return TERN_ERR_FULL and TERN_ERR_NOT_FOUND without a detail. key: padded words.
 */

#include "hashtable/table.h"

/* only_new: a value that is there is left alone. */
tern_status tern_operation_insert(tern_worker *worker, tern_hashtable *table, const uint64_t *key,
                                  uint64_t hash, const void *value, bool only_new,
                                  tern_flags promise, bool *existed);
tern_status tern_operation_erase(tern_worker *worker, const tern_hashtable *table,
                                 const uint64_t *key, uint64_t hash);
/* The same in a table of values, and whatever is replaced or erased is shown to a hook first
 * (hook.h); NULL: to nobody. */
struct tern_replace_hook;
tern_status tern_operation_exchange(tern_worker *worker, tern_hashtable *table, const uint64_t *key,
                                    uint64_t hash, const void *value, bool only_new,
                                    tern_flags promise, struct tern_replace_hook *hook,
                                    bool *existed);
/* Puts another value in place of that of a key that is there, or erases the key if value is NULL.
 * TERN_ERR_NOT_FOUND, and what the hook gives. */
tern_status tern_operation_change(tern_worker *worker, const tern_hashtable *table,
                                  const uint64_t *key, uint64_t hash, const void *value,
                                  struct tern_replace_hook *hook);
tern_status tern_operation_add(tern_worker *worker, const tern_hashtable *table,
                               const uint64_t *key, uint64_t hash, uint64_t delta,
                               tern_flags promise, uint64_t *before);
/* The numbers must be counters' (tern_counter_number). */
tern_status tern_operation_compare_swap(tern_worker *worker, const tern_hashtable *table,
                                        const uint64_t *key, uint64_t hash, uint64_t expected,
                                        uint64_t desired, uint64_t *before);
/* [out] value: its bytes, or the counter. May be NULL in a table without values. */
tern_status tern_operation_find(tern_worker *worker, const tern_hashtable *table,
                                const uint64_t *key, uint64_t hash, tern_flags promise,
                                void *value);

/*
 * Adds delta to the counters of count keys, in order; the second lies step bytes after the first. A
 * key that finds no room is skipped. [out] done: keys that were gone through, all if TERN_OK, else
 * those before the one that failed; [out] added: how many of them were counted. step: key_bytes, or
 * the padded size. owner: of every key, or TERN_NOBODY. Flushes nothing; far_put is set where
 * something is to be flushed.
 */
tern_status tern_operation_add_many(tern_worker *worker, tern_hashtable *table, const void *keys,
                                    size_t step, size_t count, uint64_t delta, uint32_t owner,
                                    size_t *done, size_t *added, bool *far_put);

#endif
