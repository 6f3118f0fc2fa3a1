#include "pmpi/wrap.h"

_Atomic(const tern_pmpi_host *) tern_pmpi_current_host;

/* True while this thread is in a call of MPI that a wrapper makes. */
static _Thread_local bool inside;

TERN_API const char *tern_pmpi_version(void) { return TERN_PMPI_VERSION; }

TERN_API void tern_pmpi_attach(const tern_pmpi_host *host) {
    /* R1: tern_pmpi_call_begin */
    atomic_store_explicit(&tern_pmpi_current_host, host, memory_order_release);
}

tern_pmpi_call tern_pmpi_enter(const tern_pmpi_host *host, const char *function) {
    if (inside)
        return (tern_pmpi_call){NULL, NULL, false};
    const bool locked = host->lock();
    inside = true;
    return (tern_pmpi_call){host, function, locked};
}

void tern_pmpi_leave(tern_pmpi_call call) {
    inside = false;
    if (call.locked)
        call.host->unlock();
}

/* Handlers that run in the step may call MPI themselves, so inside is false meanwhile. */
void tern_pmpi_pause(tern_pmpi_call call, tern_wait_state *wait) {
    inside = false;
    call.host->step(wait);
    inside = true;
}

int tern_pmpi_finish(tern_pmpi_call call, int code, MPI_Request *request, MPI_Status *status) {
    int done = 0;
    return code != MPI_SUCCESS ? code : TERN_PMPI_AWAIT(done, PMPI_Test(request, &done, status));
}
