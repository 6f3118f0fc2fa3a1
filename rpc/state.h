#ifndef TERN_RPC_STATE_H
#define TERN_RPC_STATE_H

/* The state of the rpc layer in contexts and workers. */

#include <pthread.h>

#include "rma/reply/reply.h"
#include "rma/ring/ring.h"
#include "src/context.h"
#include "tern/call.h"

typedef struct tern_rpc_function {
    tern_handler handler;
    void *user;
} tern_rpc_function;

typedef struct tern_rpc_slot tern_rpc_slot; /* rpc/profile.c */

/* A context knows the functions that were registered when it was created, sorted by name. So a
 * function has the same number on every rank. Calls carry this number, the wire number. */
typedef struct tern_rpc {
    tern_rpc_function *function; /* by wire number */
    const char **name;           /* by wire number */
    tern_rpc_slot *slot;         /* by wire number, while the context is profiled; or NULL */
    atomic_bool *refused;        /* by wire number: a call without an answer has failed */
    uint32_t count;
    uint64_t *header; /* by the function's id in this process: the header of its calls, without the
                         length */
    uint32_t ids;     /* this context knows the functions with ids below this one */
    pthread_mutex_t threads_lock; /* protects the list of what threads without a worker lend */
    atomic_bool threads_lend;     /* threads without a worker have loans that have not ended */
} tern_rpc;

/* A notice tells the owner of a synchronizer on another node that so many of its operations are
 * done. */
typedef struct tern_counter_notice {
    tern_ptr counter;
    uint64_t by;
} tern_counter_notice;

/* TERN_NOTICES notices may wait for progress. A call begins only while there is room for one of
 * them. Its function may use that room up, so TERN_NOTICES_OF_A_CALL more places are kept for the
 * notices that the call itself adds when it ends. */
enum { TERN_NOTICES = 64, TERN_NOTICES_OF_A_CALL = 2 };

typedef struct tern_rpc_worker {
    struct tern_overflow *overflow; /* calls that wait for room (rpc/call/overflow.h) */
    size_t overflow_bytes;
    void *reserved; /* memory of a call that is being built, or NULL (rpc/call/in_place.h) */
    pthread_mutex_t overflow_lock;
    struct tern_call_task *tasks;      /* calls that take several rounds of progress
                                          (rpc/call/extended.c) */
    size_t fetched_bytes;              /* memory of tasks */
    struct tern_buffer *spare;         /* rpc/archive/fetch.c */
    bool spare_used;                   /* a call with chunks has ended in this round of progress */
    struct tern_departure *departures; /* rpc/synchronizer.c */
    struct tern_shipment *shipments,
        **shipments_end; /* the oldest first (rpc/archive/shipment.c) */
    uint64_t shipments_over, shipment_looks;
    struct tern_held *held, **held_end; /* memory lent to others, the oldest loan first
                                           (rpc/lent/lent.h) */
    struct tern_held *room;             /* room for a result that the last handler has asked for
                                           (rpc/lent/result.c) */
    uint64_t held_looks, held_over;     /* looks for ended loans; loans that have ended */
    uint32_t calls_lent;                /* loans of calls that have not ended */
    uint32_t notices;
    tern_counter_notice notice[TERN_NOTICES + TERN_NOTICES_OF_A_CALL];
    uint64_t awaited; /* a bit for each reply cell whose answer this worker has not yet seen */
    uint64_t sequence[TERN_CALL_REQUESTS];
    uint16_t function[TERN_CALL_REQUESTS];    /* by reply cell: wire number of the function that was
                                                 called */
    _Alignas(8) char result[TERN_RESULT_MAX]; /* where handlers leave results */
} tern_rpc_worker;

static inline tern_rpc *tern_rpc_of(const tern_context *context) {
    return context->layer[TERN_LAYER_RPC];
}

static inline tern_rpc_worker *tern_rpc_worker_of(const tern_worker *worker) {
    return worker->layer[TERN_LAYER_RPC];
}

/* Adds to a counter that quiesce reads from other threads. */
static inline void tern_count(uint64_t *counter, uint64_t by) {
    /* R1: quiesce_count; one thread writes, so no read-modify-write is needed; it sees what ran */
    __atomic_store_n(counter, *counter + by, __ATOMIC_RELEASE);
}

/* Collective: numbers the functions and compares them across ranks (rpc/call/function.c). */
tern_status tern_functions_number(tern_context *context, tern_rpc *rpc);

/* Makes handlers count their calls if the context is profiled (rpc/profile.c). */
tern_status tern_rpc_profile(tern_context *context, tern_rpc *rpc);

/* Notes in the trace of a worker that has a profile: a call with this header is about to be
 * committed to the ring. */
void tern_call_trace_sent(tern_worker *worker, const tern_out *out, uint64_t header);

/* Returns the number of the timeline's arrow to an extended call whose record is at the head of
 * in. */
uint64_t tern_call_arrow_extended(const tern_worker *worker, const tern_in *in);

/* Run calls from the head of a ring: several plain calls in a row, or one call with an answer
 * (rpc/call/execute.c). */
size_t tern_calls_execute(tern_worker *worker, tern_in *in);
size_t tern_call_answer(tern_worker *worker, tern_in *in);

/* Runs a call whose payload begins with the address of its answer. TERN_ERR_AGAIN: the caller must
 * run it again later. */
tern_status tern_call_answer_one(tern_worker *worker, tern_worker_id origin, uint32_t id,
                                 const char *payload, size_t bytes);

/* Runs the calls that have arrived by message; returns how many (rpc/call/message.c). */
size_t tern_messages_run(tern_worker *worker);

/* The text of an error for which the handler has given no text. */
#define TERN_NO_REASON "the handler gave no reason (tern_call_fail)"

/* Runs the function of a call; counts and logs an error that it returns. call: filled in except for
 * worker and result; is_awaited: the caller gets the error, with the detail. TERN_ERR_AGAIN: run it
 * again later. */
tern_status tern_function_run(tern_worker *worker, tern_call_info *call, uint32_t id,
                              const void *arguments, size_t bytes, bool is_awaited);

/* Sends the outcome of a call to worker number `to`, which waits for it: the result that the
 * function left in call, or, if status is an error, the text of the last error. */
void tern_call_reply(tern_worker *worker, uint32_t to, uint32_t id, const tern_return_address *back,
                     tern_status status, const tern_call_info *call);

/* The layer (rpc/layer.c). */
extern const tern_layer tern_rpc_layer;

#endif
