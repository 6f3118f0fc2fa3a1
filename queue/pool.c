#include "queue/pool.h"

#include <stdlib.h>
#include <string.h>

#include "rma/transfer.h"
#include "rpc/call/await.h"
#include "src/progress/progress.h"
#include "src/progress/request.h"

/* The pushes or the pops that a worker has under way, in the order of their starts. */
typedef struct queue_line {
    tern_queue_op op; /* serves the first op.count requests */
    bool begun;       /* the op has begun */
    bool leaked;      /* the network may still write to its slots, since the host has died */
    uint32_t count;   /* requests */
    uint32_t looks;   /* calls of queue_line_look */
    tern_queue_watch watch;
    tern_request *request[TERN_QUEUE_REQUESTS];
    char *item[TERN_QUEUE_REQUESTS];
    uint8_t promise[TERN_QUEUE_REQUESTS];
    uint64_t *slots;
    size_t room; /* words */
} queue_line;

/* Used by the worker alone, except next. */
typedef struct tern_queue_pool {
    tern_pending pending; /* first */
    struct tern_queue_pool *next;
    tern_worker *worker;
    tern_queue *queue;
    bool stepping; /* set during a step: the step may make progress, which must not begin another */
    bool listed;   /* as pending */
    queue_line pushes, pops;
} tern_queue_pool;

/* ---- One line ---- */

static void queue_line_begin(tern_queue_pool *pool, queue_line *line, tern_path_kind kind) {
    size_t same = 1;
    while (same < line->count && line->promise[same] == line->promise[0])
        same++;
    tern_queue_op_init(&line->op, kind, pool->worker, pool->queue, NULL, same, line->promise[0],
                       TERN_QUEUE_TRY);
    line->op.each = line->item;
    line->op.apart = true;
    line->op.slots = line->slots;
    line->op.room = line->room;
    line->watch = (tern_queue_watch){0, {0, 0, false}, 0};
    line->begun = true;
}

/* Ends the requests that the op has served, and takes them out of the line. */
static void queue_line_end(tern_queue_pool *pool, queue_line *line) {
    const tern_queue_op *op = &line->op;
    const size_t served = op->outcome == TERN_OK ? op->done : op->count;
    const size_t bytes = op->kind == TERN_PATH_POP ? pool->queue->item_bytes : 0;
    line->leaked = tern_queue_op_leaks_slots(op);
    line->begun = false;
    line->count -= (uint32_t)served;
    /* R4 */
    atomic_fetch_sub_explicit(&pool->queue->requests, (uint32_t)served, memory_order_relaxed);
    for (size_t i = 0; i < served; i++)
        tern_request_end(line->request[i], op->outcome, bytes);
    memmove(line->request, line->request + served, line->count * sizeof *line->request);
    memmove(line->item, line->item + served, line->count * sizeof *line->item);
    memmove(line->promise, line->promise + served, line->count);
}

/* Called while the op waits: looks whether a rank has died, or the queue is damaged. */
static tern_status queue_line_look(tern_queue_pool *pool, queue_line *line) {
    enum { STEPS_PER_LOOK = 16 };

    tern_worker *worker = pool->worker;
    tern_queue *q = pool->queue;
    const tern_status status = tern_glance(worker, q->host);
    const uint32_t dead = tern_peers_dead(&q->context->peers);
    if (status != TERN_OK || dead != TERN_NOBODY)
        return dead != TERN_NOBODY ? tern_peer_fail(dead) : status;
    return ++line->looks % STEPS_PER_LOOK == 0
               ? tern_queue_look_for_damage(worker, q, &line->watch, (tern_queue_due)line->op.due,
                                            line->op.ticket)
               : TERN_OK;
}

static size_t queue_line_step(tern_queue_pool *pool, tern_path_kind kind) {
    queue_line *line = kind == TERN_PATH_PUSH ? &pool->pushes : &pool->pops;
    size_t steps = 0;
    while (line->count > 0) {
        if (!line->begun)
            queue_line_begin(pool, line, kind);
        const size_t some = tern_queue_op_step(&line->op);
        if (line->op.stage != TERN_QUEUE_DONE && line->op.waits) {
            const tern_status status = queue_line_look(pool, line);
            if (status != TERN_OK)
                tern_queue_finish(&line->op, status);
        } else {
            steps += some;
        }
        if (line->op.stage != TERN_QUEUE_DONE)
            break;
        queue_line_end(pool, line);
    }
    return steps;
}

/* ---- The pool ---- */

static size_t queue_pool_step(tern_queue_pool *pool) {
    if (pool->stepping)
        return 0;
    pool->stepping = true;
    size_t steps = queue_line_step(pool, TERN_PATH_PUSH);
    steps += queue_line_step(pool, TERN_PATH_POP);
    pool->stepping = false;
    return steps;
}

static bool queue_pool_is_busy(const tern_queue_pool *pool) {
    return pool->stepping || pool->pushes.count + pool->pops.count > 0;
}

static bool queue_pool_move(tern_worker *worker, tern_pending *pending, size_t *events) {
    tern_queue_pool *pool = (tern_queue_pool *)pending;
    (void)worker;
    *events += queue_pool_step(pool);
    pool->listed = queue_pool_is_busy(pool);
    return pool->listed;
}

static tern_queue_pool *queue_pool_find(const tern_worker *worker, tern_queue *queue) {
    /* R8: queue_pool_of */
    tern_queue_pool *pool = atomic_load_explicit(&queue->pools, memory_order_acquire);
    while (pool != NULL && pool->worker != worker)
        pool = pool->next;
    return pool;
}

static void queue_pool_free(tern_queue_pool *pool) {
    if (pool != NULL && !pool->pushes.leaked)
        free(pool->pushes.slots);
    if (pool != NULL && !pool->pops.leaked)
        free(pool->pops.slots);
    free(pool);
}

/* NULL: no memory. */
static tern_queue_pool *queue_pool_of(tern_worker *worker, tern_queue *queue) {
    tern_queue_pool *pool = queue_pool_find(worker, queue);
    if (pool != NULL)
        return pool;
    pool = calloc(1, sizeof *pool);
    const size_t words = queue->stride / 8,
                 room = words > TERN_SLOT_PIECE ? words : TERN_SLOT_PIECE;
    if (pool != NULL) {
        pool->pushes.room = pool->pops.room = room;
        pool->pushes.slots = malloc(8 * room);
        pool->pops.slots = malloc(8 * room);
    }
    if (pool == NULL || pool->pushes.slots == NULL || pool->pops.slots == NULL) {
        queue_pool_free(pool);
        return NULL;
    }
    pool->pending.move = queue_pool_move;
    pool->worker = worker;
    pool->queue = queue;
    /* R9: queue_pool_of; its compare-and-swap takes no other value for it */
    pool->next = atomic_load_explicit(&queue->pools, memory_order_relaxed);
    /* R8: queue_pool_find, tern_queue_pools_free */
    while (!atomic_compare_exchange_weak_explicit(&queue->pools, &pool->next, pool,
                                                  memory_order_release, memory_order_relaxed))
        continue;
    return pool;
}

static tern_status queue_request_explain(const tern_request *request) {
    const tern_status status = (tern_status)request->outcome;
    if (status == TERN_ERR_FULL)
        return tern_fail(status,
                         "the queue at rank %u is full; pop some items, or create it with a "
                         "greater capacity",
                         request->rank);
    if (status == TERN_ERR_EMPTY)
        return tern_fail(status, "the queue at rank %u is empty", request->rank);
    return tern_fail(status,
                     "an operation on the queue at rank %u failed while it was under way: %s",
                     request->rank, tern_strerror(status));
}

static bool queue_call_look(tern_worker *worker, tern_request *request) {
    return tern_answer_kind.look(worker, request);
}

/* A call's answer that a queue is full or empty comes without a text, which this adds. */
static tern_status queue_call_wait(tern_worker *worker, tern_request *request) {
    const tern_status status = tern_answer_kind.wait(worker, request);
    return status == TERN_ERR_FULL || status == TERN_ERR_EMPTY ? queue_request_explain(request)
                                                               : status;
}

static const tern_request_kind queue_request = {tern_pending_look, tern_pending_wait,
                                                queue_request_explain};
static const tern_request_kind queue_call_request = {queue_call_look, queue_call_wait,
                                                     queue_request_explain};

tern_status tern_queue_pool_start(const tern_queue_op *op, tern_request *request) {
    tern_worker *worker = op->worker;
    tern_queue *queue = op->queue;
    tern_queue_pool *pool = queue_pool_of(worker, queue);
    if (pool == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %u requests under way",
                         2 * TERN_QUEUE_REQUESTS);
    queue_line *line = op->kind == TERN_PATH_PUSH ? &pool->pushes : &pool->pops;
    if (line->leaked)
        return tern_peer_fail(queue->host);
    if (line->count == TERN_QUEUE_REQUESTS)
        return tern_fail(TERN_ERR_AGAIN,
                         "all %u %s of this worker on the queue are under way; wait for one",
                         TERN_QUEUE_REQUESTS, op->kind == TERN_PATH_PUSH ? "pushes" : "pops");
    line->request[line->count] = request;
    line->item[line->count] = op->items;
    line->promise[line->count] = op->promise;
    line->count++;
    /* R4 */
    atomic_fetch_add_explicit(&queue->requests, 1, memory_order_relaxed);
    tern_request_begin(request, &queue_request, queue->host);
    /* Otherwise progress steps it. It is listed just as long as it is busy, because a pool that has
     * been freed must not be on the list. */
    if (pool->listed || pool->stepping)
        return TERN_OK;
    const uint32_t failures = tern_thread_failures.count;
    (void)queue_pool_step(pool);
    if (tern_thread_failures.count != failures)
        tern_error_clear(); /* the requests return the error */
    pool->listed = queue_pool_is_busy(pool);
    if (pool->listed)
        tern_pending_add(worker, &pool->pending);
    return TERN_OK;
}

tern_status tern_queue_pools_drain(tern_worker *worker, tern_queue *queue, const char *name) {
    const tern_queue_pool *mine = queue_pool_find(worker, queue);
    tern_wait_state wait = TERN_WAIT_IN(name);
    while (mine != NULL && queue_pool_is_busy(mine)) {
        (void)tern_puts_deliver(worker);
        (void)tern_progress_round(worker);
        if (queue_pool_is_busy(mine)) /* if a rank has died, progress ends the ops */
            (void)tern_wait_step(worker->context, &wait, TERN_ANYBODY);
    }
    /* R4 */
    const uint32_t others = atomic_load_explicit(&queue->requests, memory_order_relaxed);
    if (others == 0)
        return TERN_OK;
    return tern_fail(TERN_ERR_STATE,
                     "%s: %u requests of other workers of this rank on the queue are under way; "
                     "have these workers wait for them, and then destroy it",
                     name, others);
}

void tern_queue_pools_free(tern_queue *queue) {
    /* R8: queue_pool_of */
    tern_queue_pool *pool = atomic_load_explicit(&queue->pools, memory_order_acquire);
    while (pool != NULL) {
        tern_queue_pool *next = pool->next;
        queue_pool_free(pool);
        pool = next;
    }
}

/* ---- The public operations ---- */

static tern_status queue_start(tern_queue_op *op, tern_flags flags, tern_request *request,
                               const char *name) {
    tern_pick pick;
    tern_status status = tern_request_check(request, name);
    if (status == TERN_OK)
        status = tern_queue_choose(op, flags, false, name, &pick);
    if (status == TERN_OK && pick.path != TERN_PATH_DIRECT)
        status = tern_worker_may_wait(op->worker, name);
    if (status != TERN_OK)
        return status;
    if (pick.path != TERN_PATH_CALL)
        return tern_queue_pool_start(op, request);
    status = tern_queue_start_call(op, request);
    if (status == TERN_OK)
        request->kind = &queue_call_request;
    return status;
}

tern_status tern_queue_push_start(tern_worker *worker, tern_queue *queue, const void *item,
                                  tern_flags flags, tern_request *request) {
    tern_queue_op op;
    tern_queue_op_init(&op, TERN_PATH_PUSH, worker, queue, item, 1, tern_flags_promise(flags),
                       TERN_QUEUE_TRY);
    return queue_start(&op, flags, request, __func__);
}

tern_status tern_queue_pop_start(tern_worker *worker, tern_queue *queue, void *item,
                                 tern_flags flags, tern_request *request) {
    tern_queue_op op;
    tern_queue_op_init(&op, TERN_PATH_POP, worker, queue, item, 1, tern_flags_promise(flags),
                       TERN_QUEUE_TRY);
    return queue_start(&op, flags, request, __func__);
}
