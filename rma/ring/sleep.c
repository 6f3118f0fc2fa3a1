#include "rma/ring/sleep.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/memory/doorbell.h"
#include "rma/memory/state.h"
#include "rma/ring/ring.h"
#include "src/mpi/mpi.h"
#include "src/progress/wait.h"

#define ASKS_MAX 64u /* questions of a worker under way at once */

typedef struct tern_sleep_ask {
    struct tern_sleep_ask *next;
    tern_in *in;
    bool woken; /* a WAKE came before the answer */
    uint64_t answer[2];
    MPI_Request request;
} tern_sleep_ask;

static tern_message message_for(const tern_worker *worker, tern_message_kind kind, uint32_t channel,
                                uint32_t other) {
    return (tern_message){
        .kind = kind, .origin = worker->id, .target = other, .operand = {channel, 0}};
}

/* Asks the origin whether in may sleep. False: not now. */
static bool ask(tern_worker *worker, tern_in *in) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    /* Once tern_context_destroy has waited for all answers (tern_sleep_settle), nobody would wait
     * for a new one. */
    if (mine->asking == ASKS_MAX || worker->context->closing)
        return false;
    tern_sleep_ask *a = malloc(sizeof *a);
    if (a == NULL)
        return false;
    *a = (tern_sleep_ask){.next = mine->asks, .in = in, .request = MPI_REQUEST_NULL};
    const tern_message message = message_for(worker, TERN_MESSAGE_SLEEP, in->channel, in->origin);
    if (tern_message_ask(worker, in->origin_id.rank, &message, a->answer, sizeof a->answer,
                         &a->request) != TERN_OK) {
        tern_error_clear(); /* the worker goes on polling the ring */
        free(a);
        return false;
    }
    in->ask = mine->asks = a;
    mine->asking++;
    return true;
}

/* Notes the answer about in. If a WAKE has overtaken the answer, the ring stays awake. */
static void take_answer(tern_rma_worker *mine, tern_in *in) {
    tern_sleep_ask *a = in->ask, **link = &mine->asks;
    const bool allowed = a->answer[0] != 0 && !a->woken;
    in->sleep = allowed ? TERN_SLEEP_ALLOWED : TERN_SLEEP_AWAKE;
    in->sleep_at = a->answer[1];
    if (!allowed)
        in->empty = 0; /* the worker asks again after idle_polls more empty polls */
    while (*link != a)
        link = &(*link)->next;
    *link = a->next;
    mine->asking--;
    in->ask = NULL;
    free(a);
}

/* Tests whether the answer has come, and takes it if so. */
static bool look_for_answer(tern_worker *worker, tern_in *in) {
    int done = 0;
    if (TERN_MPI(PMPI_Test(&in->ask->request, &done, MPI_STATUS_IGNORE)) != TERN_OK)
        tern_error_clear();
    if (done)
        take_answer(tern_rma_worker_of(worker), in);
    return done;
}

bool tern_sleep_rest(tern_worker *worker, tern_in *in) {
    if (in->sleep == TERN_SLEEP_AWAKE && ask(worker, in))
        in->sleep = TERN_SLEEP_ASKED;
    else if (in->sleep == TERN_SLEEP_ASKED)
        look_for_answer(worker, in);
    return in->sleep == TERN_SLEEP_ALLOWED && (int64_t)(in->position - in->sleep_at) >= 0;
}

bool tern_sleep_answered(tern_worker *worker, tern_in *in) {
    return in->ask == NULL || look_for_answer(worker, in);
}

void tern_sleep_woken(tern_in *in) {
    if (in->sleep == TERN_SLEEP_ASKED)
        in->ask->woken = true;
    else
        in->sleep = TERN_SLEEP_AWAKE;
}

tern_status tern_sleep_settle(tern_worker *worker) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = TERN_OK;
    while (mine->asks != NULL && status == TERN_OK) {
        tern_in *in = mine->asks->in;
        if (tern_sleep_answered(worker, in))
            continue;
        tern_progress_round(worker);
        status = tern_wait_step(worker->context, &wait, in->origin_id.rank);
    }
    return status;
}

void tern_sleep_wake(tern_worker *worker, tern_out *out) {
    const tern_message message = {.kind = TERN_MESSAGE_WAKE,
                                  .origin = out->origin,
                                  .target = out->target,
                                  .operand = {out->channel, 0}};
    tern_status status =
        tern_message_send(worker, tern_rank_of(worker->context, out->target), &message, NULL, 0);
    out->wake_due = status == TERN_ERR_AGAIN || status == TERN_ERR_MEMORY;
    if (status == TERN_OK)
        worker->stats.doorbells_rung++;
    else
        tern_error_clear();
}

void tern_sleep_published(tern_worker *worker, tern_out *out) {
    /* R3: tern_sleep_answer */
    atomic_store_explicit(&out->told, out->lane.write, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    /* R3: tern_sleep_answer */
    if (atomic_load_explicit(&out->asleep, memory_order_relaxed) == 0)
        return;
    /* R4 */
    if (atomic_exchange_explicit(&out->asleep, 0, memory_order_relaxed) != 0)
        tern_sleep_wake(worker, out);
}

/* Whether the message names a worker of this rank and an existing channel. */
static bool is_ours(const tern_context *context, const tern_message *message) {
    return message->target / context->workers == context->rank &&
           message->operand[0] < TERN_CHANNELS;
}

bool tern_sleep_answer(tern_context *context, const tern_message *message, uint64_t answer[2]) {
    if (!is_ours(context, message))
        return false;
    tern_out *out = tern_ring_at_rest(
        context->worker[message->target % context->workers],
        tern_endpoint_of(context, (uint32_t)message->operand[0], message->origin));
    answer[0] = answer[1] = 0;
    if (out == NULL || /* no ring here, or it is lent: the target goes on polling */
        !tern_transport_to(context, message->origin / context->workers)->reads_own_frames)
        return true;
    /* R3: tern_sleep_published */
    atomic_store_explicit(&out->asleep, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    answer[0] = 1;
    /* R3: tern_sleep_published */
    answer[1] = atomic_load_explicit(&out->told, memory_order_relaxed);
    return true;
}

bool tern_sleep_serve_wake(tern_context *context, const tern_message *message) {
    if (!is_ours(context, message))
        return false;
    tern_doorbell_ring(tern_worker_page(context, message->target),
                       tern_rma_of(context)->layout.doorbells,
                       tern_endpoint_of(context, (uint32_t)message->operand[0], message->origin));
    return true;
}
