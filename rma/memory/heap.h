#ifndef TERN_RMA_MEMORY_HEAP_H
#define TERN_RMA_MEMORY_HEAP_H

/*
 * The heap is the general allocator of a range of offsets: best fit, coalescing. The range has
 * parts; a caller names the part from which it prefers a piece. The heap never touches the memory
 * that it manages: its records are private to the owner, so no other rank can damage them. Not
 * thread-safe; the caller locks.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define TERN_HEAP_GRANULE 64u

typedef struct tern_heap tern_heap;

/* Creates a heap for the range from cut[0] to cut[parts]. Part i is [cut[i], cut[i + 1]), which has
 * at least one byte. Each cut is a multiple of the granule. */
tern_status tern_heap_create(const uint64_t *cut, size_t parts, tern_heap **heap);
void tern_heap_destroy(tern_heap *heap);

/* Takes a piece from one part. alignment: a power of two, at least the granule. TERN_ERR_MEMORY: no
 * free piece of the part is large enough. */
tern_status tern_heap_take_in(tern_heap *heap, size_t part, uint64_t bytes, uint64_t alignment,
                              uint64_t *offset);
/* The same, but if the part has no such piece, tries the parts after it, in a circle, and then a
 * piece that lies in several parts. */
tern_status tern_heap_take(tern_heap *heap, size_t part, uint64_t bytes, uint64_t alignment,
                           uint64_t *offset);
/* Takes the free piece with the lowest offset that is at least lowest, in any part. It looks at
 * every piece. */
tern_status tern_heap_take_from(tern_heap *heap, uint64_t lowest, uint64_t bytes,
                                uint64_t alignment, uint64_t *offset);
/* Gives a piece back. TERN_ERR_ARGUMENT: no taken piece starts at offset. */
tern_status tern_heap_give(tern_heap *heap, uint64_t offset);

/* [out] bytes: of the piece that starts at offset, a multiple of the granule. TERN_ERR_ARGUMENT: no
 * taken piece starts there. */
tern_status tern_heap_measure(const tern_heap *heap, uint64_t offset, uint64_t *bytes);

uint64_t tern_heap_in_use(const tern_heap *heap);

#endif
