#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/region/region.h"
#include "rma/thread_transfer.h"
#include "rpc/lent/lent.h"
#include "rpc/synchronizer.h"

/* Making calls with options and broadcasts (paper 000, table 1). */

static bool is_got(const tern_call_options *o) {
    return o->transfer == TERN_BUFFER_GET || o->transfer == TERN_BUFFER_GET_ASIDE;
}

/* Returns the address of a broadcast's place on this rank, or NULL if this rank has no such
 * place. */
static char *address_at_home(const tern_worker *worker, const tern_call_options *o) {
    tern_ptr gaddr = o->place;
    gaddr.rank = worker->context->rank;
    return tern_internal_reach_address(worker, gaddr, o->buffer_bytes);
}

static tern_status call_with_check(const tern_worker *worker, const tern_call_options *o,
                                   bool broadcast) {
    uint64_t offset = 0;
    if ((unsigned)o->full > TERN_FULL_QUEUE || (unsigned)o->notify > TERN_ON_SENT ||
        (unsigned)o->transfer > TERN_BUFFER_GET_ASIDE)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_call_with: full is %d, notify is %d and transfer is %d; pass "
                         "constants of tern/call.h",
                         (int)o->full, (int)o->notify, (int)o->transfer);
    if ((o->transfer == TERN_BUFFER_INSIDE || o->transfer == TERN_BUFFER_PUT) &&
        o->buffer == NULL && o->buffer_bytes > 0)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_call_with: buffer is NULL and buffer_bytes is %zu", o->buffer_bytes);
    if (broadcast && o->transfer == TERN_BUFFER_PUT && address_at_home(worker, o) == NULL)
        return tern_fail(TERN_ERR_RANGE,
                         "tern_call_all: no segment has %zu bytes at offset %llu; a buffer is put "
                         "to the same place of every rank",
                         o->buffer_bytes, (unsigned long long)o->place.offset);
    if (o->buffer_bytes > TERN_BUFFER_MAX)
        return tern_fail(TERN_ERR_RANGE, "buffer_bytes is %zu; at most %u are allowed",
                         o->buffer_bytes, TERN_BUFFER_MAX);
    return is_got(o) ? tern_segment_check(worker->context, o->from, o->buffer_bytes, &offset)
                     : TERN_OK;
}

static tern_extension call_with_extend(const tern_worker *worker, const tern_call_options *o,
                                       size_t bytes, uint32_t arity, bool by_message) {
    tern_extension e = {.counter = o->synchronizer != NULL ? o->synchronizer->counter : TERN_NULL,
                        .from = o->from,
                        .gaddr = o->place,
                        .buffer_bytes = o->transfer != TERN_BUFFER_NONE ? o->buffer_bytes : 0,
                        .arguments = (uint32_t)bytes,
                        .origin = worker->id,
                        .transfer = (uint8_t)o->transfer,
                        .flags = (tern_is_nobody(worker) ? TERN_CALL_OF_THREAD : 0) |
                                 (by_message ? TERN_CALL_BY_MESSAGE : 0),
                        .notify = (uint8_t)o->notify,
                        .arity = arity};
    if (o->notify == TERN_ON_SENT && !is_got(o))
        e.counter = TERN_NULL; /* this rank knows when the call was sent */
    return e;
}

/* Puts the buffer of a call and orders the call behind it. On a transport that puts frames,
 * tern_fence is a flush: the buffer arrives before a call by message, too. A flush waits, which a
 * handler may not do. */
static tern_status put_buffer(tern_worker *worker, tern_call_target to,
                              const tern_call_options *o) {
    const uint32_t rank = tern_rank_of(worker->context, to.target);
    if (o->place.rank != rank)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "place is on rank %u, but the call goes to rank %u; give a place of that rank",
            o->place.rank, rank);
    if (tern_is_nobody(worker))
        return tern_thread_put(worker->context, o->place, o->buffer, o->buffer_bytes);
    tern_status status = TERN_OK;
    if (worker->in_progress && tern_transport_to(worker->context, rank)->reads_own_frames)
        status = tern_worker_may_wait(worker, "a put in front of a call");
    if (status == TERN_OK)
        status = tern_put(worker, o->place, o->buffer, o->buffer_bytes);
    return status == TERN_OK ? tern_fence(worker, rank) : status;
}

static tern_status send_extended(tern_worker *worker, tern_call_target to, uint64_t header,
                                 const void *arguments, size_t bytes, const tern_call_options *o,
                                 uint32_t arity) {
    const tern_context *context = worker->context;
    bool sender_knows = o->notify == TERN_ON_SENT && !is_got(o);
    const uint64_t readers = arity > 0 ? (uint64_t)context->size * context->workers : 1;
    uint64_t runs = sender_knows ? 1 : readers;
    tern_status status =
        o->synchronizer != NULL ? tern_synchronizer_raise(worker, *o->synchronizer, runs) : TERN_OK;
    if (status != TERN_OK)
        return status;
    /* In a broadcast each rank puts the buffer on from its own place. So this rank first copies the
     * buffer to its place, where the buffer may lie already. */
    if (o->transfer == TERN_BUFFER_PUT && arity == 0)
        status = put_buffer(worker, to, o);
    else if (o->transfer == TERN_BUFFER_PUT && o->buffer_bytes > 0)
        memmove(address_at_home(worker, o), o->buffer, o->buffer_bytes);
    tern_extension e = call_with_extend(worker, o, bytes, arity, to.by_message);
    tern_outgoing call = {to,
                          tern_record_header(TERN_RECORD_CALL_EXTENDED, tern_record_id(header), 0),
                          {{&e, sizeof e}, {arguments, bytes}, {NULL, 0}}};
    if (o->transfer == TERN_BUFFER_INSIDE)
        call.piece[2] = (tern_call_piece){o->buffer, o->buffer_bytes};
    if (status == TERN_OK)
        status = tern_extended_send(worker, &call, &e, o->full, readers);
    if (o->synchronizer == NULL)
        return status;
    if (status != TERN_OK)
        tern_counter_lower(worker, o->synchronizer->counter, runs);
    else if (sender_knows && to.by_message) /* a call by message has left already */
        tern_counter_lower(worker, o->synchronizer->counter, 1);
    else if (sender_knows)
        tern_counter_lower_when_sent(worker, o->synchronizer->counter, to.target);
    return status;
}

tern_status tern_call_with(tern_worker *worker, tern_worker_id target,
                           const tern_function *function, const void *arguments, size_t bytes,
                           const tern_call_options *options) {
    static const tern_call_options usual;
    const tern_call_options *o = options != NULL ? options : &usual;
    tern_call_target to;
    uint64_t header = tern_call_header(worker, target, function, arguments, bytes, &to);
    if (header == 0)
        return tern_call_refuse(worker, target, function, arguments, bytes);
    tern_status status = call_with_check(worker, o, false);
    if (status != TERN_OK)
        return status;
    const bool inside = o->transfer == TERN_BUFFER_INSIDE;
    if (inside && to.by_message)
        return send_extended(worker, to, header, arguments, bytes, o, 0);
    if (inside)
        header = tern_record_header(TERN_RECORD_CALL_BUFFER, tern_record_id(header), 0);
    const uint64_t own = bytes;
    tern_outgoing call = {to,
                          header,
                          {{&own, inside ? sizeof own : 0},
                           {arguments, bytes},
                           {o->buffer, inside ? o->buffer_bytes : 0}}};
    if (o->synchronizer == NULL && (inside || o->transfer == TERN_BUFFER_NONE) &&
        tern_outgoing_fits(worker->context, &call))
        return tern_outgoing_send(worker, &call, o->full);
    return send_extended(worker, to, header, arguments, bytes, o, 0);
}

tern_status tern_call_all(tern_worker *worker, const tern_function *function, const void *arguments,
                          size_t bytes, const tern_call_options *options) {
    static const tern_call_options usual;
    const tern_call_options *o = options != NULL ? options : &usual;
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_call_all: worker is NULL");
    tern_worker_id self = tern_is_nobody(worker) ? (tern_worker_id){worker->context->rank, 0}
                                                 : tern_worker_self(worker);
    tern_call_target to;
    uint64_t header = tern_call_header(worker, o->by_message ? tern_by_message(self) : self,
                                       function, arguments, bytes, &to);
    if (header == 0)
        return tern_call_refuse(worker, self, function, arguments, bytes);
    tern_status status = call_with_check(worker, o, true);
    uint32_t arity = o->arity > 0 ? o->arity : (uint32_t)worker->context->config.broadcast_arity;
    if (status == TERN_OK)
        status = send_extended(worker, to, header, arguments, bytes, o, arity);
    /* This rank passes the broadcast on at once, unless this is a handler. */
    if (status == TERN_OK && !to.by_message)
        tern_ignore(tern_call_flush(worker, self));
    if (status == TERN_OK)
        (void)tern_progress_round(worker);
    return status;
}
