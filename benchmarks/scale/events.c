/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "events.h"

#include <stdlib.h>

static bool event_is_before(const scale_event *a, const scale_event *b) {
    return a->at < b->at || (a->at <= b->at && a->order < b->order);
}

bool scale_events_put(scale_events *events, const scale_event *event) {
    if (events->count == events->room) {
        const size_t room = events->room > 0 ? 2 * events->room : 1024;
        scale_event *heap = realloc(events->heap, room * sizeof *heap);
        if (heap == NULL)
            return false;
        events->heap = heap;
        events->room = room;
    }
    scale_event one = *event;
    one.order = events->order++;
    size_t at = events->count++;
    for (size_t above; at > 0 && event_is_before(&one, &events->heap[above = (at - 1) / 2]);
         at = above)
        events->heap[at] = events->heap[above];
    events->heap[at] = one;
    return true;
}

bool scale_events_take(scale_events *events, scale_event *event) {
    if (events->count == 0)
        return false;
    scale_event *heap = events->heap;
    *event = heap[0];
    const scale_event last = heap[--events->count];
    size_t at = 0;
    for (size_t below = 1; below < events->count; below = 2 * at + 1) {
        if (below + 1 < events->count && event_is_before(&heap[below + 1], &heap[below]))
            below++;
        if (!event_is_before(&heap[below], &last))
            break;
        heap[at] = heap[below];
        at = below;
    }
    heap[at] = last;
    return true;
}

void scale_events_free(scale_events *events) {
    free(events->heap);
    *events = (scale_events){0};
}
