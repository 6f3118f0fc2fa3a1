#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "rma/memory/segment.h"
#include "src/collective/collective.h"
#include "tern/agree.h"

/* Passing a descriptor among the ranks of a node. */

static uint32_t lowest_of_node(const tern_context *context) {
    uint32_t rank = 0;
    while (!tern_same_node(context, rank))
        rank++;
    return rank;
}

/* Duplicates fd, so that the rank gets a descriptor of its own for the same file. */
static tern_status descriptor_copy(int fd, int *copy) {
    *copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (*copy >= 0)
        return TERN_OK;
    return errno == EBADF ? tern_fail(TERN_ERR_ARGUMENT,
                                      "tern_pass_descriptor: fd is %d, which is not open", fd)
                          : tern_fail_system("tern_pass_descriptor");
}

tern_status tern_pass_descriptor(tern_worker *worker, int fd, int *out) {
    static const char name[] = "tern_pass_descriptor";
    TERN_COLLECTIVE(worker, name);
    tern_status status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    tern_context *context = worker->context;
    const uint32_t lowest = lowest_of_node(context);
    int *fds = malloc(context->size * sizeof *fds), own = -1;
    if (fds == NULL)
        status = tern_fail(TERN_ERR_MEMORY, "no memory for %u ranks", context->size);
    else if (out == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: out is NULL", name);
    else if (lowest == context->rank)
        status = descriptor_copy(fd, &own);
    /* From here on no rank depends on the progress of another rank's handlers. */
    status = tern_collective_agree(context, worker, status, name);
    if (status == TERN_OK) {
        for (uint32_t r = 0; r < context->size; r++)
            fds[r] = -1;
        status = tern_segment_share(context, own, fds);
        if (lowest != context->rank)
            own = fds[lowest];
    }
    free(fds);
    if (status == TERN_OK)
        *out = own;
    else if (own >= 0)
        close(own);
    return status;
}
