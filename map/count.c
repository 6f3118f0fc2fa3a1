#include "map/op/op.h"

/* Values that are numbers: modifications that the map makes itself (map/op/modify.c). */

static tern_status count_do(tern_op_kind kind, tern_worker *worker, tern_map *map, const void *key,
                            size_t key_bytes, const uint64_t number[2], tern_flags flags,
                            uint64_t *before, const char *name) {
    tern_map_op m;
    tern_status status = tern_map_op_prepare(&m, kind, worker, map, key, key_bytes, flags, name);
    if (status != TERN_OK)
        return status;
    tern_map_op_init_number(&m, kind, worker, map, number[0], number[1]);
    status = tern_map_op_do(&m, TERN_PATH_BY_REACH, flags, name);
    if (status == TERN_OK && before != NULL)
        *before = m.before;
    return status;
}

tern_status tern_map_add(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
                         uint64_t delta, tern_flags flags, uint64_t *before) {
    return count_do(TERN_OP_ADD, worker, map, key, key_bytes, (uint64_t[]){delta, 0}, flags, before,
                    "tern_map_add");
}

tern_status tern_map_compare_swap(tern_worker *worker, tern_map *map, const void *key,
                                  size_t key_bytes, uint64_t expected, uint64_t desired,
                                  tern_flags flags, uint64_t *before) {
    return count_do(TERN_OP_COMPARE_SWAP, worker, map, key, key_bytes,
                    (uint64_t[]){expected, desired}, flags, before, "tern_map_compare_swap");
}
