#include "rma/reply/reply.h"

#include <stddef.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "rma/reply/owner_service.h"
#include "rma/memory/state.h"
#include "rma/reply/thread_reply.h"
#include "rma/ring/ring.h"
#include "src/mpi/mpi.h"

_Static_assert(TERN_CALL_REQUESTS == 64, "cells in use are bits of one word");

static tern_cell *own_cell(tern_worker *worker, uint32_t cell) {
    return tern_rma_worker_of(worker)->cell[cell].memory;
}

static bool is_of_thread(const tern_return_address *address) {
    return address->cell == TERN_CELL_OF_THREAD;
}

static tern_cell *cell_at(tern_worker *worker, const tern_return_address *address) {
    return is_of_thread(address) ? tern_thread_reply_cell(worker->context, address->sequence)
                                 : own_cell(worker, address->cell);
}

void tern_reply_open(tern_worker *worker) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    char *cells = mine->worker_page + tern_rma_of(worker->context)->layout.cells;
    for (uint32_t i = 0; i < TERN_CALL_REQUESTS; i++)
        mine->cell[i].memory = (tern_cell *)(void *)cells + i;
}

/* The offset of a moved cell in its segment. */
static uint64_t moved_to(const tern_context *context, uint32_t moved) {
    return tern_rma_of(context)->layout.heap + (uint64_t)(moved - 1) * TERN_LINE;
}

/* Moves a cell to fresh memory. The old memory is never used again, since a late answer may still
 * be written there. False: no memory. */
static bool cell_move(tern_worker *worker, tern_cell_use *use) {
    const tern_memory_request request = {.bytes = sizeof(tern_cell),
                                         .alignment = TERN_LINE,
                                         .near_worker = worker->index,
                                         .numa = TERN_NUMA_ANY};
    uint64_t offset = 0;
    if (tern_memory_take(worker->context, &request, &offset) != TERN_OK) {
        tern_error_clear();
        return false;
    }
    if (offset / TERN_LINE >= UINT32_MAX) {
        (void)tern_memory_give(worker->context, offset);
        return false;
    }
    use->moved = (uint32_t)(offset / TERN_LINE) + 1;
    use->memory = (tern_cell *)(void *)(tern_rma_of(worker->context)->mine +
                                        moved_to(worker->context, use->moved));
    memset(use->memory, 0, sizeof *use->memory);
    return true;
}

/* Whether no given-up answer can still be written to the cell's memory. Moves the cell if that is
 * the only way. */
static bool cell_settled(tern_worker *worker, uint32_t cell) {
    tern_cell_use *use = &tern_rma_worker_of(worker)->cell[cell];
    const tern_return_address address = {cell, use->moved, use->given_up};
    const tern_transport_ops *transport = tern_transport_to(worker->context, use->rank);
    if (transport->replies_compared || tern_reply_arrived(worker, &address))
        return true;
    if (!tern_peer_is_dead(&worker->context->peers, use->rank))
        return false;
    return !transport->puts_outlive || cell_move(worker, use);
}

/* Frees the given-up cells to which no late answer can be written any more. */
static void __attribute__((cold)) cells_settle(tern_worker *worker) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    for (uint64_t left = mine->cells_given_up; left != 0; left &= left - 1) {
        const uint32_t cell = (uint32_t)__builtin_ctzll(left);
        if (!cell_settled(worker, cell))
            continue;
        mine->cells_given_up &= ~((uint64_t)1 << cell);
        mine->cells_used &= ~((uint64_t)1 << cell);
    }
}

bool tern_reply_room(tern_worker *worker) {
    const tern_rma_worker *mine = tern_rma_worker_of(worker);
    if (mine->cells_used == UINT64_MAX && mine->cells_given_up != 0)
        cells_settle(worker);
    return mine->cells_used != UINT64_MAX;
}

tern_status tern_reply_expect(tern_worker *worker, tern_return_address *address) {
    if (tern_is_nobody(worker))
        return tern_thread_reply_expect(worker->context, address);
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    if (mine->cells_used == UINT64_MAX && !tern_reply_room(worker))
        return tern_fail(TERN_ERR_AGAIN,
                         "all %d results of this worker are under way; wait for one",
                         TERN_CALL_REQUESTS);
    uint32_t cell = (uint32_t)__builtin_ctzll(~mine->cells_used);
    mine->cells_used |= (uint64_t)1 << cell;
    *address = (tern_return_address){cell, mine->cell[cell].moved, ++mine->sequence};
    mine->cell[cell].ring = 0;
    /* R9: tern_reply_arrived; it has seen the answer before */
    mine->cell[cell].before =
        atomic_load_explicit(&mine->cell[cell].memory->sequence, memory_order_relaxed);
    return TERN_OK;
}

void tern_reply_note_record(tern_worker *worker, const tern_return_address *address,
                            uint32_t target) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    const tern_out *out = mine->out[tern_endpoint_of(worker->context, TERN_CHANNEL_CALLS, target)];
    if (is_of_thread(address) || out == NULL || !out->direct)
        return;
    mine->cell[address->cell].asked = (uint32_t)out->lane.write;
    mine->cell[address->cell].ring = out->ring + 1;
}

uint64_t tern_reply_checksum(const tern_context *context, const tern_cell *image) {
    /* R5: tern_reply_send */
    uint64_t words[2] = {atomic_load_explicit(&image->sequence, memory_order_relaxed)};
    /* R10; once: other ranks of the node can write there */
    const uint32_t bytes = __atomic_load_n(&image->bytes, __ATOMIC_RELAXED);
    words[1] = (uint64_t)image->status << 32 | bytes;
    uint64_t seed = XXH3_64bits_withSeed(words, sizeof words, context->nonce);
    return XXH3_64bits_withSeed(image->payload, bytes < TERN_RESULT_MAX ? bytes : TERN_RESULT_MAX,
                                seed);
}

bool tern_reply_arrived(tern_worker *worker, const tern_return_address *address) {
    tern_cell *cell = cell_at(worker, address);
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

bool tern_reply_is_damaged(tern_worker *worker, const tern_return_address *address) {
    const tern_cell_use *use = &tern_rma_worker_of(worker)->cell[address->cell];
    /* R1: tern_reply_store; the length */
    uint64_t sequence = atomic_load_explicit(&use->memory->sequence, memory_order_acquire);
    if (sequence == address->sequence)
        return use->memory->bytes > TERN_RESULT_MAX;
    return sequence != use->before;
}

bool tern_reply_is_looked_at(tern_worker *worker, const tern_return_address *address) {
    uint16_t *looked = &tern_rma_worker_of(worker)->cell_looked[address->cell];
    const uint16_t now = (uint16_t)worker->looked;
    const bool due = *looked != now;
    *looked = now;
    return due;
}

const tern_cell *tern_reply_cell(tern_worker *worker, const tern_return_address *address) {
    return cell_at(worker, address);
}

void tern_reply_release(tern_worker *worker, const tern_return_address *address) {
    if (is_of_thread(address))
        tern_thread_reply_end(worker->context, address->sequence);
    else
        tern_rma_worker_of(worker)->cells_used &= ~((uint64_t)1 << address->cell);
}

void tern_reply_give_up(tern_worker *worker, const tern_return_address *address, uint32_t rank) {
    if (is_of_thread(address)) {
        tern_thread_reply_end(worker->context, address->sequence);
        return;
    }
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    tern_cell_use *use = &mine->cell[address->cell];
    /* Messages are served under this lock. So after it is released, no answer that passed the
     * comparison before is still being stored. */
    tern_mpi_lock();
    use->given_up = address->sequence;
    tern_mpi_unlock();
    use->rank = rank;
    mine->cells_given_up |= (uint64_t)1 << address->cell;
    cells_settle(worker);
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

/* Whether an answer that a network reported as lost is there nevertheless, or a later one is. */
static bool is_there_already(tern_worker *worker, uint32_t cell, uint64_t sequence) {
    /* R1: tern_reply_store, native_reply */
    const uint64_t there =
        atomic_load_explicit(&own_cell(worker, cell)->sequence, memory_order_acquire) &
        ~TERN_REPLY_CHECKED;
    const tern_return_address address = {cell, 0, sequence};
    return there > sequence || (there == sequence && tern_reply_arrived(worker, &address));
}

void tern_reply_receive(tern_worker *worker, uint32_t cell, const tern_cell *image) {
    tern_cell_use *use = &tern_rma_worker_of(worker)->cell[cell];
    /* R5: tern_reply_send */
    const uint64_t sent = atomic_load_explicit(&image->sequence, memory_order_relaxed);
    const uint64_t sequence = sent & ~TERN_REPLY_CHECKED;
    /* Drops an answer that was given up or is there already. But if a network has lost the answer
     * (sent is not sequence), the cell may still wait for it: the answer that was given up last is
     * stored, too. */
    if (sent == sequence ? sequence <= use->given_up
                         : sequence < use->given_up || is_there_already(worker, cell, sequence))
        return;
    tern_cell answer = *image;
    /* R5: tern_reply_send */
    atomic_store_explicit(&answer.sequence, sequence, memory_order_relaxed);
    tern_reply_store(use->memory, &answer);
}

uint64_t tern_reply_offset(const tern_context *context, uint32_t to,
                           const tern_return_address *address) {
    if (address->moved != 0)
        return moved_to(context, address->moved);
    return tern_worker_page_offset(context, to) + tern_rma_of(context)->layout.cells +
           address->cell * sizeof(tern_cell);
}

/* Whether a cell may lie at this address, which comes from memory that other ranks can write. */
static bool address_is_good(const tern_context *context, const tern_return_address *address) {
    const tern_layout *layout = &tern_rma_of(context)->layout;
    return address->cell < TERN_CALL_REQUESTS &&
           (address->moved == 0 || moved_to(context, address->moved) + sizeof(tern_cell) <=
                                       layout->heap + layout->heap_bytes);
}

static tern_cell image_of(const tern_return_address *address, tern_status status,
                          const void *payload, size_t bytes) {
    tern_cell image;
    atomic_init(&image.sequence, address->sequence);
    image.status = (uint32_t)status;
    image.bytes = (uint32_t)bytes;
    if (bytes > 0)
        memcpy(image.payload, payload, bytes);
    return image;
}

void tern_reply_unsent(const tern_context *context, uint32_t to, const tern_return_address *address,
                       tern_status status, const void *payload, size_t bytes) {
    const tern_cell image = image_of(address, status, payload, bytes);
    tern_mpi_lock();
    tern_reply_receive(context->worker[to % context->workers], address->cell, &image);
    tern_mpi_unlock();
}

tern_status tern_reply_send(tern_worker *worker, uint32_t to, const tern_return_address *address,
                            tern_status status, const void *payload, size_t bytes) {
    if (!is_of_thread(address) && !address_is_good(worker->context, address))
        return tern_fail(TERN_ERR_RANGE,
                         "the address of a reply is invalid: cell %u of %d, moved to line %u",
                         address->cell, TERN_CALL_REQUESTS, address->moved);
    const tern_cell image = image_of(address, status, payload, bytes);
    if (is_of_thread(address))
        return tern_thread_reply_send(worker, tern_rank_of(worker->context, to), &image);
    return tern_transport_to(worker->context, tern_rank_of(worker->context, to))
        ->reply(worker, to, address, &image);
}
