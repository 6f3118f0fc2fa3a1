#include "rma/state.h"
#include "rpc/extended.h"
#include "rpc/send.h"
#include "rpc/synchronizer.h"
#include "src/error.h"
#include "src/log.h"

/* Making extended calls and broadcasts (paper 000, table 1). */

static bool is_got(const tern_call_options *o) {
    return o->way == TERN_BUFFER_GET || o->way == TERN_BUFFER_GET_ASIDE;
}

static tern_status check(const tern_worker *worker, const tern_call_options *o, bool broadcast) {
    uint64_t offset = 0;
    if ((unsigned)o->full > TERN_FULL_QUEUE || (unsigned)o->notify > TERN_ON_SENT ||
        (unsigned)o->way > TERN_BUFFER_GET_ASIDE)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_call_with: full %d, notify %d, way %d",
                         (int)o->full, (int)o->notify, (int)o->way);
    if ((o->way == TERN_BUFFER_INSIDE || o->way == TERN_BUFFER_PUT) && o->buffer == NULL &&
        o->buffer_bytes > 0)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_call_with: buffer is NULL");
    if (broadcast && o->way == TERN_BUFFER_PUT)
        return tern_fail(TERN_ERR_UNSUPPORTED, "tern_broadcast: a buffer is got, not put; give its "
                                               "place with TERN_BUFFER_GET");
    if (o->buffer_bytes > TERN_BUFFER_MAX)
        return tern_fail(TERN_ERR_RANGE, "a buffer of %zu bytes; %u are the limit", o->buffer_bytes,
                         TERN_BUFFER_MAX);
    return is_got(o) ? tern_segment_check(worker->context, o->from, o->buffer_bytes, &offset)
                     : TERN_OK;
}

static tern_extension extend(const tern_worker *worker, const tern_call_options *o, size_t bytes,
                             uint32_t arity) {
    tern_extension e = {.counter = o->synchronizer != NULL ? o->synchronizer->counter : TERN_NULL,
                        .from = o->from,
                        .place = o->place,
                        .buffer_bytes = o->way != TERN_BUFFER_NONE ? o->buffer_bytes : 0,
                        .arguments = (uint32_t)bytes,
                        .origin = worker->id,
                        .way = (uint16_t)o->way,
                        .notify = (uint16_t)o->notify,
                        .arity = arity};
    if (o->notify == TERN_ON_SENT && !is_got(o))
        e.counter = TERN_NULL; /* known here */
    return e;
}

/* Over rma the puts are flushed in front of the call. */
static tern_status put_buffer(tern_worker *worker, tern_worker_id target,
                              const tern_call_options *o) {
    if (o->place.rank != target.rank)
        return tern_fail(TERN_ERR_ARGUMENT, "a place on rank %u for a call of rank %u",
                         o->place.rank, target.rank);
    tern_status status = TERN_OK;
    if (worker->in_progress && tern_way_to(worker->context, target.rank)->reads_own_batches)
        status = tern_worker_may_wait(worker, "a put in front of a call");
    if (status == TERN_OK)
        status = tern_put(worker, o->place, o->buffer, o->buffer_bytes);
    return status == TERN_OK ? tern_fence(worker, target.rank) : status;
}

static tern_status send_extended(tern_worker *worker, tern_worker_id target, uint64_t header,
                                 const void *arguments, size_t bytes, const tern_call_options *o,
                                 uint32_t arity) {
    const tern_context *context = worker->context;
    bool known_here = o->notify == TERN_ON_SENT && !is_got(o);
    uint64_t runs = arity > 0 && !known_here ? (uint64_t)context->size * context->workers : 1;
    tern_status status =
        o->synchronizer != NULL ? tern_synchronizer_raise(worker, *o->synchronizer, runs) : TERN_OK;
    if (status != TERN_OK)
        return status;
    if (o->way == TERN_BUFFER_PUT)
        status = put_buffer(worker, target, o);
    tern_extension e = extend(worker, o, bytes, arity);
    tern_outgoing call = {tern_worker_number(context, target),
                          tern_record_header(TERN_RECORD_CALL_EXTENDED, tern_record_id(header), 0),
                          {{&e, sizeof e}, {arguments, bytes}, {NULL, 0}}};
    if (o->way == TERN_BUFFER_INSIDE)
        call.piece[2] = (tern_piece){o->buffer, o->buffer_bytes};
    if (status == TERN_OK)
        status = tern_outgoing_send(worker, &call, o->full);
    if (o->synchronizer == NULL)
        return status;
    if (status != TERN_OK)
        tern_counter_lower(worker, o->synchronizer->counter, runs);
    else if (known_here)
        tern_counter_lower_when_sent(worker, o->synchronizer->counter, call.target);
    return status;
}

tern_status tern_call_with(tern_worker *worker, tern_worker_id target,
                           const tern_function *function, const void *arguments, size_t bytes,
                           const tern_call_options *options) {
    static const tern_call_options usual;
    const tern_call_options *o = options != NULL ? options : &usual;
    uint64_t header = tern_call_header(worker, target, function, arguments, bytes);
    if (header == 0)
        return tern_call_refuse(worker, target, function, arguments, bytes);
    tern_status status = check(worker, o, false);
    if (status != TERN_OK)
        return status;
    if (o->synchronizer == NULL && o->way == TERN_BUFFER_NONE) {
        tern_outgoing call = {
            tern_worker_number(worker->context, target), header, {{arguments, bytes}}};
        return tern_outgoing_send(worker, &call, o->full);
    }
    return send_extended(worker, target, header, arguments, bytes, o, 0);
}

tern_status tern_broadcast(tern_worker *worker, const tern_function *function,
                           const void *arguments, size_t bytes, const tern_call_options *options) {
    static const tern_call_options usual;
    const tern_call_options *o = options != NULL ? options : &usual;
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_broadcast: worker is NULL");
    tern_worker_id self = tern_worker_self(worker);
    uint64_t header = tern_call_header(worker, self, function, arguments, bytes);
    if (header == 0)
        return tern_call_refuse(worker, self, function, arguments, bytes);
    tern_status status = check(worker, o, true);
    uint32_t arity = o->arity > 0 ? o->arity : (uint32_t)worker->context->config.broadcast_arity;
    if (status == TERN_OK)
        status = send_extended(worker, self, header, arguments, bytes, o, arity);
    /* Here and now it is passed on, unless this is a handler. */
    if (status == TERN_OK)
        (void)tern_call_flush(worker, self);
    if (status == TERN_OK)
        (void)tern_progress_round(worker);
    return status;
}

/* In ranks that count from the origin's, rank r tells r * arity + 1 to r * arity + arity; each of
 * them the worker of the origin's index, and that one the others of its rank. */
static uint32_t child_of(const tern_worker *worker, const tern_extension *e, uint32_t i,
                         uint32_t ranks) {
    const tern_context *context = worker->context;
    uint32_t root = e->origin / context->workers;
    if (i >= ranks) { /* the i-th of the others at home */
        uint32_t index = i - ranks;
        return context->rank * context->workers + index + (index >= worker->index);
    }
    uint64_t mine = (context->rank + context->size - root) % context->size;
    uint32_t rank = (uint32_t)((mine * e->arity + 1 + i + root) % context->size);
    return rank * context->workers + e->origin % context->workers;
}

bool tern_broadcast_pass(tern_worker *worker, const tern_extension *e, uint32_t id,
                         const char *rest, size_t bytes, bool own, uint32_t *told) {
    const tern_context *context = worker->context;
    uint64_t mine = (context->rank + context->size - e->origin / context->workers) % context->size;
    uint64_t first = mine * e->arity + 1;
    uint64_t ranks = first < context->size ? context->size - first : 0;
    if (ranks > e->arity)
        ranks = e->arity;
    uint32_t count = (uint32_t)ranks + (own ? context->workers - 1 : 0);
    for (; *told < count; ++*told) {
        tern_extension theirs = *e;
        if (*told >= ranks)
            theirs.arity = 0;
        tern_outgoing call = {child_of(worker, e, *told, (uint32_t)ranks),
                              tern_record_header(TERN_RECORD_CALL_EXTENDED, id, 0),
                              {{&theirs, sizeof theirs}, {rest, bytes}}};
        tern_status status = tern_outgoing_send(worker, &call, TERN_FULL_QUEUE);
        if (status == TERN_ERR_AGAIN)
            return false;
        if (status != TERN_OK)
            tern_log(TERN_LOG_ERROR, "a broadcast does not reach worker %u: %s", call.target,
                     tern_error_detail());
    }
    return true;
}
