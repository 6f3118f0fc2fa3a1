#ifndef TERN_QUEUE_QUEUE_H
#define TERN_QUEUE_QUEUE_H

/*
 * The memory of a queue lies in the segment of the host, in this order:
 *
 *     scratch  one line: measurements write it (tern_path_target), nobody reads it
 *     tail     one line: the next ticket to be pushed   \  drawn by FAO or CAS
 *     head     one line: the next ticket to be popped   /
 *     popped   one line: as of the last phase of pops, the items of lower tickets are popped
 *     slots    capacity of them: check, ticket, item; padded with zeros to whole words. The pusher
 *              of the ticket puts the slot as a whole
 *     turns    capacity of them: generation, ~generation. The popper of the slot puts the
 *              generation that may use the slot next. Until the first turn is put, tickets of
 *              generation 0 may use the slot
 *
 * The words tail, head and popped are accessed by atomics only. Ticket t uses slot
 * t % capacity. Its generation is t / capacity: one pass through the slots. The check is a hash of
 * ticket and item, seeded with the queue's nonce, so the check of a slot that is torn, not yet
 * written or left over does not hold. queue/ticket.h says how a pusher learns that its slot is
 * free, and a popper that its item is there.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "path/choose.h"
#include "rma/memory/rounds.h"
#include "src/collective/callee.h"
#include "src/context.h"
#include "src/collective/object.h"
#include "tern/queue.h"

enum { TERN_QUEUE_LINE = 64, TERN_TURN_BYTES = 16, TERN_ITEM_MAX = 65536 };

/* Watches a ticket that is due: others have begun what it waits for, and should end it soon. */
typedef struct tern_queue_watch {
    uint64_t ticket;
    tern_rounds rounds;
    uint32_t passes; /* how often all workers have begun rounds since */
} tern_queue_watch;

/* What an op waits for. It is due once another rank has begun the operation that brings it. */
typedef enum tern_queue_due {
    TERN_DUE_ROOM, /* for the ticket to be pushed: due once a pop has drawn the ticket one
                    * generation before it */
    TERN_DUE_ITEM, /* of the ticket to be popped: due once the ticket has been drawn by a push */
    TERN_DUE_NEVER /* the host's answer */
} tern_queue_due;

struct tern_queue_pool;

struct tern_queue {
    tern_context *context;
    tern_object object; /* a distributed queue uses that of its first part */
    tern_callee callee; /* used at the host */
    uint64_t nonce;     /* random, the same on all ranks */
    uint64_t capacity;
    uint64_t mask;  /* capacity - 1 if capacity is a power of two, else 0 */
    unsigned shift; /* log2(capacity) if it is a power of two */
    size_t item_bytes;
    size_t slot_words; /* check, ticket and item */
    size_t stride;     /* bytes from one slot to the next */
    uint32_t host;
    uint32_t host_worker; /* the worker that takes calls, unless service threads do */
    bool call_only;
    bool reached; /* by load and store */
    bool is_part; /* part of a distributed queue, which destroys it */
    tern_ptr scratch, tail, head, popped, slots, turns;
    tern_phase_hook hook;

    /* Values that this process has read of words that only grow. The words may be greater now. */
    _Alignas(TERN_QUEUE_LINE) _Atomic uint64_t tail_seen;
    _Atomic uint64_t head_seen;
    _Atomic uint64_t room; /* tickets below it that are drawn from now on may be pushed */

    /* For handlers that wait for another rank: they return and are run again (queue/watch.c). */
    atomic_flag watched; /* a worker is looking at watch */
    tern_queue_watch watch[TERN_DUE_NEVER];

    /* Requests (queue/pool.h): one pool for each worker that has started some, and how many of them
     * the workers of this process have under way. */
    _Atomic(struct tern_queue_pool *) pools;
    _Atomic uint32_t requests;

    /* One more than the last ticket that this process has popped in the current phase; 0: none
     * (queue/phase.c). */
    _Atomic uint64_t phase_popped;
};

/* The end of a wait for a free slot or an item: no wait, no end, or else a time of tern_now. */
#define TERN_QUEUE_TRY 0u
#define TERN_QUEUE_FOREVER UINT64_MAX

/* [out] until: the end of a wait that begins now and takes seconds, 0 or more. */
tern_status tern_queue_deadline(double seconds, uint64_t *until, const char *name);

enum { TERN_QUEUE_MESSAGE = 16 }; /* bytes of a call before the items that are pushed */

/* The question that a push or a pop asks the chooser of its path. */
static inline tern_path_question tern_queue_question(tern_worker *worker, const tern_queue *queue,
                                                     tern_path_kind kind, tern_flags flags,
                                                     const char *name) {
    const bool pops = kind == TERN_PATH_POP;
    return (tern_path_question){
        .worker = worker,
        .name = name,
        .object = "queue",
        .target = {tern_container_worker(queue->context, queue->host, queue->host_worker),
                   queue->scratch},
        .flags = flags,
        .kind = kind,
        .call_only = queue->call_only,
        .reached = queue->reached,
        .message = TERN_QUEUE_MESSAGE + (pops ? 0 : queue->item_bytes),
        .result = pops ? queue->item_bytes : 0};
}

/* Collective. Creates one queue at options->host, or, everywhere, an array of one queue at each
 * rank. before: the status of the caller's own preparations. */
tern_status tern_queue_create_parts(tern_worker *worker, tern_status before,
                                    const tern_queue_options *options, bool everywhere,
                                    const char *name, tern_queue **parts);
tern_status tern_queue_destroy_parts(tern_worker *worker, tern_queue *parts, size_t count,
                                     const char *name);

/* phase.c: from join to leave, tern_barrier settles what this process left undone in a phase. */
void tern_queue_join_phases(tern_queue *q);
void tern_queue_leave_phases(tern_queue *q);

#endif
