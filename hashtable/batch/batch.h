#ifndef TERN_HASHTABLE_BATCH_BATCH_H
#define TERN_HASHTABLE_BATCH_BATCH_H

/* Parts of batches, which the functions on many keys are made of. */

#include "hashtable/batch/run.h"
#include "hashtable/batch/scatter.h"
#include "hashtable/table.h"
#include "tern/transfer.h"

/* visit.c: what calls that are about many keys have in common. */

/* TERN_ERR_ARGUMENT if anything is missing or of different contexts; name is the function's. */
tern_status tern_visit_check(const tern_worker *worker, const tern_hashtable *table, bool missing,
                             const char *name);

/*
 * regions.c: a large batch on a large table is worked on region by region of the table's memory,
 * each of which the processor's translations reach (2 MiB: 512 pages of 4 KiB). In the order in
 * which keys come nearly every one of them misses these, which costs more than all the rest.
 */

/* Keys that are put in order together, at most. */
enum { TERN_REGION_KEYS = 1 << 20 };

/* So many of count keys are put in order together. */
size_t tern_regions_together(const tern_hashtable *table, size_t count);

/* Whether it pays for so many keys of 8 bytes, all near. */
bool tern_regions_pay(const tern_hashtable *table, size_t count);

/* [out] sorted: the keys by region, room for count of them; at most TERN_REGION_KEYS. */
void tern_regions_sort(const tern_hashtable *table, const char *keys, size_t count,
                       uint64_t *sorted);

/*
 * batch.c: adds delta to the counters of count keys, in order; the second lies step bytes after the
 * first. A key that finds no room is skipped. [out] done: keys that were gone through, all if
 * TERN_OK, else those before the one that failed; [out] added: how many of them were counted. step:
 * key_bytes, or the padded size. owner: of every key, or TERN_NOBODY. Flushes nothing; far_put is
 * set where something is to be flushed.
 */
tern_status tern_batch_add_many(tern_worker *worker, tern_hashtable *table, const void *keys,
                                size_t step, size_t count, uint64_t delta, uint32_t owner,
                                size_t *done, size_t *added, bool *far_put);

/*
 * add_call.c: many adds by calls. Arguments as tern_hashtable_add_many; [out] added. Keys that
 * find no room are passed over without an error. local_in_place: keys of this node's parts are
 * counted in place.
 */
tern_status tern_call_add_many(tern_worker *worker, tern_hashtable *table, const char *keys,
                               size_t count, uint64_t delta, bool local_in_place, size_t *added,
                               bool *far_put);

/* find_call.c: batches of finds by call. */

/* Arguments as tern_hashtable_find_many, found not NULL. local_in_place: parts of this node are
 * looked up in place. TERN_ERR_UNSUPPORTED: a value or a key is too large. */
tern_status tern_call_find_many(tern_worker *worker, tern_hashtable *table, const char *keys,
                                size_t count, bool local_in_place, char *values,
                                unsigned char *found, size_t *present);

/* insert_call.c: batches of inserts, and in counter tables of adds, by call. */

/* A scatter of items of a key and a value, or of a key and what to add; combined, with how many
 * keys of the batch each is for, in place of what to add. */
typedef struct tern_insert_batch {
    tern_scatter scatter;
    bool combined;
    uint64_t stored;  /* keys that are known to be */
    uint64_t refused; /* for want of room */
} tern_insert_batch;

/* TERN_ERR_UNSUPPORTED: no ring takes a piece of one item. */
tern_status tern_insert_batch_check(const tern_hashtable *table);
bool tern_insert_batch_fits(const tern_hashtable *table);
bool tern_combined_fits(const tern_hashtable *table);

/* Arguments as tern_scatter_begin. each: 0, or items are combined, and it is what a key adds to its
 * counter. TERN_ERR_UNSUPPORTED as above. */
tern_status tern_insert_batch_begin(tern_insert_batch *batch, tern_worker *worker,
                                    tern_hashtable *table, uint64_t each, size_t expected,
                                    uint32_t limit);

/* Gathers one item for count keys; tern_scatter_written comes next. value: value_bytes, or eight of
 * what to add. TERN_ERR_MEMORY: it is not taken. */
tern_status tern_insert_batch_gather(tern_insert_batch *batch, const void *key, const void *value,
                                     size_t count, uint32_t *owner);

/* Gathers all items, combined if the batch is, sends them and waits. */
tern_status tern_insert_batch_run(tern_insert_batch *batch, const tern_items *items);

#endif
