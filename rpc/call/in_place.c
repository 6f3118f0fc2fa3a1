#include "rpc/call/in_place.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/reply/answer.h"
#include "rpc/call/overflow.h"
#include "rpc/lent/lent.h"
#include "src/log.h"
#include "src/profile/profile.h"
#include "src/progress/wait.h"
#include "tern/archive.h"

/* Reserves room in the ring. TERN_ERR_AGAIN, without a text: the call cannot be built there. */
static tern_status reservation_take_room(tern_worker *worker, const tern_call_target *route,
                                         size_t bytes, tern_reservation *r) {
    tern_out *out = NULL;
    tern_status status = TERN_ERR_AGAIN;
    if (!route->by_message && bytes <= tern_outgoing_max(worker->context, false) &&
        tern_overflow_clear(worker, route->target)) {
        status = tern_ring_open(worker, route->target, &out);
        if (status == TERN_OK)
            status = tern_ring_try(worker, out, bytes, &r->arguments);
    }
    if (status == TERN_ERR_AGAIN)
        tern_error_clear_again();
    return status;
}

/* Shuts or opens the short path into the ring, as the mark of the worker says. A lent ring has
 * none.
 */
static void reservation_set_lane(tern_worker *worker, tern_worker_id target) {
    tern_out *out =
        tern_ring_at_rest(worker, tern_worker_number(worker->context, tern_by_ring(target)));
    if (out != NULL)
        tern_ring_open_lane(worker, out);
}

static void reservation_begin(tern_reservation *r) {
    const tern_worker_id target = r->target;
    r->target = tern_by_ring(target);
    tern_internal_reservation_begin(r);
    r->target = target;
    tern_rpc_worker_of(r->worker)->reserved = r->in_ring ? NULL : r->arguments;
    reservation_set_lane(r->worker, target);
}

static void reservation_end(tern_reservation *r) {
    tern_internal_reservation_end(r);
    tern_rpc_worker_of(r->worker)->reserved = NULL;
    reservation_set_lane(r->worker, r->target);
}

tern_status tern_internal_reserve_any(tern_worker *worker, tern_worker_id target,
                                      const tern_function *function, size_t bytes,
                                      tern_reservation *reservation) {
    static const char nothing[1] = "";
    tern_call_target route;
    if (reservation == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_call_reserve: reservation is NULL");
    const uint64_t header = tern_call_header(worker, target, function, nothing, bytes, &route);
    if (header == 0)
        return tern_call_refuse(worker, target, function, nothing, bytes);
    if (worker->view.reserved != 0)
        return tern_reserved_fail(worker, "tern_call_reserve");
    if (bytes > TERN_CHUNK_MAX)
        return tern_fail(TERN_ERR_RANGE,
                         "tern_call_reserve: bytes is %zu; at most %u are allowed; let the target "
                         "get a large buffer",
                         bytes, TERN_CHUNK_MAX);
    tern_reservation r = {.bytes = bytes, .worker = worker, .header = header, .target = target};
    tern_status status = reservation_take_room(worker, &route, bytes, &r);
    if (status != TERN_OK && status != TERN_ERR_AGAIN)
        return status;
    r.in_ring = status == TERN_OK;
    if (!r.in_ring && (r.arguments = malloc(bytes > 0 ? bytes : 1)) == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory to build a call of %zu bytes", bytes);
    if (!tern_is_nobody(worker))
        reservation_begin(&r);
    *reservation = r;
    return TERN_OK;
}

/* Sends the call from where it was built. */
static tern_status reservation_send(tern_reservation *r, size_t bytes) {
    tern_worker *worker = r->worker;
    const tern_worker_id plain = tern_by_ring(r->target);
    const tern_call_target route = {tern_worker_number(worker->context, plain),
                                    plain.index != r->target.index || tern_is_nobody(worker)};
    if (!r->in_ring) {
        tern_outgoing call = {route, r->header, {{r->arguments, bytes}}};
        return bytes > tern_outgoing_max(worker->context, route.by_message)
                   ? tern_call_large(worker, route, r->header, r->arguments, bytes, TERN_FULL_WAIT,
                                     NULL)
                   : tern_outgoing_send(worker, &call, TERN_FULL_WAIT);
    }
    tern_out *out = tern_rma_worker_of(worker)->out[route.target];
    if (__builtin_expect(worker->profile != NULL, 0))
        tern_call_trace_sent(worker, out, r->header);
    tern_count(&worker->stats.calls_sent, 1); /* before the call can run: quiesce relies on it */
    tern_ring_commit(out, r->header | (uint64_t)bytes << 32);
    tern_ring_publish_due(worker, out);
    return TERN_OK;
}

static void reservation_clear(tern_reservation *r) {
    if (!r->in_ring)
        free(r->arguments);
    r->worker = NULL;
    r->arguments = NULL;
}

tern_status tern_internal_commit_any(tern_reservation *reservation, size_t bytes) {
    tern_reservation *r = reservation;
    if (r == NULL || r->worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_call_commit: %s",
                         r == NULL ? "reservation is NULL"
                                   : "the reservation has ended; call tern_call_reserve first");
    if (bytes > r->bytes)
        return tern_fail(TERN_ERR_RANGE,
                         "tern_call_commit: bytes is %zu, and %zu were reserved; reserve more",
                         bytes, r->bytes);
    const bool nobody = tern_is_nobody(r->worker);
    if (!nobody)
        reservation_end(r);
    const tern_status status = reservation_send(r, bytes);
    if (status == TERN_OK)
        reservation_clear(r);
    else if (!nobody)
        reservation_begin(r);
    return status;
}

void tern_call_cancel(tern_reservation *reservation) {
    tern_reservation *r = reservation;
    if (r == NULL || r->worker == NULL)
        return;
    if (!tern_is_nobody(r->worker))
        reservation_end(r);
    if (r->in_ring) {
        const uint32_t number = tern_worker_number(r->worker->context, r->target);
        tern_ring_unreserve(r->worker, tern_rma_worker_of(r->worker)->out[number]);
    }
    reservation_clear(r);
}

/* The handler's tern_reservation is gone, so this goes by what the worker knows. */
void tern_reservation_look(tern_worker *worker) {
    if (__builtin_expect(worker->view.reserved == 0, 1))
        return;
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    const uint32_t target = worker->view.reserved - 1;
    tern_log(TERN_LOG_ERROR,
             "a handler has reserved a call to worker %u and returned; it is cancelled; call "
             "tern_call_commit or tern_call_cancel before the handler returns",
             target);
    worker->view.reserved = 0;
    tern_out *out = tern_ring_at_rest(worker, target);
    if (out != NULL && mine->reserved == NULL)
        tern_ring_unreserve(worker, out);
    else if (out != NULL)
        tern_ring_open_lane(worker, out);
    tern_reservation_discard(worker);
}

void tern_reservation_discard(tern_worker *worker) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    free(mine->reserved);
    mine->reserved = NULL;
}
