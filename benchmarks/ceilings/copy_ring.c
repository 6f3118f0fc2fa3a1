/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Bare bytes one way: payloads are copied one behind the other into a ring in the consumer's
 * memory, without headers or calls. The producer's position is published every 4 KiB and the
 * consumer's at each half ring: without them, the producer would overwrite bytes that nobody has
 * read. The consumer loads a word of each line, so that all lines travel.
 */

#include "ceilings.h"
#include "wait.h"

#include <string.h>

enum { LINE = 64, AHEAD = 1024, BATCH = 4096 };

void ceiling_copy_ring_make(ceiling_copy_ring *ring, char *data, uint64_t *produced,
                            uint64_t *consumed, uint64_t bytes, uint64_t payload) {
    *ring = (ceiling_copy_ring){
        .data = data, .produced = produced, .consumed = consumed, .payload = payload};
    ring->bytes = ring->limit = bytes / payload * payload;
}

/* Waits until the other side's position is at least least. */
static uint64_t await(const uint64_t *position, uint64_t least) {
    uint64_t is;
    /* pairs with the release stores of either position */
    for (unsigned looks = 1; (is = __atomic_load_n(position, __ATOMIC_ACQUIRE)) < least; looks++)
        ceiling_wait(looks);
    return is;
}

/* Inlined with a constant for bytes. */
static inline __attribute__((always_inline)) void
produce(ceiling_copy_ring *ring, uint64_t *payload, uint64_t bytes, uint64_t n) {
    char *data = ring->data;
    uint64_t position = ring->position, offset = ring->offset, i = 0;
    while (i < n) {
        uint64_t batch = BATCH / bytes < n - i ? BATCH / bytes : n - i;
        uint64_t most = (ring->bytes - offset) / bytes;
        if (batch > most)
            batch = most;
        if (position + batch * bytes > ring->limit)
            ring->limit =
                ring->bytes + await(ring->consumed, position + batch * bytes - ring->bytes);
        for (const uint64_t end = i + batch; i < end; offset += bytes) {
            uint64_t ahead = offset + AHEAD < ring->bytes ? offset + AHEAD : offset;
            for (uint64_t line = 0; line < bytes; line += LINE)
                ceiling_own_line(data + ahead + line);
            payload[0] = ++i;
            __asm__ volatile("" : : "r"(payload) : "memory");
            memcpy(data + offset, payload, bytes);
        }
        position += batch * bytes;
        if (offset == ring->bytes)
            offset = 0;
        __atomic_store_n(ring->produced, position, __ATOMIC_RELEASE);
    }
    ring->position = position;
    ring->offset = offset;
}

void ceiling_copy_ring_produce(ceiling_copy_ring *ring, uint64_t *payload, uint64_t n) {
    if (ring->payload == 8)
        produce(ring, payload, 8, n);
    else if (ring->payload == 64)
        produce(ring, payload, 64, n);
    else
        produce(ring, payload, 256, n);
}

uint64_t ceiling_copy_ring_consume(ceiling_copy_ring *ring, uint64_t n) {
    const uint64_t end = ring->position + n * ring->payload;
    const uint64_t step = ring->payload < LINE ? ring->payload : LINE;
    uint64_t position = ring->position, offset = ring->offset, sum = 0;
    while (position < end) {
        uint64_t until = await(ring->produced, position + 1);
        while (position < until) {
            uint64_t word;
            memcpy(&word, ring->data + offset, sizeof word);
            sum += word;
            position += step;
            offset = offset + step < ring->bytes ? offset + step : 0;
        }
        if (position - ring->told >= ring->bytes / 2) {
            ring->told = position;
            __atomic_store_n(ring->consumed, position, __ATOMIC_RELEASE);
        }
    }
    ring->position = position;
    ring->offset = offset;
    return sum;
}
