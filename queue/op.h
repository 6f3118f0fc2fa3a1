#ifndef TERN_QUEUE_OP_H
#define TERN_QUEUE_OP_H

/*
 * Op: one push or one pop, of one item or of several. It goes on in steps, and no step waits for
 * another rank:
 *
 *     begin    tern_queue_op_init; the caller sets the other arguments
 *     look     asks whether the next tickets may be used: push.c for room, pop.c for items
 *     draw     draws the tickets: after the look by a compare-and-swap, or before it by a
 *              fetch-and-add
 *     move     push.c writes the slots; pop.c has read them, and posts their turns
 *     finish   the outcome, and how many items are done
 *
 * One step makes one access to the host's memory. Where load and store reach it, the access is done
 * at once, and the next one follows in the same step. Elsewhere it is a transfer, and the op goes
 * on when that is complete.
 *
 * A blocking operation starts an op and waits for it (tern_queue_op_run). A request is an op in a
 * pool, which progress steps (pool.h). By call an op is one message, and the host runs the same op
 * in one handler (call.c).
 *
 * An op that draws before it looks owns a ticket while it waits, and so must be brought to its end:
 * only blocking operations do that. Every other op draws a ticket only when it waits for no other
 * rank any more, so it leaves nothing behind if it gives up.
 */

#include "queue/slot.h"
#include "queue/ticket.h"
#include "rma/transfer.h"

/* What an op does next, once no transfer is under way. */
typedef enum tern_queue_stage {
    TERN_QUEUE_DONE,
    TERN_QUEUE_BEGIN,
    TERN_QUEUE_CALL,   /* has the host do it (call.c) */
    TERN_QUEUE_LOOK,   /* at its ticket */
    TERN_QUEUE_TURNS,  /* push: has got turns */
    TERN_QUEUE_SLOTS,  /* pop: has got slots */
    TERN_QUEUE_HEAD,   /* has loaded head */
    TERN_QUEUE_TAIL,   /* pop: has loaded tail */
    TERN_QUEUE_POPPED, /* push: has loaded popped */
    TERN_QUEUE_DRAWN,  /* has the answer to its draw */
    TERN_QUEUE_BACK,   /* has given its ticket back */
    TERN_QUEUE_MOVE    /* push: puts slots; pop: has posted turns */
} tern_queue_stage;

/* The caller owns the op, and keeps it in place until it is done. */
typedef struct tern_queue_op {
    /* Arguments. */
    uint8_t kind, stage;
    uint8_t promise; /* of tern_flags */
    bool draws;      /* its ticket before it looks, and then waits */
    bool apart;      /* its puts, too, may be under way when a step returns */
    tern_worker *worker;
    tern_queue *queue;
    char *items;       /* in a row; items that are pushed are only read */
    char *const *each; /* or the address of each item; NULL: they are in a row */
    size_t count;      /* of items at most, 1 or more; 1 if the op draws */
    uint64_t until;    /* the end of a wait, TERN_QUEUE_TRY or TERN_QUEUE_FOREVER */
    uint64_t *slots;   /* a buffer for slots and turns on this side, */
    size_t room;       /* of so many words: one slot or more, and at least TERN_SLOT_SMALL */
    /* When done. */
    tern_status outcome; /* without a detail: TERN_OK, TERN_ERR_FULL, TERN_ERR_EMPTY */
    size_t done;         /* items */
    /* Under way. */
    bool drawn;      /* the ticket and the ready ones behind it are the op's */
    bool waits;      /* for another rank: more steps would be in vain now */
    uint8_t due;     /* for what: tern_queue_due */
    uint64_t ticket; /* that the op has, or tries to draw */
    uint64_t known;  /* of an op that draws: free slots were known up to here before it drew */
    uint64_t word;   /* what an atomic gave */
    size_t ready;    /* tickets from ticket on that may be used */
    size_t asked;    /* turns or slots that a get brings */
    size_t written;  /* slots */
    tern_transfer transfer;
} tern_queue_op;

/* Sets the arguments that every op has. The other members are set before they are used: an op of
 * one item takes less time than to clear all of them. */
static inline void tern_queue_op_init(tern_queue_op *op, tern_path_kind kind, tern_worker *worker,
                                      tern_queue *queue, const void *items, size_t count,
                                      tern_flags promise, uint64_t until) {
    op->kind = (uint8_t)kind;
    op->stage = TERN_QUEUE_BEGIN;
    op->promise = (uint8_t)promise;
    op->draws = op->apart = op->drawn = op->waits = false;
    op->worker = worker;
    op->queue = queue;
    op->items = (char *)(uintptr_t)items;
    op->each = NULL;
    op->count = count;
    op->until = until;
    op->done = 0;
    op->ticket = 0;
    op->ready = op->written = 0;
    op->transfer.under_way = false;
}

/* Runs the op, waits for it, and returns the outcome. In a handler, returns TERN_ERR_AGAIN instead,
 * with the queue unchanged. [out] waited: whether it had to wait for a free slot or an item. */
tern_status tern_queue_op_run(tern_queue_op *op, bool *waited);

/* Takes the steps that are possible now. Returns how many. The caller has set slots and room. If
 * the outcome is an error, a transfer may stay under way for ever; then slots must not be freed
 * (tern_queue_op_leaks_slots). */
size_t tern_queue_op_step(tern_queue_op *op);

static inline bool tern_queue_op_leaks_slots(const tern_queue_op *op) {
    return op->transfer.under_way;
}

/* Whether the outcome of an op is an answer and no error. */
static inline bool tern_queue_is_answer(tern_status outcome) {
    return outcome == TERN_OK || outcome == TERN_ERR_FULL || outcome == TERN_ERR_EMPTY;
}

/* ---- What the files of this folder share. ---- */

static inline void tern_queue_finish(tern_queue_op *op, tern_status outcome) {
    op->stage = TERN_QUEUE_DONE;
    op->outcome = outcome;
}

/* Notes an access that was started. The op goes on at stage. Returns whether it is complete. */
static inline bool tern_queue_goes_on(tern_queue_op *op, tern_queue_stage stage,
                                      tern_status status) {
    op->stage = (uint8_t)stage;
    if (__builtin_expect(status != TERN_OK, 0)) {
        tern_queue_finish(op, status);
        return false;
    }
    return !op->transfer.under_way;
}

/* Makes the op wait for another rank, and then go on at TERN_QUEUE_LOOK. */
static inline void tern_queue_wait_for(tern_queue_op *op, tern_queue_due due) {
    op->stage = TERN_QUEUE_LOOK;
    op->due = (uint8_t)due;
    op->waits = true;
}

/* Start an atomic on a word of the queue; the old word goes to op->word. */
static inline tern_status tern_queue_add(tern_queue_op *op, tern_ptr word, uint64_t number) {
    if (__builtin_expect(tern_internal_unprofiled_word(op->worker, word, 8) == NULL, 0))
        return tern_transfer_atomic(op->worker, word, TERN_ATOMIC_ADD, number, 0, &op->word,
                                    &op->transfer);
    return tern_atomic_fetch_add(op->worker, word, number, &op->word);
}

static inline tern_status tern_queue_swap(tern_queue_op *op, tern_ptr word, uint64_t expected,
                                          uint64_t desired) {
    if (__builtin_expect(tern_internal_unprofiled_word(op->worker, word, 8) == NULL, 0))
        return tern_transfer_atomic(op->worker, word, TERN_ATOMIC_CAS, desired, expected, &op->word,
                                    &op->transfer);
    return tern_atomic_cas(op->worker, word, expected, desired, &op->word);
}

static inline tern_status tern_queue_load(tern_queue_op *op, tern_ptr word) {
    if (__builtin_expect(tern_internal_unprofiled_word(op->worker, word, 8) == NULL, 0))
        return tern_transfer_atomic(op->worker, word, TERN_ATOMIC_LOAD, 0, 0, &op->word,
                                    &op->transfer);
    return tern_atomic_load(op->worker, word, &op->word);
}

/* Starts a put. If the op is apart, its next step waits for the put. */
static inline tern_status tern_queue_put(tern_queue_op *op, tern_ptr to, const uint64_t *from,
                                         size_t words) {
    return tern_slot_put(op->worker, to, from, words, op->apart ? &op->transfer : NULL);
}

static inline char *tern_queue_item(const tern_queue_op *op, size_t i) {
    return op->each != NULL ? op->each[i] : op->items + i * op->queue->item_bytes;
}

/* How many slots fit into the op's buffer. */
static inline size_t tern_queue_slots(const tern_queue_op *op) {
    return 8 * op->room / op->queue->stride > 1 ? 8 * op->room / op->queue->stride : 1;
}

/* Take one step of an op. */
void tern_queue_step_push(tern_queue_op *op);
void tern_queue_step_pop(tern_queue_op *op);
void tern_queue_step_call(tern_queue_op *op);

/* queue.c */

/* Checks the arguments of an op with these flags, chooses its path, and sets the stage at which an
 * op on that path begins. may_measure: as in a question (path/choose.h). */
tern_status tern_queue_choose(tern_queue_op *op, tern_flags flags, bool may_measure,
                              const char *name, tern_pick *pick);

/* call.c: starts an op by call, with a request that is complete when the host has answered. */
tern_status tern_queue_start_call(tern_queue_op *op, tern_request *request);

#endif
