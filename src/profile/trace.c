#include "src/profile/trace.h"

#include <stdlib.h>

tern_trace *tern_trace_make(size_t room) {
    tern_trace *trace = malloc(sizeof *trace + room * sizeof trace->event[0]);
    if (trace != NULL)
        *trace = (tern_trace){.room = room};
    return trace;
}

void tern_trace_add(tern_trace *trace, const tern_trace_event *event) {
    if (trace->count == trace->room)
        trace->dropped++;
    else
        trace->event[trace->count++] = *event;
}

/* Two different arrows get the same number less than once in 2^63 pairs of arrows. */
static uint64_t arrow_mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t tern_arrow(uint32_t channel, uint32_t origin, uint32_t target, uint64_t position) {
    const uint64_t pair = arrow_mix((uint64_t)origin << 32 | target) + channel;
    const uint64_t number = arrow_mix(pair * 0x9e3779b97f4a7c15u + position);
    return number != 0 ? number : 1;
}

void tern_trace_arrow(tern_worker *worker, unsigned end, uint64_t number, uint64_t at) {
    tern_trace *trace = worker->profile->trace;
    if (trace == NULL || number == 0)
        return;
    const tern_trace_event event = {.began = at,
                                    .ended = at,
                                    .number = number,
                                    .rank = TERN_NOBODY,
                                    .function = TERN_NO_FUNCTION,
                                    .kind = end};
    tern_trace_add(trace, &event);
}
