#include "pool.h"

#include <stdlib.h>

int pool_open(pool *self, uint32_t bytes) {
    self->pieces = bytes / POOL_PIECE;
    self->runs = calloc(self->pieces + 1, sizeof *self->runs);
    return self->runs == NULL;
}

int64_t pool_take(pool *self, uint64_t bytes) {
    uint64_t wanted = bytes / POOL_PIECE + (bytes % POOL_PIECE != 0);
    uint32_t free = 0;
    for (uint32_t i = 0; bytes > 0 && i < self->pieces;) {
        if (self->runs[i] > 0) {
            i += self->runs[i];
            free = 0;
            continue;
        }
        i++;
        if (++free < wanted)
            continue;
        self->runs[i - free] = free;
        return (int64_t)(i - free) * POOL_PIECE;
    }
    return -1;
}

int pool_give(pool *self, uint64_t offset) {
    uint64_t piece = offset / POOL_PIECE;
    if (offset % POOL_PIECE != 0 || piece >= self->pieces || self->runs[piece] == 0)
        return 1;
    self->runs[piece] = 0;
    return 0;
}

int pool_holds(const pool *self, uint64_t offset, uint64_t bytes) {
    uint32_t i = 0;
    while (i < self->pieces) {
        uint64_t begin = (uint64_t)i * POOL_PIECE, room = (uint64_t)self->runs[i] * POOL_PIECE;
        if (offset >= begin && offset - begin < room)
            return bytes <= room - (offset - begin);
        i += self->runs[i] > 0 ? self->runs[i] : 1;
    }
    return 0;
}

uint32_t pool_close(pool *self) {
    uint32_t held = 0;
    for (uint32_t i = 0; i < self->pieces; i++)
        held += self->runs[i] > 0;
    free(self->runs);
    return held;
}
