#include "rma/region/cma.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "src/log.h"
#include "src/progress/wait.h"

static tern_status cma_fail(uint32_t rank) {
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "this process may not reach into rank %u (TERN_CMA=off, kernel.yama."
                     "ptrace_scope, or a container without CAP_SYS_PTRACE); put, get or allocate "
                     "with tern_alloc",
                     rank);
}

/* Remembers that the system refused. Its rules are the same for all ranks of the node. */
static void cma_refuse(tern_rma *rma, uint32_t rank) {
    /* R4 */
    if (!atomic_exchange_explicit(&rma->cma_refused, true, memory_order_relaxed))
        tern_log(TERN_LOG_INFO,
                 "the system does not let this process reach into rank %u; registered memory is "
                 "copied by its owner's progress",
                 rank);
}

static pid_t pid_of(const tern_worker *worker, uint32_t rank) {
    const tern_context *context = worker->context;
    const tern_sibling *sibling = tern_peer_find(&context->peers, rank);
    if (rank == context->rank)
        return getpid();
    return sibling != NULL ? (pid_t)sibling->pid : 0; /* no process has the number 0 */
}

static tern_status system_copy(tern_worker *worker, uint32_t rank, char *there, char *local,
                               uint64_t bytes, tern_direction direction) {
    tern_context *context = worker->context;
    tern_rma *rma = tern_rma_of(context);
    const pid_t pid = pid_of(worker, rank);
    const bool own = rank == context->rank;
    if (context->config.cma == TERN_CMA_OFF ||
        /* R4 */
        atomic_load_explicit(&rma->cma_refused, memory_order_relaxed))
        return cma_fail(rank);
    while (bytes > 0) {
        /* Checked each time: after a process has ended, another may have its number. */
        tern_peer_state state = own ? TERN_PEER_ALIVE : tern_peer_look(&context->peers, rank);
        if (state != TERN_PEER_ALIVE)
            return state == TERN_PEER_DEAD ? tern_peer_fail(rank) : cma_fail(rank);
        struct iovec here = {local, bytes}, remote = {there, bytes};
        ssize_t done = direction == TERN_PUT_INTO ? process_vm_writev(pid, &here, 1, &remote, 1, 0)
                                                  : process_vm_readv(pid, &here, 1, &remote, 1, 0);
        if (done < 0 && (errno == EPERM || errno == ENOSYS)) {
            cma_refuse(rma, rank);
            return cma_fail(rank);
        }
        if (done < 0 && errno == ESRCH)
            return tern_peer_fail(rank);
        if (done <= 0)
            return tern_fail_system("copying between processes");
        local += done;
        there += done;
        bytes -= (uint64_t)done;
    }
    return TERN_OK;
}

tern_status tern_cma_read(tern_worker *worker, uint32_t rank, uint64_t address, char *to,
                          uint64_t bytes) {
    if (!tern_rank_is_direct(worker->context, rank))
        return cma_fail(rank);
    return system_copy(worker, rank, (char *)(uintptr_t)address, to, bytes, TERN_GET_FROM);
}

/* Tries to read an address at which nothing is mapped: the system checks permissions before it
 * checks the address, so EFAULT means that reading is allowed. */
bool tern_cma_allowed(tern_worker *worker, uint32_t rank) {
    tern_context *context = worker->context;
    tern_rma *rma = tern_rma_of(context);
    const bool own = rank == context->rank;
    if (context->config.cma == TERN_CMA_OFF || !tern_rank_is_direct(context, rank) ||
        /* R4 */
        atomic_load_explicit(&rma->cma_refused, memory_order_relaxed) ||
        (!own && tern_peer_look(&context->peers, rank) != TERN_PEER_ALIVE))
        return false;
    char byte;
    struct iovec here = {&byte, 1}, remote = {(char *)1, 1};
    if (process_vm_readv(pid_of(worker, rank), &here, 1, &remote, 1, 0) < 0 && errno == EFAULT)
        return true;
    if (!own && (errno == EPERM || errno == ENOSYS))
        cma_refuse(rma, rank);
    return false;
}

static void plain_copy(char *region, char *local, uint64_t bytes, tern_direction direction) {
    if (direction == TERN_PUT_INTO)
        tern_internal_copy(region, local, bytes);
    else
        tern_internal_copy(local, region, bytes);
}

tern_status tern_cma_copy_by_system(tern_worker *worker, uint32_t rank, uint64_t region_offset,
                                    char *local, uint64_t bytes, tern_direction direction) {
    tern_hold hold;
    tern_status status = tern_region_hold(worker->context, rank, region_offset, bytes, &hold);
    if (status != TERN_OK)
        return status;
    if (rank == worker->context->rank)
        plain_copy(hold.address, local, bytes, direction);
    else
        status = system_copy(worker, rank, hold.address, local, bytes, direction);
    tern_region_release(&hold);
    return status;
}

tern_status tern_cma_serve(tern_worker *worker, uint32_t origin, uint64_t region_offset,
                           uint64_t bytes, uint64_t heap_offset, tern_direction direction) {
    tern_context *context = worker->context;
    const tern_reach *reach = &tern_rma_of(context)->reach[origin];
    if (!tern_offset_in_region(region_offset) || bytes > reach->bytes ||
        heap_offset > reach->bytes - bytes)
        return tern_fail(TERN_ERR_RANGE,
                         "a rank of this node asks for a copy that lies outside of its segment");
    tern_hold hold;
    tern_status status = tern_region_hold(context, context->rank, region_offset, bytes, &hold);
    if (status != TERN_OK)
        return status;
    plain_copy(hold.address, reach->base + heap_offset, bytes, direction);
    tern_region_release(&hold);
    return TERN_OK;
}
