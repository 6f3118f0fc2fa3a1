#ifndef TERN_RPC_CALL_SEND_H
#define TERN_RPC_CALL_SEND_H

/* Sending a call of any kind. The call goes into its ring, perhaps after a wait for room; or to the
 * overflow queue; or by message (tern/message.h). */

#include "rma/message/message.h"
#include "rpc/state.h"
#include "src/progress/progress.h"
#include "tern/message.h"

typedef struct tern_call_target {
    uint32_t target; /* worker number */
    bool by_message;
} tern_call_target;

typedef struct tern_call_piece {
    const void *data;
    size_t bytes;
} tern_call_piece;

enum { TERN_PIECES = 3 };

/* A call that is ready to be copied to a record. Its payload is the pieces, each from a multiple of
 * 8 bytes on. */
typedef struct tern_outgoing {
    tern_call_target to;
    uint64_t header; /* of the record, without the length */
    tern_call_piece piece[TERN_PIECES];
} tern_outgoing;

size_t tern_outgoing_bytes(const tern_outgoing *call);

/* Return the largest size of all pieces together, and whether the call keeps to it. */
size_t tern_outgoing_max(const tern_context *context, bool by_message);
bool tern_outgoing_fits(const tern_context *context, const tern_outgoing *call);

/* Copies the payload to `to`. */
void tern_outgoing_write(const tern_outgoing *call, void *to);

/* Sends a call. In a handler TERN_FULL_WAIT means TERN_FULL_QUEUE. Returns TERN_ERR_AGAIN,
 * TERN_ERR_RANGE, TERN_ERR_MEMORY and TERN_ERR_PEER as tern/call.h says. */
tern_status tern_outgoing_send(tern_worker *worker, const tern_outgoing *call, tern_full full);

/* Sends a call by message (rpc/call/message.c). There is no queue: TERN_FULL_QUEUE means
 * TERN_FULL_FAIL. */
tern_status tern_outgoing_send_message(tern_worker *worker, const tern_outgoing *call,
                                       tern_full full);

/* One round of a wait for a call. For a worker it is a round of progress; a thread without a worker
 * serves the messages of others. Returns how many events it handled. */
static inline size_t tern_call_round(tern_worker *worker) {
    return tern_is_nobody(worker) ? tern_message_poll(worker) + tern_contexts_round(worker)
                                  : tern_progress_round(worker);
}

/* Returns what tern_worker_may_wait returns; for a thread without a worker, TERN_OK. */
static inline tern_status tern_call_may_wait(const tern_worker *worker, const char *name) {
    return tern_is_nobody(worker) ? TERN_OK : tern_worker_may_wait(worker, name);
}

/* Returns the header of the function's calls, without the length, or 0 if an argument is wrong:
 * then tern_call_refuse gives the error. [out] route. */
static inline uint64_t tern_call_header(const tern_worker *worker, tern_worker_id target,
                                        const tern_function *function, const void *arguments,
                                        size_t bytes, tern_call_target *route) {
    if (worker == NULL || function == NULL || (arguments == NULL && bytes > 0))
        return 0;
    const tern_context *context = worker->context;
    const tern_rpc *rpc = tern_rpc_of(context);
    const tern_worker_id plain = tern_by_ring(target);
    if (!tern_is_worker(context, plain) || function->id >= rpc->ids)
        return 0;
    *route = (tern_call_target){tern_worker_number(context, plain),
                                plain.index != target.index || tern_is_nobody(worker)};
    return rpc->header[function->id];
}

tern_status tern_call_refuse(const tern_worker *worker, tern_worker_id target,
                             const tern_function *function, const void *arguments, size_t bytes);

#endif
