#include "rpc/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "rpc/call/extended.h"
#include "rpc/call/in_place.h"
#include "rpc/call/overflow.h"
#include "rpc/lent/lent.h"
#include "rpc/archive/fetch.h"
#include "rpc/synchronizer.h"
#include "src/collective/collective.h"
#include "src/log.h"
#include "src/progress/wait.h"

static void rpc_close_layer(tern_context *context) {
    tern_rpc *rpc = tern_rpc_of(context);
    if (rpc == NULL)
        return;
    for (uint32_t i = 0; i <= context->workers; i++) {
        if (tern_rpc_worker_of(context->worker[i]) == NULL)
            continue;
        tern_overflow_close(context->worker[i]);
        tern_reservation_discard(context->worker[i]);
        tern_tasks_discard(context->worker[i]);
        tern_shipments_discard(context->worker[i]);
        tern_result_drop(context->worker[i]);
        tern_held_discard(context->worker[i]);
        tern_synchronizers_discard(context->worker[i]);
        free(context->worker[i]->layer[TERN_LAYER_RPC]);
        context->worker[i]->layer[TERN_LAYER_RPC] = NULL;
    }
    free(rpc->function);
    free(rpc->name);
    free(rpc->slot);
    free(rpc->header);
    free(rpc->refused);
    pthread_mutex_destroy(&rpc->threads_lock);
    free(rpc);
    context->layer[TERN_LAYER_RPC] = NULL;
}

/* Makes the layer's state of each worker, and that of the threads without a worker. */
static tern_status rpc_make_workers(tern_context *context) {
    for (uint32_t i = 0; i <= context->workers; i++) {
        size_t bytes = (sizeof(tern_rpc_worker) + TERN_LINE - 1) / TERN_LINE * TERN_LINE;
        tern_rpc_worker *mine = aligned_alloc(TERN_LINE, bytes);
        if (mine == NULL)
            return tern_fail(TERN_ERR_MEMORY, "no memory for a worker");
        memset(mine, 0, bytes);
        context->worker[i]->layer[TERN_LAYER_RPC] = mine;
        tern_overflow_open(context->worker[i]);
    }
    return TERN_OK;
}

static tern_status rpc_open_layer(tern_context *context) {
    tern_rpc *rpc = calloc(1, sizeof *rpc);
    context->layer[TERN_LAYER_RPC] = rpc;
    if (rpc != NULL)
        pthread_mutex_init(&rpc->threads_lock, NULL);
    tern_status status =
        rpc != NULL ? rpc_make_workers(context) : tern_fail(TERN_ERR_MEMORY, "no memory for calls");
    status = tern_collective_agree(context, NULL, status, "setting up calls");
    if (status == TERN_OK)
        status = tern_functions_number(context, rpc);
    if (status == TERN_OK)
        status = tern_rpc_profile(context, rpc);
    if (status != TERN_OK) {
        rpc_close_layer(context);
        return status;
    }
    for (uint32_t i = 0; i < context->workers; i++) {
        tern_worker_view *view = &context->worker[i]->view;
        view->function = rpc->header;
        view->functions = context->profiling == NULL ? rpc->ids : 0;
    }
    tern_record_handle(context, TERN_RECORD_CALL, tern_calls_execute);
    tern_record_handle(context, TERN_RECORD_CALL_BUFFER, tern_calls_execute);
    tern_record_handle(context, TERN_RECORD_CALL_RETURN, tern_call_answer);
    tern_record_handle(context, TERN_RECORD_CALL_EXTENDED, tern_call_extended);
    return TERN_OK;
}

/* Waits for quiescence. If calls are lost, every rank gets the same error. It is logged, and the
 * context is destroyed all the same. */
static tern_status rpc_drain(tern_context *context, tern_worker *worker) {
    (void)context;
    tern_status status = tern_quiesce(worker);
    if (status != TERN_ERR_STATE)
        return status;
    tern_log(TERN_LOG_ERROR, "%s", tern_error_detail());
    tern_error_clear();
    return TERN_OK;
}

static size_t rpc_progress(tern_worker *worker) {
    tern_reservation_look(worker);
    if (tern_rpc_worker_of(worker)->room != NULL)
        tern_result_drop(worker);
    /* R4 */
    if (atomic_load_explicit(&tern_rpc_of(worker->context)->threads_lend, memory_order_relaxed))
        tern_held_advance(tern_context_nobody(worker->context));
    bool service = worker->index >= worker->context->config.workers;
    return tern_overflow_drain(worker) + (service ? tern_overflow_assist(worker) : 0) +
           tern_tasks_advance(worker) + tern_shipments_advance(worker) + tern_held_advance(worker) +
           tern_synchronizers_advance(worker) + tern_messages_run(worker);
}

static void rpc_name_unsent(tern_worker *worker, tern_text *text) {
    const tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    for (const tern_overflow *o = mine != NULL ? mine->overflow : NULL; o != NULL; o = o->next)
        tern_text_add(text, " calls to rank %u that find its ring full,",
                      tern_rank_of(worker->context, o->out->target));
}

/* Returns a rank for which something waits here, or TERN_NOBODY. Considers only rank, or all ranks
 * if rank is TERN_ANYBODY. A broadcast goes to many ranks, so it counts for any rank. */
static uint32_t rpc_unsent(const tern_worker *worker, uint32_t rank) {
    uint32_t found = tern_overflow_unsent(worker, rank);
    if (found == TERN_NOBODY)
        found = tern_synchronizers_unsent(worker, rank);
    if (found == TERN_NOBODY)
        found = tern_shipments_unsent(worker, rank);
    if (found == TERN_NOBODY)
        found = tern_held_unsent(worker, rank);
    if (found == TERN_NOBODY && tern_tasks_pass_on(worker))
        found = rank != TERN_ANYBODY ? rank : worker->context->rank;
    return found;
}

const tern_layer tern_rpc_layer = {
    .name = "opening remote invocation",
    .open = rpc_open_layer,
    .drain = rpc_drain,
    .close = rpc_close_layer,
    .progress = rpc_progress,
    .unsent = rpc_unsent,
    .name_unsent = rpc_name_unsent,
};
