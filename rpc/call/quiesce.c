#include <string.h>

#include "base/error.h"
#include "rma/reply/answer.h"
#include "rpc/state.h"
#include "src/collective/collective.h"
#include "src/progress/wait.h"
#include "tern/call.h"
#include "tern/transfer.h"

/*
 * Quiescence: the ranks sum up the calls sent and executed over all ranks, in waves. If in one wave
 * the two sums are equal, and equal to those of the wave before, nothing was under way between the
 * two waves. This holds because a call is counted as sent before it can be executed, wherever it
 * waits until then, and as executed only after the calls that its handler makes were counted as
 * sent. A notice to a synchronizer of another node counts like a call: as sent before the call
 * whose end it tells counts as executed. Counters of this node have been lowered by then.
 *
 * A ring that was closed because of a malformed record holds calls that are never executed.
 * Therefore the ranks sum up malformed records, too: if there are any, and many waves find the same
 * unequal sums, all ranks give up in the same wave. After half as many waves each rank looks at its
 * own rings, where a record may have been overwritten that no rank has read (rma/reply/answer.h).
 */
enum { WAVES_OF_THE_LOST = 100 };

enum { SENT, EXECUTED, MALFORMED, SUMS };

static void quiesce_count(const tern_context *context, uint64_t sums[SUMS]) {
    memset(sums, 0, SUMS * sizeof *sums);
    /* Worker number `workers` stands for the threads without a worker. */
    /* Executed first: a call that runs in between is then seen as sent, never only as executed. */
    for (uint32_t i = 0; i <= context->workers; i++)
        /* R1: tern_count, serve_atomic */
        sums[EXECUTED] +=
            __atomic_load_n(&context->worker[i]->stats.calls_executed, __ATOMIC_ACQUIRE) +
            __atomic_load_n(&context->worker[i]->stats.notices_taken, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i <= context->workers; i++)
        /* R1: tern_count, tern_internal_call_try */
        sums[SENT] += __atomic_load_n(&context->worker[i]->stats.calls_sent, __ATOMIC_ACQUIRE) +
                      __atomic_load_n(&context->worker[i]->stats.notices_sent, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i <= context->workers; i++)
        /* R4 */
        sums[MALFORMED] +=
            __atomic_load_n(&context->worker[i]->stats.records_malformed, __ATOMIC_RELAXED);
}

/* Runs one wave. [out] quiet: it is the second wave in a row that finds nothing under way. */
static tern_status quiesce_wave(tern_worker *worker, uint64_t before[SUMS], uint32_t *alike,
                                bool *quiet) {
    uint64_t sums[SUMS];
    quiesce_count(worker->context, sums);
    tern_status status = tern_collective_sum(worker->context, worker, sums, SUMS);
    if (status != TERN_OK)
        return status;
    bool same = sums[SENT] == before[SENT] && sums[EXECUTED] == before[EXECUTED];
    *quiet = same && sums[SENT] == sums[EXECUTED];
    *alike = same ? *alike + 1 : 0;
    memcpy(before, sums, sizeof sums);
    if (!*quiet && *alike == WAVES_OF_THE_LOST / 2)
        tern_answer_look_everywhere(worker);
    if (!*quiet && sums[MALFORMED] > 0 && *alike >= WAVES_OF_THE_LOST)
        return tern_fail(TERN_ERR_STATE,
                         "tern_quiesce: %llu calls never run, as %llu malformed records have come "
                         "and their rings are closed; look for what writes where it should not",
                         (unsigned long long)(sums[SENT] - sums[EXECUTED]),
                         (unsigned long long)sums[MALFORMED]);
    return TERN_OK;
}

/* Returns whether a worker waits for no answer, no fetch of chunks and no call to be published. */
static bool answers_of(tern_worker *worker) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    if (mine->departures != NULL || mine->shipments != NULL)
        return false;
    for (uint64_t left = mine->awaited; left != 0; left &= left - 1) {
        uint32_t cell = (uint32_t)__builtin_ctzll(left);
        tern_return_address back = {cell, 0, mine->sequence[cell]};
        if (!tern_reply_arrived(worker, &back))
            return false;
    }
    return true;
}

/* Returns whether all answers have come for which this worker waits, or a worker that no thread has
 * adopted and for which this one makes progress. */
static bool answers_have_come(tern_worker *worker) {
    tern_context *context = worker->context;
    bool here = answers_of(worker);
    for (uint32_t i = 0; i < context->workers && here; i++) {
        tern_worker *other = context->worker[i];
        if (other == worker || !tern_worker_borrow(other))
            continue;
        here = answers_of(other);
        tern_worker_give_back(other);
    }
    return here;
}

tern_status tern_phase(tern_worker *worker) {
    TERN_COLLECTIVE(worker, "tern_phase");
    tern_status status = tern_worker_may_wait(worker, "tern_phase");
    if (status == TERN_OK)
        status = tern_quiesce(worker);
    /* After this barrier a rank waits for nothing but the last barrier before it returns. */
    if (status == TERN_OK)
        status = tern_barrier(worker);
    if (status != TERN_OK)
        return status;
    /* A rank leaves the last barrier only when all ranks have come to it, and by then they all hold
     * calls back. */
    worker->holds_calls = true;
    status = tern_collective_barrier(worker->context, worker);
    worker->holds_calls = false;
    return status;
}

tern_status tern_quiesce(tern_worker *worker) {
    TERN_COLLECTIVE(worker, "tern_quiesce");
    tern_status status = tern_worker_may_wait(worker, "tern_quiesce");
    if (status != TERN_OK)
        return status;
    tern_context *context = worker->context;
    uint64_t before[SUMS] = {1, 0, 0}; /* no wave looks like this */
    uint32_t alike = 0;
    bool quiet = false;
    if (tern_call_flush_all(worker) != TERN_OK)
        tern_error_clear(); /* progress does the rest */
    while (status == TERN_OK && !quiet) {
        /* Make progress until nothing happens here any more, but not without end: waves cost more
         * than polls. */
        for (int i = 0; i < 1000 && tern_progress_process(worker) > 0; i++)
            ;
        status = quiesce_wave(worker, before, &alike, &quiet);
    }
    tern_wait_state wait = TERN_WAIT_START;
    while (status == TERN_OK && !answers_have_come(worker))
        status = tern_wait_round(context, &wait, tern_progress_process(worker), TERN_ANYBODY);
    return status;
}
