#include <stdlib.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/notify/rendezvous.h"
#include "rma/notify/request.h"
#include "src/context.h"

/* Opens, drains and closes notifications with their context. */

/* The state of a worker whose context is destroyed: it makes probes fail (rma/notify/event.c). */
static tern_notify closed_notify = {.in_handler = true};

/* Returns the most bytes of packed data: `wanted`, but at most so many that a record with them,
 * their offset and the largest cid takes a quarter of a ring. So a ring holds several such records.
 */
static uint64_t packed_max(const tern_context *context, size_t wanted) {
    size_t most = context->config.ring_size / 4 - 8 - TERN_CID_MAX;
    return wanted < most ? wanted : most;
}

static void notify_close_layer(tern_context *context) {
    for (uint32_t i = 0; i < context->workers; i++) {
        tern_worker *worker = context->worker[i];
        tern_notify *n = tern_notify_of(worker);
        if (n == NULL)
            continue;
        tern_requests_discard(worker);
        tern_rendezvous_discard(worker);
        for (const tern_out *out = tern_rma_worker_of(worker)->outs; out != NULL; out = out->next)
            free(out->requests);
        free(n->done);
        free(n);
        worker->layer[TERN_LAYER_NOTIFY] = &closed_notify;
    }
}

static tern_status notify_open_layer(tern_context *context) {
    const tern_rma *rma = tern_rma_of(context);
    for (uint32_t i = 0; i < context->workers; i++) {
        tern_worker *worker = context->worker[i];
        tern_rma_worker *rings = tern_rma_worker_of(worker);
        size_t bytes = (sizeof(tern_notify) + TERN_LINE - 1) / TERN_LINE * TERN_LINE;
        tern_notify *n = aligned_alloc(TERN_LINE, bytes);
        if (n == NULL) {
            notify_close_layer(context);
            return tern_fail(TERN_ERR_MEMORY, "no memory for a worker");
        }
        memset(n, 0, bytes);
        n->out = rings->out + tern_endpoint_of(context, TERN_CHANNEL_NOTIFY, 0);
        n->reach = rma->reach;
        n->size = context->size;
        n->profiled = worker->profile != NULL;
        n->short_ranks = n->profiled ? 0 : context->size;
        n->workers = context->workers;
        n->packed_direct = packed_max(context, context->config.packed_max);
        n->packed_remote = packed_max(context, context->config.packed_max_remote);
        n->ring = rings->active[TERN_CHANNEL_NOTIFY].ring;
        n->rings = &rings->active[TERN_CHANNEL_NOTIFY].count;
        n->relaxed = context->config.order == TERN_ORDER_RELAXED;
        n->heap = rma->mine + rma->layout.heap;
        n->heap_bytes = rma->layout.heap_bytes;
        worker->layer[TERN_LAYER_NOTIFY] = n;
    }
    tern_record_handle(context, TERN_RECORD_RENDEZVOUS, tern_rendezvous_consume);
    return TERN_OK;
}

/* Waits for the gets into whose memory MPI still writes, then drops the requests and the events
 * that the program has not probed for. */
static tern_status notify_drain(tern_context *context, tern_worker *worker) {
    (void)worker;
    tern_status status = TERN_OK;
    for (uint32_t i = 0; i < context->workers && status == TERN_OK; i++)
        status = tern_requests_settle(context->worker[i]);
    for (uint32_t i = 0; i < context->workers; i++)
        tern_requests_discard(context->worker[i]);
    return status;
}

static size_t notify_progress(tern_worker *worker) {
    return tern_requests_advance(worker) + tern_rendezvous_advance(worker);
}

static void notify_name_unsent(tern_worker *worker, tern_text *text) {
    const tern_notify *n = tern_notify_of(worker);
    for (const tern_out *out = n != NULL ? n->waiting : NULL; out != NULL;
         out = out->requests->next)
        tern_text_add(text, " %zu notified operations to rank %u,", out->requests->count,
                      tern_rank_of(worker->context, out->target));
}

static uint32_t notify_unsent(const tern_worker *worker, uint32_t rank) {
    const uint32_t found = tern_requests_unsent(worker, rank);
    return found != TERN_NOBODY ? found : tern_rendezvous_unsent(worker, rank);
}

const tern_layer tern_notify_layer = {
    .name = "opening notifications",
    .open = notify_open_layer,
    .drain = notify_drain,
    .close = notify_close_layer,
    .progress = notify_progress,
    .unsent = notify_unsent,
    .name_unsent = notify_name_unsent,
};
