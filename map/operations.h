#ifndef TERN_MAP_OPERATIONS_H
#define TERN_MAP_OPERATIONS_H

/*
 * The operations themselves, done by whoever calls them: an origin by RMA, or the owner in a
 * handler. They return TERN_ERR_FULL and TERN_ERR_NOT_FOUND without a detail.
 *
 * A find linearizes where the table's find does, and its descriptor is what the map held then. An
 * insert or erase linearizes where the table's does. So the map is the table, seen through its
 * descriptors.
 */

#include "map/block.h"

/* Puts a descriptor under a key. [out] old: the block that it replaced, now the caller's to give
 * back; TERN_NULL: none. TERN_ERR_EXISTS: another key with the same fingerprint is there. */
tern_status tern_map_put(tern_worker *worker, const tern_map *map, const tern_map_key *key,
                         const tern_map_descriptor *d, bool only_new, tern_promise promise,
                         bool *existed, tern_ptr *old);

/* [out] old: as above. */
tern_status tern_map_remove(tern_worker *worker, const tern_map *map, const tern_map_key *key,
                            tern_ptr *old);

/* [out] d: the key's. */
tern_status tern_map_look(tern_worker *worker, const tern_map *map, const tern_map_key *key,
                          tern_promise promise, tern_map_descriptor *d);

#endif
