#ifndef TERN_MAP_CHECK_H
#define TERN_MAP_CHECK_H

/* What every operation on one key begins with. */

#include "map/map.h"

/* Refuses arguments that every operation refuses; name is the function's. */
tern_status tern_map_check(const tern_worker *worker, const tern_map *map, const void *key,
                           size_t key_bytes, tern_promise promise, tern_promise excluded,
                           tern_via via, const char *name);

/* Whether this process does the operation itself: one by RMA, and one by call on its own keys,
 * which makes progress even then. */
bool tern_map_in_place(tern_worker *worker, const tern_map *map, uint32_t owner, tern_via via);

#endif
