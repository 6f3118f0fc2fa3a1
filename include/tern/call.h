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

/* What a handler may ask about its call. Valid while the handler runs. */
typedef struct tern_call_info {
    tern_worker *worker;   /* the worker that runs the handler */
    tern_worker_id origin; /* who called */
    void *result;          /* room of TERN_RESULT_MAX bytes for the result, 8-byte aligned;
                              tern_call_result makes room for more */
    size_t result_bytes;   /* set by the handler; 0 at entry */
    const void *buffer;    /* of tern_call_with and tern_broadcast; NULL: none */
    size_t buffer_bytes;
    const struct tern_chunk *chunks; /* of tern_call_archive */
    size_t chunk_count;
    void *user; /* of the tern_function, as it was when the context was created */
} tern_call_info;

/* The largest result for which a handler need not ask for room (tern_call_result), and the largest
 * arguments that travel inside a ring, in bytes, where they also have to fit half of it
 * (TERN_RING_SIZE / 2 - 64). Larger arguments, with a buffer inside if there is one, are copied to
 * this rank's segment, and the target reads or gets them from there before the function runs: up to
 * TERN_CHUNK_MAX (tern/archive.h) of both. So go all calls of this header, broadcasts too,
 * whose ranks all get them from this one. The memory is free again when the function has run; until
 * then over p2p this rank has to make progress. If there is no room for more because of earlier
 * such calls, the call waits for theirs as for a full ring. If there is none anyway:
 * TERN_ERR_MEMORY. All calls may also go by message, without a ring (tern/message.h). */
#define TERN_RESULT_MAX 1024u
#define TERN_ARGUMENTS_MAX (8u << 20)

/* Calls whose arguments are known to the compiler to be of at most so many bytes are inlined. */
#define TERN_CALL_INLINED 256u

/* A handler. The arguments are 8-byte aligned and lie in the ring, or, large ones, in memory that
 * is shared with their caller or tern's own: they are gone when it returns. It may call, put and
 * use atomics; it may not wait (TERN_ERR_STATE). What it returns: TERN_OK; any error, which is the
 * status of tern_call_return at the caller, or for tern_call is counted (calls_refused) and logged:
 * the first of each function as a warning, later ones at the level info; TERN_ERR_AGAIN leaves the
 * call where it is, to be run again later, before any other of its caller. A handler must not
 * change anything before it returns TERN_ERR_AGAIN. */
typedef tern_status (*tern_handler)(tern_call_info *call, const void *arguments, size_t bytes);

/* For handlers that fail: gives the call's error a text, as printf does, and returns status, which
 * the handler then returns:
 *
 *     return tern_call_fail(call, TERN_ERR_RANGE, "row %d of %d", row, rows);
 *
 * The text is the detail of tern_call_return at the caller, behind the number of this rank; of
 * tern_call, where nobody waits, it is logged. It is cut after 1,000 bytes. A handler that returns
 * the error of a function of tern brings that one's detail home. The last text before the return
 * counts. With TERN_OK there is no text, and one with TERN_ERR_AGAIN is dropped. Modifiers
 * (tern/hashtable.h) may use it too, and pass NULL as the call. */
TERN_NODISCARD TERN_API tern_status tern_call_fail(const tern_call_info *call, tern_status status,
                                                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For handlers with results of any size: makes room for a result of bytes, up to TERN_BUFFER_MAX,
 * where call->result then points, 8-byte aligned, and sets call->result_bytes, which the handler
 * may make smaller afterwards:
 *
 *     tern_status status = tern_call_result(call, count * sizeof(double));
 *     if (status == TERN_OK)
 *         fill(call->result, count);
 *     return status;
 *
 * Up to TERN_RESULT_MAX bytes that is the room at entry. More is memory of this rank's segment,
 * from which the caller copies the result (tern_call_return), and which is free again once the
 * caller has it or has died. Where nobody waits for the result the memory is free when the handler
 * has returned. The last call counts; what was in the room before is lost. A handler that returns
 * TERN_ERR_AGAIN afterwards asks again when it runs again. TERN_ERR_MEMORY: the segment is full
 * (TERN_SEGMENT_SIZE); results that callers have not waited for take room too. TERN_ERR_RANGE: more
 * than TERN_BUFFER_MAX; TERN_ERR_ARGUMENT. After an error the room is as before. */
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

/* Not for applications: tern_function_register where nobody looks at the status; the first failure
 * is that of every later tern_context_create. */
TERN_API void tern_internal_function_declare(tern_function *function);

/* At file scope: registers handler under its own name before main() and declares handler_function
 * to pass to tern_call. A name that is taken makes tern_context_create fail: TERN_ERR_EXISTS. The
 * program may store a pointer in handler_function.user before it creates the context. */
#define TERN_FUNCTION(handler_name)                                                                \
    static tern_function handler_name##_function = {#handler_name, handler_name, NULL, 0};         \
    __attribute__((constructor)) static void handler_name##_register(void) {                       \
        tern_internal_function_declare(&handler_name##_function);                                  \
    }

/* Runs function on target with a copy of the arguments, once, and returns at once. A full ring is
 * waited for, making progress; a handler's call is queued instead, in order, and TERN_ERR_AGAIN
 * when TERN_OVERFLOW_MEMORY is used up. Arguments of more than half a ring: TERN_ERR_MEMORY if
 * there is none to copy them to, TERN_ERR_AGAIN if progress will free some and nothing may wait.
 * TERN_ERR_RANGE: more than TERN_CHUNK_MAX bytes; TERN_ERR_NOT_FOUND: the function was registered
 * after the context was created; TERN_ERR_PEER; TERN_ERR_ARGUMENT. */
TERN_NODISCARD TERN_INLINE tern_status tern_call(tern_worker *worker, tern_worker_id target,
                                                 const tern_function *function,
                                                 const void *arguments, size_t bytes);

/* The same with other answers to a full ring, wherever they are called. tern_call_try:
 * TERN_ERR_AGAIN. tern_call_queue: the call is copied to a queue, from which progress, or a
 * service thread while the application computes, moves calls to the ring in their order, behind
 * which later calls to the same target go, and in which those to all targets take half of
 * TERN_OVERFLOW_MEMORY at most, and with those of handlers all of it: TERN_ERR_AGAIN when that is
 * used up. tern_flush waits until they have left. */
TERN_NODISCARD TERN_API tern_status tern_call_try(tern_worker *worker, tern_worker_id target,
                                                  const tern_function *function,
                                                  const void *arguments, size_t bytes);
TERN_NODISCARD TERN_API tern_status tern_call_queue(tern_worker *worker, tern_worker_id target,
                                                    const tern_function *function,
                                                    const void *arguments, size_t bytes);

/* What is done about a full ring: the choice of tern_call, of tern_call_try, of tern_call_queue. */
typedef enum tern_full { TERN_FULL_WAIT, TERN_FULL_FAIL, TERN_FULL_QUEUE } tern_full;

/* When this worker's calls to target become visible to it, from now on (paper 000, 4.4.2). Until
 * then what TERN_PUBLISH and TERN_PUBLISH_BYTES say.
 *
 *     TERN_PUBLISH_WRITE   each at once
 *     TERN_PUBLISH_BATCHED    when they are bytes together, headers of 8 bytes included; bytes 0:
 *                          TERN_PUBLISH_BYTES. What is less becomes visible by tern_call_flush,
 *                          tern_quiesce, tern_barrier, on a full ring, and by progress, once two
 *                          rounds of it have found nothing added. So a wait holds nothing back, but
 *                          a worker that makes no progress must flush.
 *     TERN_PUBLISH_SPILL    each at once, and every call that finds a full ring is queued as by
 *                          tern_call_queue; only when there is no room left either does tern_call
 *                          wait, and do the others give TERN_ERR_AGAIN
 *
 * Order and handlers are the same under each. Opens the pair's ring. TERN_ERR_ARGUMENT: no such
 * worker or policy; TERN_ERR_MEMORY; TERN_ERR_PEER. */
TERN_NODISCARD TERN_API tern_status tern_call_policy(tern_worker *worker, tern_worker_id target,
                                                     tern_publish policy, size_t bytes);

/* Makes the calls visible that were gathered for target, or for every target. Never waits:
 * TERN_ERR_AGAIN if some are left to progress, in the queue or for want of room in a transport.
 * TERN_ERR_ARGUMENT. */
TERN_NODISCARD TERN_API tern_status tern_call_flush(tern_worker *worker, tern_worker_id target);
TERN_NODISCARD TERN_API tern_status tern_call_flush_all(tern_worker *worker);

/* For workers that have other work between their calls. After tern_call_cork the records of this
 * worker to ranks of other nodes gather, and tern_call_uncork publishes those that the policy of
 * their ring does not gather on: one message instead of many. Only full rings and those that are
 * flushed are published meanwhile, and progress publishes nothing. So do not wait in between. Never
 * block, local. Of ranks that share memory nothing is held back. */
TERN_API void tern_call_cork(tern_worker *worker);
TERN_API void tern_call_uncork(tern_worker *worker);

/* Runs function on target and waits for its result, making progress. [out] result: up to capacity
 * bytes; [out] result_bytes (may be NULL): what the handler gave. The status is the handler's, with
 * its text (tern_call_fail), or TERN_ERR_RANGE if capacity is too small (the function has run, its
 * result is lost, and the text names both sizes), or as for tern_call; TERN_ERR_STATE in a handler.
 *
 * Nobody but this worker writes to result, and not after this has returned. A result of more than
 * TERN_RESULT_MAX is copied from the target's memory: with one copy where load/store reaches that;
 * else straight into result if that lies in a segment or in registered memory, and through a buffer
 * of tern's if it does not. If such a get fails (TERN_ERR_PEER), memory of a segment and registered
 * memory has to stay what it is until MPI_Finalize, as after tern_get; other memory is the caller's
 * again at once. */
TERN_NODISCARD TERN_API tern_status tern_call_return(tern_worker *worker, tern_worker_id target,
                                                     const tern_function *function,
                                                     const void *arguments, size_t bytes,
                                                     void *result, size_t capacity,
                                                     size_t *result_bytes);

/* Makes the call of a tern_call_return and returns with it under way (tern/request.h). result:
 * written by tern_test or tern_wait, and by nobody once the request is complete;
 * tern_request_result tells how many bytes came. Up to TERN_CALL_REQUESTS per worker at a time,
 * then TERN_ERR_AGAIN. May wait for room in the ring. TERN_ERR_ARGUMENT: the request is under way.
 * Else as tern_call, also in a handler. */
#define TERN_CALL_REQUESTS 64
TERN_NODISCARD TERN_API tern_status tern_call_start(tern_worker *worker, tern_worker_id target,
                                                    const tern_function *function,
                                                    const void *arguments, size_t bytes,
                                                    void *result, size_t capacity,
                                                    tern_request *request);

/* How a buffer reaches the function, which finds it in tern_call_info. */
typedef enum tern_buffer_way {
    TERN_BUFFER_NONE,
    TERN_BUFFER_INSIDE, /* it goes with the call */
    TERN_BUFFER_PUT,    /* it is put to its place first, in order with the call */
    TERN_BUFFER_GET,    /* the target gets it, then runs the function; later calls of the pair wait
                           meanwhile */
    TERN_BUFFER_GET_ASIDE /* the same, but later calls do not wait, and may run before it */
} tern_buffer_way;

/* The largest buffer. */
#define TERN_BUFFER_MAX (1u << 30)

/* What a call may carry besides arguments; all zero is a plain tern_call. */
typedef struct tern_call_options {
    tern_full full;
    const tern_synchronizer *synchronizer; /* of this node; raised now and lowered by notify; or
                                              NULL: none */
    tern_notify_on notify;
    tern_buffer_way way;
    const void *buffer; /* inside, put: the source; copied, so it may be reused at once */
    tern_ptr from;      /* get: the source, in any segment; to be left alone until the call has been
                           sent in the sense of TERN_ON_SENT, or has run */
    tern_ptr place; /* put: where the buffer goes, memory of the target's rank. get: the same, or
                       TERN_NULL for memory that the function has while it runs. A broadcast takes
                       the same offset of the segment of every rank, whichever rank it names */
    size_t buffer_bytes;
    uint32_t arity;  /* of a broadcast; 0: TERN_BROADCAST_ARITY */
    bool by_message; /* of a broadcast (tern/message.h); other calls have it in their target */
} tern_call_options;

/* Runs function on target as tern_call does, with options (NULL: none). A buffer that the target
 * gets is read where it lies if load/store reaches it. What is got takes TERN_OVERFLOW_MEMORY at
 * most of a worker, or one buffer. If the buffer cannot be got the function does not run, which is
 * logged and counted, and the synchronizer is lowered all the same. Errors as tern_call;
 * TERN_ERR_AGAIN as the choice for a full ring says; TERN_ERR_RANGE too for a buffer or a place
 * outside its segment; TERN_ERR_UNSUPPORTED for a synchronizer of another node; TERN_ERR_STATE for
 * a put over rma in a handler. On any error but those of a put the buffer's place is untouched. */
TERN_NODISCARD TERN_API tern_status tern_call_with(tern_worker *worker, tern_worker_id target,
                                                   const tern_function *function,
                                                   const void *arguments, size_t bytes,
                                                   const tern_call_options *options);

/* Runs function on every worker of the context, this one included, over a tree of ranks: each rank
 * passes the call on to arity others and to its own workers. Its origin is this worker everywhere.
 * A synchronizer is lowered once by every worker; with TERN_ON_SENT and a buffer that is not got,
 * once, when the call has left for this worker's own ring. Not ordered with other calls. Never
 * waits but for room in this worker's own ring; makes one round of progress, in which over rma a
 * buffer that is put may be waited for.
 *
 * With a place each rank gets the buffer once, by the worker of this one's index; the others of the
 * rank run the function after. TERN_BUFFER_GET: each gets it from this rank. TERN_BUFFER_PUT: it is
 * copied to its place here before this returns, and each rank puts it on to those that it passes
 * the call to, before its own functions run, which may change it; a buffer that lies in its place
 * here already stays there. A place is free again when the function has run everywhere
 * (synchronizer, tern_quiesce).
 *
 * Errors as tern_call_with. */
TERN_NODISCARD TERN_API tern_status tern_broadcast(tern_worker *worker,
                                                   const tern_function *function,
                                                   const void *arguments, size_t bytes,
                                                   const tern_call_options *options);

/* Collective over the ranks, one worker of each. Returns on every rank when no call is under way
 * anywhere: all that were made have run, those that they made too, all have answered, and every
 * synchronizer has heard of it. Makes
 * progress for this worker and for every worker of the process that no thread has adopted; other
 * threads must make progress for theirs. TERN_ERR_PEER; TERN_ERR_MISMATCH as tern_barrier;
 * TERN_ERR_STATE in a handler, or, on every rank, if some calls never run because they lie behind a
 * malformed record (tern/stats.h).
 *
 * Ranks do not return at the same time. A rank that has returned may make calls of its next phase,
 * and a rank that is still inside runs them before it returns. So it is with tern_barrier and with
 * all collective functions but tern_phase. */
TERN_NODISCARD TERN_API tern_status tern_quiesce(tern_worker *worker);

/* Ends a phase: tern_quiesce and tern_barrier, and no call of the next phase runs here before this
 * has returned here. So handlers of two phases may use the same variables, which the program
 * changes in between, after each tern_phase. A call that another rank makes earlier stays in its
 * ring or in the inbox until progress is made for its worker again. It costs two meetings
 * (docs/scaling.md) more than tern_quiesce.
 *
 * That is true for the calls that this thread runs: those to its worker and to the workers of the
 * process that no thread has adopted. Other threads, service threads among them, run calls to their
 * workers, and their waits in other contexts those to free workers, as they come. Puts, atomics and
 * operations by RMA of other ranks need no handler and are not held back. What a rank of another
 * context calls is not, either.
 *
 * Collective over the ranks, one worker of each. Blocks; not in handlers. Errors as tern_quiesce.
 */
TERN_NODISCARD TERN_API tern_status tern_phase(tern_worker *worker);

/* Not for applications: where tern_call goes with arguments of a size that is not known to the
 * compiler, and what a call that was sent the short way may leave to do. */
TERN_NODISCARD TERN_API tern_status tern_internal_call_any(tern_worker *worker,
                                                           tern_worker_id target,
                                                           const tern_function *function,
                                                           const void *arguments, size_t bytes);
TERN_API void tern_internal_call_attend(tern_worker *worker, tern_worker_id target);

/* Not for applications: the call, if it can be sent the short way; else 0, and nothing is done. */
TERN_INLINE int tern_internal_call_now(tern_worker *worker, tern_worker_id target,
                                       const tern_function *function, const void *arguments,
                                       size_t bytes) {
    const tern_worker_view *view = (const tern_worker_view *)(const void *)worker;
    if (__builtin_expect(worker == NULL || function == NULL || arguments == NULL ||
                             target.rank >= view->ranks || target.index >= view->workers ||
                             function->id >= view->functions,
                         0))
        return 0;
    tern_lane *lane =
        (tern_lane *)(void *)view->out[(size_t)target.rank * view->workers + target.index];
    uint64_t header = view->function[function->id], size = 8 + ((bytes + 7) & ~(uint64_t)7);
    char *record = lane != NULL ? tern_lane_reserve(lane, size) : NULL;
    if (__builtin_expect(record == NULL || header == 0, 0))
        return 0;
    memcpy(record + 8, arguments, bytes);
    /* Before it can run: tern_quiesce relies on it, and reads it from other threads. */
    /* R5: count */
    __atomic_store_n(view->calls_sent, *view->calls_sent + 1, __ATOMIC_RELAXED);
    if (__builtin_expect(tern_lane_send(lane, record, size, header | (uint64_t)bytes << 32), 0))
        tern_internal_call_attend(worker, target);
    return 1;
}

TERN_NODISCARD TERN_INLINE tern_status tern_call(tern_worker *worker, tern_worker_id target,
                                                 const tern_function *function,
                                                 const void *arguments, size_t bytes) {
    if (__builtin_constant_p(bytes) && bytes <= TERN_CALL_INLINED &&
        tern_internal_call_now(worker, target, function, arguments, bytes))
        return TERN_OK;
    return tern_internal_call_any(worker, target, function, arguments, bytes);
}

#ifdef __cplusplus
}
#endif

#endif
