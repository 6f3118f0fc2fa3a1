#ifndef TERN_SRC_PROFILE_PROFILE_H
#define TERN_SRC_PROFILE_PROFILE_H

/*
 * Profiles: the data of TERN_STATS and TERN_TRACE. Each worker of a profiled context has a profile,
 * written by the thread that uses the worker; in other contexts the pointer to it is NULL. Rank 0
 * gathers the profiles when the context is destroyed (src/profile/gather.c).
 *
 * A context without profiles pays nothing for them: the short paths, which are inlined or nearly
 * so, are closed for a worker with a profile (tern_worker_view.inlined and .functions,
 * tern_notify.short_ranks), and only the general paths behind them check for a profile. A function
 * that replaces each handler counts it (rpc/profile.c). Only progress and probes have one branch
 * more, on words that they read anyway.
 */

#include "base/process.h"
#include "src/context.h"

/* The kinds of operations that are counted and shown as spans of time. X(name, text, singular) */
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
    tern_tally *peer;                      /* by rank; memory is touched only for ranks in use */
    tern_tally *called;                    /* by number of a function */
    tern_tally *ran;                       /* the same */
    tern_span_kind now;                    /* the operation under way */
    uint32_t function;                     /* the function that is called, or whose answer the
                                              worker waits for */
    uint32_t answer[TERN_PROFILE_ANSWERS]; /* by reply cell: the function that answers there */
    /* The wait under way, from its first look that found nothing to its last. */
    struct {
        const tern_await *state; /* NULL: none */
        uint64_t mark;           /* what state->began was */
        uint64_t began, last;
        const char *name;
        uint32_t rank, function;
        tern_span_kind within;
    } wait;
    tern_wait_tally waits[TERN_PROFILE_WAITS]; /* name NULL: free; the last entry is for all further
                                                  names */
    tern_trace *trace;                         /* NULL: TERN_TRACE asks for none */
    uint64_t arrow; /* the arrow to the call whose function is about to run; 0: not known
                       (rpc/profile.c) */
};

/* The profiling of a context. */
typedef struct tern_profiling {
    uint64_t began; /* ns */
    uint32_t functions;
    const char *const *name;        /* of functions, by number; they live as long as the process */
    struct tern_timeline *timeline; /* NULL: TERN_TRACE asks for none (src/profile/trace.h) */
} tern_profiling;

/* Called before and after an operation, for a worker that has a profile. */
typedef struct tern_span {
    uint64_t began;
    tern_span_kind outer;
    uint32_t function; /* of the enclosing operation */
} tern_span;

tern_span tern_span_begin(tern_worker *worker, tern_span_kind kind, uint32_t function);
/* rank: the peer, or TERN_NOBODY. status: an operation that failed is not counted. */
void tern_span_end(tern_worker *worker, const tern_span *span, uint32_t rank, uint64_t bytes,
                   tern_status status);

/* Notes an event that takes no time of the thread. arrow: the arrow that leads to it
 * (src/profile/trace.h). */
void tern_profile_note(tern_worker *worker, tern_span_kind kind, uint32_t rank, uint64_t bytes,
                       uint64_t arrow);

/* The beginning and the end of tern_wait_step in a profiled context. */
void tern_profile_wait(tern_context *context, tern_await *state, uint32_t rank);
void tern_profile_waited(const tern_context *context, const tern_await *state);

/* From here on the calling thread makes progress for worker, and its waits are counted for that
 * worker. NULL: for none. */
void tern_profile_use(tern_worker *worker);

/* Makes the profiles of a context's workers, if its options ask for them. */
tern_status tern_profile_open(tern_context *context);
/* Collective; after tern_profile_open, when the nodes are known. */
tern_status tern_profile_begin(tern_context *context);
/* Gives the profiles the names of the functions, by their wire numbers. */
tern_status tern_profile_functions(tern_context *context, uint32_t count, const char *const *name);
void tern_profile_close(tern_context *context);

/* Collective: rank 0 writes what TERN_STATS and TERN_TRACE ask for. After the layers have been
 * drained. Nothing is written if a rank has died. */
void tern_profile_report(tern_context *context);

/* gather.c: rank 0 gathers the records of all ranks. */
typedef struct tern_gathering {
    size_t record; /* bytes of one */
    /* Writes this rank's next count records to records. */
    void (*give)(void *argument, void *records, size_t count);
    /* On rank 0: takes the next count records of a rank, in the rank's order. */
    void (*take)(void *argument, uint32_t rank, const void *records, size_t count);
    void *argument;
} tern_gathering;

/* Collective. own: this rank's records. */
tern_status tern_profile_gather(tern_context *context, const tern_gathering *gathering,
                                uint64_t own);

/* stats.c: the table of TERN_STATS. */
tern_status tern_profile_table(tern_context *context);

#endif
