#include "tern/map.h"

#include "hashtable/batch/combine.h"
#include "map/batch/batch.h"
#include "src/progress/progress.h"

/* The public operations on many keys. Keys are checked and hashed group by group. If no key can go
 * by call, each is done at once; otherwise batch.h decides. Equal keys of a group of
 * changes are combined, if the first group says that it pays. */

enum { IN_FLIGHT = 32, GROUP = 512, KEYS_PER_PROGRESS = 32 };

_Static_assert(GROUP <= (int)TERN_COMBINE_KEYS, "a group can be combined");

/* What tells keys apart: fingerprint, hash and seed, which follow one another. */
static const char *group_first(const tern_map_key *keys) { return (const char *)keys->fingerprint; }
enum { GROUP_BYTES = offsetof(tern_map_key, seed) + 8 - offsetof(tern_map_key, fingerprint) };

/* missing: the name of an argument that is NULL, or NULL. */
static tern_status many_check(tern_worker *worker, const tern_map *map, const char *missing,
                              tern_flags flags, tern_flags excluded, const char *name) {
    tern_status status = tern_map_check(worker, map, name, 1, flags, excluded, name);
    if (status == TERN_OK && missing != NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name, missing);
    if (status == TERN_OK)
        status = tern_worker_may_wait(worker, name);
    return status;
}

/* Sends and ends the ops by call, for count slots that were taken. Returns the outcome of the
 * batch, except that keys or values found no room. status: the outcome so far. */
static tern_status many_end(tern_map_batch *b, tern_status status, size_t count) {
    tern_ignore(tern_scatter_note(&b->scatter, status));
    if (tern_map_batch_calls(b)) {
        const tern_status sent = tern_map_batch_finish(b, count);
        status = status == TERN_OK ? sent : status;
        tern_map_batch_end(b);
    }
    const tern_status failed = tern_scatter_failure(&b->scatter);
    status = failed != TERN_OK ? failed : status;
    if (status == TERN_OK)
        tern_error_clear();
    return status;
}

/* A batch of inserts or adds. */
typedef struct map_batch {
    tern_map_batch batch;
    const char *name;
    tern_flags flags;
    const tern_map_item *items;
    size_t count;
    bool adds;
    uint64_t delta;
    bool combines;
    tern_map_key keys[GROUP];
} map_batch;

/* Checks the arguments of an item. [out] key: of the item. */
static tern_status batch_check_item(const map_batch *b, const tern_map_item *item,
                                    tern_map_key *key) {
    const tern_map *map = b->batch.map;
    tern_status status = tern_map_check(b->batch.scatter.worker, map, item->key, item->key_bytes,
                                        b->flags, TERN_READ_ONLY, b->name);
    if (status == TERN_OK && !b->adds)
        status = tern_map_check_value(item->value, item->value_bytes, b->name);
    if (status != TERN_OK)
        return status;
    tern_map_key_make(map, item->key, item->key_bytes, key);
    return tern_hashtable_check_owner(map->table, tern_hash_owner(map->table, key->hash), b->flags,
                                      b->name);
}

/* Takes the change of one key of a group, which is for count keys. */
static tern_status batch_take(map_batch *b, const tern_map_item *group, size_t i, size_t count) {
    tern_worker *worker = b->batch.scatter.worker;
    tern_map_op m;
    m.key = b->keys[i];
    if (b->adds)
        tern_map_op_init_number(&m, TERN_OP_ADD, worker, b->batch.map, b->delta * count, 0);
    else
        tern_map_op_init_change(&m, TERN_OP_INSERT, worker, b->batch.map, b->batch.promise,
                                group[i].value, group[i].value_bytes);
    if (i % KEYS_PER_PROGRESS == 0)
        (void)tern_progress_round(worker);
    return tern_map_batch_take(&b->batch, &m, count);
}

static tern_status batch_take_combined(map_batch *b, const tern_map_item *group, size_t count) {
    tern_combined combined[GROUP];
    const size_t keys =
        tern_batch_combine(group_first(b->keys), sizeof *b->keys, GROUP_BYTES, count, combined);
    tern_status status = TERN_OK;
    for (size_t i = 0; i < keys && status == TERN_OK; i++)
        status = batch_take(b, group, combined[i].item, combined[i].count);
    return status;
}

/* Takes up to count items. Stops before the first one that is not valid, and notes its status. */
static tern_status batch_take_group(map_batch *b, const tern_map_item *group, size_t count,
                                    bool first) {
    tern_status valid = TERN_OK, status = TERN_OK;
    size_t keys = 0;
    for (; keys < count; keys++)
        if ((valid = batch_check_item(b, &group[keys], &b->keys[keys])) != TERN_OK)
            break;
    tern_ignore(tern_scatter_note(&b->batch.scatter, valid));
    if (first && tern_map_batch_calls(&b->batch))
        b->combines = tern_batch_repeats(group_first(b->keys), sizeof *b->keys, GROUP_BYTES, keys);
    if (b->combines)
        return batch_take_combined(b, group, keys);
    for (size_t i = 0; i < keys && status == TERN_OK; i++)
        status = batch_take(b, group, i, 1);
    return status;
}

/* Runs the batch. [out] done: keys that are stored or counted for certain. */
static tern_status batch_run(map_batch *b, size_t *done) {
    const tern_map_batch *c = &b->batch;
    tern_status status = TERN_OK;
    for (size_t at = 0; at < b->count && status == TERN_OK && c->scatter.failed == TERN_OK;
         at += GROUP) {
        const size_t left = b->count - at;
        status = batch_take_group(b, b->items + at, left < GROUP ? left : GROUP, at == 0);
    }
    status = many_end(&b->batch, status, 0);
    *done = c->stored;
    return status != TERN_OK || c->refused == 0
               ? status
               : tern_fail(TERN_ERR_FULL, "%zu of %zu keys found no room in the map; %s",
                           (size_t)c->refused, b->count, tern_table_room_remedy(c->map->table));
}

static tern_status batch_change(const char *name, bool adds, uint64_t delta, tern_worker *worker,
                                tern_map *map, const tern_map_item *items, size_t count,
                                tern_flags flags, size_t *done) {
    size_t changed = 0;
    tern_status status = many_check(worker, map, count > 0 && items == NULL ? "items" : NULL, flags,
                                    TERN_READ_ONLY, name);
    if (status != TERN_OK)
        return status;
    map_batch b;
    b.name = name;
    b.flags = flags;
    b.items = items;
    b.count = count;
    b.adds = adds;
    b.delta = delta;
    b.combines = false;
    status = tern_map_batch_choose(&b.batch, worker, map, NULL, flags, name);
    if (status == TERN_OK && tern_map_batch_calls(&b.batch))
        status = tern_map_batch_begin(&b.batch, count, IN_FLIGHT);
    if (status == TERN_OK)
        status = batch_run(&b, &changed);
    if (done != NULL)
        *done = changed;
    return status;
}

tern_status tern_map_insert_many(tern_worker *worker, tern_map *map, const tern_map_item *items,
                                 size_t count, tern_flags flags, size_t *done) {
    return batch_change("tern_map_insert_many", false, 0, worker, map, items, count, flags, done);
}

tern_status tern_map_add_many(tern_worker *worker, tern_map *map, const tern_map_item *items,
                              size_t count, uint64_t delta, tern_flags flags, size_t *done) {
    return batch_change("tern_map_add_many", true, delta, worker, map, items, count, flags, done);
}

/* Checks the arguments of a slot. [out] key: of the slot. */
static tern_status finds_check_slot(const tern_map_batch *b, const tern_map_slot *slot,
                                    tern_flags flags, const char *name, tern_map_key *key) {
    tern_status status = tern_map_check(b->scatter.worker, b->map, slot->key, slot->key_bytes,
                                        flags, TERN_WRITE_ONLY, name);
    if (status == TERN_OK && slot->value == NULL && slot->room > 0)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: value is NULL", name);
    if (status != TERN_OK)
        return status;
    tern_map_key_make(b->map, slot->key, slot->key_bytes, key);
    return tern_hashtable_check_owner(b->map->table, tern_hash_owner(b->map->table, key->hash),
                                      flags, name);
}

/* Takes all slots. The first error ends the batch. */
static tern_status finds_run(tern_map_batch *b, size_t count, tern_flags flags, const char *name) {
    tern_status status = TERN_OK;
    for (size_t i = 0; i < count && status == TERN_OK && b->scatter.failed == TERN_OK; i++) {
        const tern_map_slot *slot = &b->slots[i];
        tern_map_op m;
        status = finds_check_slot(b, slot, flags, name, &m.key);
        if (status != TERN_OK)
            break;
        tern_map_op_init_find(&m, b->scatter.worker, b->map, b->promise, slot->value, slot->room);
        status = tern_map_batch_take(b, &m, i);
        if (i % KEYS_PER_PROGRESS == 0)
            (void)tern_progress_round(b->scatter.worker);
    }
    return status;
}

tern_status tern_map_find_many(tern_worker *worker, tern_map *map, tern_map_slot *slots,
                               size_t count, tern_flags flags, size_t *done) {
    static const char name[] = "tern_map_find_many";
    tern_map_batch b;
    tern_status status = many_check(worker, map, count > 0 && slots == NULL ? "slots" : NULL, flags,
                                    TERN_WRITE_ONLY, name);
    if (status == TERN_OK)
        status = tern_map_batch_choose(&b, worker, map, slots, flags, name);
    if (status == TERN_OK && tern_map_batch_calls(&b))
        status = tern_map_batch_begin(&b, count, IN_FLIGHT);
    if (status != TERN_OK)
        return status;
    status = finds_run(&b, count, flags, name);
    status = many_end(&b, status, status == TERN_OK ? count : 0);
    if (status != TERN_OK)
        return status;
    if (done != NULL)
        *done = b.stored;
    return b.refused == 0 ? TERN_OK
                          : tern_fail(TERN_ERR_RANGE,
                                      "%zu of %zu values are larger than the memory given for them",
                                      (size_t)b.refused, count);
}
