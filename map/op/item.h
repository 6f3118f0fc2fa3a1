#ifndef TERN_MAP_OP_ITEM_H
#define TERN_MAP_OP_ITEM_H

/*
 * Ops in a message (message.h): one, or the many of a batch, each as an item. Items have different
 * sizes. An item, in 8-byte words:
 *
 *     0    fingerprint, two words
 *     2    seed
 *     3    bytes of the key (bits 0-19), kind of the op (20-27), flags (28-31); bytes of the value
 *          (32-63)
 *     4..  key, padded with zeros; value, padded with zeros
 *
 * The value of an add is the number to add, 8 bytes, that of a compare-and-swap the expected and
 * the desired number, and that of a MODIFY its argument. A find has the size of the caller's room
 * in place of the bytes of the value, and no value follows. A bare item has neither key nor value:
 * a bare change has its descriptor in their place, except an erase, which needs none. The item of a
 * REPLACE is followed by the descriptor that it replaces.
 */

#include "hashtable/batch/scatter.h"
#include "map/op/op.h"

typedef struct tern_map_item_head {
    uint64_t fingerprint[2];
    uint64_t seed;
    uint32_t what;
    uint32_t bytes;
} tern_map_item_head;

_Static_assert(TERN_BUNDLE_BYTES / sizeof(tern_map_item_head) <= TERN_BUNDLE_ITEMS,
               "a bundle's bytes end before its items do");

#define TERN_MAP_ITEM(kind) ((uint32_t)(kind) << 20)
#define TERN_MAP_ITEM_BARE (UINT32_C(1) << 28)
#define TERN_MAP_ITEM_INSERTS (UINT32_C(1) << 29) /* of a MODIFY: the key may be new */

_Static_assert(TERN_MAP_KEY_MAX < UINT32_C(1) << 20, "a key's length fits an item");

static inline size_t tern_map_item_key_bytes(uint32_t what) { return what & 0xfffff; }
static inline tern_op_kind tern_map_item_kind(uint32_t what) {
    return (tern_op_kind)(what >> 20 & 0xff);
}

/* How many words hold so many bytes. */
static inline size_t tern_map_words(size_t bytes) { return (bytes + 7) / 8; }

static inline size_t tern_map_item_words(size_t key_bytes, size_t value_bytes) {
    return sizeof(tern_map_item_head) / 8 + tern_map_words(key_bytes) + tern_map_words(value_bytes);
}

/* The head of an item that has been written. */
static inline tern_map_item_head tern_map_item_read(const uint64_t *words) {
    tern_map_item_head head;
    memcpy(&head, words, sizeof head);
    return head;
}

/* Writes an item. what: its kind and flags; bytes: what its head says; value: value_bytes that
 * follow the key. Returns where the next begins. */
uint64_t *tern_map_item_write(uint64_t *words, uint32_t what, const tern_map_key *key,
                              uint32_t bytes, const void *value, size_t value_bytes);

/* The items of a message that have not been read. */
typedef struct tern_map_items {
    const tern_map *map;
    const uint64_t *at;
    size_t words;
} tern_map_items;

/* At the owner: reads the next item. [out] m: the op that it asks for. Key and value lie in the
 * message; the key has no bytes if the item is bare; m->room is that of the caller; of a MODIFY m
 * has inserts and the argument. TERN_ERR_ARGUMENT: it is not whole, or has another rank's key. */
tern_status tern_map_items_next(tern_map_items *items, tern_worker *worker, tern_map_op *m);

#endif
