#ifndef TERN_MAP_CALL_H
#define TERN_MAP_CALL_H

/*
 * Operations by call. The owner makes the blocks of what comes in a message, so that it reaches
 * them when it has to; what is too large for a ring stays in the caller's segment, and the message
 * has the descriptor alone. What a handler may not do, to get a block from another node or to give
 * one back to another rank, is left to the caller, who is told the descriptor or the block.
 */

#include "hashtable/call.h"
#include "map/block.h"

/* In a handler: the map that a message of bytes is for, at least least of them; NULL: none. */
tern_map *tern_map_of_call(const tern_worker *worker, const void *message, size_t bytes,
                           size_t least);

/* value: of a large one only. Arguments and errors otherwise as tern_map_put. */
tern_status tern_map_call_put(tern_worker *worker, const tern_map *map, uint32_t owner,
                              const tern_map_key *key, tern_map_descriptor *d, const void *value,
                              bool only_new, bool *existed, tern_ptr *old);

/* As tern_map_remove. */
tern_status tern_map_call_remove(tern_worker *worker, const tern_map *map, uint32_t owner,
                                 const tern_map_key *key, tern_ptr *old);

/* As tern_map_look. [out] verdict: TERN_BLOCK_MINE: the value of a large one came too, and is in
 * value; TERN_BLOCK_STALE: it is still to be read. */
tern_status tern_map_call_look(tern_worker *worker, const tern_map *map, uint32_t owner,
                               const tern_map_key *key, tern_map_descriptor *d, void *value,
                               size_t room, tern_block_verdict *verdict);

#endif
