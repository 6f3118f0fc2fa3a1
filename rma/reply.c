#include "rma/reply.h"

#include <stddef.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "rma/state.h"
#include "src/error.h"

_Static_assert(TERN_FUTURES == 64, "cells in use are bits of one word");

static tern_cell *own_cell(tern_worker *worker, uint32_t cell) {
    return (tern_cell *)(void *)(tern_rma_worker_of(worker)->board +
                                 tern_rma_of(worker->context)->layout.cells) +
           cell;
}

bool tern_reply_room(const tern_worker *worker) {
    return tern_rma_worker_of(worker)->cells_used != UINT64_MAX;
}

tern_status tern_reply_expect(tern_worker *worker, tern_return_address *address) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    if (mine->cells_used == UINT64_MAX)
        return tern_fail(TERN_ERR_AGAIN,
                         "all %d results of this worker are under way; wait for one", TERN_FUTURES);
    uint32_t cell = (uint32_t)__builtin_ctzll(~mine->cells_used);
    mine->cells_used |= (uint64_t)1 << cell;
    *address = (tern_return_address){cell, 0, ++mine->sequence};
    return TERN_OK;
}

uint64_t tern_reply_checksum(const tern_context *context, const tern_cell *image) {
    /* R5: tern_reply_send */
    uint64_t words[2] = {atomic_load_explicit(&image->sequence, memory_order_relaxed),
                         (uint64_t)image->status << 32 | image->bytes};
    uint64_t seed = XXH3_64bits_withSeed(words, sizeof words, context->nonce);
    return XXH3_64bits_withSeed(image->payload, image->bytes, seed);
}

bool tern_reply_arrived(tern_worker *worker, const tern_return_address *address) {
    tern_cell *cell = own_cell(worker, address->cell);
    /* R1: tern_reply_store, rma_reply */
    uint64_t sequence = atomic_load_explicit(&cell->sequence, memory_order_acquire);
    if (sequence == address->sequence)
        return cell->bytes <= TERN_RESULT_MAX;
    if (sequence != (address->sequence | TERN_REPLY_CHECKED))
        return false;
    uint64_t check = *(volatile uint64_t *)&cell->check;
    bool whole =
        cell->bytes <= TERN_RESULT_MAX && check == tern_reply_checksum(worker->context, cell);
    /* R2: rma_reply; what the answerer did before is read after the words that are checked */
    atomic_thread_fence(memory_order_acquire);
    return whole;
}

const tern_cell *tern_reply_cell(tern_worker *worker, const tern_return_address *address) {
    return own_cell(worker, address->cell);
}

void tern_reply_release(tern_worker *worker, const tern_return_address *address) {
    tern_rma_worker_of(worker)->cells_used &= ~((uint64_t)1 << address->cell);
}

void tern_reply_store(tern_cell *cell, const tern_cell *image) {
    cell->status = image->status;
    cell->bytes = image->bytes;
    memcpy(cell->payload, image->payload, image->bytes);
    /* R1: tern_reply_arrived */
    atomic_store_explicit(&cell->sequence,
                          atomic_load_explicit(&image->sequence, memory_order_relaxed),
                          memory_order_release);
}

tern_status tern_reply_send(tern_worker *worker, uint32_t to, const tern_return_address *address,
                            tern_status status, const void *payload, size_t bytes) {
    if (address->cell >= TERN_FUTURES)
        return tern_fail(TERN_ERR_RANGE, "a reply to cell %u of %d", address->cell, TERN_FUTURES);
    tern_cell image;
    atomic_init(&image.sequence, address->sequence);
    image.status = (uint32_t)status;
    image.bytes = (uint32_t)bytes;
    if (bytes > 0)
        memcpy(image.payload, payload, bytes);
    return tern_way_to(worker->context, tern_rank_of(worker->context, to))
        ->reply(worker, to, address->cell, &image);
}
