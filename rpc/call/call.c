#include "base/error.h"
#include "rma/answer.h"
#include "rma/state.h"
#include "rpc/lent/lent.h"

/*
 * Making calls. Over shm the short way, tern_call_now, does for most: a few checks, the pair's
 * ring, a copy of the arguments straight into the target's memory, two header words; no system
 * call, lock or allocation. Guarded by `tern-bench call`. What it cannot send comes here.
 */

static tern_status call_copying(tern_worker *worker, tern_worker_id target,
                                const tern_function *function, const void *arguments, size_t bytes,
                                tern_full full) {
    uint64_t header = tern_call_header(worker, target, function, arguments, bytes);
    if (header == 0)
        return tern_call_refuse(worker, target, function, arguments, bytes);
    const uint32_t number = tern_worker_number(worker->context, target);
    if (bytes > tern_outgoing_max(worker->context))
        return tern_call_large(worker, number, header, arguments, bytes, full, NULL);
    tern_outgoing call = {number, header, {{arguments, bytes}}};
    return tern_outgoing_send(worker, &call, full);
}

/* Sizes that are looked for the short way: what every ring takes in one record. */
enum { SHORT_MAX = 1024 };

tern_status tern_call_any(tern_worker *worker, tern_worker_id target, const tern_function *function,
                          const void *arguments, size_t bytes) {
    if (bytes <= SHORT_MAX && tern_call_now(worker, target, function, arguments, bytes))
        return TERN_OK;
    return call_copying(worker, target, function, arguments, bytes, TERN_FULL_WAIT);
}

void tern_call_attend(tern_worker *worker, tern_worker_id target) {
    uint32_t number = tern_worker_number(worker->context, target);
    tern_ring_attend(worker, tern_rma_worker_of(worker)->out[number]);
}

tern_status tern_call_try(tern_worker *worker, tern_worker_id target, const tern_function *function,
                          const void *arguments, size_t bytes) {
    return call_copying(worker, target, function, arguments, bytes, TERN_FULL_FAIL);
}

tern_status tern_call_queue(tern_worker *worker, tern_worker_id target,
                            const tern_function *function, const void *arguments, size_t bytes) {
    return call_copying(worker, target, function, arguments, bytes, TERN_FULL_QUEUE);
}

void tern_future_begin(tern_worker *worker, uint32_t target, const tern_return_address *back,
                       tern_future *future) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    mine->futures |= (uint64_t)1 << back->cell;
    mine->sequence[back->cell] = back->sequence;
    future->state[0] = back->sequence;
    future->state[1] = (uint64_t)target << 32 | back->cell;
}

tern_status tern_call_start(tern_worker *worker, tern_worker_id target,
                            const tern_function *function, const void *arguments, size_t bytes,
                            tern_future *future) {
    uint64_t header = tern_call_header(worker, target, function, arguments, bytes);
    if (header == 0)
        return tern_call_refuse(worker, target, function, arguments, bytes);
    if (future == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_call_start: future is NULL");
    const uint32_t number = tern_worker_number(worker->context, target);
    tern_return_address back;
    if (bytes > tern_outgoing_max(worker->context) - sizeof back)
        return tern_call_large(worker, number, header, arguments, bytes, TERN_FULL_WAIT, future);
    tern_status status = tern_reply_expect(worker, &back);
    if (status != TERN_OK)
        return status;
    tern_outgoing call = {number,
                          tern_record_header(TERN_RECORD_CALL_RETURN, tern_record_id(header), 0),
                          {{&back, sizeof back}, {arguments, bytes}}};
    status = tern_outgoing_send(worker, &call, TERN_FULL_WAIT);
    if (status != TERN_OK) {
        tern_reply_release(worker, &back);
        return status;
    }
    tern_future_begin(worker, number, &back, future);
    return TERN_OK;
}

static tern_return_address address_of(const tern_future *future) {
    return (tern_return_address){(uint32_t)future->state[1], 0, future->state[0]};
}

tern_status tern_future_test(tern_worker *worker, tern_future *future, int *done) {
    if (worker == NULL || future == NULL || done == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_future_test: NULL argument");
    tern_return_address back = address_of(future);
    if (future->state[0] != 0 && !tern_reply_arrived(worker, &back)) {
        tern_progress_round(worker);
        *done = tern_reply_arrived(worker, &back);
        if (*done)
            return TERN_OK;
        tern_look_vainly(worker);
        return tern_answer_glance(worker, (uint32_t)(future->state[1] >> 32), &back);
    }
    *done = 1;
    return TERN_OK;
}

/* Hands out what lies in the cell. */
static tern_status take_result(tern_worker *worker, const tern_cell *cell, uint32_t rank,
                               void *result, size_t capacity, size_t *result_bytes) {
    /* R9: tern_reply_arrived; each is read once, since other ranks of the node can write there */
    const tern_status status = (tern_status)__atomic_load_n(&cell->status, __ATOMIC_RELAXED);
    uint32_t bytes = __atomic_load_n(&cell->bytes, __ATOMIC_RELAXED);
    if (bytes > TERN_RESULT_MAX)
        bytes = TERN_RESULT_MAX;
    if ((unsigned)status >= TERN_STATUS_COUNT)
        return status == TERN_RESULT_LENT
                   ? tern_result_take(worker, rank, cell->payload, bytes, result, capacity,
                                      result_bytes)
                   : tern_fail(TERN_ERR_MISMATCH, "rank %u answered with status %d", rank,
                               (int)status);
    if (status != TERN_OK && bytes == 0)
        return tern_fail(status, "rank %u: %s", rank, TERN_NO_REASON);
    if (status != TERN_OK)
        return tern_fail(status, "rank %u: %.*s", rank, (int)bytes, cell->payload);
    if (bytes > capacity)
        return tern_fail(TERN_ERR_RANGE, "a result of %u bytes does not fit into %zu", bytes,
                         capacity);
    if (bytes > 0)
        memcpy(result, cell->payload, bytes);
    if (result_bytes != NULL)
        *result_bytes = bytes;
    return TERN_OK;
}

/* In a function that may wait; the future is not empty. */
static tern_status await_result(tern_worker *worker, tern_future *future, void *result,
                                size_t capacity, size_t *result_bytes) {
    tern_return_address back = address_of(future);
    const uint32_t target = (uint32_t)(future->state[1] >> 32);
    const uint32_t rank = tern_rank_of(worker->context, target);
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = TERN_OK;
    if (!tern_reply_arrived(worker, &back))
        status = tern_puts_deliver(worker); /* the handler may wait for them */
    while (status == TERN_OK && !tern_reply_arrived(worker, &back))
        status = tern_answer_round(worker, &wait, tern_progress_round(worker), rank, target, &back);
    tern_rpc_worker_of(worker)->futures &= ~((uint64_t)1 << back.cell);
    future->state[0] = 0;
    if (status != TERN_OK) {
        tern_reply_give_up(worker, &back, rank);
        return status;
    }
    status =
        take_result(worker, tern_reply_cell(worker, &back), rank, result, capacity, result_bytes);
    tern_reply_release(worker, &back);
    return status;
}

tern_status tern_future_wait(tern_worker *worker, tern_future *future, void *result,
                             size_t capacity, size_t *result_bytes) {
    if (worker == NULL || future == NULL || (result == NULL && capacity > 0))
        return tern_fail(TERN_ERR_ARGUMENT, "tern_future_wait: NULL argument");
    tern_status status = tern_worker_may_wait(worker, "tern_future_wait");
    if (status != TERN_OK)
        return status;
    if (future->state[0] == 0)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_future_wait: the future is empty");
    return await_result(worker, future, result, capacity, result_bytes);
}

tern_status tern_call_return(tern_worker *worker, tern_worker_id target,
                             const tern_function *function, const void *arguments, size_t bytes,
                             void *result, size_t capacity, size_t *result_bytes) {
    if (worker == NULL || (result == NULL && capacity > 0))
        return tern_fail(TERN_ERR_ARGUMENT, "tern_call_return: NULL argument");
    tern_status status = tern_worker_may_wait(worker, "tern_call_return");
    if (status != TERN_OK)
        return status;
    tern_future future = {{0, 0}};
    status = tern_call_start(worker, target, function, arguments, bytes, &future);
    if (status != TERN_OK)
        return status;
    return await_result(worker, &future, result, capacity, result_bytes);
}
