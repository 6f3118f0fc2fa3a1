#include "tern/map.h"

#include "map/op/op.h"

/* The public operations on one key that wait, and the first and last steps of all operations. */

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
        status = tern_fail(TERN_ERR_RANGE, "%s: key_bytes is %zu; at most %u are allowed", name,
                           key_bytes, TERN_MAP_KEY_MAX);
    return status;
}

tern_status tern_map_check_value(const void *value, size_t value_bytes, const char *name) {
    if (value == NULL && value_bytes > 0)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: value is NULL", name);
    if (value_bytes > TERN_MAP_VALUE_MAX)
        return tern_fail(TERN_ERR_RANGE, "%s: value_bytes is %zu; at most %u are allowed", name,
                         value_bytes, TERN_MAP_VALUE_MAX);
    return TERN_OK;
}

tern_status tern_map_op_prepare(tern_map_op *m, tern_op_kind kind, tern_worker *worker,
                                tern_map *map, const void *key, size_t key_bytes, tern_flags flags,
                                const char *name) {
    const tern_flags excluded = kind == TERN_OP_FIND ? TERN_WRITE_ONLY : TERN_READ_ONLY;
    tern_status status = tern_map_check(worker, map, key, key_bytes, flags, excluded, name);
    if (status != TERN_OK)
        return status;
    tern_map_key_make(map, key, key_bytes, &m->key);
    tern_map_op_init(m, kind, worker, map,
                     kind == TERN_OP_ERASE ? TERN_READ_WRITE : tern_flags_promise(flags));
    return tern_hashtable_check_owner(map->table, m->owner, flags, name);
}

/* Not inlined, so that a caller which asks no question needs no stack for it. */
static __attribute__((noinline)) tern_status map_question(const tern_map_op *m, tern_path_kind kind,
                                                          bool may_measure, tern_flags flags,
                                                          const char *name, tern_pick *pick) {
    tern_path_question question =
        tern_map_question(tern_map_op_worker(m), m->map, m->owner, kind, flags, name);
    question.may_measure = may_measure;
    return tern_choose_at_length(&question, pick);
}

tern_status tern_map_op_choose(tern_map_op *m, tern_path_kind kind, bool may_measure,
                               tern_flags flags, const char *name, tern_pick *pick) {
    tern_worker *worker = tern_map_op_worker(m);
    const tern_hashtable *table = m->map->table;
    tern_status status = tern_chosen_at_once(worker, flags, kind, table->call_only,
                                             !tern_op_is_remote(table, m->owner), pick)
                             ? TERN_OK
                             : map_question(m, kind, may_measure, flags, name, pick);
    if (status != TERN_OK)
        return status;
    const bool finds = m->op.kind == TERN_OP_FIND, handler = tern_map_in_handler(worker);
    m->by_call = pick->path == TERN_PATH_CALL;
    m->at_hand = handler && !finds;
    m->value_bytes = 0;
    if (finds ? !m->by_call : handler && pick->path == TERN_PATH_DIRECT)
        return TERN_OK;
    return tern_worker_may_wait(worker, name);
}

/* Gives back the block that the op has replaced. Returns the outcome, with its detail. */
static tern_status op_outcome(tern_map_op *m, tern_status status) {
    if (status == TERN_OK)
        tern_block_free(tern_map_op_worker(m), m->map, m->old);
    return tern_hashtable_outcome(m->map->table, m->owner, status);
}

tern_status tern_map_op_finish(tern_map_op *m) { return op_outcome(m, tern_map_op_run(m)); }

tern_status tern_map_op_do(tern_map_op *m, tern_path_kind kind, tern_flags flags,
                           const char *name) {
    tern_pick pick;
    tern_status status = tern_map_op_choose(m, kind, true, flags, name, &pick);
    if (status != TERN_OK)
        return status;
    status = tern_map_op_run(m);
    tern_pick_done(tern_map_op_worker(m), &pick, status);
    return op_outcome(m, status);
}

static tern_status map_insert(tern_op_kind kind, tern_worker *worker, tern_map *map,
                              const void *key, size_t key_bytes, const void *value,
                              size_t value_bytes, tern_flags flags, int *existed,
                              const char *name) {
    tern_map_op m;
    tern_status status = tern_map_op_prepare(&m, kind, worker, map, key, key_bytes, flags, name);
    if (status == TERN_OK)
        status = tern_map_check_value(value, value_bytes, name);
    if (status != TERN_OK)
        return status;
    tern_map_op_give(&m, value, value_bytes);
    status = tern_map_op_do(&m, TERN_PATH_INSERT, flags, name);
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
    tern_map_op m;
    const tern_status status =
        tern_map_op_prepare(&m, TERN_OP_ERASE, worker, map, key, key_bytes, flags, name);
    return status == TERN_OK ? tern_map_op_do(&m, TERN_PATH_INSERT, flags, name) : status;
}

tern_status tern_map_find(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
                          tern_flags flags, void *value, size_t room, size_t *value_bytes) {
    static const char name[] = "tern_map_find";
    tern_map_op m;
    tern_status status =
        tern_map_op_prepare(&m, TERN_OP_FIND, worker, map, key, key_bytes, flags, name);
    if (status == TERN_OK && value == NULL && room > 0)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: value is NULL", name);
    if (status != TERN_OK)
        return status;
    tern_map_op_take(&m, value, room);
    status = tern_map_op_do(&m, TERN_PATH_FIND, flags, name);
    if (value_bytes != NULL &&
        (status == TERN_OK || (status == TERN_ERR_RANGE && m.value_bytes > room)))
        *value_bytes = m.value_bytes;
    return status;
}

/* If the answer to a call holds the value, it goes into room on the stack, so no second trip is
 * needed. */
tern_status tern_map_find_alloc(tern_worker *worker, tern_map *map, const void *key,
                                size_t key_bytes, tern_flags flags, void **value,
                                size_t *value_bytes) {
    static const char name[] = "tern_map_find_alloc";
    tern_map_op m;
    tern_status status =
        tern_map_op_prepare(&m, TERN_OP_FIND, worker, map, key, key_bytes, flags, name);
    if (status == TERN_OK && (value == NULL || value_bytes == NULL))
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                           value == NULL ? "value" : "value_bytes");
    if (status != TERN_OK)
        return status;
    char room[TERN_RESULT_MAX];
    tern_map_op_take(&m, room, sizeof room);
    m.allocates = true;
    status = tern_map_op_do(&m, TERN_PATH_FIND, flags, name);
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
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: owner is %u; there are %u ranks", name, owner,
                           map->table->ranks);
    if (status != TERN_OK)
        return status;
    tern_worker *asks = (tern_worker *)(uintptr_t)worker; /* a question may settle replies */
    const tern_path_question questions[] = {
        tern_map_question(asks, map, owner, TERN_PATH_FIND, TERN_AUTO, "find"),
        tern_map_question(asks, map, owner, TERN_PATH_INSERT, TERN_AUTO, "insert"),
        tern_map_question(asks, map, owner, TERN_PATH_BY_REACH, TERN_AUTO, "modify")};
    return tern_path_explain(questions, sizeof questions / sizeof *questions, text, room, bytes,
                             name);
}
