#include "map/op/item.h"

#include "base/process.h"

/* Copies bytes into whole words, and fills up the last one with zeros. Returns the word behind. */
static uint64_t *item_fill(uint64_t *words, const void *from, size_t bytes) {
    const size_t count = tern_map_words(bytes);
    if (bytes % 8 != 0)
        words[count - 1] = 0;
    if (bytes > 0)
        memcpy(words, from, bytes);
    return words + count;
}

uint64_t *tern_map_item_write(uint64_t *words, uint32_t what, const tern_map_key *key,
                              uint32_t bytes, const void *value, size_t value_bytes) {
    const tern_map_item_head head = {
        {key->fingerprint[0], key->fingerprint[1]}, key->seed, what | (uint32_t)key->size, bytes};
    words = item_fill(words, &head, sizeof head);
    if ((what & TERN_MAP_ITEM_BARE) == 0)
        words = item_fill(words, key->bytes, key->size);
    return item_fill(words, value, value_bytes);
}

/* [out] key: from an item's head. bytes: the key's, or NULL. TERN_ERR_ARGUMENT: it is another's. */
static tern_status item_key(const tern_map *map, const tern_map_item_head *head, const void *bytes,
                            tern_map_key *key) {
    *key = (tern_map_key){.bytes = bytes,
                          .size = tern_map_item_key_bytes(head->what),
                          .fingerprint = {head->fingerprint[0], head->fingerprint[1]},
                          .seed = head->seed};
    key->hash = tern_key_hash(map->table, key->fingerprint);
    const uint32_t owner = tern_hash_owner(map->table, key->hash);
    return owner == map->context->rank
               ? TERN_OK
               : tern_fail(TERN_ERR_ARGUMENT, "the key belongs to rank %u", owner);
}

/* What follows the head of an item. */
enum { KEY, VALUE, DESCRIPTOR, EXPECTED, PARTS };

/* [out] words: of each part of an item. False: no rank sends an item with this head. */
static bool item_measure(const tern_map *map, const tern_map_item_head *head, size_t words[PARTS]) {
    const tern_op_kind kind = tern_map_item_kind(head->what);
    const bool bare = (head->what & TERN_MAP_ITEM_BARE) != 0;
    const bool puts = tern_map_op_puts(kind), modifies = tern_map_op_modifies(kind);
    const size_t descriptor = tern_map_descriptor_words(map), number = tern_map_number_bytes(kind);
    words[KEY] = bare ? 0 : tern_map_words(tern_map_item_key_bytes(head->what));
    words[VALUE] = (puts || modifies) && !bare ? tern_map_words(head->bytes) : 0;
    words[DESCRIPTOR] = bare && puts ? descriptor : 0;
    words[EXPECTED] = kind == TERN_OP_REPLACE ? descriptor : 0;
    return puts || kind == TERN_OP_FIND || (kind == TERN_OP_ERASE && bare) ||
           (modifies && !bare && (number == 0 || head->bytes == number));
}

/* Sets what the item has to store, or its argument, from the words behind its head. */
static void item_take_value(const tern_map_item_head *head, const uint64_t *at,
                            const size_t words[PARTS], tern_map_op *m) {
    const uint64_t *value = at + words[KEY];
    m->inserts = (head->what & TERN_MAP_ITEM_INSERTS) != 0;
    m->complete = words[DESCRIPTOR] > 0;
    m->room = head->bytes;
    m->given = value;
    m->d.words[0] = tern_map_lengths(m->key.size, head->bytes);
    if (m->complete)
        tern_read_once(m->d.words, at, 8 * words[DESCRIPTOR]);
    if (m->op.kind == TERN_OP_MODIFY)
        m->info = (tern_map_modify_info){.argument = value, .argument_bytes = head->bytes};
    if (words[EXPECTED] > 0)
        tern_read_once(m->expected.words, value + words[VALUE] + words[DESCRIPTOR],
                       8 * words[EXPECTED]);
}

static void item_take_number(tern_op_kind kind, const uint64_t *value, tern_worker *worker,
                             const tern_map *map, tern_map_op *m) {
    uint64_t number[2] = {0};
    tern_read_once(number, value, tern_map_number_bytes(kind));
    tern_map_op_init_number(m, kind, worker, map, number[0], number[1]);
}

tern_status tern_map_items_next(tern_map_items *items, tern_worker *worker, tern_map_op *m) {
    const tern_map *map = items->map;
    const size_t before = sizeof(tern_map_item_head) / 8;
    tern_map_item_head head = {0};
    size_t part[PARTS] = {0};
    bool whole = items->words >= before;
    if (whole) {
        tern_read_once(&head, items->at, sizeof head);
        whole = item_measure(map, &head, part);
    }
    const size_t words = before + part[KEY] + part[VALUE] + part[DESCRIPTOR] + part[EXPECTED];
    if (!whole || words > items->words)
        return tern_fail(TERN_ERR_ARGUMENT, "a message to a map ends within an item");
    const uint64_t *at = items->at + before;
    const tern_op_kind kind = tern_map_item_kind(head.what);
    const bool bare = (head.what & TERN_MAP_ITEM_BARE) != 0;
    const tern_status status = item_key(map, &head, bare ? NULL : at, &m->key);
    if (status != TERN_OK)
        return status;
    if (tern_map_number_bytes(kind) > 0) {
        item_take_number(kind, at + part[KEY], worker, map, m);
    } else {
        tern_map_op_init(m, kind, worker, map,
                         tern_map_op_puts(kind) ? TERN_WRITE_ONLY : TERN_READ_WRITE);
        item_take_value(&head, at, part, m);
    }
    m->served = true;
    m->value_bytes = 0;
    items->at += words;
    items->words -= words;
    return TERN_OK;
}
