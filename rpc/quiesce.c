#include "rma/reply.h"
#include "rpc/state.h"
#include "src/collective.h"
#include "src/error.h"
#include "src/wait.h"

/*
 * Quiescence (design 8): sums of calls sent and executed over all ranks, in waves. A wave in which
 * they are equal, equal to those of the wave before, proves that nothing was under way between the
 * two: a call is counted as sent before it can be executed, wherever it waits until then, and as
 * executed after the calls that its handler makes were counted as sent. Notices to synchronizers of
 * other nodes count like calls: as sent before the call that they tell of counts as executed. Those
 * of the own node have arrived by then.
 */

/* Progress for this worker, and for those of the process that no thread has. */
static size_t progress_all(tern_worker *worker) {
    tern_context *context = worker->context;
    size_t events = tern_progress_round(worker);
    for (uint32_t i = 0; i < context->workers; i++) {
        tern_worker *other = context->worker[i];
        if (other == worker ||
            atomic_exchange_explicit(&other->adopted, true, memory_order_acquire))
            continue;
        events += tern_progress_round(other);
        atomic_store_explicit(&other->adopted, false, memory_order_release);
    }
    return events;
}

static void count(const tern_context *context, uint64_t sums[2]) {
    sums[0] = sums[1] = 0; /* i == workers: threads that have none */
    /* Executed first: a call that runs in between is then seen as sent, never only as executed. */
    for (uint32_t i = 0; i <= context->workers; i++)
        sums[1] += __atomic_load_n(&context->worker[i]->stats.calls_executed, __ATOMIC_ACQUIRE) +
                   __atomic_load_n(&context->worker[i]->stats.notices_taken, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i <= context->workers; i++)
        sums[0] += __atomic_load_n(&context->worker[i]->stats.calls_sent, __ATOMIC_ACQUIRE) +
                   __atomic_load_n(&context->worker[i]->stats.notices_sent, __ATOMIC_ACQUIRE);
}

static bool answers_are_here(tern_worker *worker) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    if (mine->departures != NULL || mine->shipments != NULL)
        return false;
    for (uint64_t left = mine->futures; left != 0; left &= left - 1) {
        uint32_t cell = (uint32_t)__builtin_ctzll(left);
        tern_return_address back = {cell, 0, mine->sequence[cell]};
        if (!tern_reply_arrived(worker, &back))
            return false;
    }
    return true;
}

tern_status tern_quiesce(tern_worker *worker) {
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_quiesce: worker is NULL");
    tern_status status = tern_worker_may_wait(worker, "tern_quiesce");
    tern_context *context = worker->context;
    uint64_t before[2] = {1, 0}; /* no wave looks like this */
    if (status == TERN_OK)
        (void)tern_call_flush_all(worker);
    while (status == TERN_OK) {
        /* Until nothing happens here, mostly: waves are dearer than polls. */
        for (int i = 0; i < 1000 && progress_all(worker) > 0; i++)
            ;
        uint64_t sums[2];
        count(context, sums);
        status = tern_collective_sum(context, worker, sums, 2);
        if (status == TERN_OK && sums[0] == sums[1] && sums[0] == before[0] && sums[1] == before[1])
            break;
        before[0] = sums[0];
        before[1] = sums[1];
    }
    tern_wait_state wait = TERN_WAIT_START;
    while (status == TERN_OK && !answers_are_here(worker)) {
        if (progress_all(worker) > 0)
            wait.rounds = 0;
        else
            status = tern_wait_step(context, &wait, TERN_ANYBODY);
    }
    return status;
}
