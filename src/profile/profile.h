#ifndef TERN_SRC_PROFILE_PROFILE_H
#define TERN_SRC_PROFILE_PROFILE_H

/*
 * Profiles: what TERN_STATS and TERN_TRACE ask for. Each worker of a context that is profiled has
 * one, which the thread that uses the worker writes; that of other contexts is NULL. Rank 0 gathers
 * them when the context is destroyed (src/profile/gather.c).
 *
 * Off, a profile costs nothing: the short ways, which are inlined or next to it, are shut for a
 * worker that has one (tern_worker_view.inlined and .functions, tern_notify.short_ranks), and what
 * stands behind them looks for a profile. Handlers are counted by a function in their place
 * (rpc/profile.c). Only progress and probes have a branch more, on words that they read anyway.
 */

#include "base/process.h"
#include "src/context.h"

/* What is counted and shown as spans of time. X(name, text, of one) */
#define TERN_SPANS(X)                                                                              \
    X(OTHER, "other", "other")                                                                     \
    X(PUT, "puts", "put")                                                                          \
    X(GET, "gets", "get")                                                                          \
    X(ATOMIC, "atomics", "atomic")                                                                 \
    X(FLUSH, "flushes", "flush")                                                                   \
    X(NOTIFY_PUT, "notified puts", "notified put")                                                 \
    X(NOTIFY_GET, "notified gets", "notified get")                                                 \
    X(NOTIFIED, "notifications received", "notification")                                          \
    X(CALL, "calls issued", "call")                                                                \
    X(RUN, "calls executed", "handler")                                                            \
    X(PROGRESS, "rounds of progress", "progress")                                                  \
    X(GROWTH, "growth of tables", "growth")                                                        \
    X(WAIT, "waits", "wait")

typedef enum tern_span_kind {
#define X(name, text, one) TERN_SPAN_##name,
    TERN_SPANS(X)
#undef X
        TERN_SPAN_KINDS
} tern_span_kind;

extern const char *const tern_span_names[TERN_SPAN_KINDS];

typedef struct tern_tally {
    uint64_t number, bytes, ns;
    uint64_t waits, waited; /* how often, and for how many ns */
} tern_tally;

/* One function that waits. */
typedef struct tern_wait_tally {
    const char *name;
    uint64_t number, ns;
} tern_wait_tally;

typedef struct tern_trace tern_trace; /* src/profile/trace.h */

enum { TERN_PROFILE_WAITS = 32, TERN_PROFILE_ANSWERS = 64 };
#define TERN_NO_FUNCTION UINT32_MAX

struct tern_profile {
    tern_tally kind[TERN_SPAN_KINDS];
    tern_tally *peer;                      /* by rank, taken where it is touched */
    tern_tally *called;                    /* by number of a function */
    tern_tally *ran;                       /* the same */
    tern_span_kind now;                    /* the operation under way */
    uint32_t function;                     /* that is called, or whose answer is waited for */
    uint32_t answer[TERN_PROFILE_ANSWERS]; /* by reply cell: the function that answers there */
    /* The wait under way, from the first look in vain to the last one. */
    struct {
        const tern_await *state; /* NULL: none */
        uint64_t mark;           /* what state->began was */
        uint64_t began, last;
        const char *name;
        uint32_t rank, function;
        tern_span_kind within;
    } wait;
    tern_wait_tally waits[TERN_PROFILE_WAITS]; /* name NULL: free; the last is for the rest */
    tern_trace *trace;                         /* NULL: TERN_TRACE asks for none */
    uint64_t arrow; /* of the call whose function is about to run; 0: not known (rpc/profile.c) */
};

/* Of a context. */
typedef struct tern_profiling {
    uint64_t began; /* ns */
    uint32_t functions;
    const char *const *name;        /* of functions, by number; they live as long as the process */
    struct tern_timeline *timeline; /* NULL: TERN_TRACE asks for none (src/profile/trace.h) */
} tern_profiling;

/* Before and after an operation, for a worker that has a profile. */
typedef struct tern_span {
    uint64_t began;
    tern_span_kind outer;
    uint32_t function; /* the outer one's */
} tern_span;

tern_span tern_span_begin(tern_worker *worker, tern_span_kind kind, uint32_t function);
/* rank: the peer, or TERN_NOBODY. status: one that failed is not counted. */
void tern_span_end(tern_worker *worker, const tern_span *span, uint32_t rank, uint64_t bytes,
                   tern_status status);

/* Something that takes no time of the thread's own. arrow: that leads to it (src/profile/trace.h).
 */
void tern_profile_note(tern_worker *worker, tern_span_kind kind, uint32_t rank, uint64_t bytes,
                       uint64_t arrow);

/* tern_wait_step of a context that is profiled: its beginning, and its end. */
void tern_profile_wait(tern_context *context, tern_await *state, uint32_t rank);
void tern_profile_waited(const tern_context *context, const tern_await *state);

/* The calling thread makes progress for the worker from here on: its waits are that one's.
 * NULL: nobody's. */
void tern_profile_use(tern_worker *worker);

/* Makes the profiles of a context's workers, if its options ask for them. */
tern_status tern_profile_open(tern_context *context);
/* Collective, behind it, and once nodes are known. */
tern_status tern_profile_begin(tern_context *context);
/* The functions that can be called, as rpc numbers them. */
tern_status tern_profile_functions(tern_context *context, uint32_t count, const char *const *name);
void tern_profile_close(tern_context *context);

/* Collective: rank 0 writes what TERN_STATS and TERN_TRACE ask for. After the layers have been
 * drained. Nothing is written if a rank has died. */
void tern_profile_report(tern_context *context);

/* gather.c: rank 0 takes the records of all ranks. */
typedef struct tern_gathering {
    size_t record; /* bytes of one */
    /* Writes this rank's next records, so many. */
    void (*give)(void *argument, void *records, size_t count);
    /* On rank 0: the next records of a rank, in their order there. */
    void (*take)(void *argument, uint32_t rank, const void *records, size_t count);
    void *argument;
} tern_gathering;

/* Collective. own: this rank's records. */
tern_status tern_profile_gather(tern_context *context, const tern_gathering *gathering,
                                uint64_t own);

/* stats.c: the table of TERN_STATS. */
tern_status tern_profile_table(tern_context *context);

#endif
