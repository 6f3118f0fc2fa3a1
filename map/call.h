#ifndef TERN_MAP_CALL_H
#define TERN_MAP_CALL_H

/*
 * Operations by call. The owner makes the block for a key and value that come in a message, so that
 * later handlers reach it by load and store. A key and value too large for a ring stay in a block
 * of the caller's segment, and the message carries the descriptor alone. A handler must not get a
 * block from another node or give a block back to another rank. It answers with the descriptor or
 * the block, and the caller does these things.
 */

#include "hashtable/call.h"
#include "map/block.h"

/* In a handler: returns the map that a message is for; NULL if there is none, or the message has
 * fewer than least bytes. */
tern_map *tern_map_of_call(const tern_worker *worker, const void *message, size_t bytes,
                           size_t least);

/* The same as tern_map_put, by a call to the owner. value: used only if the descriptor is large. */
tern_status tern_map_call_put(tern_worker *worker, const tern_map *map, uint32_t owner,
                              const tern_map_key *key, tern_map_descriptor *d, const void *value,
                              bool only_new, bool *existed, tern_ptr *old);

/* The same as tern_map_remove, by a call to the owner. */
tern_status tern_map_call_remove(tern_worker *worker, const tern_map *map, uint32_t owner,
                                 const tern_map_key *key, tern_ptr *old);

/* The same as tern_map_look, by a call to the owner. [out] verdict: TERN_BLOCK_MINE if the answer
 * also had the value of a large descriptor, which is now in value; TERN_BLOCK_STALE if the caller
 * has to read it. */
tern_status tern_map_call_look(tern_worker *worker, const tern_map *map, uint32_t owner,
                               const tern_map_key *key, tern_map_descriptor *d, void *value,
                               size_t room, tern_block_verdict *verdict);

#endif
