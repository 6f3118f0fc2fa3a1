#include <stdlib.h>

#include "base/error.h"
#include "rpc/state.h"
#include "src/profile/profile.h"

/*
 * In a context that is profiled (src/profile/profile.h) a function of this file takes the place of
 * each handler. So handlers are counted wherever they are run, and in other contexts running one
 * costs no more for it.
 */

struct tern_rpc_slot {
    tern_rpc_function function;
    uint32_t id;
};

static tern_status profile_run(tern_call_info *call, const void *arguments, size_t bytes) {
    const tern_rpc_slot *slot = call->user;
    tern_worker *worker = call->worker;
    call->user = slot->function.user;
    const tern_span span = tern_span_begin(worker, TERN_SPAN_RUN, slot->id);
    const tern_status status = slot->function.handler(call, arguments, bytes);
    /* One that returned another error has run. */
    tern_span_end(worker, &span, call->origin.rank, bytes,
                  status == TERN_ERR_AGAIN ? status : TERN_OK);
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
