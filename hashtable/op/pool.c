#include "hashtable/op/pool.h"

#include <stdlib.h>

#include "rma/transfer.h"
#include "rpc/call/await.h"
#include "src/progress/progress.h"

_Static_assert(TERN_HASHTABLE_REQUESTS == 64, "places of a pool are bits of one word");

/* A worker's ops on one table. Used by the worker alone. */
typedef struct tern_op_pool {
    tern_pending pending; /* first; on the worker's list while any is under way */
    tern_hashtable *table;
    uint64_t under_way; /* places of ops */
    uint64_t leaked;    /* places whose rooms are never freed: MPI may still write there */
    tern_request *request[TERN_HASHTABLE_REQUESTS];
    uint64_t *room[TERN_HASHTABLE_REQUESTS]; /* kept for later ops */
    char places[];
} tern_op_pool;

/* A place has an op and its key. */
static size_t place_bytes(const tern_hashtable *table) {
    return (sizeof(tern_op) + 8 * (size_t)table->shape.key_words + 63) / 64 * 64;
}

static tern_op *op_at(tern_op_pool *pool, unsigned place) {
    return (tern_op *)(void *)(pool->places + place * place_bytes(pool->table));
}

size_t tern_op_step_in_progress(tern_op *op) {
    const size_t steps = tern_op_step(op);
    if (op->stage == TERN_OP_DONE || !op->waits)
        return steps;
    const tern_status status = tern_glance(op->probe.worker, tern_state_writer(op->state));
    if (status != TERN_OK)
        tern_op_finish(op, status);
    return 0;
}

static size_t pool_step(tern_op_pool *pool, unsigned place) {
    tern_op *op = op_at(pool, place);
    const size_t steps = tern_op_step_in_progress(op);
    if (op->stage != TERN_OP_DONE)
        return steps;
    pool->under_way &= ~(UINT64_C(1) << place);
    if (tern_op_leaks_room(op))
        pool->leaked |= UINT64_C(1) << place;
    tern_request_end(pool->request[place], op->outcome, op->result);
    return steps + 1;
}

static bool pool_move(tern_worker *worker, tern_pending *pending, size_t *events) {
    tern_op_pool *pool = (tern_op_pool *)pending;
    (void)worker;
    for (uint64_t left = pool->under_way; left != 0; left &= left - 1)
        *events += pool_step(pool, (unsigned)__builtin_ctzll(left));
    return pool->under_way != 0;
}

static tern_op_pool *pool_of(const tern_worker *worker, tern_hashtable *table) {
    tern_op_pool **pool = &table->requests[worker->index];
    if (*pool != NULL)
        return *pool;
    const size_t bytes = sizeof **pool + TERN_HASHTABLE_REQUESTS * place_bytes(table);
    *pool = calloc(1, bytes);
    if (*pool != NULL) {
        (*pool)->pending.move = pool_move;
        (*pool)->table = table;
    }
    return *pool;
}

/* Copies the arguments and the key to a place. */
static tern_op *pool_put(tern_op_pool *pool, unsigned place, const tern_op *op) {
    tern_op *to = op_at(pool, place);
    uint64_t *key = (uint64_t *)(void *)(to + 1);
    *to = *op;
    memcpy(key, op->probe.key, 8 * (size_t)pool->table->shape.key_words);
    to->probe.key = key;
    to->once = false;
    return to;
}

/* Runs an op that must not be under way when the start returns. */
static tern_status start_at_once(tern_op *op, uint32_t owner, tern_request *request) {
    const tern_status status = tern_op_run(op);
    if (!tern_op_is_answer(status)) /* the wait for the request returns an answer */
        return status;
    tern_request_begin(request, &tern_op_request, owner);
    tern_request_end(request, status, op->result);
    return TERN_OK;
}

tern_status tern_pool_start(tern_op *op, tern_request *request) {
    tern_worker *worker = op->probe.worker;
    tern_hashtable *table = (tern_hashtable *)(uintptr_t)op->probe.table;
    const uint32_t owner = tern_hash_owner(table, op->probe.hash);
    /* An op that locks its bucket is not left under way: its worker may be outside tern for long,
     * and other ranks would wait for the lock. */
    const bool locks = !table->owners_put && op->kind != TERN_OP_FIND;
    if (!tern_op_is_remote(table, owner) || locks || worker->in_handler || worker->in_progress)
        return start_at_once(op, owner, request);
    tern_op_pool *pool = pool_of(worker, table);
    if (pool == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %u requests under way",
                         TERN_HASHTABLE_REQUESTS);
    const uint64_t vacant = ~(pool->under_way | pool->leaked);
    if (vacant == 0)
        return tern_fail(TERN_ERR_AGAIN,
                         "all %u requests of this worker on the table are under way; wait for one",
                         TERN_HASHTABLE_REQUESTS);
    const unsigned place = (unsigned)__builtin_ctzll(vacant);
    if (pool->room[place] == NULL && (pool->room[place] = malloc(tern_op_room(table))) == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a request under way");
    tern_op *mine = pool_put(pool, place, op);
    tern_table_enter(worker, table);
    tern_op_start(mine, pool->room[place]);
    (void)tern_op_step(mine);
    const bool done = mine->stage == TERN_OP_DONE;
    if (!done) {
        /* Only now: starting the op may make progress, which would step it. */
        if (pool->under_way == 0)
            tern_pending_add(worker, &pool->pending);
        pool->under_way |= UINT64_C(1) << place;
        pool->request[place] = request;
    } else if (tern_op_leaks_room(mine)) {
        pool->leaked |= UINT64_C(1) << place;
    }
    tern_table_exit(worker, table);
    if (done && !tern_op_is_answer(mine->outcome))
        return mine->outcome;
    tern_request_begin(request, &tern_op_request, owner);
    if (done)
        tern_request_end(request, mine->outcome, mine->result);
    return TERN_OK;
}

bool tern_ops_hold(const tern_hashtable *table, uint32_t worker, uint32_t owner,
                   uint64_t generation) {
    tern_op_pool *pool = table->requests[worker];
    for (uint64_t left = pool != NULL ? pool->under_way : 0; left != 0; left &= left - 1)
        if (tern_op_holds(op_at(pool, (unsigned)__builtin_ctzll(left)), owner, generation))
            return true;
    for (const tern_op_pipeline *w = table->inside[worker].pipelines; w != NULL; w = w->outer)
        if (tern_op_pipeline_holds(w, owner, generation))
            return true;
    return false;
}

static tern_status table_request_explain(const tern_request *request) {
    const tern_status status = (tern_status)request->outcome;
    if (status == TERN_ERR_NOT_FOUND)
        return tern_fail(status, "no such key");
    if (status == TERN_ERR_FULL)
        return tern_fail(status,
                         "all buckets of rank %u's part belong to other keys, erased ones too; "
                         "clear the table, create it with grow = 1 or a greater capacity or, if "
                         "it grows, raise TERN_SEGMENT_SIZE",
                         request->rank);
    return tern_fail(status, "an operation on rank %u's part failed while it was under way: %s",
                     request->rank, tern_strerror(status));
}

static bool call_request_look(tern_worker *worker, tern_request *request) {
    return tern_answer_kind.look(worker, request);
}

/* A call's answer that a key is absent or a table full comes without a text, which this adds. */
static tern_status call_request_wait(tern_worker *worker, tern_request *request) {
    const tern_status status = tern_answer_kind.wait(worker, request);
    return status == TERN_ERR_NOT_FOUND || status == TERN_ERR_FULL ? table_request_explain(request)
                                                                   : status;
}

const tern_request_kind tern_op_request = {tern_pending_look, tern_pending_wait,
                                           table_request_explain};
const tern_request_kind tern_table_call_request = {call_request_look, call_request_wait,
                                                   table_request_explain};

void tern_pool_drain(tern_worker *worker, tern_hashtable *table) {
    tern_op_pool *mine = table->requests[worker->index];
    tern_wait_state wait = TERN_WAIT_START;
    while (mine != NULL && mine->under_way != 0) {
        (void)tern_puts_deliver(worker);
        (void)tern_progress_round(worker);
        if (mine->under_way != 0) /* if a rank has died, progress ends the ops */
            (void)tern_wait_step(table->context, &wait, TERN_ANYBODY);
    }
}

void tern_pools_free(tern_hashtable *table) {
    for (uint32_t i = 0; i < table->context->workers; i++) {
        tern_op_pool *pool = table->requests[i];
        for (unsigned place = 0; pool != NULL && place < TERN_HASHTABLE_REQUESTS; place++)
            if ((pool->leaked >> place & 1) == 0)
                free(pool->room[place]);
        free(pool);
    }
    free(table->requests);
}
