#include "queue/queue.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "src/wait.h"
#include "tern/transfer.h"

/*
 * Push and pop. Cost, in operations that are not load/store, away from limits
 * (tests/test_queue_cost.c):
 *
 *     push    CAS, put; one get of up to TURNS turns for as many pushes
 *     pop     get, CAS, posted put
 *
 * Linearization: push and pop at their successful CAS on tail and head; TERN_ERR_FULL at the load
 * of head, TERN_ERR_EMPTY at the load of tail (in a phase at the read of the turn, of the slot).
 *
 * Memory order. Slots need none: a popper believes what passes the check. A turn must not be seen
 * before the slot was read: the popper's release store of the turn pairs with the acquire load of
 * the pusher that then writes the slot (far, the popper's get has returned).
 *
 * Nothing is rolled back: a ticket is taken only once it is known that its slot is free, or its
 * item there. A pusher or popper that dies holding a ticket blocks the queue; tickets have no name,
 * so who waits gives up when any rank of the context is dead.
 */
enum { TURNS = 64 };

/* Gets and puts of slots and turns, which others may be writing. Near, word by word. */
static tern_status get_words(tern_worker *worker, uint64_t *to, tern_ptr from, size_t words) {
    const uint64_t *near = (const void *)tern_reach_address(worker, from, 8 * words);
    if (near == NULL)
        return tern_get(worker, to, from, 8 * words);
    for (size_t i = 0; i < words; i++)
        to[i] = __atomic_load_n(near + i, __ATOMIC_ACQUIRE);
    return TERN_OK;
}

static tern_status put_words(tern_worker *worker, tern_ptr to, const uint64_t *from, size_t words) {
    uint64_t *near = (void *)tern_reach_address(worker, to, 8 * words);
    if (near == NULL)
        return tern_put(worker, to, from, 8 * words);
    for (size_t i = 0; i < words; i++)
        __atomic_store_n(near + i, from[i], __ATOMIC_RELEASE);
    return TERN_OK;
}

static void learn(_Atomic uint64_t *known, uint64_t value) {
    uint64_t old = atomic_load_explicit(known, memory_order_relaxed);
    while (old < value && !atomic_compare_exchange_weak_explicit(
                              known, &old, value, memory_order_relaxed, memory_order_relaxed))
        continue;
}

static tern_status wait_turn(tern_worker *worker, tern_wait_state *wait) {
    tern_context *context = worker->context;
    if (worker->in_handler || worker->in_progress) {
        /* Who calls waits for the host, and cannot find out that another rank is dead. */
        tern_peers_look(&context->peers);
        uint32_t dead = tern_peers_dead(&context->peers);
        return dead != TERN_NOBODY ? tern_peer_fail(dead)
                                   : tern_fail(TERN_ERR_AGAIN, "another rank is using the slot");
    }
    if (tern_progress_round(worker) > 0)
        wait->rounds = 0;
    return tern_wait_step(context, wait, TERN_ANYBODY);
}

/* [out] room: tickets from ticket up to it, if it is greater, have a free slot. */
static tern_status find_room(tern_worker *worker, tern_queue *q, uint64_t ticket, uint64_t *room) {
    *room = atomic_load_explicit(&q->room, memory_order_relaxed);
    if (__builtin_expect(ticket < *room, 1))
        return TERN_OK;
    uint64_t turns[2 * TURNS]; /* lap, ~lap, ... */
    uint64_t slot = ticket % q->capacity, lap = ticket / q->capacity;
    uint64_t count = q->capacity - slot < TURNS ? q->capacity - slot : TURNS;
    tern_ptr from = tern_ptr_add(q->turns, (int64_t)(slot * TERN_TURN_BYTES));
    tern_status status = get_words(worker, turns, from, 2 * count);
    if (status != TERN_OK)
        return status;
    uint64_t posted = 0;
    while (posted < count && turns[2 * posted] == ~turns[2 * posted + 1] &&
           turns[2 * posted] >= lap)
        posted++;
    *room = ticket + posted;
    learn(&q->room, *room);
    return TERN_OK;
}

static tern_status take_push_ticket(tern_worker *worker, tern_queue *q, tern_promise promise,
                                    uint64_t *taken) {
    tern_wait_state wait = TERN_WAIT_START;
    uint64_t ticket = atomic_load_explicit(&q->tail_seen, memory_order_relaxed);
    for (;;) {
        uint64_t room, head, seen;
        tern_status status = find_room(worker, q, ticket, &room);
        if (status != TERN_OK)
            return status;
        if (ticket >= room) {
            /* Tail is at least ticket. In a phase of pushes no turn is on its way. */
            if (promise == TERN_PROMISE_WRITE_ONLY)
                return TERN_ERR_FULL;
            status = tern_atomic_load(worker, q->head, &head);
            if (status != TERN_OK)
                return status;
            learn(&q->head_seen, head);
            if ((int64_t)(ticket - head) >= (int64_t)q->capacity)
                return TERN_ERR_FULL;
            status = wait_turn(worker, &wait);
            if (status != TERN_OK)
                return status;
            continue;
        }
        status = tern_atomic_cas(worker, q->tail, ticket, ticket + 1, &seen);
        if (status != TERN_OK)
            return status;
        if (seen == ticket) {
            learn(&q->tail_seen, ticket + 1);
            *taken = ticket;
            return TERN_OK;
        }
        learn(&q->tail_seen, seen);
        ticket = seen;
    }
}

static tern_ptr slot_of(const tern_queue *q, uint64_t ticket) {
    return tern_ptr_add(q->slots, (int64_t)(ticket % q->capacity * q->stride));
}

static uint64_t check_of(const tern_queue *q, const uint64_t *slot) {
    return XXH3_64bits_withSeed(slot + 1, 8 * (q->slot_words - 1), q->nonce);
}

/* Slots of up to this many words are built on the stack. */
enum { SMALL_SLOT = 64 };

static uint64_t *slot_room(const tern_queue *q, uint64_t *small) {
    if (__builtin_expect(q->slot_words <= SMALL_SLOT, 1))
        return small;
    uint64_t *large = malloc(8 * q->slot_words);
    if (large == NULL)
        (void)tern_fail(TERN_ERR_MEMORY, "no memory for an item of %zu bytes", q->item_bytes);
    return large;
}

tern_status tern_queue_do_push(tern_worker *worker, tern_queue *queue, const void *item,
                               tern_promise promise) {
    uint64_t small[SMALL_SLOT];
    uint64_t *slot = slot_room(queue, small), ticket;
    if (slot == NULL)
        return TERN_ERR_MEMORY;
    tern_status status = take_push_ticket(worker, queue, promise, &ticket);
    if (status == TERN_OK) {
        slot[queue->slot_words - 1] = 0;
        slot[1] = ticket;
        memcpy(slot + 2, item, queue->item_bytes);
        slot[0] = check_of(queue, slot);
        /* It need not have arrived when push returns: a popper that is there first waits for it. */
        status = put_words(worker, slot_of(queue, ticket), slot, queue->slot_words);
    }
    if (slot != small)
        free(slot);
    return status;
}

/* What a popper with a guess of head finds in its slot. */
typedef enum { SLOT_READY, SLOT_EARLIER, SLOT_LATER } slot_state;

static slot_state judge(const tern_queue *q, const uint64_t *slot, uint64_t ticket) {
    if (slot[1] < ticket || check_of(q, slot) != slot[0])
        return SLOT_EARLIER;
    return slot[1] == ticket ? SLOT_READY : SLOT_LATER;
}

/* The slot of head was not there. TERN_ERR_EMPTY, or head as it is now. */
static tern_status look_again(tern_worker *worker, tern_queue *q, tern_wait_state *wait,
                              slot_state state, uint64_t *head) {
    uint64_t tail, now;
    tern_status status;
    if (state == SLOT_EARLIER) {
        status = tern_atomic_load(worker, q->tail, &tail);
        if (status != TERN_OK)
            return status;
        if (tail <= *head)
            return TERN_ERR_EMPTY;
    }
    status = tern_atomic_load(worker, q->head, &now);
    if (status != TERN_OK)
        return status;
    if (now != *head) {
        *head = now;
        return TERN_OK;
    }
    return wait_turn(worker, wait);
}

static tern_status take_pop_ticket(tern_worker *worker, tern_queue *q, tern_promise promise,
                                   uint64_t *slot, uint64_t *taken) {
    tern_wait_state wait = TERN_WAIT_START;
    uint64_t head = atomic_load_explicit(&q->head_seen, memory_order_relaxed);
    for (;;) {
        tern_status status = get_words(worker, slot, slot_of(q, head), q->slot_words);
        if (status != TERN_OK)
            return status;
        slot_state state = judge(q, slot, head);
        if (state != SLOT_READY) {
            /* Where nobody pushes, what should be in the slot is there or was never pushed. */
            if (state == SLOT_EARLIER && promise == TERN_PROMISE_READ_ONLY)
                return TERN_ERR_EMPTY;
            status = look_again(worker, q, &wait, state, &head);
            if (status != TERN_OK)
                return status;
            continue;
        }
        uint64_t seen;
        status = tern_atomic_cas(worker, q->head, head, head + 1, &seen);
        if (status != TERN_OK)
            return status;
        if (seen == head) {
            learn(&q->head_seen, head + 1);
            *taken = head;
            return TERN_OK;
        }
        learn(&q->head_seen, seen);
        head = seen;
    }
}

tern_status tern_queue_do_pop(tern_worker *worker, tern_queue *queue, void *item,
                              tern_promise promise) {
    uint64_t small[SMALL_SLOT];
    uint64_t *slot = slot_room(queue, small), ticket;
    if (slot == NULL)
        return TERN_ERR_MEMORY;
    tern_status status = take_pop_ticket(worker, queue, promise, slot, &ticket);
    if (status == TERN_OK) {
        memcpy(item, slot + 2, queue->item_bytes);
        uint64_t lap = ticket / queue->capacity + 1, turn[2] = {lap, ~lap};
        int64_t place = (int64_t)(ticket % queue->capacity * TERN_TURN_BYTES);
        status = put_words(worker, tern_ptr_add(queue->turns, place), turn, 2);
    }
    if (slot != small)
        free(slot);
    return status;
}
