#include "rma/network/partner.h"

#include <sched.h>

#include "base/error.h"
#include "base/process.h"
#include "src/mpi/mpi.h"

#define TAG 4

uint32_t tern_partner_origin(const tern_context *context) {
    uint32_t origin = 1;
    while (origin < context->size && context->node[origin] == context->node[0])
        origin++;
    return origin;
}

tern_status tern_partner_send(tern_context *context, uint32_t to, const void *data, int bytes) {
    return TERN_MPI(PMPI_Send(data, bytes, MPI_BYTE, (int)to, TAG, context->comm));
}

tern_status tern_partner_take(tern_context *context, uint32_t from, void *data, int bytes) {
    return TERN_MPI(
        PMPI_Recv(data, bytes, MPI_BYTE, (int)from, TAG, context->comm, MPI_STATUS_IGNORE));
}

tern_status tern_partner_serve(tern_context *context, tern_network *network, uint32_t from) {
    MPI_Request request = MPI_REQUEST_NULL;
    char byte = 0;
    int done = 0;
    tern_status status =
        TERN_MPI(PMPI_Irecv(&byte, 1, MPI_BYTE, (int)from, TAG, context->comm, &request));
    while (status == TERN_OK && !done) {
        tern_network_progress(network);
        status = TERN_MPI(PMPI_Test(&request, &done, MPI_STATUS_IGNORE));
        sched_yield();
    }
    return status;
}

tern_status tern_partner_act(tern_network *network, tern_network_end *end,
                             const tern_network_post *post, uint64_t limit) {
    const uint64_t begin = tern_now();
    tern_network_done done = {NULL, TERN_OK};
    bool posted = false;
    while (done.context == NULL) {
        tern_status status = posted ? TERN_OK : network->ops->post(end, post);
        posted = posted || status == TERN_OK;
        if (status != TERN_OK && status != TERN_ERR_AGAIN)
            return status;
        tern_network_progress(network);
        if (network->ops->complete(end, &done, 1) == 0) {
            if (tern_now() - begin > limit)
                return tern_fail(TERN_ERR_TIMEOUT, "nothing lands");
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
