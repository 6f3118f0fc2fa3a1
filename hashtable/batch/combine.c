#include "hashtable/batch/combine.h"

#include "hashtable/batch/batch.h"

/* A batch of fewer keys is one message or two whatever is combined. More are not looked at, since a
 * look at a key takes 10 ns, a third of what its add takes. */
enum { LOOKED_AT = 128, SLOTS = 2 * TERN_COMBINE_KEYS };

static const char *key_of(const tern_items *items, size_t item) {
    return items->keys + item * items->key_step;
}

size_t tern_batch_combine(const tern_hashtable *table, const tern_items *items, size_t count,
                          tern_combined *combined) {
    uint16_t slots[SLOTS] = {0}; /* 1 more than an index into combined; 0: free */
    size_t keys = 0;
    for (size_t i = 0; i < count; i++) {
        const char *key = key_of(items, i);
        size_t at = XXH3_64bits(key, table->key_bytes) % SLOTS;
        while (slots[at] != 0 &&
               memcmp(key_of(items, combined[slots[at] - 1].item), key, table->key_bytes) != 0)
            at = (at + 1) % SLOTS;
        if (slots[at] == 0) {
            combined[keys] = (tern_combined){.count = 0};
            slots[at] = (uint16_t)++keys;
        }
        combined[slots[at] - 1].item = (uint32_t)i;
        combined[slots[at] - 1].count++;
    }
    return keys;
}

/* A combined item has a word more, so half of the items should go: of keys by Zipf's law a quarter
 * goes in the first 128 when half or more goes in 1,024. */
bool tern_batch_combines(const tern_hashtable *table, const tern_items *items) {
    tern_combined combined[LOOKED_AT];
    return items->count >= LOOKED_AT && tern_combined_fits(table) &&
           tern_batch_combine(table, items, LOOKED_AT, combined) <= LOOKED_AT / 4 * 3;
}
