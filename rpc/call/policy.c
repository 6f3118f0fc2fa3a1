#include "base/error.h"
#include "rma/memory/state.h"
#include "rpc/call/overflow.h"

/*
 * Publishing policies (paper 000, 4.4.2). A policy does not change how a call is sent. It sets a
 * threshold in the pair's lane, the number of bytes to gather, with which every commit compares;
 * and it tells tern_outgoing_send whether to queue a call whose ring is full.
 */

/* Threads without a worker have no rings. */
static tern_status policy_check_worker(const tern_worker *worker, const char *function) {
    if (worker != NULL && !tern_is_nobody(worker))
        return TERN_OK;
    return tern_fail(TERN_ERR_ARGUMENT, "%s: %s", function,
                     worker == NULL ? "worker is NULL"
                                    : "calls of tern_context_caller have no ring");
}

static tern_status policy_check(const tern_worker *worker, tern_worker_id target,
                                const char *function) {
    tern_status status = policy_check_worker(worker, function);
    if (status != TERN_OK)
        return status;
    return tern_worker_check(worker->context, target, function);
}

tern_status tern_call_policy(tern_worker *worker, tern_worker_id target, tern_publish policy,
                             size_t bytes) {
    tern_status status = policy_check(worker, target, "tern_call_policy");
    if (status != TERN_OK)
        return status;
    if ((unsigned)policy > TERN_PUBLISH_SPILL)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_call_policy: policy is %d; pass a TERN_PUBLISH_ constant",
                         (int)policy);
    uint32_t number = tern_worker_number(worker->context, target);
    tern_out *out = NULL;
    status = tern_ring_open(worker, number, &out);
    if (status != TERN_OK && status != TERN_ERR_AGAIN)
        return status;
    tern_error_clear_again(); /* a ring that is still being set up already takes the policy */
    out = tern_overflow_ring(worker, number);
    out->policy = (uint8_t)policy;
    out->lane.gather = 0;
    if (policy == TERN_PUBLISH_BATCHED)
        out->lane.gather = bytes > 0 ? bytes : worker->context->config.publish_bytes;
    if (out->lane.first_header != 0)
        tern_ring_publish_due(worker, out);
    tern_overflow_ring_done(worker);
    return TERN_OK;
}

static tern_status fail_calls_left(void) {
    return tern_fail(TERN_ERR_AGAIN, "calls still wait for room; let progress run");
}

tern_status tern_call_flush(tern_worker *worker, tern_worker_id target) {
    tern_status status = policy_check(worker, target, "tern_call_flush");
    if (status != TERN_OK)
        return status;
    uint32_t number = tern_worker_number(worker->context, target);
    if (!tern_overflow_clear(worker, number))
        return fail_calls_left();
    tern_out *out = tern_rma_worker_of(worker)->out[number];
    if (out != NULL)
        tern_ring_publish(worker, out);
    if (tern_peer_is_dead(&worker->context->peers, target.rank))
        return tern_peer_fail(target.rank);
    return out == NULL || out->lane.first_header == 0 ? TERN_OK : fail_calls_left();
}

void tern_call_cork(tern_worker *worker) {
    if (worker != NULL && !tern_is_nobody(worker))
        tern_ring_cork(worker);
}

void tern_call_uncork(tern_worker *worker) {
    if (worker != NULL && !tern_is_nobody(worker))
        tern_ring_uncork(worker);
}

tern_status tern_call_flush_all(tern_worker *worker) {
    tern_status status = policy_check_worker(worker, "tern_call_flush_all");
    if (status != TERN_OK)
        return status;
    (void)tern_overflow_drain(worker);
    tern_ring_publish_all(worker);
    bool left =
        tern_rpc_worker_of(worker)->overflow != NULL || tern_rma_worker_of(worker)->pending != NULL;
    return left ? fail_calls_left() : TERN_OK;
}
