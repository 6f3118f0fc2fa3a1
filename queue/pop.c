#include <string.h>

#include "queue/op.h"
#include "src/broken.h"

#define STOLEN UINT64_MAX /* broken on purpose: the items of another pop */

/*
 * Pop. Linearization: an operation that draws its ticket first linearizes at the fetch-and-add of
 * head; every other one at the successful CAS of head. TERN_ERR_EMPTY linearizes at the load of
 * tail; in a phase of pops, in which tail does not change, at any time. As in push, a ticket is
 * given back only in a phase.
 */

/* ---- What a pop leaves behind ---- */

static void leave_to_phase(tern_queue *q, uint64_t next) {
    _Atomic uint64_t *left = &q->phase_popped;
    uint64_t old = tern_queue_known(left);
    if (q->context->workers == 1) {
        if (old < next)
            /* R9: tern_phase_end; the ranks meet before any of them relies on it */
            atomic_store_explicit(left, next, memory_order_relaxed);
        return;
    }
    /* R9: tern_phase_end */
    while (old < next && !atomic_compare_exchange_weak_explicit(
                             left, &old, next, memory_order_relaxed, memory_order_relaxed))
        continue;
}

/* Frees slots whose items have been read: posts their turns, or leaves that to the phase's end. */
static void pop_free(tern_queue_op *op) {
    tern_queue *q = op->queue;
    const uint64_t generation = tern_slot_generation(q, op->ticket) + 1;
    const tern_ptr turns = tern_turn_gaddr(q, op->ticket);
    tern_status status = TERN_OK;
    if (op->promise == TERN_READ_WRITE ||
        tern_internal_reach_address(op->worker, turns, 1) != NULL) {
        for (size_t i = 0; i < op->ready; i++) {
            op->slots[2 * i] = generation;
            op->slots[2 * i + 1] = ~generation;
        }
        status = tern_queue_put(op, turns, op->slots, 2 * op->ready);
    } else {
        leave_to_phase(q, op->ticket + op->ready);
    }
    if (tern_queue_goes_on(op, TERN_QUEUE_MOVE, status))
        tern_queue_finish(op, TERN_OK);
}

/* Takes the items. The op owns the tickets, and has read their slots. */
static void pop_own(tern_queue_op *op) {
    const tern_queue *q = op->queue;
    for (size_t i = 0; i < op->ready; i++)
        memcpy(tern_queue_item(op, i), tern_slot_in(q, op->slots, i) + TERN_SLOT_ITEM,
               q->item_bytes);
    op->done = op->ready;
    if (TERN_BROKEN(TERN_BREAK_TICKET) && op->ticket == STOLEN) {
        tern_queue_finish(op, TERN_OK); /* a turn would make pushers wait for ever: only the items
                                           are wrong */
        return;
    }
    tern_queue_learn(&op->queue->head_seen, op->ticket + op->ready);
    pop_free(op);
}

static void pop_drawn(tern_queue_op *op) {
    const bool stolen = TERN_BROKEN(TERN_BREAK_TICKET) && !op->draws && op->word == op->ticket + 1;
    op->drawn = op->draws || op->word == op->ticket || stolen;
    /* tern_queue_learn must not get this value: other ops may give tickets back, as in push. */
    op->ticket = stolen ? STOLEN : op->word;
    if (op->drawn && !op->draws)
        pop_own(op);
    else
        op->stage = TERN_QUEUE_LOOK;
}

static void pop_draw(tern_queue_op *op) {
    const tern_ptr head = op->queue->head;
    const tern_status status = op->draws
                                   ? tern_queue_add(op, head, 1)
                                   : tern_queue_swap(op, head, op->ticket, op->ticket + op->ready);
    if (tern_queue_goes_on(op, TERN_QUEUE_DRAWN, status))
        pop_drawn(op);
}

/* ---- Items ---- */

typedef enum slot_state {
    SLOT_READY, /* holds the item */
    SLOT_BUSY,  /* another rank still pushes to it, or nobody has begun to */
    SLOT_PAST   /* the ticket has been popped already */
} slot_state;

static slot_state slot_judge(const tern_queue *q, const uint64_t *slot, uint64_t ticket) {
    if (slot[TERN_SLOT_TICKET] < ticket || tern_slot_check_of(q, slot) != slot[TERN_SLOT_CHECK])
        return SLOT_BUSY;
    return slot[TERN_SLOT_TICKET] == ticket ? SLOT_READY : SLOT_PAST;
}

/* Acts on a ticket without an item: gives it back, ends the op, or asks for head again. */
static void pop_empty(tern_queue_op *op) {
    if (op->drawn)
        (void)tern_queue_goes_on(op, TERN_QUEUE_BACK,
                                 tern_queue_add(op, op->queue->head, UINT64_MAX));
    else if (op->promise != TERN_READ_WRITE || op->until == TERN_QUEUE_TRY)
        tern_queue_finish(op, TERN_ERR_EMPTY); /* head is not less than the ticket */
    else
        (void)tern_queue_goes_on(op, TERN_QUEUE_HEAD, tern_queue_load(op, op->queue->head));
}

static void pop_see_slots(tern_queue_op *op) {
    const tern_queue *q = op->queue;
    const slot_state first = slot_judge(q, op->slots, op->ticket);
    slot_state state = first;
    op->ready = 0;
    while (state == SLOT_READY && ++op->ready < op->asked)
        state = slot_judge(q, tern_slot_in(q, (uint64_t *)op->slots, op->ready),
                           op->ticket + op->ready);
    if (first == SLOT_READY && op->drawn)
        pop_own(op);
    else if (first == SLOT_READY)
        pop_draw(op);
    else if (first == SLOT_BUSY &&
             (op->promise != TERN_READ_WRITE || TERN_BROKEN(TERN_BREAK_EMPTY)))
        /* In a phase of pops nobody pushes: an item that is not there was never pushed. */
        pop_empty(op);
    else if (op->drawn)
        tern_queue_wait_for(op, TERN_DUE_ITEM);
    else if (first == SLOT_BUSY)
        (void)tern_queue_goes_on(op, TERN_QUEUE_TAIL, tern_queue_load(op, q->tail));
    else
        (void)tern_queue_goes_on(op, TERN_QUEUE_HEAD, tern_queue_load(op, q->head));
}

static void pop_look(tern_queue_op *op) {
    const tern_queue *q = op->queue;
    const uint64_t row = tern_slots_in_row(q, op->ticket);
    const size_t fits = tern_queue_slots(op), most = op->count < fits ? op->count : fits;
    op->asked = most < row ? most : (size_t)row;
    if (tern_queue_goes_on(op, TERN_QUEUE_SLOTS,
                           tern_slot_get(op->worker, op->slots, tern_slot_gaddr(q, op->ticket),
                                         tern_slots_words(q, op->asked), &op->transfer)))
        pop_see_slots(op);
}

static void pop_see_tail(tern_queue_op *op) {
    if ((int64_t)(op->word - op->ticket) <= 0)
        pop_empty(op);
    else
        (void)tern_queue_goes_on(op, TERN_QUEUE_HEAD, tern_queue_load(op, op->queue->head));
}

/* Acts on the value of head after the op could not use its ticket. If the ticket is still head, the
 * op waits; else it goes on with the ticket at head. */
static void pop_see_head(tern_queue_op *op) {
    if (op->word == op->ticket) {
        tern_queue_wait_for(op, TERN_DUE_ITEM);
        return;
    }
    op->ticket = op->word;
    op->stage = TERN_QUEUE_LOOK;
}

/* TERN_LOCAL: no other worker uses the queue, as in push. */
static void pop_alone(tern_queue_op *op) {
    tern_queue *q = op->queue;
    uint64_t tail, head;
    tern_status status = tern_atomic_load(op->worker, q->head, &head);
    if (status == TERN_OK)
        status = tern_atomic_load(op->worker, q->tail, &tail);
    if (status == TERN_OK && tail == head)
        status = TERN_ERR_EMPTY;
    if (status != TERN_OK) {
        tern_queue_finish(op, status);
        return;
    }
    const size_t fits = tern_queue_slots(op);
    uint64_t most = tern_slots_in_row(q, head);
    most = tail - head < most ? tail - head : most;
    most = fits < most ? fits : most;
    op->drawn = true;
    op->ready = most < op->count ? (size_t)most : op->count;
    op->ticket = head;
    status = tern_slot_get(op->worker, op->slots, tern_slot_gaddr(q, head),
                           tern_slots_words(q, op->ready), NULL);
    if (status == TERN_OK)
        status = tern_queue_set_alone(op->worker, q->head, head + op->ready);
    if (tern_queue_goes_on(op, TERN_QUEUE_MOVE, status))
        pop_own(op);
}

static void pop_begin(tern_queue_op *op) {
    if (op->promise == TERN_LOCAL) {
        pop_alone(op);
    } else if (op->draws) {
        pop_draw(op);
    } else {
        op->ticket = tern_queue_known(&op->queue->head_seen);
        pop_look(op);
    }
}

void tern_queue_step_pop(tern_queue_op *op) {
    switch ((tern_queue_stage)op->stage) {
    case TERN_QUEUE_BEGIN:
        pop_begin(op);
        break;
    case TERN_QUEUE_LOOK:
        pop_look(op);
        break;
    case TERN_QUEUE_SLOTS:
        pop_see_slots(op);
        break;
    case TERN_QUEUE_TAIL:
        pop_see_tail(op);
        break;
    case TERN_QUEUE_HEAD:
        pop_see_head(op);
        break;
    case TERN_QUEUE_DRAWN:
        pop_drawn(op);
        break;
    default: /* TERN_QUEUE_MOVE and TERN_QUEUE_BACK */
        tern_queue_finish(op, op->stage == TERN_QUEUE_MOVE ? TERN_OK : TERN_ERR_EMPTY);
        break;
    }
}
