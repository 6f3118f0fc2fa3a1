#include "tern/map.h"

#include "map/op/op.h"

/* The public form of a modification (map/op/modify.c). */

static tern_status modify_check(const char *name, const tern_worker *worker, const tern_map *map,
                                const void *key, size_t key_bytes,
                                const tern_map_modifier *modifier, const void *argument,
                                size_t bytes, tern_absent absent, tern_flags flags,
                                const void *result, size_t capacity) {
    tern_status status = tern_map_check(worker, map, key, key_bytes, flags, TERN_READ_ONLY, name);
    if (status != TERN_OK)
        return status;
    if (modifier == NULL || (argument == NULL && bytes > 0) || (result == NULL && capacity > 0))
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         modifier == NULL                ? "modifier"
                         : argument == NULL && bytes > 0 ? "argument"
                                                         : "result");
    if ((unsigned)absent > TERN_ABSENT_INSERT)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: absent %d is none", name, (int)absent);
    return TERN_OK;
}

tern_status tern_map_modify_run(tern_map_op *m, tern_flags flags, const char *name) {
    tern_worker *worker = tern_map_op_worker(m);
    const tern_map *map = m->map;
    tern_status status = tern_hashtable_check_owner(map->table, m->owner, flags, name);
    if (status != TERN_OK)
        return status;
    const tern_flags via = tern_map_way(map, m->owner, flags);
    status = tern_map_may_run(worker, map, m->owner, via, name);
    if (status != TERN_OK)
        return status;
    m->by_call = !tern_map_in_place(worker, map, m->owner, via);
    status = tern_map_op_run(m);
    if (status != TERN_OK)
        return tern_hashtable_outcome(map->table, m->owner, status);
    tern_block_free(worker, map, m->old);
    return TERN_OK;
}

tern_status tern_map_modify(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
                            const tern_map_modifier *modifier, const void *argument, size_t bytes,
                            tern_absent absent, tern_flags flags, void *result, size_t capacity,
                            size_t *result_bytes, int *existed) {
    static const char name[] = "tern_map_modify";
    tern_status status = modify_check(name, worker, map, key, key_bytes, modifier, argument, bytes,
                                      absent, flags, result, capacity);
    if (status != TERN_OK)
        return status;
    tern_map_op m;
    uint64_t room[TERN_RESULT_MAX / 8];
    tern_map_key_make(map, key, key_bytes, &m.key);
    tern_map_op_init_modify(&m, worker, map, modifier, absent == TERN_ABSENT_INSERT, argument,
                            bytes, room, sizeof room);
    status = tern_map_modify_run(&m, flags, name);
    if (status != TERN_OK)
        return status;
    const size_t got = m.info.result_bytes;
    if (got > capacity)
        return tern_fail(TERN_ERR_RANGE, "the result has %zu bytes; there is room for %zu", got,
                         capacity);
    if (got > 0)
        memcpy(result, room, got);
    if (result_bytes != NULL)
        *result_bytes = got;
    if (existed != NULL)
        *existed = m.existed;
    return TERN_OK;
}
