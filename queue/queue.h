#ifndef TERN_QUEUE_QUEUE_H
#define TERN_QUEUE_QUEUE_H

/*
 * Queue: its memory lies in the segment of the host, in this order:
 *
 *     anchor   one line: by it a call finds the queue's object at the host
 *     tail     one line: the next ticket to be pushed   \  changed by CAS only, read by atomic
 *     head     one line: the next ticket to be popped   /  loads only
 *     slots    capacity of them: check, ticket, item; padded with zeros to whole words. Put by the
 *              pusher of the ticket, as a whole
 *     turns    capacity of them: lap, ~lap. Put by whoever pops from the slot: the lap that may use
 *              it next. Before the first, any ticket of lap 0 may
 *
 * Ticket t uses slot t % capacity, in lap t / capacity. The check is a hash of ticket and item
 * seeded with the queue's nonce, so a slot that is torn, not yet written or left over does not
 * pass.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "src/context.h"
#include "src/error.h"
#include "tern/queue.h"

enum { TERN_QUEUE_LINE = 64, TERN_TURN_BYTES = 16, TERN_ITEM_MAX = 65536 };

/* Written by the host at creation and destruction, read by it when a call names it. */
typedef struct tern_queue_anchor {
    _Alignas(TERN_QUEUE_LINE) uint64_t nonce; /* 0: no queue here any more */
    tern_queue *queue;
} tern_queue_anchor;

struct tern_queue {
    tern_context *context;
    uint64_t nonce; /* random, the same on all ranks */
    uint64_t capacity;
    size_t item_bytes;
    size_t slot_words; /* check, ticket and item */
    size_t stride;     /* bytes from one slot to the next */
    uint32_t host;
    uint32_t host_worker; /* that takes calls */
    bool call_only;
    tern_ptr anchor, tail, head, slots, turns;

    /* What this process knows: values that were true once and that only grow. */
    _Atomic uint64_t tail_seen;
    _Atomic uint64_t head_seen;
    _Atomic uint64_t room; /* tickets below have had their turn posted */
};

/* The operations themselves, done by whoever calls them: an origin by RMA, or the host in a
 * handler. They return TERN_ERR_FULL and TERN_ERR_EMPTY without a detail. */
tern_status tern_queue_do_push(tern_worker *worker, tern_queue *queue, const void *item,
                               tern_promise promise);
tern_status tern_queue_do_pop(tern_worker *worker, tern_queue *queue, void *item,
                              tern_promise promise);

/* TERN_ERR_UNSUPPORTED where an item does not fit a message, or a result. */
tern_status tern_queue_call_check_push(const tern_queue *queue);
tern_status tern_queue_call_check_pop(const tern_queue *queue);

/* The same by a call to the host. */
tern_status tern_queue_call_push(tern_worker *worker, const tern_queue *queue, const void *item);
tern_status tern_queue_call_pop(tern_worker *worker, const tern_queue *queue, void *item);

#endif
