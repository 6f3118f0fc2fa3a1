#include "hashtable/batch/combine.h"

#include "hashtable/batch/ask.h"

/* How many keys tern_batch_repeats looks at. A batch of fewer keys is one message or two anyway. It
 * does not look at more, since a look at a key takes 10 ns, a third of the time of its add. */
enum { LOOKED_AT = 128, SLOTS = 2 * TERN_COMBINE_KEYS };

size_t tern_batch_combine(const char *keys, size_t step, size_t key_bytes, size_t count,
                          tern_combined *combined) {
    uint16_t slots[SLOTS] = {0}; /* 1 more than an index into combined; 0: free */
    size_t different = 0;
    for (size_t i = 0; i < count; i++) {
        const char *key = keys + i * step;
        size_t at = XXH3_64bits(key, key_bytes) % SLOTS;
        while (slots[at] != 0 &&
               memcmp(keys + combined[slots[at] - 1].item * step, key, key_bytes) != 0)
            at = (at + 1) % SLOTS;
        if (slots[at] == 0) {
            combined[different] = (tern_combined){.count = 0};
            slots[at] = (uint16_t)++different;
        }
        combined[slots[at] - 1].item = (uint32_t)i;
        combined[slots[at] - 1].count++;
    }
    return different;
}

/* A combined item has one more word, so combining should remove half of the items. Of keys by
 * Zipf's law it removes half or more of 1,024 if it removes a quarter of the first 128. */
bool tern_batch_repeats(const char *keys, size_t step, size_t key_bytes, size_t count) {
    tern_combined combined[LOOKED_AT];
    return count >= LOOKED_AT &&
           tern_batch_combine(keys, step, key_bytes, LOOKED_AT, combined) <= LOOKED_AT / 4 * 3;
}

bool tern_batch_combines(const tern_hashtable *table, const tern_items *items) {
    return (items->kind == TERN_OP_INSERT || items->kind == TERN_OP_ADD) &&
           tern_item_batch_fits(table, items->kind, TERN_BUNDLE_COUNTED) &&
           tern_batch_repeats(items->keys, items->key_step, table->key_bytes, items->count);
}
