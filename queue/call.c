#include "queue/queue.h"

#include <stdlib.h>
#include <string.h>

#include "tern/call.h"
#include "tern/transfer.h"

/* Push and pop by a call to the host, whose handlers run the same protocol on memory of their own:
 * what would wait is TERN_ERR_AGAIN before a ticket is taken. */

typedef struct message {
    uint64_t anchor; /* offset in the host's segment */
    uint64_t nonce;  /* of the queue */
    char item[];
} message;

static size_t call_room(const tern_context *context) {
    size_t room = context->config.ring_size / 2 - 64;
    return room < TERN_ARGUMENTS_MAX ? room : TERN_ARGUMENTS_MAX;
}

/* The queue that a message is for; NULL: there is none (any more), or the message is too short. */
static tern_queue *queue_of_call(const tern_worker *worker, const message *m, size_t bytes) {
    if (bytes < sizeof *m)
        return NULL;
    tern_ptr place = {worker->context->rank, 0, TERN_DOMAIN_GLOBAL, m->anchor};
    const tern_queue_anchor *anchor =
        (const void *)tern_reach_address(worker, place, sizeof(tern_queue_anchor));
    if (anchor == NULL || (uintptr_t)anchor % _Alignof(tern_queue_anchor) != 0 || m->nonce == 0 ||
        anchor->nonce != m->nonce)
        return NULL;
    return anchor->queue;
}

static tern_status malformed(const tern_queue *queue, size_t bytes) {
    if (queue == NULL)
        return tern_fail(TERN_ERR_STATE, "no such queue here; was it destroyed?");
    return tern_fail(TERN_ERR_ARGUMENT, "a message of %zu bytes is not one of the queue", bytes);
}

static tern_status tern_queue_on_push(tern_call_info *call, const void *arguments, size_t bytes) {
    const message *m = arguments;
    tern_queue *queue = queue_of_call(call->worker, m, bytes);
    if (queue == NULL || bytes != sizeof *m + queue->item_bytes)
        return malformed(queue, bytes);
    return tern_queue_do_push(call->worker, queue, m->item, TERN_PROMISE_READ_WRITE);
}
TERN_FUNCTION(tern_queue_on_push)

static tern_status tern_queue_on_pop(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_queue *queue = queue_of_call(call->worker, arguments, bytes);
    if (queue == NULL || bytes != sizeof(message) || queue->item_bytes > TERN_RESULT_MAX)
        return malformed(queue, bytes);
    tern_status status =
        tern_queue_do_pop(call->worker, queue, call->result, TERN_PROMISE_READ_WRITE);
    if (status == TERN_OK)
        call->result_bytes = queue->item_bytes;
    return status;
}
TERN_FUNCTION(tern_queue_on_pop)

tern_status tern_queue_call_check_push(const tern_queue *queue) {
    size_t bytes = sizeof(message) + queue->item_bytes, room = call_room(queue->context);
    if (__builtin_expect(bytes <= room, 1))
        return TERN_OK;
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "a push by call takes %zu bytes and a ring takes %zu at a time; raise "
                     "TERN_RING_SIZE (now %zu) or pass TERN_VIA_RMA",
                     bytes, room, queue->context->config.ring_size);
}

tern_status tern_queue_call_check_pop(const tern_queue *queue) {
    if (__builtin_expect(queue->item_bytes <= TERN_RESULT_MAX, 1))
        return TERN_OK;
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "a call returns at most %u bytes and items have %zu; pass TERN_VIA_RMA",
                     TERN_RESULT_MAX, queue->item_bytes);
}

static tern_worker_id host_of(const tern_queue *queue) {
    return (tern_worker_id){queue->host, queue->host_worker};
}

/* Items of up to this many bytes are sent from the stack. */
enum { SMALL_ITEM = 512 };

tern_status tern_queue_call_push(tern_worker *worker, const tern_queue *queue, const void *item) {
    _Alignas(message) char small[sizeof(message) + SMALL_ITEM];
    size_t bytes = sizeof(message) + queue->item_bytes;
    void *room = bytes <= sizeof small ? small : malloc(bytes);
    if (room == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for an item of %zu bytes", queue->item_bytes);
    message *m = room;
    m->anchor = queue->anchor.offset;
    m->nonce = queue->nonce;
    memcpy(m->item, item, queue->item_bytes);
    size_t got;
    tern_status status = tern_call_return(worker, host_of(queue), &tern_queue_on_push_function, m,
                                          bytes, NULL, 0, &got);
    if (room != small)
        free(room);
    return status;
}

tern_status tern_queue_call_pop(tern_worker *worker, const tern_queue *queue, void *item) {
    message m = {queue->anchor.offset, queue->nonce};
    size_t got;
    return tern_call_return(worker, host_of(queue), &tern_queue_on_pop_function, &m, sizeof m, item,
                            queue->item_bytes, &got);
}
