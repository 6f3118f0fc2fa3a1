#ifndef TERN_HASHTABLE_BATCH_INSERT_CALL_H
#define TERN_HASHTABLE_BATCH_INSERT_CALL_H

/* Batches of inserts, and in counter tables of adds, by call. */

#include "hashtable/batch/scatter.h"

/* A scatter of items of a key and a value, or of a key and what to add. */
typedef struct tern_insert_batch {
    tern_scatter scatter;
    uint64_t stored;  /* that are known to be */
    uint64_t refused; /* for want of room */
} tern_insert_batch;

/* TERN_ERR_UNSUPPORTED: no ring takes a piece of one item. */
tern_status tern_insert_batch_check(const tern_hashtable *table);
bool tern_insert_batch_fits(const tern_hashtable *table);

/* Arguments as tern_scatter_begin. TERN_ERR_UNSUPPORTED as above. */
tern_status tern_insert_batch_begin(tern_insert_batch *batch, tern_worker *worker,
                                    tern_hashtable *table, size_t expected, uint32_t limit);

/* Gathers one item; tern_scatter_written comes next. value: value_bytes, or eight of what to add.
 * TERN_ERR_MEMORY: it is not taken. */
tern_status tern_insert_batch_gather(tern_insert_batch *batch, const void *key, const void *value,
                                     uint32_t *owner);

#endif
