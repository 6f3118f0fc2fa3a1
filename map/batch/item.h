#ifndef TERN_MAP_BATCH_ITEM_H
#define TERN_MAP_BATCH_ITEM_H

/*
 * Batches by call: the pieces of a map (hashtable/batch/scatter.h) hold items of different sizes.
 * An item, in 8-byte words:
 *
 *     0    fingerprint, two words
 *     2    seed
 *     3    bytes of the key (0-31), of the value (32-63)
 *     4..  key, padded with zeros; value, padded with zeros
 *
 * In place of a value's bytes an add has TERN_MAP_ADDS, and its value is the number to add. A find
 * says there how much room the caller has, and no value follows.
 */

#include "hashtable/batch/scatter.h"
#include "map/map.h"

#define TERN_MAP_ADDS UINT32_MAX

typedef struct tern_map_item_head {
    uint64_t fingerprint[2];
    uint64_t seed;
    uint32_t key_bytes;
    uint32_t bytes;
} tern_map_item_head;

_Static_assert(TERN_PIECE_BYTES / sizeof(tern_map_item_head) <= TERN_PIECE_ITEMS,
               "a piece's bytes end before its items do");

/* Words of so many bytes. */
static inline size_t tern_map_words(size_t bytes) { return (bytes + 7) / 8; }

static inline size_t tern_map_item_words(size_t key_bytes, size_t value_bytes) {
    return sizeof(tern_map_item_head) / 8 + tern_map_words(key_bytes) + tern_map_words(value_bytes);
}

/* Whether an item that has been written is an add. */
static inline bool tern_map_item_adds(const uint64_t *words) {
    tern_map_item_head head;
    memcpy(&head, words, sizeof head);
    return head.bytes == TERN_MAP_ADDS;
}

/* Writes an item. bytes: what its head says; value: value_bytes that follow the key. */
void tern_map_item_write(uint64_t *words, const tern_map_key *key, uint32_t bytes,
                         const void *value, size_t value_bytes);

/* The items of a message that have not been read. */
typedef struct tern_map_items {
    const tern_map *map;
    const uint64_t *at;
    size_t words;
} tern_map_items;

/* In a handler: the map of a message, and its items. TERN_ERR_STATE: there is no such map. */
tern_status tern_map_items_of(tern_call_info *call, const void *message, size_t bytes,
                              tern_map **map, tern_map_items *items);

/* Reads the next item. [out] key: whose bytes lie in the message; bytes: what the head says; value:
 * what follows the key, if has_value. TERN_ERR_ARGUMENT: it is no whole item, or belongs
 * elsewhere. */
tern_status tern_map_items_next(tern_map_items *items, bool has_value, tern_map_key *key,
                                uint32_t *bytes, const void **value);

#endif
