#include "queue/op.h"

#include <stdlib.h>

static inline __attribute__((always_inline)) void queue_take_step(tern_queue_op *op) {
    if (__builtin_expect(op->stage == TERN_QUEUE_CALL, 0))
        tern_queue_step_call(op);
    else if (op->kind == TERN_PATH_PUSH)
        tern_queue_step_push(op);
    else
        tern_queue_step_pop(op);
}

size_t tern_queue_op_step(tern_queue_op *op) {
    /* After a transfer that is complete at once the next step follows, up to STEPS in a row. */
    enum { STEPS = 16 };

    size_t steps = 0;
    op->waits = false;
    for (; op->stage != TERN_QUEUE_DONE && !op->waits && steps < STEPS; steps++) {
        if (__builtin_expect(op->transfer.under_way, 0)) {
            int done = 0;
            const tern_status status = tern_transfer_test(op->worker, &op->transfer, &done);
            op->worker->stats.trips += (uint64_t)done;
            if (status != TERN_OK) {
                tern_queue_finish(op, status);
                continue;
            }
            if (!done)
                break;
        }
        queue_take_step(op);
    }
    return steps;
}

/* ---- Waiting for one ---- */

static const char *queue_name_of(const tern_queue_op *op) {
    return op->kind == TERN_PATH_PUSH ? "a push" : "a pop";
}

/* Waits for the transfer. A transfer returns its error only once, so an error ends the op here. */
static void queue_await(tern_queue_op *op) {
    const tern_status status = tern_transfer_wait(op->worker, &op->transfer);
    if (status != TERN_OK)
        tern_queue_finish(op, status);
}

/* Takes one turn of a wait. An op by call goes on after the host's answer "full" or "empty". */
static tern_status queue_turn(tern_queue_op *op, tern_queue_waiting *wait) {
    const tern_status status = tern_queue_wait(op->worker, op->queue, wait, op->until,
                                               (tern_queue_due)op->due, op->ticket);
    if (status == TERN_OK && op->due == TERN_DUE_NEVER)
        tern_error_clear(); /* the detail of the host's last answer */
    return status;
}

static __attribute__((noinline)) tern_status queue_drive(tern_queue_op *op, bool *waited) {
    tern_queue_waiting wait = TERN_QUEUE_WAITING(queue_name_of(op));
    while (op->stage != TERN_QUEUE_DONE) {
        if (op->waits) {
            const tern_status status = queue_turn(op, &wait);
            *waited = true;
            if (status != TERN_OK)
                return status;
        }
        if (op->transfer.under_way)
            queue_await(op);
        (void)tern_queue_op_step(op);
    }
    tern_transfer_forget(&op->transfer);
    return op->outcome;
}

static inline tern_status queue_run(tern_queue_op *op, uint64_t *slots, size_t room, bool *waited) {
    op->slots = slots;
    op->room = room;
    (void)tern_queue_op_step(op);
    return __builtin_expect(op->stage == TERN_QUEUE_DONE, 1) ? op->outcome
                                                             : queue_drive(op, waited);
}

/* Runs an op of a large item or of a batch. It moves items in pieces for which the stack has room.
 * An item that is larger than a piece gets memory from the heap. */
static __attribute__((noinline)) tern_status queue_run_large(tern_queue_op *op, bool *waited) {
    uint64_t piece[TERN_SLOT_PIECE];
    if (op->queue->stride <= sizeof piece)
        return queue_run(op, piece, TERN_SLOT_PIECE, waited);
    uint64_t *slot = malloc(op->queue->stride);
    if (slot == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for an item of %zu bytes",
                         op->queue->item_bytes);
    const tern_status status = queue_run(op, slot, op->queue->stride / 8, waited);
    if (!tern_queue_op_leaks_slots(op))
        free(slot);
    return status;
}

tern_status tern_queue_op_run(tern_queue_op *op, bool *waited) {
    uint64_t small[TERN_SLOT_SMALL];
    op->draws = op->until == TERN_QUEUE_FOREVER && op->promise != TERN_LOCAL &&
                op->stage == TERN_QUEUE_BEGIN && !op->worker->in_handler &&
                !op->worker->in_progress;
    if (__builtin_expect(op->count == 1 && op->queue->slot_words <= TERN_SLOT_SMALL, 1))
        return queue_run(op, small, TERN_SLOT_SMALL, waited);
    return queue_run_large(op, waited);
}
