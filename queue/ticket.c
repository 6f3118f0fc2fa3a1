#include "queue/ticket.h"

#include "queue/slot.h"
#include "rma/transport/transport.h"
#include "src/broken.h"

enum { TURNS = 64 }; /* most turns that one get reads or one put posts */

enum { STEPS_PER_LOOK = 16 }; /* of a wait, at the queue's words for damage */

_Thread_local uint64_t tern_queue_waits;

tern_status tern_queue_wait(tern_worker *worker, tern_queue *q, tern_queue_waiting *wait,
                            uint64_t until, tern_queue_due due, uint64_t ticket) {
    tern_context *context = worker->context;
    tern_queue_waits++;
    (void)tern_queue_settle(worker, q); /* this process's own ticket may be the one waited for */
    const bool comes_back = worker->in_handler || worker->in_progress;
    /* The look reads the lines that pushes and pops write, so it is done now and then. */
    const tern_status damage =
        comes_back || wait->step.rounds % STEPS_PER_LOOK == STEPS_PER_LOOK - 1
            ? tern_queue_look_for_damage(worker, q, &wait->watch, due, ticket)
            : TERN_OK;
    if (damage != TERN_OK)
        return damage;
    if (comes_back) {
        /* The caller of an operation by call waits for the host alone, and so does not notice
         * that another rank is dead. The host tells it here. */
        tern_peers_look(&context->peers);
        uint32_t dead = tern_peers_dead(&context->peers);
        return dead != TERN_NOBODY
                   ? tern_peer_fail(dead)
                   : tern_fail(TERN_ERR_AGAIN,
                               "no room or no item now, and a handler does not wait");
    }
    if (until != TERN_QUEUE_TRY && until != TERN_QUEUE_FOREVER && tern_now() >= until)
        return TERN_ERR_TIMEOUT;
    tern_status status = tern_puts_deliver(worker);
    if (status != TERN_OK)
        return status;
    wait->step.what = due == TERN_DUE_ITEM ? "an item, ticket" : "room, ticket";
    wait->step.number = ticket;
    /* Other ranks that wait by call keep this rank's progress busy. The wait must not start anew
     * because of that, or it would never check whether a peer has died. */
    (void)tern_progress_round(worker);
    return tern_wait_step(context, &wait->step, TERN_ANYBODY);
}

/* ---- Free slots ---- */

static tern_status see_turns(tern_worker *worker, tern_queue *q, uint64_t ticket,
                             tern_slot_state *state) {
    uint64_t turns[2 * TURNS]; /* lap, ~lap, ... */
    uint64_t count = tern_slots_in_row(q, ticket), lap = tern_slot_lap(q, ticket), posted = 0;
    if (count > TURNS)
        count = TURNS;
    tern_status status = tern_slot_get(worker, turns, tern_turn_place(q, ticket), 2 * count);
    if (status != TERN_OK)
        return status;
    while (posted < count && turns[2 * posted] == ~turns[2 * posted + 1] &&
           turns[2 * posted] >= lap)
        posted++;
    if (posted > 0) {
        tern_queue_learn(&q->room, ticket + posted);
        *state = SLOT_READY;
    }
    return TERN_OK;
}

/* The word counts the tickets that are popped (head: being popped), so every ticket less than a
 * lap past its value has a free slot. */
static tern_status see_word(tern_worker *worker, tern_queue *q, tern_ptr word, uint64_t ticket,
                            tern_slot_state *state) {
    uint64_t value;
    tern_status status = tern_atomic_load(worker, word, &value);
    if (status != TERN_OK || (int64_t)(ticket - value) >= (int64_t)q->capacity)
        return status;
    tern_queue_learn(&q->room, value + q->capacity);
    *state = SLOT_READY;
    return TERN_OK;
}

tern_status tern_queue_ask_for_room(tern_worker *worker, tern_queue *q, uint64_t ticket,
                                    tern_flags promise, tern_slot_state *state) {
    *state = SLOT_NONE;
    if (promise != TERN_READ_WRITE)
        return see_word(worker, q, q->head, ticket, state);
    tern_status status = see_turns(worker, q, ticket, state);
    if (status != TERN_OK || *state == SLOT_READY)
        return status;
    uint64_t head;
    status = tern_atomic_load(worker, q->head, &head);
    if (status != TERN_OK || (int64_t)(ticket - head) >= (int64_t)q->capacity)
        return status;
    /* The slot's last item may be popped by now, or was popped in a phase of pops, which posts no
     * turns. */
    *state = SLOT_BUSY;
    return see_word(worker, q, q->popped, ticket, state);
}

/* ---- Items ---- */

static tern_slot_state ticket_judge(const tern_queue *q, const uint64_t *slot, uint64_t ticket) {
    if (slot[TERN_SLOT_TICKET] < ticket || tern_slot_check_of(q, slot) != slot[TERN_SLOT_CHECK])
        return SLOT_BUSY;
    return slot[TERN_SLOT_TICKET] == ticket ? SLOT_READY : SLOT_PAST;
}

static tern_status see_slots(tern_worker *worker, const tern_queue *q, uint64_t ticket,
                             uint64_t *slots, size_t *count, tern_slot_state *state) {
    size_t ready = 0;
    tern_status status =
        tern_slot_get(worker, slots, tern_slot_place(q, ticket), tern_slots_words(q, *count));
    if (status != TERN_OK)
        return status;
    tern_slot_state first = ticket_judge(q, slots, ticket), found = first;
    while (found == SLOT_READY && ++ready < *count)
        found = ticket_judge(q, tern_slot_in(q, slots, ready), ticket + ready);
    *count = ready;
    *state = first;
    return TERN_OK;
}

tern_status tern_queue_look_for_items(tern_worker *worker, tern_queue *q, uint64_t ticket,
                                      tern_flags promise, bool drawn, uint64_t *slots,
                                      size_t *count, tern_slot_state *state) {
    uint64_t row = tern_slots_in_row(q, ticket), tail;
    if (*count > row)
        *count = (size_t)row;
    tern_status status = see_slots(worker, q, ticket, slots, count, state);
    if (status != TERN_OK || *state != SLOT_BUSY)
        return status;
    /* In a phase of pops nobody pushes: an item that is not there was never pushed. */
    if (promise != TERN_READ_WRITE || TERN_BROKEN(TERN_BREAK_EMPTY)) {
        *state = SLOT_NONE;
    } else if (!drawn) {
        status = tern_atomic_load(worker, q->tail, &tail);
        if (status == TERN_OK && (int64_t)(tail - ticket) <= 0)
            *state = SLOT_NONE;
    }
    return status;
}

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

static tern_status post_turns(tern_worker *worker, const tern_queue *q, uint64_t ticket,
                              size_t count) {
    uint64_t lap = tern_slot_lap(q, ticket) + 1, turns[2 * TURNS], one[2] = {lap, ~lap};
    if (count == 1)
        return tern_slot_put(worker, tern_turn_place(q, ticket), one, 2);
    tern_status status = TERN_OK;
    while (count > 0 && status == TERN_OK) {
        size_t some = count < TURNS ? count : TURNS;
        for (size_t i = 0; i < some; i++) {
            turns[2 * i] = lap;
            turns[2 * i + 1] = ~lap;
        }
        status = tern_slot_put(worker, tern_turn_place(q, ticket), turns, 2 * some);
        ticket += some;
        count -= some;
    }
    return status;
}

tern_status tern_queue_commit_pop(tern_worker *worker, tern_queue *q, uint64_t ticket, size_t count,
                                  tern_flags promise) {
    if (promise == TERN_READ_WRITE || tern_reach_address(worker, q->turns, 1) != NULL)
        return post_turns(worker, q, ticket, count);
    leave_to_phase(q, ticket + count);
    return TERN_OK;
}
