#ifndef TERN_MAP_BLOCK_H
#define TERN_MAP_BLOCK_H

/*
 * Blocks: memory for large keys and values. The rank in whose segment a block lies allocates and
 * writes it, before any descriptor names it. The operation that replaces or erases the descriptor
 * gives the block back: the last descriptor that the table has shown to its hook is the one that
 * this operation, and no other, has replaced (tern_op_hook).
 *
 * Memory order. With shared memory, the table publishes an entry with a release, which orders the
 * block's stores before its descriptor; a find that has read the entry sees the whole block.
 * Without shared memory, the block's stores are local stores before a message or a put of the same
 * process. If a find still reads the block too early, or after its memory was given to another
 * block, the check of the words fails.
 */

#include "map/map.h"

/* Returns the global address of a large descriptor's block. */
tern_ptr tern_block_gaddr(const uint64_t *d);

/* Allocates a block in this rank's segment, writes it, and completes its descriptor.
 * TERN_ERR_MEMORY. */
tern_status tern_block_make(tern_worker *worker, const tern_map *map, const tern_map_key *key,
                            const void *value, size_t value_bytes, tern_map_descriptor *d);

/* Gives a block back: the caller's own at once, another rank's by a call without waiting, which
 * goes as a message if there is no memory for a ring to that rank. TERN_NULL is allowed. A block
 * whose rank has died is gone. A handler may give back blocks of its own rank only. */
void tern_block_free(tern_worker *worker, const tern_map *map, tern_ptr block);

/* What is known of the block of a descriptor. */
typedef enum tern_block_verdict {
    TERN_BLOCK_UNREAD,
    TERN_BLOCK_STALE, /* the block does not hold (not yet, or no longer) what the descriptor says */
    TERN_BLOCK_OTHER, /* the block is valid and holds another key */
    TERN_BLOCK_MINE   /* the block is valid and holds the key */
} tern_block_verdict;

/* Reads the block that a descriptor names. [out] value: room for the value's bytes, which the
 * function may write under every verdict. If load/store reaches the block, the value is copied
 * once, and memory is allocated only for keys of more than 1,024 bytes. Returns the statuses of
 * tern_get and TERN_ERR_MEMORY. */
tern_status tern_block_read(tern_worker *worker, const tern_map *map, const uint64_t *d,
                            const tern_map_key *key, void *value, tern_block_verdict *verdict);

/* Whether load/store reaches the block of a descriptor. */
bool tern_block_is_direct(const tern_worker *worker, const uint64_t *d);

/* The value's distance from the block's start, and the block's size, both in bytes. */
static inline size_t tern_block_value_at(const uint64_t *d) {
    return (tern_map_descriptor_key_bytes(d) + 7) & ~(size_t)7;
}
static inline size_t tern_block_bytes(const uint64_t *d) {
    return tern_block_value_at(d) + tern_map_descriptor_value_bytes(d);
}

/* Whether a copy of a block, 8-byte aligned, holds what its descriptor says. */
bool tern_block_is_whole(const tern_map *map, const uint64_t *d, const char *copy);

#endif
