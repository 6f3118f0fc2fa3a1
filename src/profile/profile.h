#ifndef TERN_SRC_PROFILE_PROFILE_H
#define TERN_SRC_PROFILE_PROFILE_H

/*
 * Profiles: what TERN_STATS asks for. Each worker of a context that is profiled has
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

/* What is counted and shown as spans of time. X(name, text) */
#define TERN_SPANS(X)                                                                              \
    X(OTHER, "other")                                                                              \
    X(PUT, "puts")                                                                                 \
    X(GET, "gets")                                                                                 \
    X(ATOMIC, "atomics")                                                                           \
    X(FLUSH, "flushes")                                                                            \
    X(NOTIFY_PUT, "notified puts")                                                                 \
    X(NOTIFY_GET, "notified gets")                                                                 \
    X(NOTIFIED, "notifications received")                                                          \
    X(CALL, "calls issued")                                                                        \
    X(RUN, "calls executed")                                                                       \
    X(PROGRESS, "rounds of progress")                                                              \
    X(WAIT, "waits")

typedef enum tern_span_kind {
#define X(name, text) TERN_SPAN_##name,
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
};

/* Of a context. */
typedef struct tern_profiling {
    uint64_t began; /* ns */
    uint32_t functions;
    const char *const *name; /* of functions, by number; they live as long as the process */
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

/* Something that takes no time of the thread's own. */
void tern_profile_note(tern_worker *worker, tern_span_kind kind, uint64_t bytes);

/* tern_wait_step of a context that is profiled: its beginning, and its end. */
void tern_profile_wait(tern_context *context, tern_await *state, uint32_t rank);
void tern_profile_waited(const tern_context *context, const tern_await *state);

/* The calling thread makes progress for the worker from here on: its waits are that one's. */
void tern_profile_use(tern_worker *worker);

/* Makes the profiles of a context's workers, if its options ask for them. */
tern_status tern_profile_open(tern_context *context);
/* The functions that can be called, as rpc numbers them. */
tern_status tern_profile_functions(tern_context *context, uint32_t count, const char *const *name);
void tern_profile_close(tern_context *context);

/* Collective: rank 0 writes what TERN_STATS asks for. After the layers have been
 * drained. Nothing is written if a rank has died. */
void tern_profile_report(tern_context *context);

/* gather.c: the bytes of all ranks, one rank's behind another's, are rank 0's; elsewhere all is
 * NULL. offset: size + 1 of them, for tern_profile_free as all is. */
typedef struct tern_gathered {
    char *all;
    uint64_t *offset;
} tern_gathered;

tern_status tern_profile_gather(tern_context *context, const void *mine, size_t bytes,
                                tern_gathered *gathered);

/* stats.c: the table of TERN_STATS. */
tern_status tern_profile_table(tern_context *context);

#endif
