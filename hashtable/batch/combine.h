#ifndef TERN_HASHTABLE_BATCH_COMBINE_H
#define TERN_HASHTABLE_BATCH_COMBINE_H

/*
 * Combining: equal keys of a batch become one item that says how many there were. Where a few keys
 * are most of a batch, as among words and k-mers, this saves most of what is sent, and not all
 * ranks wait for the owners of these keys. It is DAKC's layer for heavy hitters.
 */

#include "hashtable/batch/run.h"

enum { TERN_COMBINE_KEYS = 1024 };

typedef struct tern_combined {
    uint32_t item;  /* the last item with this key, whose value is the one that stays */
    uint32_t count; /* how many items have this key */
} tern_combined;

/* Combines the first count keys, at most TERN_COMBINE_KEYS, each of key_bytes and the second one
 * step bytes after the first. [out] combined: in the order in which keys occur first; room for
 * count. Returns how many different keys there are. */
size_t tern_batch_combine(const char *keys, size_t step, size_t key_bytes, size_t count,
                          tern_combined *combined);

/* Whether combining pays for a batch, judged by its first keys. */
bool tern_batch_repeats(const char *keys, size_t step, size_t key_bytes, size_t count);
/* The same for a batch of a table, if a ring takes its combined items. */
bool tern_batch_combines(const tern_hashtable *table, const tern_items *items);

#endif
