#ifndef TERN_SRC_PROFILE_TRACE_H
#define TERN_SRC_PROFILE_TRACE_H

/*
 * Traces: what TERN_TRACE asks for. A worker that is traced keeps its events in its profile, in the
 * order of their ends, and stops when there is no room for more. An arrow leads from the operation
 * that wrote a record into a ring to what another worker has done because of that record. Both know
 * the pair's channel, the origin, the target and a position in the ring, so an arrow has a number
 * that no record carries. A call by message has no position, so its message carries a number that
 * its origin has counted (rma/message/inbox.h).
 *
 * Rank 0 writes the file (timeline.c) when the context is destroyed, in its own clock (clock.c).
 */

#include "src/profile/profile.h"

enum { TERN_TRACE_ARROW_FROM = TERN_SPAN_KINDS, TERN_TRACE_ARROW_TO };

typedef struct tern_trace_event {
    uint64_t began, ended; /* ns, of this process's clock */
    uint64_t number;       /* bytes; of an end of an arrow, the arrow's number */
    const char *name;      /* of a wait: what waited; else NULL */
    uint32_t rank;         /* the peer, or TERN_NOBODY */
    uint32_t function;     /* or TERN_NO_FUNCTION */
    uint32_t kind;         /* tern_span_kind, or an end of an arrow */
} tern_trace_event;

struct tern_trace {
    size_t count, room;
    uint64_t dropped;  /* had no room */
    uint32_t messages; /* the number of the last call by message */
    tern_trace_event event[];
};

/* NULL: no memory. */
tern_trace *tern_trace_make(size_t room);

void tern_trace_add(tern_trace *trace, const tern_trace_event *event);

/* The number of an arrow. channel: TERN_CHANNELS of a message. position: in the pair's ring, or the
 * message's number. */
uint64_t tern_arrow(uint32_t channel, uint32_t origin, uint32_t target, uint64_t position);

/* One end of it, for a worker that has a profile: in the operation under way, or at an event that
 * has just been added and began at that time. number 0: there is none. */
void tern_trace_arrow(tern_worker *worker, unsigned end, uint64_t number, uint64_t at);

/* clock.c: this process's clock beside that of rank 0, at one moment. */
typedef struct tern_clock {
    int64_t ahead;  /* ns, of rank 0's */
    uint64_t at;    /* by this process's */
    uint64_t error; /* at most, in ns; 0: both are the same clock */
} tern_clock;

/* Collective. Costs each rank that is not on rank 0's node a few messages to and from rank 0, which
 * takes the ranks in turn. */
tern_status tern_clock_compare(tern_context *context, tern_clock *clock);

/* timeline.c: the file. */
typedef struct tern_timeline tern_timeline;

/* On rank 0, creates it. */
tern_status tern_timeline_open(tern_context *context);
/* Collective. */
tern_status tern_timeline_begin(tern_context *context);
tern_status tern_timeline_write(tern_context *context);
void tern_timeline_close(tern_context *context);

#endif
