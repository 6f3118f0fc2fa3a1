#include "tern/map.h"

#include "map/op/op.h"

/* The public form of a modification (map/op/modify.c). */

static tern_status modify_check(const char *name, const tern_map_modifier *modifier,
                                const void *argument, size_t bytes, tern_absent absent,
                                const void *result, size_t capacity) {
    if (modifier == NULL || (argument == NULL && bytes > 0) || (result == NULL && capacity > 0))
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         modifier == NULL                ? "modifier"
                         : argument == NULL && bytes > 0 ? "argument"
                                                         : "result");
    if ((unsigned)absent > TERN_ABSENT_INSERT)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: absent is %d; pass TERN_ABSENT_FAIL or TERN_ABSENT_INSERT", name,
                         (int)absent);
    return TERN_OK;
}

tern_status tern_map_modify(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
                            const tern_map_modifier *modifier, const void *argument, size_t bytes,
                            tern_absent absent, tern_flags flags, void *result, size_t capacity,
                            size_t *result_bytes, int *existed) {
    static const char name[] = "tern_map_modify";
    tern_map_op m;
    tern_status status =
        tern_map_op_prepare(&m, TERN_OP_MODIFY, worker, map, key, key_bytes, flags, name);
    if (status == TERN_OK)
        status = modify_check(name, modifier, argument, bytes, absent, result, capacity);
    if (status != TERN_OK)
        return status;
    uint64_t room[TERN_RESULT_MAX / 8];
    tern_map_op_init_modify(&m, worker, map, modifier, absent == TERN_ABSENT_INSERT, argument,
                            bytes, room, sizeof room);
    status = tern_map_op_do(&m, TERN_PATH_BY_REACH, flags, name);
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
