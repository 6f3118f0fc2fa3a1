#include <string.h>

#include "queue/op.h"
#include "src/broken.h"

/*
 * Push. Linearization: a push linearizes where it draws its ticket, at the fetch-and-add or the
 * successful CAS of tail. TERN_ERR_FULL linearizes at the load of head; in a phase of pushes, in
 * which head does not change, at any time. tern/queue.h and tests/contract/test_queue_cost.c have
 * the costs.
 *
 * An op that draws first owns its ticket while it waits for its slot. A pusher may only use
 * free-slot information that it read before it drew its ticket: such information covers all tickets
 * from an earlier one on, so its own, too. Newer information may cover only later tickets, which
 * another worker or a call that ran meanwhile has drawn, and whose slots were freed first. Every
 * other op draws by CAS the tickets whose slots it has seen to be free.
 *
 * A ticket is given back only in a phase of pushes, when it has no free slot and no pop can free
 * one. By then every ticket with a free slot is drawn for good. So tail ends at the last of these
 * tickets, in whatever order the others are given back, and no push ever owns a ticket that is
 * given back.
 */

enum { TURNS = TERN_SLOT_SMALL / 2 }; /* most turns that one get reads */

static void push_fill(const tern_queue *q, uint64_t *slot, uint64_t ticket, const void *item) {
    slot[q->slot_words - 1] = 0;
    slot[TERN_SLOT_TICKET] = ticket;
    memcpy(slot + TERN_SLOT_ITEM, item, q->item_bytes);
    slot[TERN_SLOT_CHECK] = tern_slot_check_of(q, slot);
}

/* Puts the items into the slots of their tickets. One put covers slots that follow each other. A
 * popper that looks before the items have arrived waits for them. */
static void push_write(tern_queue_op *op) {
    const tern_queue *q = op->queue;
    while (op->written < op->ready) {
        const uint64_t ticket = op->ticket + op->written, row = tern_slots_in_row(q, ticket);
        const size_t left = op->ready - op->written, fits = tern_queue_slots(op);
        size_t some = left < fits ? left : fits;
        some = some < row ? some : (size_t)row;
        for (size_t i = 0; i < some; i++) {
            const size_t at = TERN_BROKEN(TERN_BREAK_ORDER) ? some - 1 - i : i;
            uint64_t *slot = tern_slot_in(q, op->slots, at);
            push_fill(q, slot, ticket + at, tern_queue_item(op, op->written + i));
            if (some > 1)
                memset(slot + q->slot_words, 0, q->stride - 8 * q->slot_words);
        }
        op->written += some;
        if (!tern_queue_goes_on(op, TERN_QUEUE_MOVE,
                                tern_queue_put(op, tern_slot_gaddr(q, ticket), op->slots,
                                               tern_slots_words(q, some))))
            return;
    }
    op->done = op->ready;
    tern_queue_finish(op, TERN_OK);
}

/* Writes the items. The op owns the tickets, and their slots are free. */
static void push_own(tern_queue_op *op) {
    tern_queue_learn(&op->queue->tail_seen, op->ticket + op->ready);
    push_write(op);
}

static void push_drawn(tern_queue_op *op) {
    op->drawn = op->draws || op->word == op->ticket;
    if (__builtin_expect(op->drawn && (!op->draws || op->word < op->known), 1)) {
        op->ticket = op->word;
        if (op->draws)
            op->ready = 1;
        push_own(op);
        return;
    }
    /* tern_queue_learn must not get this value: in a phase, other ops may give tickets back. */
    op->ticket = op->word;
    op->ready = 0;
    op->stage = TERN_QUEUE_LOOK;
}

static void push_draw(tern_queue_op *op) {
    tern_queue *q = op->queue;
    tern_status status;
    if (op->draws) {
        op->known = tern_queue_known(&q->room);
        status = tern_queue_add(op, q->tail, 1);
    } else {
        status = tern_queue_swap(op, q->tail, op->ticket, op->ticket + op->ready);
    }
    if (tern_queue_goes_on(op, TERN_QUEUE_DRAWN, status))
        push_drawn(op);
}

/* ---- Free slots ---- */

/* The first ticket that is not known to have a free slot. */
static uint64_t push_asked(const tern_queue_op *op) { return op->ticket + op->ready; }

/* Asks the host whether the ticket may be pushed: by its turn or, in a phase of pushes, by head. */
static void push_ask(tern_queue_op *op) {
    const tern_queue *q = op->queue;
    const uint64_t ticket = push_asked(op), row = tern_slots_in_row(q, ticket);
    if (op->promise != TERN_READ_WRITE) {
        (void)tern_queue_goes_on(op, TERN_QUEUE_HEAD, tern_queue_load(op, q->head));
        return;
    }
    op->asked = row < TURNS ? (size_t)row : TURNS;
    (void)tern_queue_goes_on(op, TERN_QUEUE_TURNS,
                             tern_slot_get(op->worker, op->slots, tern_turn_gaddr(q, ticket),
                                           2 * op->asked, &op->transfer));
}

static void push_look(tern_queue_op *op) {
    if (!op->drawn) {
        const uint64_t room = tern_queue_known(&op->queue->room);
        if (room > push_asked(op))
            op->ready = room - op->ticket < op->count ? (size_t)(room - op->ticket) : op->count;
    }
    if (op->ready < op->count)
        push_ask(op);
    else if (op->drawn)
        push_own(op);
    else
        push_draw(op);
}

/* Notes that every ticket below end has a free slot. */
static void push_found(tern_queue_op *op, uint64_t end) {
    tern_queue_learn(&op->queue->room, end);
    op->ready = end - op->ticket < op->count ? (size_t)(end - op->ticket) : op->count;
    op->stage = TERN_QUEUE_LOOK;
}

/* Acts on the answer that the ticket has no free slot. full: capacity items are in the queue; else
 * another rank still pops from the slot. */
static void push_stuck(tern_queue_op *op, bool full) {
    const bool phase = op->promise != TERN_READ_WRITE;
    if (op->ready > 0)
        push_draw(op);
    else if (op->drawn && phase)
        (void)tern_queue_goes_on(op, TERN_QUEUE_BACK,
                                 tern_queue_add(op, op->queue->tail, UINT64_MAX));
    else if (!op->drawn && full && (phase || op->until == TERN_QUEUE_TRY))
        tern_queue_finish(op, TERN_ERR_FULL); /* tail is not less than the ticket */
    else
        tern_queue_wait_for(op, TERN_DUE_ROOM);
}

static void push_see_turns(tern_queue_op *op) {
    const tern_queue *q = op->queue;
    const uint64_t *turns = op->slots; /* generation, ~generation, ... */
    const uint64_t ticket = push_asked(op), generation = tern_slot_generation(q, ticket);
    uint64_t posted = 0;
    while (posted < op->asked && turns[2 * posted] == ~turns[2 * posted + 1] &&
           turns[2 * posted] >= generation)
        posted++;
    if (posted > 0)
        push_found(op, ticket + posted);
    else
        (void)tern_queue_goes_on(op, TERN_QUEUE_HEAD, tern_queue_load(op, q->head));
}

/* The word counts the tickets that are popped (head: being popped), so every ticket that is less
 * than one generation past its value has a free slot. */
static void push_see_word(tern_queue_op *op) {
    const tern_queue *q = op->queue;
    const bool popped = op->stage == TERN_QUEUE_POPPED;
    if ((int64_t)(push_asked(op) - op->word) >= (int64_t)q->capacity)
        push_stuck(op, !popped);
    else if (popped || op->promise != TERN_READ_WRITE)
        push_found(op, op->word + q->capacity);
    else
        /* The slot's last item may be popped by now, or was popped in a phase of pops, which posts
         * no turns. */
        (void)tern_queue_goes_on(op, TERN_QUEUE_POPPED, tern_queue_load(op, q->popped));
}

/* TERN_LOCAL: no other worker uses the queue, so no ticket needs an atomic read-modify-write. The
 * store is atomic, since other workers read the word later. */
static void push_alone(tern_queue_op *op) {
    tern_queue *q = op->queue;
    uint64_t tail, head;
    tern_status status = tern_atomic_load(op->worker, q->tail, &tail);
    if (status == TERN_OK)
        status = tern_atomic_load(op->worker, q->head, &head);
    if (status != TERN_OK) {
        tern_queue_finish(op, status);
        return;
    }
    const uint64_t room = q->capacity - (tail - head);
    if (room == 0) {
        tern_queue_finish(op, TERN_ERR_FULL);
        return;
    }
    op->drawn = true;
    op->ready = room < op->count ? (size_t)room : op->count;
    op->ticket = tail;
    if (tern_queue_goes_on(op, TERN_QUEUE_MOVE,
                           tern_queue_set_alone(op->worker, q->tail, tail + op->ready)))
        push_own(op);
}

static void push_begin(tern_queue_op *op) {
    if (op->promise == TERN_LOCAL) {
        push_alone(op);
    } else if (op->draws && op->promise == TERN_READ_WRITE) {
        push_draw(op);
    } else {
        op->ticket = tern_queue_known(&op->queue->tail_seen);
        push_look(op);
    }
}

void tern_queue_step_push(tern_queue_op *op) {
    switch ((tern_queue_stage)op->stage) {
    case TERN_QUEUE_BEGIN:
        push_begin(op);
        break;
    case TERN_QUEUE_LOOK:
        push_look(op);
        break;
    case TERN_QUEUE_TURNS:
        push_see_turns(op);
        break;
    case TERN_QUEUE_HEAD:
    case TERN_QUEUE_POPPED:
        push_see_word(op);
        break;
    case TERN_QUEUE_DRAWN:
        push_drawn(op);
        break;
    case TERN_QUEUE_MOVE:
        push_write(op);
        break;
    default: /* TERN_QUEUE_BACK */
        tern_queue_finish(op, TERN_ERR_FULL);
        break;
    }
}
