#ifndef TERN_RMA_NOTIFY_REQUEST_H
#define TERN_RMA_NOTIFY_REQUEST_H

/*
 * Requests: notified operations that could not be finished when they were asked for, because their
 * record found no room or because their data is still on its way. They wait in a queue for each
 * target, in order (paper 001, III C and D), and hold the ring, so that no later operation
 * overtakes them unless TERN_ORDER=relaxed. Bounded by TERN_NOTIFY_QUEUE.
 *
 * A request's data is first moved, then its record is posted, then its local event is due:
 *
 *     waiting    the transport had no room to move the data, or not all of it
 *     moving     over rma until a flush (puts) or MPI's own completion (gets)
 *     landed     or there was nothing to move: the record may be posted
 */

#include "rma/region/rkey.h"
#include "rma/notify/notify.h"
#include "rma/memory/state.h"

/* An operation as it was asked for; checked. */
typedef struct tern_operation {
    uint32_t target; /* worker number */
    unsigned type;   /* of its record */
    bool remote, local;
    uint64_t place; /* from the start of the target's heap, or in a region */
    char *memory;   /* here */
    uint64_t bytes;
    uint64_t local_cid;
    const void *cid;
    size_t cid_bytes;
} tern_operation;

/* Whether data moves by itself. */
static inline bool tern_operation_moves(const tern_operation *operation) {
    return operation->bytes > 0 &&
           (operation->type == TERN_NOTICE_PUT || operation->type == TERN_NOTICE_GET);
}

/* Moves the data of an operation whose target's memory is mapped, if it moves by itself.
 * TERN_ERR_UNSUPPORTED, _RANGE: a region that cannot be reached. */
tern_status tern_operation_move_near(tern_worker *worker, const tern_operation *operation);

size_t tern_operation_record(const tern_operation *operation);
/* Writes the payload of the record and returns its header. */
uint64_t tern_operation_compose(const tern_operation *operation, void *payload);
/* The record is about to be committed to the ring. */
void tern_operation_trace_sent(tern_worker *worker, const tern_out *out);

typedef struct tern_waiting {
    struct tern_waiting *next;
    tern_operation operation; /* cid: not set any more */
    enum { TERN_WAITING, TERN_MOVING, TERN_LANDED } state;
    uint64_t moved;         /* bytes that the transport has accepted */
    tern_transfer transfer; /* of a get that moves */
    tern_rkey *key;         /* of a region far away, held; or NULL */
    uint64_t header;
    uint64_t payload[];
} tern_waiting;

typedef struct tern_requests {
    tern_waiting *first, *last;
    size_t count;
    size_t unlanded;
    tern_out *next; /* targets with requests */
} tern_requests;

/* Whether data goes to the target by load and store, whatever way its records take. */
static inline bool tern_target_is_near(const tern_worker *worker, const tern_out *out) {
    return tern_is_near(worker->context, tern_rank_of(worker->context, out->target));
}

static inline bool tern_requests_wait(const tern_out *out) {
    return out->requests != NULL && out->requests->first != NULL;
}

/* Queues the operation and starts moving its data; room for its local event is there. near: the
 * data has not been moved, and is now. TERN_ERR_AGAIN: the queue is full; TERN_ERR_PEER. */
tern_status tern_request_queue(tern_worker *worker, tern_out *out, const tern_operation *operation);

/* Moves requests on; how many were finished. The progress of the layer. */
size_t tern_requests_advance(tern_worker *worker);

/* A rank of another node to which a flush would not cover all puts that were asked for, or
 * TERN_NOBODY. */
uint32_t tern_requests_unmoved(const tern_worker *worker);
/* Whether a flush to rank would cover all puts that were asked for. */
bool tern_requests_moving(const tern_worker *worker, uint32_t rank);

/* A rank to which requests wait: rank, or any for TERN_ANYBODY; TERN_NOBODY. Not those that only
 * this worker's own probes help. */
uint32_t tern_requests_unsent(const tern_worker *worker, uint32_t rank);

/* Waits for gets under way, so that their memory is the application's again. */
tern_status tern_requests_settle(tern_worker *worker);
void tern_requests_discard(tern_worker *worker);

#endif
