#ifndef TERN_MAP_MODIFY_INSIDE_H
#define TERN_MAP_MODIFY_INSIDE_H

/* Adds to numbers, for requests and batches (count.c). */

#include "map/op/op.h"

extern const tern_map_modifier *const tern_map_adding;

/* An add of a number to the key of m. [out] before: the number that was there; both stay until the
 * op is done. */
static inline void tern_map_op_init_add(tern_map_op *m, tern_worker *worker, const tern_map *map,
                                        const uint64_t *delta, uint64_t *before) {
    tern_map_op_init_modify(m, worker, map, tern_map_adding, true, delta, sizeof *delta, before,
                            sizeof *before);
}

#endif
