#ifndef TERN_CALL_H
#define TERN_CALL_H

/*
 * Remote invocation (Seriema, paper 000 section 3): run a function on another worker,
 * fire and forget or with a result. Arguments are plain bytes, copied into the target's ring; the
 * function runs inside the target worker's tern_progress. Calls of one worker to another run in the
 * order in which they were made. Functions are named, never addressed: their names are compared
 * across ranks when a context is created, and no address is sent.
 */

#include <stdbool.h>
#include <stddef.h>

#include "tern/context.h"
#include "tern/synchronizer.h"
#include "tern/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a handler learns about its call, and where its result goes. Valid while the handler runs. */
typedef struct tern_call_info {
    tern_worker *worker;   /* the worker that runs the handler */
    tern_worker_id origin; /* the worker that has called */
    void *result;          /* memory for a result of up to TERN_RESULT_MAX bytes, 8-byte aligned;
                              tern_call_result gives more */
    size_t result_bytes;   /* set by the handler; 0 at entry */
    const void *buffer;    /* of tern_call_with and tern_call_all; NULL: none */
    size_t buffer_bytes;
    const struct tern_chunk *chunks; /* of tern_call_archive */
    size_t chunk_count;
    void *user; /* of the tern_function, as it was when the context was created */
} tern_call_info;

/* TERN_RESULT_MAX: the largest result, in bytes, for which a handler need not ask for memory
 * (tern_call_result). TERN_ARGUMENTS_MAX: the largest arguments, in bytes, that travel inside a
 * ring; they must also fit half of it (TERN_RING_SIZE / 2 - 64). Every call of this header copies
 * larger arguments, together with a buffer that goes inside, to this rank's segment, up to
 * TERN_CHUNK_MAX (tern/archive.h) for both. The target reads or gets them from there before the
 * function runs; all ranks of a call to all get them from this rank. The memory is free again when
 * the function has run; until then, over p2p, this rank has to make progress. If earlier such calls
 * occupy the segment, the call waits for their memory as for a full ring. If the segment has no
 * room even without such calls, the call returns TERN_ERR_MEMORY. All calls may also go by message,
 * without a ring (tern/message.h). */
#define TERN_RESULT_MAX 1024u
#define TERN_ARGUMENTS_MAX (8u << 20)

/* A call is inlined if the compiler knows the size of its arguments and it is at most this many
 * bytes. */
#define TERN_CALL_INLINED 256u

/* A handler: the function that a call runs. The arguments are 8-byte aligned and valid until the
 * handler returns. They lie in the ring; large ones in memory shared with the caller or in memory
 * of tern. A handler may call, put and use atomics; it may not wait (TERN_ERR_STATE).
 *
 * It returns TERN_OK or an error. An error becomes the status of tern_call_return at the caller.
 * For tern_call the target counts it (calls_refused) and logs it: the first error of each function
 * as a warning, later ones at the level info. TERN_ERR_AGAIN leaves the call where it is: the
 * handler runs again later, before any other call of this caller, so it must not have changed
 * anything. */
typedef tern_status (*tern_handler)(tern_call_info *call, const void *arguments, size_t bytes);

/* Gives the error of a handler a text, as printf does, and returns status, which the handler then
 * returns:
 *
 *     return tern_call_fail(call, TERN_ERR_RANGE, "row %d of %d", row, rows);
 *
 * The text becomes the detail of tern_call_return at the caller, behind the number of this rank;
 * for tern_call, where nobody waits, this rank logs it. It is cut after 1,000 bytes. If the handler
 * returns the error of a function of tern, that function's detail is the text. The last text before
 * the return counts. A text is dropped if the handler returns TERN_OK or TERN_ERR_AGAIN. Modifiers
 * (tern/hashtable.h) may use this function too, and pass NULL as the call. */
TERN_NODISCARD TERN_API tern_status tern_call_fail(const tern_call_info *call, tern_status status,
                                                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Gives a handler memory for a result of bytes, up to TERN_BUFFER_MAX. call->result then points to
 * it, 8-byte aligned, and call->result_bytes is bytes; the handler may make that smaller
 * afterwards:
 *
 *     tern_status status = tern_call_result(call, count * sizeof(double));
 *     if (status == TERN_OK)
 *         fill(call->result, count);
 *     return status;
 *
 * Up to TERN_RESULT_MAX bytes this is the memory that the handler had at entry. A larger result
 * lies in this rank's segment; the caller copies it from there (tern_call_return), and the memory
 * is free again when the caller has it or has died. If nobody waits for the result the memory is
 * free when the handler has returned. If the handler calls this more than once the last call
 * counts, and the content of the earlier memory is lost. A handler that returns TERN_ERR_AGAIN asks
 * again when it runs again. TERN_ERR_MEMORY: the segment is full (TERN_SEGMENT_SIZE), perhaps with
 * results that callers have not waited for. TERN_ERR_RANGE: more than TERN_BUFFER_MAX;
 * TERN_ERR_ARGUMENT. After an error call->result is as before. */
TERN_NODISCARD TERN_API tern_status tern_call_result(tern_call_info *call, size_t bytes);

/* A registered function; made by TERN_FUNCTION or tern_function_register.
 *
 *     static counts here;
 *     static tern_function count = {.name = "count", .handler = count_words, .user = &here};
 *     status = tern_function_register(&count);
 */
typedef struct tern_function {
    const char *name;
    tern_handler handler;
    void *user;  /* the program's; the handler finds it in call->user [NULL] */
    uint32_t id; /* set by registration; 0: not registered */
} tern_function;

/* Registers function for every context that is created later. The object and its name must live as
 * long as the process. TERN_ERR_EXISTS: the name is taken by another handler, or by the same one
 * with another user pointer; TERN_ERR_ARGUMENT: no name, no handler; TERN_ERR_FULL: more than
 * 65,535 functions. Any thread. */
TERN_NODISCARD TERN_API tern_status tern_function_register(tern_function *function);

/* Not for applications: tern_function_register without a status. Its first failure is returned by
 * every later tern_context_create. */
TERN_API void tern_internal_function_declare(tern_function *function);

/* At file scope: registers handler under its own name before main() and declares handler_function
 * to pass to tern_call. If the name is taken tern_context_create fails with TERN_ERR_EXISTS. The
 * program may store a pointer in handler_function.user before it creates the context. */
#define TERN_FUNCTION(handler_name)                                                                \
    static tern_function handler_name##_function = {#handler_name, handler_name, NULL, 0};         \
    __attribute__((constructor)) static void handler_name##_register(void) {                       \
        tern_internal_function_declare(&handler_name##_function);                                  \
    }

/* Runs function on target with a copy of the arguments, once, and does not wait until it has run.
 * If the ring is full it waits for room, making progress. In a handler it queues the call instead,
 * in order, and returns TERN_ERR_AGAIN when TERN_OVERFLOW_MEMORY is used up. For arguments of more
 * than half a ring: TERN_ERR_MEMORY if the segment has no memory for a copy of them, TERN_ERR_AGAIN
 * if progress will free some but the call may not wait. TERN_ERR_RANGE: more than TERN_CHUNK_MAX
 * bytes; TERN_ERR_NOT_FOUND: the function was registered after the context was created;
 * TERN_ERR_PEER; TERN_ERR_ARGUMENT. */
TERN_NODISCARD TERN_INLINE tern_status tern_call(tern_worker *worker, tern_worker_id target,
                                                 const tern_function *function,
                                                 const void *arguments, size_t bytes);

/* Makes a call as tern_call does, but returns TERN_ERR_AGAIN if the ring is full, in handlers and
 * outside. */
TERN_NODISCARD TERN_API tern_status tern_call_try(tern_worker *worker, tern_worker_id target,
                                                  const tern_function *function,
                                                  const void *arguments, size_t bytes);

/* Makes a call as tern_call does, but copies it to a queue if the ring is full, in handlers and
 * outside. Progress, or a service thread while the application computes, moves calls from the queue
 * to the ring in their order; later calls to the same target go behind them. The queued calls to
 * all targets take at most half of TERN_OVERFLOW_MEMORY, and together with those of handlers all of
 * it; when that is used up the function returns TERN_ERR_AGAIN. tern_flush waits until the queued
 * calls have left. */
TERN_NODISCARD TERN_API tern_status tern_call_queue(tern_worker *worker, tern_worker_id target,
                                                    const tern_function *function,
                                                    const void *arguments, size_t bytes);

/* What a call does about a full ring: what tern_call, tern_call_try and tern_call_queue do. */
typedef enum tern_full { TERN_FULL_WAIT, TERN_FULL_FAIL, TERN_FULL_QUEUE } tern_full;

/* Sets when this worker's calls to target become visible to target (paper 000, 4.4.2). A pair of
 * workers without a policy of its own uses TERN_PUBLISH and TERN_PUBLISH_BYTES.
 *
 *     TERN_PUBLISH_WRITE    each call at once
 *     TERN_PUBLISH_BATCHED  when the calls that were gathered have bytes bytes together, headers of
 *                           8 bytes included; bytes 0: TERN_PUBLISH_BYTES. Fewer become visible by
 *                           tern_call_flush, tern_quiesce, tern_barrier, when the ring is full, and
 *                           by progress, once two rounds of it have found nothing added. So calls
 *                           are not held back while the worker waits in tern, but a worker that
 *                           makes no progress must flush.
 *     TERN_PUBLISH_SPILL    each call at once. A call that finds a full ring is queued as by
 *                           tern_call_queue; when the queue is full, too, tern_call waits, and the
 *                           other functions return TERN_ERR_AGAIN.
 *
 * The order of the calls, and what handlers may do, do not depend on the policy. Opens the pair's
 * ring. TERN_ERR_ARGUMENT: no such worker or policy; TERN_ERR_MEMORY; TERN_ERR_PEER. */
TERN_NODISCARD TERN_API tern_status tern_call_policy(tern_worker *worker, tern_worker_id target,
                                                     tern_publish policy, size_t bytes);

/* Makes the calls visible that were gathered for target. Never waits: TERN_ERR_AGAIN if some stay
 * in the queue, or the transport has no room for them; progress sends these. TERN_ERR_ARGUMENT. */
TERN_NODISCARD TERN_API tern_status tern_call_flush(tern_worker *worker, tern_worker_id target);

/* Makes the gathered calls for every target visible, as tern_call_flush does for one. */
TERN_NODISCARD TERN_API tern_status tern_call_flush_all(tern_worker *worker);

/* Holds back this worker's records to ranks of other nodes until tern_call_uncork: for workers that
 * make many calls in a row. In between, only a full ring or a flush publishes records; progress
 * does not. So the program must not wait in between. Calls to ranks that share memory are not held
 * back. Over verbs, puts and gets are gathered, too: up to 16 to a rank start together, and the
 * others with uncork or as soon as the worker waits, flushes or makes progress. Never blocks,
 * local. */
TERN_API void tern_call_cork(tern_worker *worker);

/* Publishes the records that tern_call_cork held back, one message instead of many, except those
 * that the ring's policy goes on gathering. Never blocks, local. */
TERN_API void tern_call_uncork(tern_worker *worker);

/* Runs function on target and waits for its result, making progress. [out] result: up to capacity
 * bytes; [out] result_bytes (may be NULL): the size of the result. Returns the handler's status,
 * with its text (tern_call_fail). TERN_ERR_RANGE: capacity is too small; the function has run, its
 * result is lost, and the text names both sizes. TERN_ERR_STATE: in a handler. Other errors are
 * those of tern_call.
 *
 * Only this worker writes to result, and not after this function has returned. This worker copies a
 * result of more than TERN_RESULT_MAX bytes from the target's memory. If load/store reaches that
 * memory it takes one copy. Otherwise a get brings the result straight to result, if that lies in a
 * segment or in registered memory, or else through a buffer of tern. If such a get fails
 * (TERN_ERR_PEER), a result in a segment or in registered memory must not be freed or reused until
 * MPI_Finalize, as after tern_get; other memory is the caller's again at once. */
TERN_NODISCARD TERN_API tern_status tern_call_return(tern_worker *worker, tern_worker_id target,
                                                     const tern_function *function,
                                                     const void *arguments, size_t bytes,
                                                     void *result, size_t capacity,
                                                     size_t *result_bytes);

/* How many calls with a result a worker may have under way. */
#define TERN_CALL_REQUESTS 64

/* Starts a tern_call_return and returns while the call is under way (tern/request.h). tern_test or
 * tern_wait write result, and nothing writes it once the request is complete; tern_request_result
 * returns how many bytes came. A worker may have TERN_CALL_REQUESTS such calls under way; one more
 * returns TERN_ERR_AGAIN. May wait for room in the ring. TERN_ERR_ARGUMENT: the request is under
 * way. Otherwise it behaves as tern_call does, also in a handler. */
TERN_NODISCARD TERN_API tern_status tern_call_start(tern_worker *worker, tern_worker_id target,
                                                    const tern_function *function,
                                                    const void *arguments, size_t bytes,
                                                    void *result, size_t capacity,
                                                    tern_request *request);

/* How the buffer of a call reaches the function, which finds it in tern_call_info. */
typedef enum tern_buffer_transfer {
    TERN_BUFFER_NONE,
    TERN_BUFFER_INSIDE,   /* the buffer goes with the call */
    TERN_BUFFER_PUT,      /* the caller puts the buffer to its place, before the call */
    TERN_BUFFER_GET,      /* the target gets the buffer, then runs the function; later calls of the
                             pair wait meanwhile */
    TERN_BUFFER_GET_ASIDE /* the same, but later calls do not wait, and may run before it */
} tern_buffer_transfer;

/* The largest buffer. */
#define TERN_BUFFER_MAX (1u << 30)

/* What a call may carry besides arguments; all zero is a plain tern_call. */
typedef struct tern_call_options {
    tern_full full;
    const tern_synchronizer *synchronizer; /* its counter lies on this node; raised at once, lowered
                                              when notify says; or NULL: none */
    tern_notify_on notify;
    tern_buffer_transfer transfer;
    const void *buffer; /* inside, put: the source; copied, so the caller may reuse it at once */
    tern_ptr from;      /* get: the source, in any segment; it must not change until the call has
                           been sent in the sense of TERN_ON_SENT, or has run */
    tern_ptr place; /* put: where the buffer goes, memory of the target's rank. get: the same, or
                       TERN_NULL for memory that the function has while it runs. For a call to all
                       only the offset counts: the buffer goes to this offset in the segment of
                       every rank */
    size_t buffer_bytes;
    uint32_t arity;  /* of a call to all; 0: TERN_BROADCAST_ARITY */
    bool by_message; /* of a call to all (tern/message.h); in other calls the target says this */
} tern_call_options;

/* Runs function on target as tern_call does, with options (NULL: none). If load/store reaches the
 * buffer of a get, the target reads it where it lies. The buffers that a worker has got take at
 * most TERN_OVERFLOW_MEMORY bytes, or one buffer. If the target cannot get the buffer the function
 * does not run; the target logs and counts that, and the synchronizer is lowered all the same.
 * Returns the same errors as tern_call; TERN_ERR_AGAIN depending on full; TERN_ERR_RANGE also for a
 * buffer or a place outside its segment; TERN_ERR_UNSUPPORTED for a synchronizer of another node;
 * TERN_ERR_STATE for a put over rma in a handler. Unless a put has failed, an error leaves the
 * buffer's place untouched. */
TERN_NODISCARD TERN_API tern_status tern_call_with(tern_worker *worker, tern_worker_id target,
                                                   const tern_function *function,
                                                   const void *arguments, size_t bytes,
                                                   const tern_call_options *options);

/* Runs function on every worker of the context, this one included, over a tree of ranks: each rank
 * passes the call on to arity others and to its own workers. On every worker the call's origin is
 * this worker. Every worker lowers the synchronizer once. With TERN_ON_SENT, and unless the buffer
 * is got, it is lowered only once, when the call has left for this worker's own ring. Such a call
 * is not ordered with other calls. It waits only for room in this worker's own ring. It makes one
 * round of progress, which over rma may wait for the put of a buffer.
 *
 * With a place, the worker of each rank that has this worker's index receives the buffer once; the
 * rank's other workers run the function after that. TERN_BUFFER_GET: each rank gets the buffer from
 * this rank. TERN_BUFFER_PUT: this rank copies the buffer to its own place before this function
 * returns, unless it lies there already. Each rank then puts the buffer to the ranks that it passes
 * the call to, and only then runs its own functions, which may change it. The place may be reused
 * when the function has run on all workers (synchronizer, tern_quiesce).
 *
 * Returns the same errors as tern_call_with. */
TERN_NODISCARD TERN_API tern_status tern_call_all(tern_worker *worker,
                                                  const tern_function *function,
                                                  const void *arguments, size_t bytes,
                                                  const tern_call_options *options);

/* Waits until no call is under way anywhere. Collective over the ranks, one worker of each. Returns
 * on every rank when all calls have run, with all calls that their handlers made, every answer has
 * arrived, and every synchronizer was lowered. Makes progress for this worker and for every worker
 * of the process that no thread has adopted; other threads must make progress for theirs.
 * TERN_ERR_PEER; TERN_ERR_MISMATCH as tern_barrier; TERN_ERR_STATE in a handler; also, on every
 * rank, if some calls will never run because they lie behind a malformed record (tern/stats.h).
 *
 * Ranks do not return at the same time. A rank that has returned may make calls of its next phase,
 * and a rank that is still inside runs them before it returns. The same is true of tern_barrier and
 * of all collective functions except tern_phase. */
TERN_NODISCARD TERN_API tern_status tern_quiesce(tern_worker *worker);

/* Ends a phase: does what tern_quiesce and tern_barrier do, and runs no call of the next phase on
 * this rank before it returns here. So handlers of two phases may use the same variables, and the
 * program may change them after each tern_phase. A call of the next phase that arrives earlier
 * stays in its ring or in the inbox until its worker makes progress again. It costs two meetings
 * (docs/scaling.md) more than tern_quiesce.
 *
 * It holds back the calls that this thread runs: those to its worker and to the workers of the
 * process that no thread has adopted. Other threads, service threads among them, run the calls to
 * their own workers as these arrive, and while they wait in other contexts also the calls to
 * workers that no thread has adopted. Puts, atomics and operations by RMA of other ranks need no
 * handler and are not held back, and neither are calls in another context.
 *
 * Collective over the ranks, one worker of each. Blocks; not in handlers. Returns the same errors
 * as tern_quiesce. */
TERN_NODISCARD TERN_API tern_status tern_phase(tern_worker *worker);

/* Not for applications: tern_call for arguments whose size the compiler does not know, and the work
 * that a call which took the short path may leave to do. */
TERN_NODISCARD TERN_API tern_status tern_internal_call_any(tern_worker *worker,
                                                           tern_worker_id target,
                                                           const tern_function *function,
                                                           const void *arguments, size_t bytes);
TERN_API void tern_internal_call_attend(tern_worker *worker, tern_worker_id target);

/* Not for applications: where to write the record of a call, of size bytes with its header; NULL:
 * the short path is closed. [out] lane, header: those of the record. */
TERN_INLINE char *tern_internal_call_record(const tern_worker *worker, tern_worker_id target,
                                            const tern_function *function, uint64_t size,
                                            tern_lane **lane, uint64_t *header) {
    const tern_worker_view *view = (const tern_worker_view *)(const void *)worker;
    if (__builtin_expect(worker == NULL || function == NULL || target.rank >= view->ranks ||
                             target.index >= view->workers || function->id >= view->functions,
                         0))
        return NULL;
    *lane = (tern_lane *)(void *)view->out[(size_t)target.rank * view->workers + target.index];
    *header = view->function[function->id];
    return *lane != NULL && *header != 0 ? tern_lane_reserve(*lane, size) : NULL;
}

/* Not for applications: tries to send the call by the short path. Returns 1 if it was sent, and 0
 * if it was not; then nothing was done. */
TERN_INLINE int tern_internal_call_try(tern_worker *worker, tern_worker_id target,
                                       const tern_function *function, const void *arguments,
                                       size_t bytes) {
    const tern_worker_view *view = (const tern_worker_view *)(const void *)worker;
    const uint64_t size = 8 + ((bytes + 7) & ~(uint64_t)7);
    tern_lane *lane = NULL;
    uint64_t header = 0;
    char *record = tern_internal_call_record(worker, target, function, size, &lane, &header);
    if (__builtin_expect(record == NULL || arguments == NULL, 0))
        return 0;
    memcpy(record + 8, arguments, bytes);
    /* Counted before the call can run: tern_quiesce relies on that, and reads the count from other
     * threads. */
    /* R5: quiesce_count */
    __atomic_store_n(view->calls_sent, *view->calls_sent + 1, __ATOMIC_RELAXED);
    if (__builtin_expect(tern_lane_send(lane, record, size, header | (uint64_t)bytes << 32), 0))
        tern_internal_call_attend(worker, target);
    return 1;
}

TERN_NODISCARD TERN_INLINE tern_status tern_call(tern_worker *worker, tern_worker_id target,
                                                 const tern_function *function,
                                                 const void *arguments, size_t bytes) {
    if (__builtin_constant_p(bytes) && bytes <= TERN_CALL_INLINED &&
        tern_internal_call_try(worker, target, function, arguments, bytes))
        return TERN_OK;
    return tern_internal_call_any(worker, target, function, arguments, bytes);
}

#ifdef __cplusplus
}
#endif

#endif
