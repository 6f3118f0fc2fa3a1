#include "queue/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "queue/ticket.h"
#include "tern/call.h"
#include "tern/transfer.h"

/* Push and pop by a call to the host. Its handlers run the same protocol on their own memory. An
 * operation that would wait for another rank's half-done operation returns TERN_ERR_AGAIN before it
 * draws a ticket. */

typedef struct queue_message {
    uint64_t nonce; /* of the queue */
    uint32_t promise;
    uint32_t count; /* number of items that follow, or to pop */
    char items[];
} queue_message;

static size_t call_room(const tern_context *context) {
    size_t room = context->config.ring_size / 2 - 64;
    return room < TERN_ARGUMENTS_MAX ? room : TERN_ARGUMENTS_MAX;
}

/* Returns the queue that a message is for; NULL if the message is too short, or the queue does not
 * exist (any more). [out] m: the message without its items. */
static tern_queue *queue_of_call(const tern_worker *worker, const void *arguments, size_t bytes,
                                 queue_message *m) {
    if (bytes < sizeof *m)
        return NULL;
    tern_read_once(m, arguments, sizeof *m);
    return tern_callee_find(worker->context, TERN_CALLEE_QUEUE, m->nonce);
}

static bool queue_call_well_formed(const queue_message *m) {
    return m->count > 0 && (m->promise == TERN_READ_WRITE || m->promise == TERN_WRITE_ONLY ||
                            m->promise == TERN_READ_ONLY);
}

static tern_status queue_call_malformed(const tern_call_info *call, const tern_queue *queue,
                                        size_t bytes) {
    if (queue == NULL)
        return tern_callee_missing(call->worker->context, "queue");
    return tern_fail(TERN_ERR_ARGUMENT, "a message of %zu bytes is not one of the queue", bytes);
}

/* The host may already be in the barrier that ends the phase, and have settled its own operations.
 * So each call settles itself. Nobody reads the words before the barrier ends. */
static tern_status settle_phase(tern_worker *worker, tern_queue *queue, tern_flags promise) {
    return promise != TERN_READ_WRITE ? tern_queue_settle(worker, queue) : TERN_OK;
}

static tern_status tern_queue_on_push(tern_call_info *call, const void *arguments, size_t bytes) {
    queue_message m;
    tern_queue *queue = queue_of_call(call->worker, arguments, bytes, &m);
    if (queue == NULL || !queue_call_well_formed(&m) ||
        (bytes - sizeof m) / queue->item_bytes != m.count ||
        (bytes - sizeof m) % queue->item_bytes != 0)
        return queue_call_malformed(call, queue, bytes);
    size_t done;
    tern_queue_run run = {m.promise, TERN_QUEUE_TRY, m.count};
    tern_status status = tern_queue_do_push(call->worker, queue,
                                            ((const queue_message *)arguments)->items, run, &done);
    status = tern_queue_refuse(call->worker, queue, status);
    if (status == TERN_OK)
        status = settle_phase(call->worker, queue, run.promise);
    if (status == TERN_OK && m.count > 1) {
        memcpy(call->result, &done, sizeof done);
        call->result_bytes = sizeof done;
    }
    return status;
}
TERN_FUNCTION(tern_queue_on_push)

static tern_status tern_queue_on_pop(tern_call_info *call, const void *arguments, size_t bytes) {
    queue_message m;
    tern_queue *queue = queue_of_call(call->worker, arguments, bytes, &m);
    if (queue == NULL || !queue_call_well_formed(&m) || bytes != sizeof m ||
        m.count > TERN_RESULT_MAX / queue->item_bytes)
        return queue_call_malformed(call, queue, bytes);
    size_t done;
    tern_queue_run run = {m.promise, TERN_QUEUE_TRY, m.count};
    tern_status status = tern_queue_do_pop(call->worker, queue, call->result, run, &done);
    status = tern_queue_refuse(call->worker, queue, status);
    if (status == TERN_OK)
        status = settle_phase(call->worker, queue, run.promise);
    if (status == TERN_OK)
        call->result_bytes = done * queue->item_bytes;
    return status;
}
TERN_FUNCTION(tern_queue_on_pop)

tern_status tern_queue_call_check_push(const tern_queue *queue) {
    size_t bytes = sizeof(queue_message) + queue->item_bytes, room = call_room(queue->context);
    if (__builtin_expect(bytes <= room, 1))
        return TERN_OK;
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "a push by call takes %zu bytes and a ring takes %zu at a time; raise "
                     "TERN_RING_SIZE (now %zu) or pass TERN_BY_RMA",
                     bytes, room, queue->context->config.ring_size);
}

tern_status tern_queue_call_check_pop(const tern_queue *queue) {
    if (__builtin_expect(queue->item_bytes <= TERN_RESULT_MAX, 1))
        return TERN_OK;
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "a call returns at most %u bytes and items have %zu; pass TERN_BY_RMA",
                     TERN_RESULT_MAX, queue->item_bytes);
}

static tern_worker_id host_of(const tern_queue *queue) {
    return tern_container_worker(queue->context, queue->host, queue->host_worker);
}

static queue_message queue_call_begin(const tern_queue *queue, tern_flags promise, size_t count) {
    return (queue_message){queue->nonce, promise, (uint32_t)count};
}

/* The most bytes of items of one message, unless a single item is larger; built on the stack. */
enum { SMALL_ITEMS = 4096 };

tern_status tern_queue_call_push(tern_worker *worker, const tern_queue *queue, const void *items,
                                 size_t count, tern_flags promise, size_t *done) {
    _Alignas(queue_message) char small[sizeof(queue_message) + SMALL_ITEMS];
    size_t most = call_room(queue->context) - sizeof(queue_message);
    most = (most < SMALL_ITEMS ? most : SMALL_ITEMS) / queue->item_bytes;
    most = most == 0 ? 1 : most;
    count = count < most ? count : most;
    size_t bytes = sizeof(queue_message) + count * queue->item_bytes, got, pushed = count;
    void *room = bytes <= sizeof small ? small : malloc(bytes);
    if (room == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for an item of %zu bytes", queue->item_bytes);
    queue_message *m = room;
    *m = queue_call_begin(queue, promise, count);
    memcpy(m->items, items, count * queue->item_bytes);
    tern_status status = tern_call_return(worker, host_of(queue), &tern_queue_on_push_function, m,
                                          bytes, &pushed, count > 1 ? sizeof pushed : 0, &got);
    if (status == TERN_OK)
        *done = pushed;
    if (room != small)
        free(room);
    return status;
}

tern_status tern_queue_call_pop(tern_worker *worker, const tern_queue *queue, void *items,
                                size_t count, tern_flags promise, size_t *done) {
    size_t most = TERN_RESULT_MAX / queue->item_bytes, got;
    count = count < most ? count : most;
    queue_message m = queue_call_begin(queue, promise, count);
    tern_status status = tern_call_return(worker, host_of(queue), &tern_queue_on_pop_function, &m,
                                          sizeof m, items, count * queue->item_bytes, &got);
    if (status == TERN_OK)
        *done = got / queue->item_bytes;
    return status;
}
