#ifndef TERN_SRC_PROFILE_TRACE_H
#define TERN_SRC_PROFILE_TRACE_H

/*
 * Traces: the data of TERN_TRACE. A traced worker keeps its events in its profile, in the order of
 * their ends, until there is no room for more. An arrow leads from the operation that wrote a
 * record into a ring to the event at another worker that the record caused. Both workers know the
 * pair's channel, the origin, the target and the position in the ring; they compute the arrow's
 * number from these, so records need not carry it. A call by message has no position; its message
 * carries a number that its origin counts up (rma/message/inbox.h).
 *
 * Rank 0 writes the file (timeline.c) when the context is destroyed, with all times converted to
 * its own clock (clock.c).
 */

#include "src/profile/profile.h"

enum { TERN_TRACE_ARROW_FROM = TERN_SPAN_KINDS, TERN_TRACE_ARROW_TO };

typedef struct tern_trace_event {
    uint64_t began, ended; /* ns, of this process's clock */
    uint64_t number;       /* bytes; for an end of an arrow, the arrow's number */
    const char *name;      /* for a wait: the function that waited; else NULL */
    uint32_t rank;         /* the peer, or TERN_NOBODY */
    uint32_t function;     /* or TERN_NO_FUNCTION */
    uint32_t kind;         /* tern_span_kind, or an end of an arrow */
} tern_trace_event;

struct tern_trace {
    size_t count, room;
    uint64_t dropped;  /* events for which there was no room */
    uint32_t messages; /* the number of the last call by message */
    tern_trace_event event[];
};

/* NULL: no memory. */
tern_trace *tern_trace_make(size_t room);

void tern_trace_add(tern_trace *trace, const tern_trace_event *event);

/* Returns the number of an arrow. channel: TERN_CHANNELS for a message. position: in the pair's
 * ring, or the message's number. */
uint64_t tern_arrow(uint32_t channel, uint32_t origin, uint32_t target, uint64_t position);

/* Adds one end of an arrow, for a worker that has a profile: in the operation under way, or at the
 * event that was just added and began at time at. number 0: does nothing. */
void tern_trace_arrow(tern_worker *worker, unsigned end, uint64_t number, uint64_t at);

/* clock.c: this process's clock compared with that of rank 0, at one moment. */
typedef struct tern_clock {
    int64_t ahead;  /* ns by which it is ahead of rank 0's */
    uint64_t at;    /* the moment, in this process's clock */
    uint64_t error; /* the largest error of ahead, in ns; 0: both are the same clock */
} tern_clock;

/* Collective. Costs each rank that is not on rank 0's node a few messages to and from rank 0, which
 * takes the ranks in turn. */
tern_status tern_clock_compare(tern_context *context, tern_clock *clock);

/* timeline.c: the file. */
typedef struct tern_timeline tern_timeline;

/* Creates the file, on rank 0. */
tern_status tern_timeline_open(tern_context *context);
/* Collective. */
tern_status tern_timeline_begin(tern_context *context);
tern_status tern_timeline_write(tern_context *context);
void tern_timeline_close(tern_context *context);

#endif
