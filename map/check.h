#ifndef TERN_MAP_CHECK_H
#define TERN_MAP_CHECK_H

/* The first steps of every operation on one key. */

#include "map/map.h"

/* Checks the arguments that all operations have. name: the public function, for messages. */
tern_status tern_map_check(const tern_worker *worker, const tern_map *map, const void *key,
                           size_t key_bytes, tern_flags flags, tern_flags excluded,
                           const char *name);

/* Whether this process does the operation itself: an operation by RMA, or one by call on a key of
 * its own. The latter makes progress first. */
bool tern_map_in_place(tern_worker *worker, const tern_map *map, uint32_t owner, tern_flags via);

#endif
