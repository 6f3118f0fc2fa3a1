#include "tern/map.h"

#include "map/op/op.h"
#include "src/progress/progress.h"

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

/* Does a change, here or by a call, and gives back what it has replaced. */
TERN_ALWAYS_INLINE tern_status map_change(tern_map_op *m, tern_flags flags, const char *name) {
    tern_worker *worker = tern_map_op_worker(m);
    const tern_map *map = m->map;
    tern_status status = tern_hashtable_check_owner(map->table, m->owner, flags, name);
    if (status != TERN_OK)
        return status;
    m->at_hand = tern_map_in_handler(worker);
    const tern_path_target target = tern_table_target(map->table, m->owner);
    const tern_pick pick = tern_path_take(worker, TERN_PATH_INSERT, &target, tern_flags_way(flags),
                                          map->table->call_only ? TERN_BY_CALL : TERN_AUTO);
    status = tern_map_may_run(worker, map, m->owner, pick.via, name);
    if (status == TERN_OK) {
        m->by_call = !tern_map_in_place(worker, map, m->owner, pick.via);
        status = tern_map_op_run(m);
    }
    tern_selector_done(worker, &pick, &target, status);
    tern_block_free(worker, map, m->old);
    return tern_hashtable_outcome(map->table, m->owner, status);
}

static tern_status map_insert(tern_op_kind kind, tern_worker *worker, tern_map *map,
                              const void *key, size_t key_bytes, const void *value,
                              size_t value_bytes, tern_flags flags, int *existed,
                              const char *name) {
    tern_status status = tern_map_check(worker, map, key, key_bytes, flags, TERN_READ_ONLY, name);
    if (status == TERN_OK)
        status = tern_map_check_value(value, value_bytes, name);
    if (status != TERN_OK)
        return status;
    tern_map_op m;
    tern_map_key_make(map, key, key_bytes, &m.key);
    tern_map_op_init_change(&m, kind, worker, map, tern_flags_promise(flags), value, value_bytes);
    status = map_change(&m, flags, name);
    if (status == TERN_OK && existed != NULL)
        *existed = m.existed;
    return status;
}

tern_status tern_map_insert(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
                            const void *value, size_t value_bytes, tern_flags flags, int *existed) {
    return map_insert(TERN_OP_INSERT, worker, map, key, key_bytes, value, value_bytes, flags,
                      existed, "tern_map_insert");
}

tern_status tern_map_insert_new(tern_worker *worker, tern_map *map, const void *key,
                                size_t key_bytes, const void *value, size_t value_bytes,
                                tern_flags flags, int *existed) {
    return map_insert(TERN_OP_INSERT_NEW, worker, map, key, key_bytes, value, value_bytes, flags,
                      existed, "tern_map_insert_new");
}

tern_status tern_map_erase(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
                           tern_flags flags) {
    static const char name[] = "tern_map_erase";
    tern_status status = tern_map_check(worker, map, key, key_bytes, flags, TERN_READ_ONLY, name);
    if (status != TERN_OK)
        return status;
    tern_map_op m;
    tern_map_key_make(map, key, key_bytes, &m.key);
    tern_map_op_init(&m, TERN_OP_ERASE, worker, map, TERN_READ_WRITE);
    return map_change(&m, flags, name);
}

/* The whole of a find, by RMA or by call. value_bytes: NULL, or set on TERN_OK, and where the value
 * has too little room. */
static tern_status map_find(tern_map_op *m, tern_flags flags, const char *name,
                            size_t *value_bytes) {
    tern_worker *worker = tern_map_op_worker(m);
    const tern_map *map = m->map;
    const size_t room = m->room;
    tern_status status = tern_hashtable_check_owner(map->table, m->owner, flags, name);
    if (status != TERN_OK)
        return status;
    const tern_path_target target = tern_table_target(map->table, m->owner);
    const tern_pick pick = tern_path_take(worker, TERN_PATH_FIND, &target, tern_flags_way(flags),
                                          map->table->call_only ? TERN_BY_CALL : TERN_AUTO);
    m->by_call = !tern_map_in_place(worker, map, m->owner, pick.via);
    status = m->by_call ? tern_worker_may_wait(worker, name) : TERN_OK;
    m->value_bytes = 0;
    if (status == TERN_OK)
        status = tern_map_op_run(m);
    tern_selector_done(worker, &pick, &target, status);
    if (value_bytes != NULL &&
        (status == TERN_OK || (status == TERN_ERR_RANGE && m->value_bytes > room)))
        *value_bytes = m->value_bytes;
    return tern_hashtable_outcome(map->table, m->owner, status);
}

tern_status tern_map_find(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
                          tern_flags flags, void *value, size_t room, size_t *value_bytes) {
    static const char name[] = "tern_map_find";
    tern_status status = tern_map_check(worker, map, key, key_bytes, flags, TERN_WRITE_ONLY, name);
    if (status == TERN_OK && value == NULL && room > 0)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: value is NULL", name);
    if (status != TERN_OK)
        return status;
    tern_map_op m;
    tern_map_key_make(map, key, key_bytes, &m.key);
    tern_map_op_init_find(&m, worker, map, tern_flags_promise(flags), value, room);
    return map_find(&m, flags, name, value_bytes);
}

/* A value that an answer to a call holds comes into room on the stack, and so costs no second
 * trip. */
tern_status tern_map_find_alloc(tern_worker *worker, tern_map *map, const void *key,
                                size_t key_bytes, tern_flags flags, void **value,
                                size_t *value_bytes) {
    static const char name[] = "tern_map_find_alloc";
    tern_status status = tern_map_check(worker, map, key, key_bytes, flags, TERN_WRITE_ONLY, name);
    if (status == TERN_OK && (value == NULL || value_bytes == NULL))
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                           value == NULL ? "value" : "value_bytes");
    if (status != TERN_OK)
        return status;
    char room[TERN_RESULT_MAX];
    tern_map_op m;
    tern_map_key_make(map, key, key_bytes, &m.key);
    tern_map_op_init_find(&m, worker, map, tern_flags_promise(flags), room, sizeof room);
    m.allocates = true;
    status = map_find(&m, flags, name, NULL);
    if (status == TERN_OK && m.value == room) {
        status = tern_map_op_allocate(&m, m.value_bytes > 0 ? m.value_bytes : 1);
        if (status == TERN_OK)
            memcpy(m.value, room, m.value_bytes);
    }
    if (status != TERN_OK) {
        free(m.allocated);
        return status;
    }
    *value = m.allocated;
    *value_bytes = m.value_bytes;
    return TERN_OK;
}

uint32_t tern_map_owner(const tern_map *map, const void *key, size_t key_bytes) {
    if (map == NULL || (key == NULL && key_bytes > 0) || key_bytes > TERN_MAP_KEY_MAX)
        return UINT32_MAX;
    tern_map_key k;
    tern_map_key_make(map, key, key_bytes, &k);
    return tern_hash_owner(map->table, k.hash);
}

tern_status tern_map_explain(const tern_worker *worker, const tern_map *map, uint32_t owner,
                             char *text, size_t room, size_t *bytes) {
    static const char name[] = "tern_map_explain";
    tern_status status = tern_map_check(worker, map, name, 1, 0, TERN_READ_WRITE, name);
    if (status == TERN_OK && owner >= map->table->ranks)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: rank %u of %u", name, owner, map->table->ranks);
    if (status != TERN_OK)
        return status;
    const tern_flags only = map->table->call_only ? TERN_BY_CALL : TERN_AUTO;
    const tern_path_question questions[] = {{"find", TERN_PATH_FIND, only},
                                            {"insert", TERN_PATH_INSERT, only}};
    return tern_path_explain(worker, owner, questions, 2, text, room, bytes, name);
}
