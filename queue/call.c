#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "queue/op.h"
#include "rpc/call/await.h"
#include "tern/call.h"

/* An op by a call to the host is one message. One handler serves both kinds: it runs the same op on
 * the host's own memory. The host never waits for a free slot or an item, and keeps no list of
 * waiting callers: a caller that waits asks again, and one that gives up leaves nothing there. An
 * op that would wait for another rank's half-done operation returns TERN_ERR_AGAIN before it draws
 * a ticket, and the call is made again. */

typedef struct queue_message {
    uint64_t nonce; /* of the queue */
    uint16_t kind;
    uint16_t promise;
    uint32_t count; /* number of items that follow, or to pop */
    char items[];
} queue_message;

_Static_assert(sizeof(queue_message) == TERN_QUEUE_MESSAGE, "what the chooser is told");

/* Whether ranks of this queue send such a message. bytes: of the whole message. */
static bool message_is_for(const queue_message *m, size_t bytes, const tern_queue *queue) {
    const size_t items = bytes - sizeof *m;
    if (m->count == 0 || (m->promise != TERN_READ_WRITE && m->promise != TERN_WRITE_ONLY &&
                          m->promise != TERN_READ_ONLY))
        return false;
    return m->kind == TERN_PATH_PUSH
               ? items % queue->item_bytes == 0 && items / queue->item_bytes == m->count
               : m->kind == TERN_PATH_POP && items == 0 &&
                     m->count <= TERN_RESULT_MAX / queue->item_bytes;
}

/* Settles at once what the op of a call has left undone in a phase: the host may already be in the
 * barrier that ends the phase, and have settled its own operations before. No rank reads the words
 * before the barrier ends. */
static tern_status settle_phase(const tern_queue_op *op) {
    return op->promise != TERN_READ_WRITE ? tern_queue_settle(op->worker, op->queue) : TERN_OK;
}

static tern_status tern_queue_on_op(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_worker *worker = call->worker;
    tern_queue *queue = NULL;
    queue_message m = {0};
    if (bytes >= sizeof m) {
        tern_read_once(&m, arguments, sizeof m);
        queue = tern_callee_find(worker->context, TERN_CALLEE_QUEUE, m.nonce);
        if (queue == NULL)
            return tern_callee_missing(worker->context, "queue");
    }
    if (queue == NULL || !message_is_for(&m, bytes, queue))
        return tern_fail(TERN_ERR_ARGUMENT, "a message of %zu bytes is not one of the queue",
                         bytes);
    const bool pops = m.kind == TERN_PATH_POP;
    const void *items = pops ? call->result : ((const queue_message *)arguments)->items;
    tern_queue_op op;
    tern_queue_op_init(&op, (tern_path_kind)m.kind, worker, queue, items, m.count, m.promise,
                       TERN_QUEUE_TRY);
    bool waited;
    tern_status status = tern_queue_refuse(worker, queue, tern_queue_op_run(&op, &waited));
    if (status == TERN_OK)
        status = settle_phase(&op);
    if (status != TERN_OK)
        return status;
    if (!pops && m.count > 1)
        memcpy(call->result, &op.done, sizeof op.done);
    call->result_bytes = pops ? op.done * queue->item_bytes : m.count > 1 ? sizeof op.done : 0;
    return TERN_OK;
}
TERN_FUNCTION(tern_queue_on_op)

/* A message has at most so many bytes of items, unless one item is larger. The stack holds
 * such a message. */
enum { SMALL_ITEMS = 4096 };

/* How many items of the op fit into one message (push) or one result (pop). */
static size_t call_items(const tern_queue_op *op) {
    size_t most = tern_call_room(op->queue->context) - sizeof(queue_message);
    most = most < SMALL_ITEMS ? most : SMALL_ITEMS;
    most = (op->kind == TERN_PATH_POP ? TERN_RESULT_MAX : most) / op->queue->item_bytes;
    most = most == 0 ? 1 : most;
    return op->count < most ? op->count : most;
}

/* Calls the host. If request is NULL, waits for the answer. [out] done: number of items. */
static tern_status queue_call(const tern_queue_op *op, tern_request *request, size_t *done) {
    _Alignas(queue_message) char small[sizeof(queue_message) + SMALL_ITEMS];
    const tern_queue *q = op->queue;
    const bool pops = op->kind == TERN_PATH_POP;
    const size_t count = call_items(op);
    const size_t bytes = sizeof(queue_message) + (pops ? 0 : count * q->item_bytes);
    const tern_worker_id host = tern_container_worker(q->context, q->host, q->host_worker);
    void *room = bytes <= sizeof small ? small : malloc(bytes);
    if (room == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for an item of %zu bytes", q->item_bytes);
    queue_message *m = room;
    *m = (queue_message){q->nonce, op->kind, op->promise, (uint32_t)count};
    if (!pops)
        memcpy(m->items, op->items, count * q->item_bytes);
    size_t pushed = count, got = 0;
    void *there = pops ? (void *)op->items : (void *)&pushed;
    const size_t result = pops ? count * q->item_bytes : count > 1 ? sizeof pushed : 0;
    const tern_status status = request != NULL
                                   ? tern_call_start(op->worker, host, &tern_queue_on_op_function,
                                                     m, bytes, pops ? there : NULL, result, request)
                                   : tern_call_return(op->worker, host, &tern_queue_on_op_function,
                                                      m, bytes, there, result, &got);
    if (status == TERN_OK)
        *done = pops ? got / q->item_bytes : pushed;
    if (room != small)
        free(room);
    return status;
}

void tern_queue_step_call(tern_queue_op *op) {
    const tern_status status = queue_call(op, NULL, &op->done);
    const bool limit = status == TERN_ERR_FULL || status == TERN_ERR_EMPTY;
    tern_queue_finish(op, status);
    if (!limit || op->promise != TERN_READ_WRITE || op->until == TERN_QUEUE_TRY)
        return;
    op->stage = TERN_QUEUE_CALL;
    op->due = TERN_DUE_NEVER;
    op->waits = true;
}

tern_status tern_queue_start_call(tern_queue_op *op, tern_request *request) {
    return queue_call(op, request, &op->done);
}
