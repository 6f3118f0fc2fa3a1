#ifndef TERN_HASHTABLE_BATCH_RUN_H
#define TERN_HASHTABLE_BATCH_RUN_H

/*
 * Runs: keys worked on one after the other, by load/store where that reaches them. The cache lines
 * of the keys ahead are on their way meanwhile, which hides most of what a miss costs. By an
 * origin, or in a handler by the owner, where a key that would have to wait ends the run with
 * TERN_ERR_AGAIN.
 */

#include "hashtable/table.h"

/* Keys and values, the second step bytes after the first, of their own size or padded. A counter
 * table's values are what to add, or, combined, counts of keys that each add the same. */
typedef struct tern_items {
    const char *keys, *values;
    size_t key_step, value_step;
    size_t count;
    bool own;           /* from a message: a key of another rank's part is TERN_ERR_ARGUMENT */
    const char *counts; /* of the keys that an item is for, value_step apart; NULL: one each */
    uint64_t each;      /* with counts, in a counter table: what each key adds */
} tern_items;

/* Bytes of what a find returns. */
static inline size_t tern_found_bytes(const tern_hashtable *table) {
    return tern_shape_counts(table->shape) ? sizeof(uint64_t) : table->value_bytes;
}

/* Keys that an item is for. */
uint64_t tern_items_keys(const tern_items *items, size_t number);
/* Sets the kind of an op that inserts or adds an item, and what it is given. */
struct tern_op;
void tern_items_op(const tern_items *items, size_t number, const tern_hashtable *table,
                   struct tern_op *op);

/* Inserts or adds. Keys that find no room are passed over. Flushes nothing. [out] done: items gone
 * through, all if TERN_OK, else those before the one that failed; [out] stored: keys of these. */
tern_status tern_run_insert(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                            size_t *done, size_t *stored);

/* The same by the way that is asked for, for whatever parts: tern_hashtable_insert_many, without
 * its checks. TERN_ERR_FULL if any found no room. */
tern_status tern_items_insert(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                              tern_flags flags, size_t *stored);

/* [out] values: one at the place of each item, or, packed, those that were found one after the
 * other; found: 1 or 0 for each item, or NULL; present: how many were. done as above. */
tern_status tern_run_find(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                          tern_flags promise, bool packed, char *values, unsigned char *found,
                          size_t *done, size_t *present);

/*
 * window.c: the same where some parts are remote. Several keys are under way at once, each of which
 * takes round trips.
 */
tern_status tern_window_insert(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                               size_t *stored);
tern_status tern_window_find(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                             tern_flags promise, char *values, unsigned char *found,
                             size_t *present);

#endif
