#include "base/error.h"
#include "rma/region/cma.h"
#include "rma/memory/state.h"
#include "rma/reply/owner_service.h"
#include "rma/reply/reply.h"
#include "rma/ring/ring.h"
#include "rma/transport/transport.h"

/*
 * shm: ranks that map each other's segments. Memory is reached by load/store, so puts, gets and
 * atomics of the application are inlined in transfer.h and come here only through requests; the
 * ring operations are those of rma/ring/ring.h.
 */

static char *shm_at(const tern_worker *worker, uint32_t rank, uint64_t offset) {
    return tern_rma_of(worker->context)->segment[rank].base + offset;
}

static tern_status shm_put(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                           size_t bytes, tern_transfer *transfer) {
    (void)transfer;
    if (tern_offset_in_region(offset))
        return tern_cma_copy(worker, rank, offset, (char *)(uintptr_t)from, bytes, TERN_PUT_INTO);
    tern_internal_copy(shm_at(worker, rank, offset), from, bytes);
    return TERN_OK;
}

static tern_status shm_get(tern_worker *worker, uint32_t rank, uint64_t offset, void *to,
                           size_t bytes, tern_transfer *transfer) {
    (void)transfer;
    if (tern_offset_in_region(offset))
        return tern_cma_copy(worker, rank, offset, to, bytes, TERN_GET_FROM);
    tern_internal_copy(to, shm_at(worker, rank, offset), bytes);
    return TERN_OK;
}

static tern_status shm_atomic(tern_worker *worker, uint32_t rank, uint64_t offset,
                              tern_atomic_op op, unsigned width, uint64_t operand,
                              uint64_t expected, uint64_t *old) {
    *old = tern_atomic_apply(shm_at(worker, rank, offset), op, width, operand, expected);
    return TERN_OK;
}

static tern_status shm_flush(tern_worker *worker, uint32_t rank) {
    (void)worker;
    (void)rank;
    /* R3: tern_flush */
    atomic_thread_fence(memory_order_seq_cst);
    return TERN_OK;
}

static tern_status shm_test(tern_worker *worker, tern_transfer *transfer, int *done) {
    (void)worker;
    (void)transfer;
    *done = 1;
    return TERN_OK;
}

static tern_status shm_publish(tern_worker *worker, tern_out *out) {
    tern_ring_publish_direct(worker, out);
    return TERN_OK;
}

static uint64_t shm_consumed(tern_worker *worker, const tern_out *out) {
    (void)worker;
    /* R1: shm_report; the target has read what we overwrite */
    return atomic_load_explicit(&out->header->consumed, memory_order_acquire);
}

static tern_status shm_report(tern_worker *worker, tern_in *in) {
    (void)worker;
    /* R1: shm_consumed */
    atomic_store_explicit(&in->header->consumed, in->position, memory_order_release);
    return TERN_OK;
}

static tern_status shm_reply(tern_worker *worker, uint32_t target,
                             const tern_return_address *address, const tern_cell *image) {
    const tern_context *context = worker->context;
    char *cell =
        shm_at(worker, tern_rank_of(context, target), tern_reply_offset(context, target, address));
    tern_reply_store((tern_cell *)(void *)cell, image);
    return TERN_OK;
}

const tern_transport_ops tern_transport_shm = {
    .name = TERN_SHM,
    .put = shm_put,
    .get = shm_get,
    .atomic = shm_atomic,
    .flush = shm_flush,
    .test = shm_test,
    .open = tern_ring_open_direct,
    .publish = shm_publish,
    .consumed = shm_consumed,
    .report = shm_report,
    .reply = shm_reply,
};
