#include "rma/network/window.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "src/collective/collective.h"
#include "src/log.h"
#include "src/mpi/mpi.h"
#include "src/peers/peers.h"

static tern_status lock_for_all(MPI_Win win) {
    tern_status status = TERN_MPI(PMPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    return status == TERN_OK ? TERN_MPI(PMPI_Win_lock_all(MPI_MODE_NOCHECK, win)) : status;
}

/* Open MPI's dynamic windows are unsound: osc/ucx writes out of bounds when regions lie side by
 * side (issues 12892 and 13561 of open-mpi/ompi), and osc/rdma hangs after a refused attach
 * (4.1.4). So with Open MPI transfers of registered memory go by messages. */
#ifdef OPEN_MPI
enum { DYNAMIC_WINDOWS = 0 };
#else
enum { DYNAMIC_WINDOWS = 1 };
#endif

static tern_status open_regions(tern_context *context, tern_window *window) {
    window->regions = MPI_WIN_NULL;
    if (!DYNAMIC_WINDOWS)
        return TERN_OK;
    tern_status status =
        TERN_MPI(PMPI_Win_create_dynamic(MPI_INFO_NULL, context->comm, &window->regions));
    return status == TERN_OK ? lock_for_all(window->regions) : status;
}

tern_status tern_window_open(tern_context *context, void *base, size_t bytes, bool mpi_atomics,
                             bool emulated, tern_window **window) {
    tern_window *fresh = aligned_alloc(TERN_LINE, sizeof *fresh);
    tern_status status =
        fresh != NULL ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory for a window of MPI");
    status = tern_collective_agree(context, NULL, status, "making the window");
    if (status != TERN_OK) {
        free(fresh);
        return status;
    }
    memset(fresh, 0, sizeof *fresh);
    fresh->mpi_atomics = mpi_atomics;
    fresh->emulated = emulated;
    for (uint32_t i = 0; i < TERN_WINDOW_STAGES; i++)
        fresh->stage[i].mpi = MPI_REQUEST_NULL;
    status = TERN_MPI(
        PMPI_Win_create(base, (MPI_Aint)bytes, 1, MPI_INFO_NULL, context->comm, &fresh->win));
    if (status == TERN_OK)
        status = lock_for_all(fresh->win);
    if (status == TERN_OK)
        status = open_regions(context, fresh);
    if (status != TERN_OK) {
        free(fresh);
        return status;
    }
    *window = fresh;
    return TERN_OK;
}

tern_status tern_window_attach(tern_window *window, void *base, size_t bytes) {
    if (window->regions == MPI_WIN_NULL)
        return TERN_OK;
    int code = PMPI_Win_attach(window->regions, base, (MPI_Aint)bytes);
    return code == MPI_SUCCESS ? TERN_OK : tern_fail_mpi(code, "MPI_Win_attach");
}

void tern_window_detach(tern_window *window, void *base) {
    int code =
        window->regions == MPI_WIN_NULL ? MPI_SUCCESS : PMPI_Win_detach(window->regions, base);
    if (code != MPI_SUCCESS) {
        tern_fail_mpi(code, "MPI_Win_detach");
        tern_log(TERN_LOG_WARN, "a region stays attached: %s", tern_error_detail());
    }
}

bool tern_window_has_atomics(const tern_window *window) { return window->mpi_atomics; }

/* Frees the requests of replies. Called after the end of the epoch, which has completed their
 * puts. */
static void finish_replies(tern_window *window) {
    int done = 0;
    for (uint32_t i = 0; i < TERN_WINDOW_STAGES; i++)
        (void)TERN_MPI(PMPI_Test(&window->stage[i].mpi, &done, MPI_STATUS_IGNORE));
}

void tern_window_close(tern_context *context, tern_window *window) {
    if (window == NULL)
        return;
    if (tern_mpi_is_of_use(context)) {
        (void)TERN_MPI(PMPI_Win_unlock_all(window->win));
        finish_replies(window);
        (void)TERN_MPI(PMPI_Win_free(&window->win));
        if (window->regions != MPI_WIN_NULL) {
            (void)TERN_MPI(PMPI_Win_unlock_all(window->regions));
            (void)TERN_MPI(PMPI_Win_free(&window->regions));
        }
        free(window);
    }
}

bool tern_window_has_regions(const tern_window *window) { return window->regions != MPI_WIN_NULL; }
