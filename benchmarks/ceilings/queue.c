/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* A fetch-and-add draws a ticket, then the item is copied to or from the slot. */

#include "ceilings.h"

#include <string.h>

void ceiling_queue_push(const ceiling_queue *queues, uint64_t count, uint64_t *random,
                        const uint64_t *item, uint64_t n) {
    while (n-- > 0) {
        const ceiling_queue *queue = &queues[ceiling_random(random, count)];
        uint64_t ticket = __atomic_fetch_add(queue->tail, 1, __ATOMIC_SEQ_CST);
        memcpy(&queue->items[ticket & queue->mask], item, sizeof *item);
        __asm__ volatile("" : : : "memory");
    }
}

uint64_t ceiling_queue_pop(const ceiling_queue *queues, uint64_t count, uint64_t *random,
                           uint64_t n) {
    uint64_t all = 0;
    while (n-- > 0) {
        const ceiling_queue *queue = &queues[ceiling_random(random, count)];
        uint64_t ticket = __atomic_fetch_add(queue->head, 1, __ATOMIC_SEQ_CST), item;
        memcpy(&item, &queue->items[ticket & queue->mask], sizeof item);
        all ^= item;
        __asm__ volatile("" : : : "memory");
    }
    return all;
}
