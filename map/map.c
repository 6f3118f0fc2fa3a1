#include "tern/map.h"

#include "map/call.h"
#include "map/map.h"

/* The public operations on one key. They check their arguments, and then do the operation by RMA or
 * by a call. An owner does operations on its own keys in place either way. */

tern_status tern_map_check(const tern_worker *worker, const tern_map *map, const void *key,
                           size_t key_bytes, tern_flags flags, tern_flags excluded,
                           const char *name) {
    if (map == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: map is NULL", name);
    if (map->table == NULL)
        return tern_object_refuse(map->context, name, "map");
    tern_status status =
        tern_hashtable_check(worker, map->table, key_bytes > 0 ? key : "", flags, excluded, name);
    if (status == TERN_OK && key_bytes > TERN_MAP_KEY_MAX)
        status = tern_fail(TERN_ERR_RANGE, "%s: a key of %zu bytes; the largest have %u", name,
                           key_bytes, TERN_MAP_KEY_MAX);
    return status;
}

tern_status tern_map_check_value(const void *value, size_t value_bytes, const char *name) {
    if (value == NULL && value_bytes > 0)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: value is NULL", name);
    if (value_bytes > TERN_MAP_VALUE_MAX)
        return tern_fail(TERN_ERR_RANGE, "%s: a value of %zu bytes; the largest have %u", name,
                         value_bytes, TERN_MAP_VALUE_MAX);
    return TERN_OK;
}

tern_flags tern_map_way(const tern_map *map, uint32_t owner, tern_flags flags) {
    const tern_flags via = tern_flags_way(flags);
    if (via != TERN_AUTO)
        return via;
    return map->table->call_only || map->table->part[owner].near == NULL ? TERN_BY_CALL
                                                                         : TERN_BY_RMA;
}

tern_status tern_map_may_run(const tern_worker *worker, const tern_map *map, uint32_t owner,
                             tern_flags via, const char *name) {
    const bool near =
        map->table->part[owner].near != NULL && (via == TERN_BY_RMA || owner == map->context->rank);
    return near && tern_map_in_handler(worker) ? TERN_OK : tern_worker_may_wait(worker, name);
}

bool tern_map_in_place(tern_worker *worker, const tern_map *map, uint32_t owner, tern_flags via) {
    if (via == TERN_BY_RMA)
        return true;
    if (owner != map->context->rank)
        return false;
    (void)tern_progress_round(worker);
    return true;
}

/* Makes the block before the descriptor that names it. */
static tern_status put_in_place(tern_worker *worker, const tern_map *map, uint32_t owner,
                                tern_map_insertion *in) {
    const bool large = !tern_map_descriptor_is_small(map, in->d.words);
    tern_status status = TERN_OK;
    if (large)
        status = tern_block_make(worker, map, in->key, in->value,
                                 tern_map_descriptor_value_bytes(in->d.words), &in->d);
    if (status != TERN_OK)
        return status;
    status = tern_map_put(worker, map, in);
    const bool unknown = tern_map_put_is_uncertain(status) && map->table->part[owner].near == NULL;
    if (large && !unknown && (status != TERN_OK || !tern_map_insertion_is_stored(in)))
        tern_block_free(worker, map, tern_block_place(in->d.words));
    return status;
}

tern_status tern_map_insertion_do(tern_worker *worker, const tern_map *map, uint32_t owner,
                                  bool by_call, tern_map_insertion *in) {
    return by_call ? tern_map_call_put(worker, map, owner, in)
                   : put_in_place(worker, map, owner, in);
}

static tern_status map_insert(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
                              const void *value, size_t value_bytes, bool only_new,
                              tern_flags flags, int *existed, const char *name) {
    tern_status status = tern_map_check(worker, map, key, key_bytes, flags, TERN_READ_ONLY, name);
    if (status == TERN_OK)
        status = tern_map_check_value(value, value_bytes, name);
    if (status != TERN_OK)
        return status;
    tern_map_key k;
    tern_map_key_make(map, key, key_bytes, &k);
    const uint32_t owner = tern_hash_owner(map->table, k.hash);
    tern_map_insertion in;
    tern_map_insertion_begin(&k, value, tern_flags_promise(flags), &in);
    tern_map_descriptor_make(map, &k, value, value_bytes, &in.d);
    in.only_new = only_new;
    in.own_only = tern_map_in_handler(worker);
    const tern_path_target target = tern_table_target(map->table, owner);
    const tern_pick pick = tern_path_take(worker, TERN_PATH_INSERT, &target, tern_flags_way(flags),
                                          map->table->call_only ? TERN_BY_CALL : TERN_AUTO);
    status = tern_map_may_run(worker, map, owner, pick.via, name);
    if (status == TERN_OK)
        status = tern_map_insertion_do(worker, map, owner,
                                       !tern_map_in_place(worker, map, owner, pick.via), &in);
    tern_selector_done(worker, &pick, &target, status);
    tern_block_free(worker, map, in.old);
    if (status == TERN_OK && existed != NULL)
        *existed = in.existed;
    return tern_hashtable_outcome(map->table, owner, status);
}

tern_status tern_map_insert(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
                            const void *value, size_t value_bytes, tern_flags flags, int *existed) {
    return map_insert(worker, map, key, key_bytes, value, value_bytes, false, flags, existed,
                      "tern_map_insert");
}

tern_status tern_map_insert_new(tern_worker *worker, tern_map *map, const void *key,
                                size_t key_bytes, const void *value, size_t value_bytes,
                                tern_flags flags, int *existed) {
    return map_insert(worker, map, key, key_bytes, value, value_bytes, true, flags, existed,
                      "tern_map_insert_new");
}

tern_status tern_map_erase(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
                           tern_flags flags) {
    static const char name[] = "tern_map_erase";
    tern_status status = tern_map_check(worker, map, key, key_bytes, flags, TERN_READ_ONLY, name);
    if (status != TERN_OK)
        return status;
    tern_map_key k;
    tern_map_key_make(map, key, key_bytes, &k);
    const uint32_t owner = tern_hash_owner(map->table, k.hash);
    tern_ptr old = TERN_NULL;
    const tern_path_target target = tern_table_target(map->table, owner);
    const tern_pick pick = tern_path_take(worker, TERN_PATH_INSERT, &target, tern_flags_way(flags),
                                          map->table->call_only ? TERN_BY_CALL : TERN_AUTO);
    status = tern_map_may_run(worker, map, owner, pick.via, name);
    if (status == TERN_OK && tern_map_in_place(worker, map, owner, pick.via))
        status = tern_map_remove(worker, map, &k, tern_map_in_handler(worker), &old);
    else if (status == TERN_OK)
        status = tern_map_call_remove(worker, map, owner, &k, &old);
    tern_selector_done(worker, &pick, &target, status);
    tern_block_free(worker, map, old);
    return tern_hashtable_outcome(map->table, owner, status);
}

uint32_t tern_map_owner(const tern_map *map, const void *key, size_t key_bytes) {
    if (map == NULL || (key == NULL && key_bytes > 0) || key_bytes > TERN_MAP_KEY_MAX)
        return UINT32_MAX;
    tern_map_key k;
    tern_map_key_make(map, key, key_bytes, &k);
    return tern_hash_owner(map->table, k.hash);
}
