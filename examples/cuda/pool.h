/*
 * Memory that a host hands out to a kernel. It cannot be had from CUDA then: an allocation may wait
 * for all kernels to end, among them the one that waits for it. So there is a pool, first fit in
 * pieces of 64 bytes; one thread at a time.
 */

#ifndef TERN_EXAMPLES_CUDA_POOL_H
#define TERN_EXAMPLES_CUDA_POOL_H

#include <stdint.h>

enum { POOL_PIECE = 64 };

typedef struct pool {
    uint32_t *runs; /* of each piece: pieces of the allocation that begins with it, 0: none does */
    uint32_t pieces;
} pool;

/* Not 0: there is no memory. */
int pool_open(pool *self, uint32_t bytes);
/* The offset of so many bytes; negative: there is no room, or none are wanted. */
int64_t pool_take(pool *self, uint64_t bytes);
/* Not 0: nothing begins there. */
int pool_give(pool *self, uint64_t offset);
/* Whether these bytes lie in one allocation. */
int pool_holds(const pool *self, uint64_t offset, uint64_t bytes);
/* Allocations that have not been given back. */
uint32_t pool_close(pool *self);

#endif
