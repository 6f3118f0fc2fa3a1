#ifndef TERN_MAP_BLOCK_H
#define TERN_MAP_BLOCK_H

/*
 * Blocks: memory for keys and values that are large, each allocated and written by the rank in
 * whose segment it lies, before any descriptor names it, and given back by whoever replaced or
 * erased that descriptor: the table shows each to one only (hashtable/witness.h).
 *
 * Memory order. Near, a block's stores are ordered before its descriptor by the release with which
 * the table publishes an entry, and a find that has read that entry sees all of the block. Far they
 * are local stores before a message or a put of the same process. What comes too late all the same,
 * or too early because the block is another's by now, the check refuses.
 */

#include "map/map.h"

/* Where a large descriptor's block lies. */
tern_ptr tern_block_place(const uint64_t *d);

/* Allocates a block in this rank's segment, writes it, and completes its descriptor.
 * TERN_ERR_MEMORY. */
tern_status tern_block_make(tern_worker *worker, const tern_map *map, const tern_map_key *key,
                            const void *value, size_t value_bytes, tern_map_descriptor *d);

/* Gives a block back: one's own at once, another rank's by a call that is not waited for, which
 * goes by message if there is no memory for a ring to that rank. TERN_NULL is fine. A block whose
 * rank has died is gone. Not in handlers, but of one's own blocks. */
void tern_block_free(tern_worker *worker, const tern_map *map, tern_ptr block);

/* What reading a block came to. */
typedef enum tern_block_verdict {
    TERN_BLOCK_STALE, /* it does not hold (or not yet, or no longer) what the descriptor says */
    TERN_BLOCK_OTHER, /* it does, and it is another key's */
    TERN_BLOCK_MINE
} tern_block_verdict;

/* Reads the block that a descriptor names. [out] value: room for the value's bytes, written to
 * whatever the verdict. Where load/store reaches the block it is copied once and nothing is
 * allocated, but for keys of more than 512 bytes. Errors as tern_get; TERN_ERR_MEMORY. */
tern_status tern_block_read(tern_worker *worker, const tern_map *map, const uint64_t *d,
                            const tern_map_key *key, void *value, tern_block_verdict *verdict);

/* Whether load/store reaches the block of a descriptor. */
bool tern_block_is_near(const tern_worker *worker, const uint64_t *d);

/* Bytes from the block's start to its value, and of all of it. */
static inline size_t tern_block_value_at(const uint64_t *d) {
    return (tern_map_descriptor_key_bytes(d) + 7) & ~(size_t)7;
}
static inline size_t tern_block_bytes(const uint64_t *d) {
    return tern_block_value_at(d) + tern_map_descriptor_value_bytes(d);
}

/* Whether a copy of a block, 8-byte aligned, is what its descriptor says. */
bool tern_block_is_whole(const tern_map *map, const uint64_t *d, const char *copy);

#endif
