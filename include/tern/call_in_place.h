#ifndef TERN_CALL_IN_PLACE_H
#define TERN_CALL_IN_PLACE_H

/*
 * Calls whose arguments are built in place (tern_call_reserve): the program writes the arguments
 * where the call carries them, and their size may be known only when they are written. tern_call
 * copies arguments, which for sizes that the compiler does not know costs a call of memcpy.
 *
 *     tern_reservation call;
 *     tern_status status = tern_call_reserve(worker, target, &insert_function, most, &call);
 *     if (status == TERN_OK) {
 *         size_t bytes = encode(call.arguments, item);
 *         status = tern_call_commit(&call, bytes);
 *         if (status != TERN_OK)
 *             tern_call_cancel(&call);
 *     }
 *
 * Where the arguments are built: over shm in the target's ring; over other transports in the
 * outgoing copy of that ring; and in memory of tern, which tern_call_commit copies, if the ring has
 * no room, calls to the target wait in a queue, the call goes by message (tern/message.h), or the
 * arguments are larger than a ring takes (TERN_ARGUMENTS_MAX).
 *
 * Between tern_call_reserve and the end of the reservation, the worker may do what a handler may,
 * except calls to the same target: it may put, get, use atomics and call others; tern_progress does
 * nothing, functions that may wait return TERN_ERR_STATE, and so do calls to the target and another
 * tern_call_reserve of this worker. Calls that were gathered for the target stay gathered. Keep the
 * time short, because the worker serves nobody meanwhile.
 *
 * The place of a call in the order of the pair is that of its commit.
 */

#include <stdbool.h>
#include <stddef.h>

#include "tern/call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* tern_call_reserve is inlined for arguments of at most this many bytes. */
#define TERN_RESERVE_INLINED 1024u

/* A call that is being built. Owned by the program, which must not copy it; valid from
 * tern_call_reserve until the commit or the cancel, on the thread of the worker. */
typedef struct tern_reservation {
    void *arguments; /* memory for the arguments, 8-byte aligned; its content is undefined */
    size_t bytes;    /* its size */
    /* For tern alone. */
    tern_worker *worker;    /* NULL: the reservation has ended */
    struct tern_lane *lane; /* the short path by which the commit sends; NULL: the library sends */
    uint64_t limit;         /* of the lane, whose short path is shut meanwhile */
    uint64_t header;
    tern_worker_id target;
    bool in_progress, in_handler; /* of the worker, before */
    bool in_ring;                 /* the arguments lie in the ring or its outgoing copy */
} tern_reservation;

/* Gives the program memory for the arguments of a call of function to target. bytes: the most that
 * the arguments may take; up to TERN_CHUNK_MAX. [out] reservation. Nothing is sent before
 * tern_call_commit. Never waits for room: if the ring has none, the arguments are built in memory
 * of tern. A worker has at most one reservation at a time; the threads without a worker
 * (tern_context_caller) have any number.
 *
 * TERN_ERR_STATE: this worker has a reservation that has not ended; the text names its target.
 * TERN_ERR_RANGE: more than TERN_CHUNK_MAX bytes; TERN_ERR_NOT_FOUND, TERN_ERR_ARGUMENT and
 * TERN_ERR_PEER as tern_call; TERN_ERR_MEMORY. Handlers may call it, and must end the reservation
 * before they return: otherwise tern logs an error and cancels it. Cost: over shm no system call,
 * no lock, no allocation. */
TERN_NODISCARD TERN_INLINE tern_status tern_call_reserve(tern_worker *worker, tern_worker_id target,
                                                         const tern_function *function,
                                                         size_t bytes,
                                                         tern_reservation *reservation);

/* Makes the call with the first bytes of the memory as its arguments. The call is then sent as
 * tern_call sends it, under the policy of the pair (tern_call_policy), and the reservation has
 * ended. If the memory was tern's own it may wait for room, making progress; in a handler it queues
 * the call instead.
 *
 * After an error the reservation is still open; commit again or cancel. TERN_ERR_RANGE: bytes is
 * more than was reserved; TERN_ERR_ARGUMENT: the reservation has ended. If the memory was tern's
 * own also the errors of tern_call. */
TERN_NODISCARD TERN_INLINE tern_status tern_call_commit(tern_reservation *reservation,
                                                        size_t bytes);

/* Ends the reservation without a call. Does nothing if it has ended. Never blocks, local. */
TERN_API void tern_call_cancel(tern_reservation *reservation);

/* Not for applications: tern_call_reserve and tern_call_commit where the short path is shut. */
TERN_NODISCARD TERN_API tern_status tern_internal_reserve_any(tern_worker *worker,
                                                              tern_worker_id target,
                                                              const tern_function *function,
                                                              size_t bytes,
                                                              tern_reservation *reservation);
TERN_NODISCARD TERN_API tern_status tern_internal_commit_any(tern_reservation *reservation,
                                                             size_t bytes);

/* Not for applications: marks the worker as one that builds a call, and unmarks it. */
TERN_INLINE void tern_internal_reservation_begin(tern_reservation *r) {
    tern_worker_view *view = (tern_worker_view *)(void *)r->worker;
    r->in_progress = view->in_progress;
    r->in_handler = view->in_handler;
    view->reserved = r->target.rank * view->workers + r->target.index + 1;
    view->in_progress = view->in_handler = true;
}
TERN_INLINE void tern_internal_reservation_end(const tern_reservation *r) {
    tern_worker_view *view = (tern_worker_view *)(void *)r->worker;
    view->reserved = 0;
    view->in_progress = r->in_progress;
    view->in_handler = r->in_handler;
}

/* Not for applications: reserves by the short path. Returns 1, or 0 if nothing was done. */
TERN_INLINE int tern_internal_reserve_try(tern_worker *worker, tern_worker_id target,
                                          const tern_function *function, size_t bytes,
                                          tern_reservation *r) {
    const tern_worker_view *view = (const tern_worker_view *)(const void *)worker;
    tern_lane *lane = NULL;
    uint64_t header = 0;
    char *record = tern_internal_call_record(worker, target, function,
                                             8 + ((bytes + 7) & ~(uint64_t)7), &lane, &header);
    if (__builtin_expect(worker == NULL || record == NULL || r == NULL || view->reserved != 0, 0))
        return 0;
    r->arguments = record + 8;
    r->bytes = bytes;
    r->worker = worker;
    r->lane = lane;
    r->limit = lane->limit;
    r->header = header;
    r->target = target;
    r->in_ring = true;
    lane->limit = 0;
    tern_internal_reservation_begin(r);
    return 1;
}

TERN_NODISCARD TERN_INLINE tern_status tern_call_reserve(tern_worker *worker, tern_worker_id target,
                                                         const tern_function *function,
                                                         size_t bytes,
                                                         tern_reservation *reservation) {
    if (__builtin_expect(
            bytes <= TERN_RESERVE_INLINED &&
                tern_internal_reserve_try(worker, target, function, bytes, reservation),
            1))
        return TERN_OK;
    return tern_internal_reserve_any(worker, target, function, bytes, reservation);
}

TERN_NODISCARD TERN_INLINE tern_status tern_call_commit(tern_reservation *reservation,
                                                        size_t bytes) {
    tern_reservation *r = reservation;
    if (__builtin_expect(r == NULL || r->worker == NULL || r->lane == NULL || bytes > r->bytes, 0))
        return tern_internal_commit_any(r, bytes);
    const tern_worker_view *view = (const tern_worker_view *)(const void *)r->worker;
    tern_worker *worker = r->worker;
    tern_internal_reservation_end(r);
    r->worker = NULL;
    r->lane->limit = r->limit;
    /* Counted before the call can run, as in tern_internal_call_try. */
    /* R5: quiesce_count */
    __atomic_store_n(view->calls_sent, *view->calls_sent + 1, __ATOMIC_RELAXED);
    if (__builtin_expect(tern_lane_send(r->lane, (char *)r->arguments - 8,
                                        8 + ((bytes + 7) & ~(uint64_t)7),
                                        r->header | (uint64_t)bytes << 32),
                         0))
        tern_internal_call_attend(worker, r->target);
    return TERN_OK;
}

#ifdef __cplusplus
}
#endif

#endif
