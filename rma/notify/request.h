#ifndef TERN_RMA_NOTIFY_REQUEST_H
#define TERN_RMA_NOTIFY_REQUEST_H

/*
 * Requests are notified operations that could not be finished at once, because their record found
 * no room or because their data still moves. They wait in a queue for each target, in order
 * (paper 001, III C and D). Unless TERN_ORDER=relaxed, the ring's short path is shut while the
 * queue is not empty (tern_ring_hold), so that no later operation overtakes the queue.
 * TERN_NOTIFY_QUEUE bounds the queue.
 *
 * tern first moves a request's data, then posts its record, then queues its local event:
 *
 *     waiting    the transport has not accepted all of the data yet
 *     moving     the data moves, over rma until a flush (puts) or MPI's own completion (gets)
 *     landed     the data has moved, or no data moves apart from the record, or the transport has
 *                accepted all puts and keeps posts in order: the record may be posted
 */

#include "rma/region/rkey.h"
#include "rma/notify/notify.h"
#include "rma/rows/rows.h"
#include "rma/memory/state.h"

/* An operation as the program asked for it, with checked arguments. */
typedef struct tern_operation {
    uint32_t target; /* worker number */
    unsigned type;   /* type of its record */
    bool remote, local;
    uint64_t offset; /* in the target's heap, or in a region */
    char *memory;    /* local memory */
    uint64_t bytes;
    uint64_t local_cid;
    const void *cid;
    size_t cid_bytes;
    const tern_rows *rows; /* of a non-contiguous transfer, which is never packed; memory and offset
                              are those of its first row. NULL: the data is contiguous */
} tern_operation;

/* Whether the data moves apart from the record. */
static inline bool tern_operation_moves(const tern_operation *operation) {
    return operation->bytes > 0 &&
           (operation->type == TERN_NOTICE_PUT || operation->type == TERN_NOTICE_GET);
}

/* For a target whose memory is mapped: moves the operation's data, if the data moves apart from the
 * record. TERN_ERR_UNSUPPORTED, _RANGE: the data is in a region that cannot be reached. */
tern_status tern_operation_move_direct(tern_worker *worker, const tern_operation *operation);

size_t tern_operation_record(const tern_operation *operation);
/* Writes the payload of the record and returns its header. */
uint64_t tern_operation_compose(const tern_operation *operation, void *payload);
/* Called just before the record is committed to the ring: traces the sending, if the worker has a
 * profile. */
void tern_operation_trace_sent(tern_worker *worker, const tern_out *out);

/* A request. */
typedef struct tern_waiting {
    struct tern_waiting *next;
    tern_operation operation; /* cid is NULL: payload holds it; rows, too: flight holds them */
    enum { TERN_WAITING, TERN_MOVING, TERN_LANDED } state;
    uint64_t moved;           /* bytes that the transport has accepted */
    uint64_t losses;          /* of a put: tern_port_losses when it was started */
    tern_transfer transfer;   /* of a get whose data moves */
    tern_rows_flight *flight; /* the rows of a non-contiguous transfer to another node; or NULL */
    tern_rkey *rkey;          /* held rkey of a region of another node; or NULL */
    uint64_t header;
    uint64_t payload[];
} tern_waiting;

/* The queue of the requests to one target. */
typedef struct tern_requests {
    tern_waiting *first, *last;
    size_t count;
    size_t unlanded; /* how many of them have not landed */
    tern_out *next;  /* next ring with requests */
} tern_requests;

/* Whether data goes to the target by load and store, even if its records go by messages. */
static inline bool tern_target_is_direct(const tern_worker *worker, const tern_out *out) {
    return tern_rank_is_direct(worker->context, tern_rank_of(worker->context, out->target));
}

static inline bool tern_requests_wait(const tern_out *out) {
    return out->requests != NULL && out->requests->first != NULL;
}

/* Queues the operation and starts moving its data; data in shared memory, which the caller has not
 * moved, is moved at once. The caller has made room for the local event. TERN_ERR_AGAIN: the queue
 * is full; TERN_ERR_PEER. */
tern_status tern_request_queue(tern_worker *worker, tern_out *out, const tern_operation *operation);

/* Advances the waiting requests; returns how many were finished. Part of the layer's progress. */
size_t tern_requests_advance(tern_worker *worker);

/* Returns a rank of another node to which a queued put has not started or goes by messages, so that
 * a flush would not cover it; or TERN_NOBODY. */
uint32_t tern_requests_unmoved(const tern_worker *worker);
/* Whether a flush to rank would cover all queued puts to it. */
bool tern_requests_moving(const tern_worker *worker, uint32_t rank);

/* Returns a rank to which requests wait: only rank counts, or every rank if it is TERN_ANYBODY.
 * TERN_NOBODY if no request waits. Requests of this worker to itself are left out, since only its
 * own probes make room for them. */
uint32_t tern_requests_unsent(const tern_worker *worker, uint32_t rank);

/* Waits until the gets under way are complete, so that the application may use their memory
 * again. */
tern_status tern_requests_settle(tern_worker *worker);
void tern_requests_discard(tern_worker *worker);

#endif
