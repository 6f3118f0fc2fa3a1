/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A ring of one producer and one consumer, with the header a call needs and nothing else.
 *
 *     record      header | payload                    8 bytes, then 8, 64 or 256
 *     header      kind 16 | function 16 | length 32   0: not written yet
 *
 * A header announces its record: it is stored last, by release, after the payload and after a zero
 * at the place of the next header. So no position is published, and only the lines of the records
 * move from producer to consumer. The consumer tells its position at each half ring. Each side
 * caches what the other has told it. Records that are published together are written behind the
 * header of the first of them, which is stored when there are enough bytes.
 *
 * The lines that the producer is about to write are in the consumer's cache, so the producer
 * requests them in advance.
 *
 * If the consumer follows the producer closely, every line travels once for each record. If it
 * leaves an empty ring alone for a moment, the producer runs ahead, and the consumer then takes
 * whole lines. The caller chooses how long, since that depends on the machine, as does the best
 * size. bench_stream.c tries several of both.
 */

#include "ceilings.h"
#include "wait.h"

#include <string.h>

enum { HEADER = 8, KIND = 1, LINE = 64, AHEAD = 1024 };

void ceiling_ring_make(ceiling_ring *ring, char *data, uint64_t *consumed, uint64_t bytes,
                       uint64_t payload, uint64_t batch) {
    uint64_t record = HEADER + payload;
    *ring = (ceiling_ring){.data = data, .consumed = consumed, .record = record, .batch = batch};
    ring->bytes = bytes / record * record;
}

/* Waits until there is room. One record stays free, for the zero after the last record. */
static uint64_t wait_for_room(const ceiling_ring *ring, uint64_t position) {
    for (unsigned looks = 1;; looks++) {
        uint64_t limit =
            __atomic_load_n(ring->consumed, __ATOMIC_ACQUIRE) + ring->bytes - ring->record;
        if (position < limit)
            return limit;
        ceiling_wait(looks);
    }
}

static inline void publish(char *record, uint64_t header) {
    /* pairs with the load in take */
    __atomic_store_n((uint64_t *)(void *)record, header, __ATOMIC_RELEASE);
}

/* Inlined with constants for bytes and for whether records are published together. All headers are
 * equal. */
static inline __attribute__((always_inline)) void produce(ceiling_ring *ring, uint64_t *payload,
                                                          uint64_t bytes, int together,
                                                          unsigned function, uint64_t n) {
    const uint64_t header = KIND | (uint64_t)function << 16 | bytes << 32;
    const uint64_t record = HEADER + bytes, end = ring->bytes, batch = ring->batch / record;
    char *data = ring->data, *first = NULL;
    uint64_t position = ring->position, offset = ring->offset, withheld = 0;
    uint64_t room = ring->limit > position ? (ring->limit - position) / record : 0;
    for (uint64_t i = 1; i <= n; i++) {
        if (__builtin_expect(room == 0, 0)) {
            if (first != NULL)
                publish(first, header);
            first = NULL;
            room = (wait_for_room(ring, position) - position) / record;
        }
        uint64_t next = offset + record;
        if (__builtin_expect(next == end, 0))
            next = 0;
        uint64_t ahead = offset + AHEAD;
        if (ahead >= end)
            ahead -= end;
        for (uint64_t line = 0; line < record; line += LINE)
            ceiling_own_line(data + ahead + line);
        payload[0] = i;
        __asm__ volatile("" : : "r"(payload) : "memory");
        memcpy(data + offset + HEADER, payload, bytes);
        __atomic_store_n((uint64_t *)(void *)(data + next), 0, __ATOMIC_RELAXED);
        if (!together) {
            publish(data + offset, header);
        } else if (first == NULL) {
            first = data + offset;
            withheld = 1;
        } else {
            __atomic_store_n((uint64_t *)(void *)(data + offset), header, __ATOMIC_RELAXED);
            if (++withheld >= batch) {
                publish(first, header);
                first = NULL;
            }
        }
        offset = next;
        position += record;
        room--;
    }
    if (first != NULL)
        publish(first, header);
    ring->position = position;
    ring->offset = offset;
    ring->limit = position + room * record;
}

void ceiling_ring_produce(ceiling_ring *ring, uint64_t *payload, uint64_t bytes, unsigned function,
                          uint64_t n) {
    if (bytes == 8 && ring->batch == 0)
        produce(ring, payload, 8, 0, function, n);
    else if (bytes == 64 && ring->batch == 0)
        produce(ring, payload, 64, 0, function, n);
    else if (ring->batch == 0)
        produce(ring, payload, 256, 0, function, n);
    else if (bytes == 8)
        produce(ring, payload, 8, 1, function, n);
    else if (bytes == 64)
        produce(ring, payload, 64, 1, function, n);
    else
        produce(ring, payload, 256, 1, function, n);
}

/* Runs the records that are there, at most n. Not inlined: within the waiting code gcc 12 makes
 * this loop a third slower. */
static __attribute__((noinline)) uint64_t take(ceiling_ring *ring, const ceiling_handler *handlers,
                                               void *argument, uint64_t n) {
    const uint64_t end = ring->bytes;
    const char *data = ring->data;
    uint64_t position = ring->position, offset = ring->offset, limit = ring->limit, taken = 0;
    for (; taken < n; taken++) {
        const uint64_t header =
            __atomic_load_n((const uint64_t *)(const void *)(data + offset), __ATOMIC_ACQUIRE);
        if (__builtin_expect(header == 0, 0))
            break;
        const uint64_t length = header >> 32, record = HEADER + ((length + 7) & ~(uint64_t)7);
        handlers[(header >> 16) & 0xffff](argument, data + offset + HEADER, length);
        position += record;
        offset += record;
        if (__builtin_expect(offset == end, 0))
            offset = 0;
        if (__builtin_expect(position >= limit, 0)) {
            __atomic_store_n(ring->consumed, position, __ATOMIC_RELEASE); /* with wait_for_room */
            limit = position + end / 2;
        }
    }
    ring->position = position;
    ring->offset = offset;
    ring->limit = limit;
    return taken;
}

void ceiling_rings_consume(ceiling_ring *rings, size_t count, const ceiling_handler *handlers,
                           void *argument, unsigned pauses, uint64_t n) {
    for (unsigned idle = 0; n > 0;) {
        uint64_t taken = 0;
        for (size_t i = 0; i < count; i++)
            taken += take(&rings[i], handlers, argument, n - taken);
        n -= taken;
        if (taken > 0) {
            idle = 0;
            continue;
        }
        for (unsigned i = 0; i < pauses; i++)
            ceiling_relax();
        ceiling_wait(++idle);
    }
}
