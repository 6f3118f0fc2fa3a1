/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A ring of one producer and one consumer, with the header a call needs and nothing else.
 *
 *     record      header | payload                    8 bytes, then 8, 64 or 256
 *     header      kind 16 | function 16 | length 32   0: not written yet
 *
 * The header says that its record is there: it is stored last, by release, after payload and after
 * a zero where the next header will be. So no position is published and no line but those of the
 * records moves from producer to consumer. Back go the positions at each half ring. Each side
 * caches what the other has told it.
 *
 * The lines that the producer is about to write lie in the consumer's cache. Stores leave the core
 * in order, so that a few such lines at a time is all that its store buffer can wait for: the
 * producer asks for them beforehand, to be its own. (__builtin_prefetch for writing asks only for a
 * copy, unless the compiler is told of the processor.)
 *
 * A consumer at the producer's heels makes every line travel once a record. One that leaves an
 * empty ring alone for a moment lets it run ahead, and then takes whole lines: how long is the
 * caller's choice, since it depends on the machine, as does the best size. bench_call tries a few
 * of both.
 */

#include "ceilings.h"

#include <string.h>

enum { HEADER = 8, KIND = 1, LINE = 64, AHEAD = 1024 };

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#else
    __asm__ volatile("" : : : "memory");
#endif
}

static inline void own(const char *line) {
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
}

void ceiling_ring_make(ceiling_ring *ring, char *data, uint64_t *consumed, uint64_t bytes,
                       uint64_t payload) {
    uint64_t record = HEADER + payload;
    *ring = (ceiling_ring){.data = data, .consumed = consumed, .record = record};
    ring->bytes = bytes / record * record;
}

/* One record stays free, for the zero after the last. */
static uint64_t wait_for_room(const ceiling_ring *ring, uint64_t position) {
    for (;;) {
        uint64_t limit =
            __atomic_load_n(ring->consumed, __ATOMIC_ACQUIRE) + ring->bytes - ring->record;
        if (position < limit)
            return limit;
        relax();
    }
}

/* Inlined with bytes known. */
static inline __attribute__((always_inline)) void
produce(ceiling_ring *ring, uint64_t *payload, uint64_t bytes, unsigned function, uint64_t n) {
    const uint64_t header = KIND | (uint64_t)function << 16 | bytes << 32;
    const uint64_t record = HEADER + bytes, end = ring->bytes;
    char *data = ring->data;
    uint64_t position = ring->position, offset = ring->offset;
    uint64_t room = ring->limit > position ? (ring->limit - position) / record : 0;
    for (uint64_t i = 1; i <= n; i++) {
        if (__builtin_expect(room == 0, 0))
            room = (wait_for_room(ring, position) - position) / record;
        uint64_t next = offset + record;
        if (__builtin_expect(next == end, 0))
            next = 0;
        uint64_t ahead = offset + AHEAD;
        if (ahead >= end)
            ahead -= end;
        for (uint64_t line = 0; line < record; line += LINE)
            own(data + ahead + line);
        payload[0] = i;
        __asm__ volatile("" : : "r"(payload) : "memory");
        memcpy(data + offset + HEADER, payload, bytes);
        __atomic_store_n((uint64_t *)(void *)(data + next), 0, __ATOMIC_RELAXED);
        /* pairs with the load in ceiling_ring_consume */
        __atomic_store_n((uint64_t *)(void *)(data + offset), header, __ATOMIC_RELEASE);
        offset = next;
        position += record;
        room--;
    }
    ring->position = position;
    ring->offset = offset;
    ring->limit = position + room * record;
}

void ceiling_ring_produce(ceiling_ring *ring, uint64_t *payload, uint64_t bytes, unsigned function,
                          uint64_t n) {
    if (bytes == 8)
        produce(ring, payload, 8, function, n);
    else if (bytes == 64)
        produce(ring, payload, 64, function, n);
    else
        produce(ring, payload, 256, function, n);
}

void ceiling_ring_consume(ceiling_ring *ring, const ceiling_handler *handlers, void *argument,
                          unsigned pauses, uint64_t n) {
    const uint64_t end = ring->bytes;
    const char *data = ring->data;
    uint64_t position = ring->position, offset = ring->offset, limit = ring->limit;
    for (const uint64_t last = position + n * ring->record; position < last;) {
        const uint64_t header =
            __atomic_load_n((const uint64_t *)(const void *)(data + offset), __ATOMIC_ACQUIRE);
        if (__builtin_expect(header == 0, 0)) {
            for (unsigned i = 0; i < pauses; i++)
                relax();
            continue;
        }
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
}
