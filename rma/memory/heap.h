#ifndef TERN_RMA_MEMORY_HEAP_H
#define TERN_RMA_MEMORY_HEAP_H

/*
 * Heap: the general allocator of a range of offsets, best fit, coalescing. It never touches the
 * memory that it manages: its books are private to the owner, so no other rank can spoil them. Not
 * thread-safe; the caller locks.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define TERN_HEAP_GRANULE 64u

typedef struct tern_heap tern_heap;

/* Manages [start, start + bytes); both multiples of the granule. */
tern_status tern_heap_create(uint64_t start, uint64_t bytes, tern_heap **heap);
void tern_heap_destroy(tern_heap *heap);

/* alignment: a power of two, at least the granule. TERN_ERR_MEMORY: no piece is large enough. */
tern_status tern_heap_take(tern_heap *heap, uint64_t bytes, uint64_t alignment, uint64_t *offset);
/* TERN_ERR_ARGUMENT: nothing that was taken starts at offset. */
tern_status tern_heap_give(tern_heap *heap, uint64_t offset);

uint64_t tern_heap_in_use(const tern_heap *heap);

#endif
