#include "rma/network/partner.h"

#include <sched.h>

#include "base/error.h"
#include "base/process.h"
#include "src/collective/collective.h"

uint32_t tern_partner_origin(const tern_context *context) {
    uint32_t origin = 1;
    while (origin < context->size && context->node[origin] == context->node[0])
        origin++;
    return origin;
}

/* A death ends each of these functions. The messages lie in the memory of the context's
 * collectives, which is then left to MPI (src/collective/collective_buffer.h). */
tern_status tern_partner_send(tern_context *context, uint32_t to, const void *data, size_t bytes) {
    return tern_collective_pass(context, context->rank, to, (void *)(uintptr_t)data, bytes);
}

tern_status tern_partner_take(tern_context *context, uint32_t from, void *data, size_t bytes) {
    return tern_collective_pass(context, from, context->rank, data, bytes);
}

static void partner_progress(void *network) { tern_network_progress(network); }

tern_status tern_partner_hear(tern_context *context, tern_network *network, uint32_t from,
                              char *byte) {
    if (network != NULL)
        context->meanwhile = (tern_meanwhile){partner_progress, network};
    const tern_status status = tern_partner_take(context, from, byte, sizeof *byte);
    context->meanwhile = (tern_meanwhile){NULL, NULL};
    return status;
}

tern_status tern_partner_act(tern_network *network, tern_network_end *end,
                             const tern_network_post *post, bool *posted, uint64_t limit) {
    const uint64_t begin = tern_now();
    tern_network_done done = {NULL, TERN_OK};
    while (done.context == NULL) {
        tern_status status = *posted ? TERN_OK : network->ops->post(end, post);
        *posted = *posted || status == TERN_OK;
        if (status != TERN_OK && status != TERN_ERR_AGAIN)
            return status;
        tern_network_progress(network);
        if (network->ops->complete(end, &done, 1) == 0) {
            if (tern_now() - begin > limit)
                return tern_fail(TERN_ERR_TIMEOUT,
                                 "an operation on the network did not complete in time");
            sched_yield();
        }
    }
    return done.status;
}

void tern_partner_remove(tern_network *network, tern_network_memory *memory) {
    if (memory == NULL)
        return;
    pthread_mutex_lock(&network->lock);
    network->ops->remove_memory(network, memory);
    pthread_mutex_unlock(&network->lock);
}
