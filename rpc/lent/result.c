#include "rpc/lent/lent.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/thread_transfer.h"
#include "rpc/archive/archive.h"
#include "rpc/synchronizer.h"
#include "src/progress/wait.h"

enum { PIECE = 1 << 20 }; /* bytes of one get into memory of tern */

void tern_result_drop(tern_worker *worker) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    tern_held_drop(worker, mine->room);
    mine->room = NULL;
}

tern_status tern_call_result(tern_call_info *call, size_t bytes) {
    if (call == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_call_result: call is NULL");
    if (bytes > TERN_BUFFER_MAX)
        return tern_fail(TERN_ERR_RANGE, "tern_call_result: bytes is %zu; at most %u are allowed",
                         bytes, TERN_BUFFER_MAX);
    tern_worker *worker = call->worker;
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    char *room = mine->result;
    if (bytes > TERN_RESULT_MAX) {
        tern_result_drop(worker);
        tern_status status = tern_held_create(worker, bytes, &mine->room);
        if (status != TERN_OK)
            return status;
        room = tern_held_data(worker, mine->room);
    }
    call->result = room;
    call->result_bytes = bytes;
    return TERN_OK;
}

tern_status tern_result_lend(tern_worker *worker, const tern_call_info *call, const char *name,
                             tern_loan *loan) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    tern_held *room = mine->room;
    const bool asked = room != NULL && call->result == tern_held_data(worker, room);
    const size_t most = asked ? tern_held_bytes(room) : TERN_RESULT_MAX;
    if (call->result_bytes > most)
        return tern_fail(
            TERN_ERR_RANGE,
            "%s gave a result of %zu bytes in room for %zu; call tern_call_result in it first",
            name, call->result_bytes, most);
    mine->room = NULL;
    *loan = tern_held_lend(worker, room, call->result_bytes, 1, call->origin.rank);
    return TERN_OK;
}

/* Gets a result through a buffer of tern. If the other rank dies, MPI may still write to this
 * buffer, which is therefore leaked, but not to the caller's memory. */
static tern_status get_by_piece(tern_worker *worker, tern_ptr from, char *to, uint64_t bytes) {
    uint64_t piece = bytes < PIECE ? bytes : PIECE;
    char *staged = malloc(piece);
    if (staged == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory to get a result of %llu bytes",
                         (unsigned long long)bytes);
    for (; bytes > 0; bytes -= piece, from.offset += piece, to += piece) {
        piece = bytes < PIECE ? bytes : PIECE;
        tern_status status = tern_get(worker, staged, from, piece);
        if (status != TERN_OK)
            return status;
        memcpy(to, staged, piece);
        worker->stats.bytes_staged += piece;
    }
    free(staged);
    return TERN_OK;
}

/* Gets a result straight into memory of a segment or a region, which the caller must leave alone
 * after a failure. */
static tern_status get_result(tern_worker *worker, tern_ptr from, char *to, uint64_t bytes) {
    if (tern_is_nobody(worker))
        return tern_thread_get(worker->context, to, from, bytes);
    if (tern_rank_is_direct(worker->context, from.rank) ||
        !tern_ptr_is_null(tern_gaddr_of(worker, to, bytes)))
        return tern_get(worker, to, from, bytes);
    return get_by_piece(worker, from, to, bytes);
}

static void result_let_go(tern_worker *worker, const tern_loan *loan) {
    const uint32_t rank = loan->counter.rank;
    if (tern_is_nobody(worker)) {
        if (!tern_peer_is_dead(&worker->context->peers, rank))
            tern_counter_lower_by_nobody(worker, loan->counter, 1);
        return;
    }
    tern_wait_state wait = TERN_WAIT_IN("tern_wait of a result");
    tern_status status = TERN_OK;
    while (status == TERN_OK && !tern_notices_have_room(worker))
        status = tern_wait_round(worker->context, &wait, tern_progress_round(worker), rank);
    if (status != TERN_OK)
        return;
    tern_loan_end(worker, loan);
    /* Send the notice at once, since the next progress may be much later. */
    tern_synchronizers_advance(worker);
}

tern_status tern_result_take(tern_worker *worker, uint32_t rank, const void *payload, size_t bytes,
                             void *result, size_t capacity, size_t *result_bytes) {
    tern_loan loan;
    tern_ptr data;
    if (bytes != sizeof loan)
        return tern_fail(TERN_ERR_MISMATCH, "rank %u answered with a loan of %zu bytes", rank,
                         bytes);
    memcpy(&loan, payload, sizeof loan);
    tern_status status = tern_loan_check(worker, &loan, rank, &data);
    if (status != TERN_OK)
        return status;
    if (loan.bytes > capacity)
        status = tern_fail(TERN_ERR_RANGE, "the result has %llu bytes; there is room for %zu",
                           (unsigned long long)loan.bytes, capacity);
    else
        status = get_result(worker, data, result, loan.bytes);
    result_let_go(worker, &loan);
    if (status == TERN_OK && result_bytes != NULL)
        *result_bytes = loan.bytes;
    return status;
}
