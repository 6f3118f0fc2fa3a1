#include "tern/map.h"

#include "map/op/op.h"

/* The public form of a modification (map/op/modify.c). */

static tern_status modify_check(const char *name, const tern_map_modifier *modifier,
                                const tern_modify_options *o) {
    const bool no_argument = o->argument == NULL && o->argument_bytes > 0;
    if (modifier == NULL || no_argument || (o->result == NULL && o->capacity > 0))
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         modifier == NULL ? "modifier"
                         : no_argument    ? "argument"
                                          : "result");
    if ((unsigned)o->absent > TERN_ABSENT_INSERT)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: absent is %d; pass TERN_ABSENT_FAIL or TERN_ABSENT_INSERT", name,
                         (int)o->absent);
    return TERN_OK;
}

tern_status tern_map_modify(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
                            const tern_map_modifier *modifier, const tern_modify_options *options,
                            tern_flags flags, int *existed) {
    static const char name[] = "tern_map_modify";
    const tern_modify_options o =
        options != NULL ? *options : (tern_modify_options){.argument = NULL};
    tern_map_op m;
    tern_status status =
        tern_map_op_prepare(&m, TERN_OP_MODIFY, worker, map, key, key_bytes, flags, name);
    if (status == TERN_OK)
        status = modify_check(name, modifier, &o);
    if (status != TERN_OK)
        return status;
    uint64_t room[TERN_RESULT_MAX / 8];
    tern_map_op_init_modify(&m, worker, map, modifier, o.absent == TERN_ABSENT_INSERT, o.argument,
                            o.argument_bytes, room, sizeof room);
    status = tern_map_op_do(&m, TERN_PATH_BY_REACH, flags, name);
    if (status != TERN_OK)
        return status;
    const size_t got = m.info.result_bytes;
    if (got > o.capacity)
        return tern_fail(TERN_ERR_RANGE, "the result has %zu bytes; there is room for %zu", got,
                         o.capacity);
    if (got > 0)
        memcpy(o.result, room, got);
    if (o.result_bytes != NULL)
        *o.result_bytes = got;
    if (existed != NULL)
        *existed = m.existed;
    return TERN_OK;
}
