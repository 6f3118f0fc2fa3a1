/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* The events of a simulation, a binary heap: the earliest comes out first, and of several at one
 * time the one that was put in first. So a run depends on its input alone. */

#ifndef TERN_BENCHMARKS_SCALE_EVENTS_H
#define TERN_BENCHMARKS_SCALE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct scale_event {
    double at;    /* ns */
    double begun; /* when its operation began */
    uint64_t order;
    uint32_t from, to;
    uint32_t key;
    uint32_t bytes;
    uint8_t kind;
    uint8_t flags;
} scale_event;

typedef struct scale_events {
    scale_event *heap;
    size_t count, room;
    uint64_t order; /* of the next event */
} scale_events;

/* False: no memory; the events stay as they are. */
bool scale_events_put(scale_events *events, const scale_event *event);
/* False: no event is left. */
bool scale_events_take(scale_events *events, scale_event *event);
void scale_events_free(scale_events *events);

#endif
