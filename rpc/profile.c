#include <stdlib.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "rpc/call/extended.h"
#include "rpc/state.h"
#include "src/profile/trace.h"

/*
 * In a profiled context (src/profile/profile.h) profile_run takes the place of each handler and
 * calls it. So runs of handlers are counted wherever they happen, and handlers of other contexts
 * cost no more.
 *
 * The timeline has an arrow from a call to its run. Both sides number it by the position of the
 * call's arguments in the ring. When the function is about to run, the address of its arguments
 * gives that position.
 */

struct tern_rpc_slot {
    tern_rpc_function function;
    uint32_t id;
};

/* Returns the distance from the beginning of a record to its arguments. */
static uint64_t arguments_behind(unsigned kind) {
    switch (kind) {
    case TERN_RECORD_CALL_BUFFER:
        return 8 + sizeof(uint64_t);
    case TERN_RECORD_CALL_RETURN:
        return 8 + sizeof(tern_return_address);
    case TERN_RECORD_CALL_EXTENDED:
        return 8 + sizeof(tern_extension);
    default:
        return 8;
    }
}

static uint64_t arrow_at(uint32_t origin, uint32_t target, unsigned kind, uint64_t position) {
    return tern_arrow(TERN_CHANNEL_CALLS, origin, target, position + arguments_behind(kind));
}

void tern_call_trace_sent(tern_worker *worker, const tern_out *out, uint64_t header) {
    if (worker->profile->trace != NULL)
        tern_trace_arrow(
            worker, TERN_TRACE_ARROW_FROM,
            arrow_at(out->origin, out->target, tern_record_kind(header), out->lane.write),
            tern_now());
}

uint64_t tern_call_arrow_extended(const tern_worker *worker, const tern_in *in) {
    return arrow_at(in->origin, worker->id, TERN_RECORD_CALL_EXTENDED, in->position);
}

/* Returns the number of the arrow to a call if the call's arguments lie in the ring from its
 * origin, else 0. The ring's head is at most one generation behind the arguments, so their address
 * gives their position. */
static uint64_t arrow_to(const tern_worker *worker, tern_worker_id origin, const void *arguments) {
    const tern_context *context = worker->context;
    if (origin.index >= context->workers)
        return 0;
    const uint32_t number = tern_worker_number(context, origin);
    const tern_in *in =
        tern_rma_worker_of(worker)->in[tern_endpoint_of(context, TERN_CHANNEL_CALLS, number)];
    const uintptr_t at = (uintptr_t)arguments - (in != NULL ? (uintptr_t)in->data : 0);
    if (in == NULL || at > in->mask + 1)
        return 0;
    const uint64_t position = in->position + ((at - in->position) & in->mask);
    return tern_arrow(TERN_CHANNEL_CALLS, number, worker->id, position);
}

static tern_status profile_run(tern_call_info *call, const void *arguments, size_t bytes) {
    const tern_rpc_slot *slot = call->user;
    tern_worker *worker = call->worker;
    const uint64_t known = worker->profile->arrow;
    const uint64_t arrow = known != 0 ? known : arrow_to(worker, call->origin, arguments);
    worker->profile->arrow = 0;
    call->user = slot->function.user;
    const tern_span span = tern_span_begin(worker, TERN_SPAN_RUN, slot->id);
    const tern_status status = slot->function.handler(call, arguments, bytes);
    /* TERN_ERR_AGAIN means that the handler has not run; with any other error it has. */
    tern_span_end(worker, &span, call->origin.rank, bytes,
                  status == TERN_ERR_AGAIN ? status : TERN_OK);
    if (status != TERN_ERR_AGAIN)
        tern_trace_arrow(worker, TERN_TRACE_ARROW_TO, arrow, span.began);
    return status;
}

tern_status tern_rpc_profile(tern_context *context, tern_rpc *rpc) {
    if (context->profiling == NULL)
        return TERN_OK;
    rpc->slot = calloc((size_t)rpc->count + 1, sizeof *rpc->slot);
    if (rpc->slot == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for the statistics of %u functions",
                         rpc->count);
    for (uint32_t i = 0; i < rpc->count; i++) {
        rpc->slot[i] = (tern_rpc_slot){rpc->function[i], i};
        rpc->function[i] = (tern_rpc_function){profile_run, &rpc->slot[i]};
    }
    return tern_profile_functions(context, rpc->count, rpc->name);
}
