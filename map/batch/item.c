#include "map/batch/item.h"

#include "base/process.h"
#include "map/call.h"

/* Copies bytes into whole words, the last of which ends with zeros. Returns where the next begin.
 */
static uint64_t *item_fill(uint64_t *words, const void *from, size_t bytes) {
    const size_t count = tern_map_words(bytes);
    if (bytes % 8 != 0)
        words[count - 1] = 0;
    if (bytes > 0)
        memcpy(words, from, bytes);
    return words + count;
}

void tern_map_item_write(uint64_t *words, const tern_map_key *key, uint32_t bytes,
                         const void *value, size_t value_bytes) {
    const tern_map_item_head head = {
        {key->fingerprint[0], key->fingerprint[1]}, key->seed, (uint32_t)key->size, bytes};
    words = item_fill(words, &head, sizeof head);
    words = item_fill(words, key->bytes, key->size);
    (void)item_fill(words, value, value_bytes);
}

tern_status tern_map_items_of(tern_call_info *call, const void *message, size_t bytes,
                              tern_map **map, tern_map_items *items) {
    const size_t head = sizeof(tern_piece_head);
    tern_map *to = tern_map_of_call(call->worker, message, bytes, head);
    if (to == NULL)
        return tern_callee_missing(call->worker->context, "map");
    if (bytes - head > TERN_PIECE_BYTES)
        return tern_fail(TERN_ERR_ARGUMENT, "a batch of %zu bytes; %d are allowed", bytes,
                         TERN_PIECE_BYTES);
    const uint64_t *at = (const uint64_t *)(const void *)((const char *)message + head);
    *items = (tern_map_items){to, at, (bytes - head) / 8};
    *map = to;
    return TERN_OK;
}

tern_status tern_map_items_next(tern_map_items *items, bool has_value, tern_map_key *key,
                                uint32_t *bytes, const void **value) {
    const tern_map *map = items->map;
    tern_map_item_head head = {0};
    size_t words = sizeof head / 8, value_at = words;
    if (items->words >= words) {
        tern_read_once(&head, items->at, sizeof head);
        value_at += tern_map_words(head.key_bytes);
        words = value_at +
                (has_value ? tern_map_words(head.bytes == TERN_MAP_ADDS ? 8 : head.bytes) : 0);
    }
    if (words > items->words)
        return tern_fail(TERN_ERR_ARGUMENT, "a batch that ends within an item");
    *key = (tern_map_key){.bytes = items->at + sizeof head / 8,
                          .size = head.key_bytes,
                          .fingerprint = {head.fingerprint[0], head.fingerprint[1]},
                          .seed = head.seed};
    key->hash = tern_key_hash(map->table, key->fingerprint);
    if (tern_hash_owner(map->table, key->hash) != map->context->rank)
        return tern_fail(TERN_ERR_ARGUMENT, "a key in a batch is another rank's");
    *bytes = head.bytes;
    *value = items->at + value_at;
    items->at += words;
    items->words -= words;
    return TERN_OK;
}
