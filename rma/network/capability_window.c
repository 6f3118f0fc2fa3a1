#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/error.h"
#include "rma/memory/segment.h"
#include "rma/network/window.h"
#include "src/collective/collective.h"
#include "src/log.h"
#include "src/mpi/mpi.h"
#include "src/progress/wait.h"

/* How long the target sleeps outside MPI, and how long the origin gives it to fall asleep. A put
 * over a real network takes microseconds. */
#define SLEEP_NS 40000000u
#define HEAD_START_NS 5000000u

/* Whether this MPI's atomics are sound. Open MPI before 4.1.5 crashes in a 64-bit compare-and-swap
 * to the own rank, even with MPI_Win_create, and its osc/ucx needs three remote operations for a
 * fetch-and-add. */
static bool sound_atomics(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0, major = 0, minor = 0, patch = 0;
    if (PMPI_Get_library_version(version, &length) != MPI_SUCCESS)
        return false;
    if (sscanf(version, "Open MPI v%d.%d.%d", &major, &minor, &patch) != 3)
        return true;
    return major * 10000 + minor * 100 + patch >= 40105;
}

static void sleep_for(long nanoseconds) {
    struct timespec pause = {0, nanoseconds};
    nanosleep(&pause, NULL);
}

/* Rank 0 tells the origin that it leaves MPI, and watches its memory; the origin puts into it. */
static tern_status put_across(tern_context *context, MPI_Win win, _Atomic uint64_t *memory,
                              uint32_t origin, bool *landed) {
    static const uint64_t sign = 0x7465726e;
    char byte = 0;
    tern_status status = TERN_OK;
    if (context->rank == 0) {
        status = tern_collective_pass(context, 0, origin, &byte, sizeof byte);
        uint64_t end = tern_now() + SLEEP_NS;
        /* R1: put_across */
        while (tern_now() < end && atomic_load(memory) != sign)
            sleep_for(200000);
        *landed = atomic_load(memory) == sign;
    } else if (context->rank == origin) {
        status = tern_collective_pass(context, 0, origin, &byte, sizeof byte);
        sleep_for(HEAD_START_NS);
        if (status == TERN_OK)
            status = TERN_MPI(PMPI_Put(&sign, 8, MPI_BYTE, 0, 0, 8, MPI_BYTE, win));
        if (status == TERN_OK)
            status = TERN_MPI(PMPI_Win_flush(0, win));
    }
    return status;
}

tern_status tern_window_capabilities(tern_context *context, tern_window_findings *found) {
    *found = (tern_window_findings){false, false, sound_atomics()};
    uint32_t origin = 1;
    while (origin < context->size && context->node[origin] == context->node[0])
        origin++;
    void *memory =
        mmap(NULL, TERN_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tern_status status = memory != MAP_FAILED ? TERN_OK : tern_fail_system("mmap");
    status = tern_collective_agree(context, NULL, status, "testing MPI's one-sided operations");
    if (status != TERN_OK)
        return status;

    MPI_Win win = MPI_WIN_NULL;
    tern_status made =
        TERN_MPI(PMPI_Win_create(memory, TERN_PAGE, 1, MPI_INFO_NULL, context->comm, &win));
    made = tern_collective_agree(context, NULL, made, "making a window");
    if (made != TERN_OK) {
        tern_log(TERN_LOG_INFO, "MPI makes no window: %s", tern_error_detail());
        tern_error_clear();
        munmap(memory, TERN_PAGE);
        return TERN_OK;
    }
    bool landed = false;
    status = TERN_MPI(PMPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    if (status == TERN_OK)
        status = TERN_MPI(PMPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    status = tern_collective_agree(context, NULL, status, "testing MPI's one-sided operations");
    if (status == TERN_OK) {
        status = put_across(context, win, memory, origin, &landed);
        (void)TERN_MPI(PMPI_Win_unlock_all(win));
    }
    (void)TERN_MPI(PMPI_Win_free(&win));
    munmap(memory, TERN_PAGE);
    status = tern_collective_agree(context, NULL, status, "testing MPI's one-sided operations");
    uint64_t votes = landed;
    if (status == TERN_OK)
        status = tern_collective_sum(context, NULL, &votes, 1);
    found->works = true;
    found->one_sided = votes > 0;
    return status;
}
