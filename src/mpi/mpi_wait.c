#include "tern/progress.h"

#include "src/context.h"
#include "src/mpi/mpi.h"
#include "src/progress/wait.h"

/* The requests that a wait waits for. */
typedef struct tern_mpi_requests {
    int count; /* -1: one request, tested by MPI_Test */
    MPI_Request *request;
    MPI_Status *status;
} tern_mpi_requests;

static tern_status requests_test(const tern_mpi_requests *r, int *done) {
    if (r->count < 0)
        return TERN_MPI(PMPI_Test(r->request, done, r->status));
    return TERN_MPI(PMPI_Testall(r->count, r->request, done, r->status));
}

/* A death ends the wait, but only after one more test, since what the dead rank sent may have
 * arrived. */
static tern_status requests_wait(tern_worker *worker, const tern_mpi_requests *r) {
    tern_context *context = worker->context;
    const uint32_t anybody = context->peers.count == 0 ? TERN_NOBODY : TERN_ANYBODY;
    tern_wait_state wait = TERN_WAIT_START;
    tern_status waited = TERN_OK;
    for (;;) {
        int done = 0;
        tern_status status = requests_test(r, &done);
        if (status != TERN_OK || done)
            return status;
        if (waited != TERN_OK)
            return waited;
        waited = tern_wait_round(context, &wait, tern_progress_round(worker), anybody);
    }
}

static tern_status wait_may_begin(const tern_worker *worker, bool arguments, const char *function) {
    if (worker == NULL || !arguments)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s", function,
                         worker == NULL ? "worker is NULL" : "requests is NULL or count negative");
    return tern_worker_may_wait(worker, function);
}

tern_status tern_mpi_wait(tern_worker *worker, MPI_Request *request, MPI_Status *status) {
    tern_status begun = wait_may_begin(worker, request != NULL, "tern_mpi_wait");
    return begun != TERN_OK ? begun
                            : requests_wait(worker, &(tern_mpi_requests){-1, request, status});
}

tern_status tern_mpi_waitall(tern_worker *worker, int count, MPI_Request *requests,
                             MPI_Status *statuses) {
    const bool arguments = count == 0 || (count > 0 && requests != NULL);
    tern_status begun = wait_may_begin(worker, arguments, "tern_mpi_waitall");
    return begun != TERN_OK
               ? begun
               : requests_wait(worker, &(tern_mpi_requests){count, requests, statuses});
}
