#include "src/collective.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/context.h"
#include "src/error.h"
#include "src/mpi.h"
#include "src/wait.h"

/* Waits with progress. After a death the request is leaked: MPI cannot end it. */
static tern_status finish(tern_context *context, tern_worker *worker, MPI_Request *request) {
    tern_wait_state wait = TERN_WAIT_START;
    tern_status waited = TERN_OK;
    for (;;) {
        int done = 0;
        tern_status status = TERN_MPI(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (status != TERN_OK || done)
            return status;
        if (waited != TERN_OK) /* a death, and not complete even after it was noticed */
            return waited;
        if (worker != NULL && tern_progress_round(worker) > 0)
            wait.rounds = 0;
        else
            waited = tern_wait_step(context, &wait,
                                    context->peers.watch == NULL ? TERN_NOBODY : TERN_ANYBODY);
    }
}

tern_status tern_collective_barrier(tern_context *context, tern_worker *worker) {
    MPI_Request request;
    tern_status status = TERN_MPI(MPI_Ibarrier(context->comm, &request));
    return status == TERN_OK ? finish(context, worker, &request) : status;
}

tern_status tern_collective_allgather(tern_context *context, tern_worker *worker, const void *mine,
                                      size_t bytes, void *gathered) {
    MPI_Request request;
    tern_status status = TERN_MPI(MPI_Iallgather(mine, (int)bytes, MPI_BYTE, gathered, (int)bytes,
                                                 MPI_BYTE, context->comm, &request));
    return status == TERN_OK ? finish(context, worker, &request) : status;
}

tern_status tern_collective_sum(tern_context *context, tern_worker *worker, uint64_t *values,
                                int count) {
    MPI_Request request;
    tern_status status = TERN_MPI(MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_UINT64_T, MPI_SUM,
                                                 context->comm, &request));
    return status == TERN_OK ? finish(context, worker, &request) : status;
}

tern_status tern_collective_agree(tern_context *context, tern_worker *worker, tern_status status,
                                  const char *what) {
    char mine[256];
    snprintf(mine, sizeof mine, "%s", tern_error_detail());
    /* The first rank that failed wins: ranks that did not fail send a rank past the last. */
    int64_t pair[2] = {status == TERN_OK ? (int64_t)context->size : (int64_t)context->rank,
                       (int64_t)status};
    int64_t first = pair[0];
    MPI_Request request;
    tern_status code = TERN_MPI(
        MPI_Iallreduce(&pair[0], &first, 1, MPI_INT64_T, MPI_MIN, context->comm, &request));
    if (code == TERN_OK)
        code = finish(context, worker, &request);
    if (code != TERN_OK)
        return code;
    if (first == (int64_t)context->size)
        return TERN_OK;
    struct {
        int64_t status;
        char detail[256];
    } told;
    memset(&told, 0, sizeof told);
    told.status = pair[1];
    memcpy(told.detail, mine, sizeof mine);
    code = TERN_MPI(
        MPI_Ibcast(&told, (int)sizeof told, MPI_BYTE, (int)first, context->comm, &request));
    if (code == TERN_OK)
        code = finish(context, worker, &request);
    if (code != TERN_OK)
        return code;
    if (status != TERN_OK)
        return tern_fail(status, "%s", mine);
    told.detail[sizeof told.detail - 1] = 0;
    return tern_fail((tern_status)told.status, "%s failed on rank %d: %s", what, (int)first,
                     told.detail);
}

tern_status tern_collective_same(tern_context *context, tern_worker *worker, const void *mine,
                                 size_t bytes, const char *what) {
    char *all = malloc(bytes * context->size);
    tern_status status = all != NULL ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory: %s", what);
    status = tern_collective_agree(context, worker, status, what);
    if (status == TERN_OK)
        status = tern_collective_allgather(context, worker, mine, bytes, all);
    for (uint32_t r = 1; status == TERN_OK && r < context->size; r++)
        if (memcmp(all, all + r * bytes, bytes) != 0)
            status = tern_fail(TERN_ERR_MISMATCH, "%s differ between rank 0 and rank %u", what, r);
    free(all);
    return status;
}
