#include "tern/map.h"

#include "map/op/op.h"

/* The public form of a modification (map/op/modify.c). */

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
        status = tern_modify_check(name, modifier != NULL, &o);
    if (status != TERN_OK)
        return status;
    uint64_t room[TERN_RESULT_MAX / 8];
    tern_map_op_init_modify(&m, worker, map, modifier, o.absent == TERN_ABSENT_INSERT, o.argument,
                            o.argument_bytes, room, sizeof room);
    status = tern_map_op_do(&m, TERN_PATH_BY_REACH, flags, name);
    if (status != TERN_OK)
        return status;
    status = tern_modify_result(&o, room, m.info.result_bytes);
    if (status == TERN_OK && existed != NULL)
        *existed = m.existed;
    return status;
}
