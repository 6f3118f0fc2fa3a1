#ifndef TERN_MAP_OPERATIONS_H
#define TERN_MAP_OPERATIONS_H

/*
 * The operations themselves. An origin calls them to work by RMA, and the owner calls them in a
 * handler. They return TERN_ERR_FULL and TERN_ERR_NOT_FOUND without a detail.
 *
 * A find linearizes where the table's find does: its descriptor is what the map held then. An
 * insert or an erase linearizes where the table's does.
 */

#include "map/block.h"

/* Puts a descriptor under a key. [out] old: the block that it replaced, which the caller has to
 * give back, or TERN_NULL. TERN_ERR_EXISTS: the map holds another key with the same fingerprint. */
tern_status tern_map_put(tern_worker *worker, const tern_map *map, const tern_map_key *key,
                         const tern_map_descriptor *d, bool only_new, tern_flags promise,
                         bool *existed, tern_ptr *old);

/* Erases a key. [out] old: the block of its value, which the caller has to give back, or
 * TERN_NULL. */
tern_status tern_map_remove(tern_worker *worker, const tern_map *map, const tern_map_key *key,
                            tern_ptr *old);

/* Finds a key. [out] d: its descriptor. */
tern_status tern_map_look(tern_worker *worker, const tern_map *map, const tern_map_key *key,
                          tern_flags promise, tern_map_descriptor *d);

#endif
