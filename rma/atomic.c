#include "base/error.h"
#include "rma/message/message.h"
#include "rma/network/process.h"
#include "rma/memory/state.h"
#include "rma/region/region.h"
#include "rma/transfer.h"
#include "rma/transport/mpi_rma.h"
#include "src/profile/profile.h"
#include "src/progress/wait.h"

bool tern_has_remote_atomics(const tern_context *context) {
    const tern_rma *rma = tern_rma_of(context);
    return (rma->window != NULL && tern_window_has_atomics(rma->window)) ||
           (rma->native != NULL && rma->native->atomics);
}

bool tern_processor_serves_global(const tern_context *context) {
    const tern_rma *rma = tern_rma_of(context);
    return !tern_has_remote_atomics(context) || (rma->native != NULL && rma->native->coherent);
}

tern_status tern_atomic_check(tern_worker *worker, tern_ptr p, unsigned width, uint64_t bytes,
                              uint64_t *offset) {
    const tern_context *context = worker->context;
    if (p.segment != 0)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "an atomic on registered memory is not possible; allocate the word with "
                         "tern_alloc");
    tern_status status = tern_segment_check(context, p, bytes, offset);
    if (status != TERN_OK)
        return status;
    if (p.offset % width != 0)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "an atomic of %u bytes at offset %llu is not aligned; use a multiple of its size",
            width, (unsigned long long)p.offset);
    bool direct = tern_rank_is_direct(context, p.rank);
    if (p.domain == TERN_DOMAIN_NODE && !direct)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "memory of rank %u was allocated for atomics of its own node; allocate it "
                         "with TERN_DOMAIN_GLOBAL or TERN_DOMAIN_OWNER",
                         p.rank);
    if (p.domain > TERN_DOMAIN_OWNER)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "the pointer's domain is %u, which is no TERN_DOMAIN_ constant", p.domain);
    return p.rank != context->rank && !direct
               ? tern_worker_may_wait(worker, "an atomic on another node")
               : TERN_OK;
}

tern_status tern_atomic_remote(tern_worker *worker, tern_ptr p, tern_atomic_op op, unsigned width,
                               uint64_t operand, uint64_t expected, uint64_t *old) {
    const tern_context *context = worker->context;
    uint64_t offset = 0;
    tern_status status = tern_atomic_check(worker, p, width, width, &offset);
    if (status != TERN_OK)
        return status;
    const bool direct = tern_rank_is_direct(context, p.rank);
    worker->stats.atomics++;
    worker->stats.trips += p.rank != context->rank && !direct;
    uint64_t before = 0;
    if (p.domain == TERN_DOMAIN_GLOBAL) /* also on ranks that load/store reaches */
        status = tern_rma_of(context)->remote->atomic(worker, p.rank, offset, op, width, operand,
                                                      expected, &before);
    else
        status = tern_message_atomic(worker, p.rank, offset, op, width, operand, expected, &before);
    if (status == TERN_OK && old != NULL)
        *old = before;
    return status;
}

/* All atomics of a worker with a profile come here, also those that are usually inlined. */
static tern_status atomic_profiled(tern_worker *worker, tern_ptr p, tern_atomic_op op,
                                   unsigned width, uint64_t operand, uint64_t expected,
                                   uint64_t *old) {
    tern_status status = TERN_OK;
    const tern_span span = tern_span_begin(worker, TERN_SPAN_ATOMIC, TERN_NO_FUNCTION);
    void *word = tern_internal_atomic_address(worker, p, width);
    if (word == NULL)
        status = tern_atomic_remote(worker, p, op, width, operand, expected, old);
    else {
        const uint64_t before = tern_atomic_apply(word, op, width, operand, expected);
        if (old != NULL)
            *old = before;
    }
    tern_span_end(worker, &span, p.rank, width, status);
    return status;
}

tern_status tern_internal_atomic_remote(tern_worker *worker, tern_ptr p, tern_atomic_op op,
                                        unsigned width, uint64_t operand, uint64_t expected,
                                        uint64_t *old) {
    return __builtin_expect(worker->profile == NULL, 1)
               ? tern_atomic_remote(worker, p, op, width, operand, expected, old)
               : atomic_profiled(worker, p, op, width, operand, expected, old);
}

/* Atomics that are started and not waited for. */

tern_status tern_transfer_ask(tern_worker *worker, uint32_t rank, const tern_message *message,
                              const void *payload, size_t payload_bytes, void *answer, size_t bytes,
                              tern_transfer *transfer) {
    const tern_transport_ops *remote = tern_rma_of(worker->context)->remote;
    tern_wait_state wait = TERN_WAIT_IN("an atomic on another node");
    MPI_Request request;
    tern_status status;
    while ((status = tern_message_ask_with(worker, rank, message, payload, payload_bytes, answer,
                                           bytes, &request)) == TERN_ERR_AGAIN) {
        if (tern_progress_round(worker) + remote->poll(worker) > 0)
            continue;
        status = tern_wait_step(worker->context, &wait, rank);
        if (status != TERN_OK)
            return status;
    }
    if (status == TERN_OK)
        *transfer = (tern_transfer){.rank = rank, .under_way = true, .asked = true, .mpi = request};
    return status;
}

/* Whether p names a word of another node that may be changed by atomics of this node. */
static bool atomic_is_remote(const tern_context *context, tern_ptr p) {
    return p.rank < context->size && !tern_rank_is_direct(context, p.rank) && p.segment == 0 &&
           (p.domain == TERN_DOMAIN_OWNER || p.domain == TERN_DOMAIN_GLOBAL);
}

/* Whether an atomic on a word of another node goes by a message, which the owner serves. */
static bool atomic_goes_by_message(const tern_context *context, tern_ptr p) {
    return p.domain == TERN_DOMAIN_OWNER || !tern_has_remote_atomics(context);
}

static tern_status transfer_atomic(tern_worker *worker, tern_ptr p, tern_atomic_op op,
                                   uint64_t operand, uint64_t expected, uint64_t *old,
                                   tern_transfer *transfer) {
    tern_context *context = worker->context;
    const tern_transport_ops *remote = tern_rma_of(context)->remote;
    uint64_t offset = 0;
    void *word = tern_internal_atomic_address(worker, p, 8);
    if (word != NULL) {
        *old = tern_atomic_apply(word, op, 8, operand, expected);
        return TERN_OK;
    }
    /* tern_atomic_remote completes the atomic before it returns, or says why it is refused. */
    if (p.offset % 8 != 0 || worker->in_handler || !atomic_is_remote(context, p))
        return tern_atomic_remote(worker, p, op, 8, operand, expected, old);
    tern_status status = tern_segment_check(context, p, 8, &offset);
    if (status != TERN_OK)
        return status;
    if (!atomic_goes_by_message(context, p)) {
        worker->stats.atomics++;
        worker->stats.trips++;
        return remote->atomic(worker, p.rank, offset, op, 8, operand, expected, old);
    }
    tern_message message = {.kind = TERN_MESSAGE_ATOMIC,
                            .origin = worker->id,
                            .offset = offset,
                            .bytes = (uint64_t)op | UINT64_C(8) << 8,
                            .operand = {operand, expected}};
    worker->stats.atomics++;
    return tern_transfer_ask(worker, p.rank, &message, NULL, 0, old, sizeof *old, transfer);
}

tern_status tern_transfer_atomic(tern_worker *worker, tern_ptr p, tern_atomic_op op,
                                 uint64_t operand, uint64_t expected, uint64_t *old,
                                 tern_transfer *transfer) {
    if (__builtin_expect(worker->profile == NULL, 1))
        return transfer_atomic(worker, p, op, operand, expected, old, transfer);
    const tern_span span = tern_span_begin(worker, TERN_SPAN_ATOMIC, TERN_NO_FUNCTION);
    const tern_status status = transfer_atomic(worker, p, op, operand, expected, old, transfer);
    tern_span_end(worker, &span, p.rank, 8, status);
    return status;
}
