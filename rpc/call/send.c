#include "rpc/call/send.h"

#include "base/error.h"
#include "rma/reply/answer.h"
#include "rma/memory/state.h"
#include "rpc/call/overflow.h"
#include "src/context.h"
#include "src/profile/profile.h"
#include "src/progress/wait.h"

tern_status tern_call_refuse(const tern_worker *worker, tern_worker_id target,
                             const tern_function *function, const void *arguments, size_t bytes) {
    if (worker == NULL || function == NULL || (arguments == NULL && bytes > 0))
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "tern_call: worker or function is NULL, or arguments is NULL and bytes is %zu", bytes);
    const tern_status status =
        tern_worker_check(worker->context, tern_by_ring(target), "tern_call");
    if (status != TERN_OK)
        return status;
    return tern_fail(TERN_ERR_NOT_FOUND,
                     "%s was not registered when the context was created; register functions "
                     "before",
                     function->name != NULL ? function->name : "a function without a name");
}

size_t tern_outgoing_bytes(const tern_outgoing *c) {
    size_t bytes = 0;
    for (size_t i = 0; i < TERN_PIECES; i++)
        if (c->piece[i].bytes > 0)
            bytes = ((bytes + 7) & ~(size_t)7) + c->piece[i].bytes;
    return bytes;
}

size_t tern_outgoing_max(const tern_context *context, bool by_message) {
    const size_t most = by_message ? TERN_MESSAGE_MAX : tern_ring_record_max(context);
    return most < TERN_ARGUMENTS_MAX ? most : TERN_ARGUMENTS_MAX;
}

void tern_outgoing_write(const tern_outgoing *c, void *to) {
    size_t at = 0;
    for (size_t i = 0; i < TERN_PIECES; i++) {
        if (c->piece[i].bytes == 0)
            continue;
        at = (at + 7) & ~(size_t)7;
        memcpy((char *)to + at, c->piece[i].data, c->piece[i].bytes);
        at += c->piece[i].bytes;
    }
}

bool tern_outgoing_fits(const tern_context *context, const tern_outgoing *c) {
    const size_t most = tern_outgoing_max(context, c->to.by_message);
    for (size_t i = 0; i < TERN_PIECES; i++) /* a sum may have wrapped */
        if (c->piece[i].bytes > most)
            return false;
    return tern_outgoing_bytes(c) <= most;
}

/* Puts the call into its ring. TERN_ERR_AGAIN, without a text: there is no room. */
static tern_status put_call(tern_worker *worker, const tern_outgoing *c, size_t bytes) {
    tern_out *out = NULL;
    void *room = NULL;
    if (!tern_overflow_clear(worker, c->to.target))
        return TERN_ERR_AGAIN;
    tern_status status = tern_ring_open(worker, c->to.target, &out);
    if (status == TERN_OK)
        status = tern_ring_try(worker, out, bytes, &room);
    if (status != TERN_OK)
        return status;
    tern_outgoing_write(c, room);
    if (__builtin_expect(worker->profile != NULL, 0))
        tern_call_trace_sent(worker, out, c->header);
    tern_count(&worker->stats.calls_sent, 1); /* before the call can run: quiesce relies on it */
    tern_ring_commit(out, c->header | (uint64_t)bytes << 32);
    tern_ring_publish_due(worker, out);
    return TERN_OK;
}

/* Returns whether calls to target are queued if the ring is full. The policy is read without the
 * lock: only this thread sets it, also while another thread has the ring. */
static bool send_keeps(const tern_worker *worker, uint32_t target) {
    const tern_out *out = tern_overflow_ring_of(worker, target);
    return out != NULL && out->policy == TERN_PUBLISH_SPILL;
}

static tern_status refuse_size(const tern_worker *worker, size_t bytes, size_t most) {
    return tern_fail(TERN_ERR_RANGE,
                     "a call of %zu bytes; TERN_RING_SIZE=%zu allows at most %zu; raise it", bytes,
                     worker->context->config.ring_size, most);
}

static const char *function_of(const tern_worker *worker, const tern_outgoing *c) {
    return tern_rpc_of(worker->context)->name[tern_record_id(c->header)];
}

static tern_status outgoing_send(tern_worker *worker, const tern_outgoing *c, tern_full full) {
    if (__builtin_expect(worker->view.reserved == c->to.target + 1, 0))
        return tern_reserved_fail(worker, "tern_call");
    if (c->to.by_message)
        return tern_outgoing_send_message(worker, c, full);
    tern_wait_state wait =
        TERN_WAIT_FOR("room in its ring, to call", function_of(worker, c), UINT64_MAX);
    wait.in = "tern_call";
    size_t bytes = tern_outgoing_bytes(c);
    if (!tern_outgoing_fits(worker->context, c))
        return refuse_size(worker, bytes, tern_outgoing_max(worker->context, false));
    if (full == TERN_FULL_WAIT && worker->in_progress)
        full = TERN_FULL_QUEUE; /* a handler may not wait */
    for (;;) {
        tern_status status = put_call(worker, c, bytes);
        if (status == TERN_ERR_AGAIN &&
            (full == TERN_FULL_QUEUE || send_keeps(worker, c->to.target)))
            status = tern_overflow_push(worker, c, bytes);
        else if (status == TERN_ERR_AGAIN && full == TERN_FULL_FAIL)
            return tern_fail(status,
                             "the ring to worker %u is full; let progress run, or raise "
                             "TERN_RING_SIZE",
                             c->to.target);
        if (status != TERN_ERR_AGAIN || full != TERN_FULL_WAIT)
            return status;
        status = tern_answer_round(worker, &wait, tern_progress_round(worker),
                                   tern_rank_of(worker->context, c->to.target), c->to.target, NULL);
        if (status != TERN_OK)
            return status;
    }
}

tern_status tern_outgoing_send(tern_worker *worker, const tern_outgoing *c, tern_full full) {
    if (__builtin_expect(worker->profile == NULL, 1))
        return outgoing_send(worker, c, full);
    const tern_span span = tern_span_begin(worker, TERN_SPAN_CALL, tern_record_id(c->header));
    const tern_status status = outgoing_send(worker, c, full);
    tern_span_end(worker, &span, tern_rank_of(worker->context, c->to.target),
                  tern_outgoing_bytes(c), status);
    return status;
}
