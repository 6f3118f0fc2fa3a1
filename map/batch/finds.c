#include "map/batch/finds.h"

#include "map/op/op.h"

enum { IN_FLIGHT = 32, LATER = -1 };

/* Puts one value in its place. Returns how many words of the answer it takes; 0: it makes no
 * sense. */
static size_t finds_place(tern_map_finds *f, tern_map_slot *slot, const uint64_t *word,
                          size_t words) {
    const size_t bytes = word[0] >> 32, size = tern_map_words(bytes);
    const uint32_t found = (uint32_t)word[0];
    slot->found = found == TERN_MAP_LATER ? LATER : found != TERN_MAP_ABSENT;
    slot->value_bytes = found == TERN_MAP_ABSENT ? 0 : bytes;
    f->present += slot->found == 1;
    f->refused += found == TERN_MAP_LARGE;
    f->later += found == TERN_MAP_LATER;
    if (found != TERN_MAP_HERE)
        return found <= TERN_MAP_LATER;
    if (bytes > slot->room || size >= words)
        return 0;
    if (bytes > 0)
        memcpy(slot->value, word + 1, bytes);
    return 1 + size;
}

static tern_status finds_take(tern_scatter *scatter, tern_scatter_piece *piece, const void *reply,
                              size_t bytes, uint32_t *done) {
    tern_map_finds *f = (tern_map_finds *)(void *)scatter;
    const uint64_t *word = reply;
    const size_t words = bytes / 8;
    if (words == 0 || word[0] > piece->count)
        return TERN_OK; /* which no owner answers */
    size_t at = 1;
    for (size_t i = 0; i < word[0]; i++) {
        const size_t taken =
            at < words ? finds_place(f, &f->slots[piece->number[i]], word + at, words - at) : 0;
        if (taken == 0)
            return TERN_OK;
        at += taken;
    }
    *done = (uint32_t)word[0];
    return TERN_OK;
}

TERN_FUNCTION(tern_map_on_finds)

/* Keys of this rank are in no piece. */
static const tern_scatter_ops finds_ops = {&tern_map_on_finds_function,
                                           8 * (size_t)TERN_MAP_FOUND_WORDS, NULL, finds_take};

tern_status tern_map_finds_begin(tern_map_finds *finds, tern_worker *worker, tern_map *map,
                                 tern_map_slot *slots, size_t expected) {
    *finds = (tern_map_finds){.map = map, .slots = slots};
    return tern_scatter_begin_sizes(&finds->scatter, worker, map->table, &finds_ops, expected,
                                    IN_FLIGHT);
}

tern_status tern_map_find_here(tern_map_finds *finds, tern_map_slot *slot, const tern_map_key *key,
                               bool by_call, tern_flags promise) {
    tern_map_op m;
    m.key = *key;
    m.value_bytes = 0;
    tern_map_op_init_find(&m, finds->scatter.worker, finds->map, promise, slot->value, slot->room);
    m.by_call = by_call;
    tern_status status = tern_map_op_run(&m);
    const bool large = status == TERN_ERR_RANGE && m.value_bytes > slot->room;
    slot->found = status == TERN_OK || large;
    slot->value_bytes = slot->found ? m.value_bytes : 0;
    finds->present += slot->found != 0;
    finds->refused += large;
    if (status == TERN_ERR_AGAIN)
        return status;
    if (slot->found == 0 && status != TERN_ERR_NOT_FOUND)
        tern_ignore(tern_scatter_note(&finds->scatter, status));
    if (status != TERN_OK)
        tern_error_clear(); /* the end of all tells of it */
    return TERN_OK;
}

tern_status tern_map_finds_take(tern_map_finds *finds, size_t i, const tern_map_key *key,
                                tern_flags flags) {
    const tern_map *map = finds->map;
    tern_map_slot *slot = &finds->slots[i];
    const uint32_t owner = tern_hash_owner(map->table, key->hash);
    if (owner == map->context->rank || tern_map_way(map, owner, flags) == TERN_BY_RMA)
        return tern_map_find_here(finds, slot, key, false, tern_flags_promise(flags));
    const size_t size = tern_map_item_words(key->size, 0);
    if (size > finds->scatter.piece_words) {
        slot->found = LATER;
        finds->later++;
        return TERN_OK;
    }
    uint64_t *words;
    tern_status status = tern_scatter_item(&finds->scatter, owner, i, size, &words);
    if (status != TERN_OK)
        return status;
    (void)tern_map_item_write(words, TERN_MAP_ITEM(TERN_OP_FIND), key,
                              slot->room < UINT32_MAX ? (uint32_t)slot->room : UINT32_MAX, NULL, 0);
    if (tern_scatter_written(&finds->scatter, owner) != TERN_OK)
        tern_error_clear(); /* it is noted */
    return TERN_OK;
}

tern_status tern_map_finds_finish(tern_map_finds *finds, size_t count) {
    tern_status status = tern_scatter_send(&finds->scatter);
    tern_ignore(tern_scatter_wait(&finds->scatter));
    for (size_t i = 0; i < count && finds->later > 0 && status != TERN_ERR_AGAIN &&
                       finds->scatter.failed == TERN_OK;
         i++) {
        if (finds->slots[i].found != LATER)
            continue;
        tern_map_key key;
        tern_map_key_make(finds->map, finds->slots[i].key, finds->slots[i].key_bytes, &key);
        status = tern_map_find_here(finds, &finds->slots[i], &key, true, TERN_READ_WRITE);
        finds->later--;
    }
    return status == TERN_ERR_AGAIN ? status : TERN_OK;
}

void tern_map_finds_end(tern_map_finds *finds) { tern_scatter_end(&finds->scatter); }
