/*
 * Memory that a host hands out to a running kernel. CUDA cannot provide it then: an allocation may
 * wait for all kernels to end, including the one that waits for the memory. So the host has a pool,
 * first fit in pieces of 64 bytes. One thread at a time may use it.
 */

#ifndef TERN_EXAMPLES_CUDA_POOL_H
#define TERN_EXAMPLES_CUDA_POOL_H

#include <stdint.h>

enum { POOL_PIECE = 64 };

typedef struct pool {
    uint32_t *runs; /* for each piece: number of pieces of the allocation that begins with it; 0:
                       none begins there */
    uint32_t pieces;
} pool;

/* Non-zero: there is no memory. */
int pool_open(pool *self, uint32_t bytes);
/* Returns the offset of so many bytes; negative if there is no room, or bytes is 0. */
int64_t pool_take(pool *self, uint64_t bytes);
/* Non-zero: no allocation begins there. */
int pool_give(pool *self, uint64_t offset);
/* Whether these bytes lie in one allocation. */
int pool_holds(const pool *self, uint64_t offset, uint64_t bytes);
/* Returns the number of allocations that have not been given back. */
uint32_t pool_close(pool *self);

#endif
