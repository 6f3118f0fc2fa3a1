#include "tern/map.h"

#include <stddef.h>
#include <stdlib.h>

#include "hashtable/op/pool.h"
#include "map/op/message.h"
#include "rma/transfer.h"
#include "rpc/call/await.h"
#include "src/progress/progress.h"
#include "src/progress/wait.h"

/*
 * Operations that start and return. An op that is done at once has no record. An op under way has a
 * record of its own; its first step is a call, or an op in the worker's pool of the table
 * (hashtable/op/pool.h). If a find by RMA has a value in a block, the worker's progress starts the
 * get of the block, so that the trips of several finds overlap. The wait for the request takes the
 * steps that are left: it gives blocks back and gets others, which a look must not do.
 */

typedef struct map_request {
    tern_pending pending; /* first; of a find by RMA: on the worker's list until it is over */
    bool over;
    tern_map_op op;
    char key_bytes[];
} map_request;

/* Ends the request. own[0]: the size of a value that does not fit; 0: an ADD has met no number. */
static tern_status map_request_ends(const tern_map_op *m, tern_request *request,
                                    tern_status outcome) {
    const bool finds = m->op.kind == TERN_OP_FIND;
    const uint64_t result = finds                       ? m->value_bytes
                            : m->op.kind != TERN_OP_ADD ? m->existed
                            : outcome == TERN_OK        ? m->before
                                                        : 0;
    request->own[0] = result;
    request->room = finds ? m->room : 0;
    return tern_request_end(request, outcome, result);
}

static tern_status map_request_explain(const tern_request *request) {
    if (request->outcome == TERN_ERR_RANGE)
        return request->own[0] > 0
                   ? tern_fail(TERN_ERR_RANGE, "the value has %llu bytes; there is room for %zu",
                               (unsigned long long)request->own[0], request->room)
                   : tern_fail(TERN_ERR_RANGE, "the value is not of 8 bytes; a number has 8");
    return tern_op_request.explain(request);
}

/* An error here is not reported: the wait repeats the step, and reports it. */
static bool map_request_move(tern_worker *worker, tern_pending *pending, size_t *events) {
    map_request *r = (map_request *)pending;
    (void)worker;
    r->over = tern_map_op_step(&r->op);
    *events += r->over;
    return !r->over;
}

static bool map_request_look(tern_worker *worker, tern_request *request) {
    map_request *r = request->to;
    tern_request *first = &r->op.under_way;
    if (r->op.by_call)
        return !tern_request_is_under_way(first) || tern_answer_kind.look(worker, first);
    (void)tern_puts_deliver(worker); /* the owner may wait for these puts */
    return r->op.op.kind == TERN_OP_FIND ? r->over : !tern_request_is_under_way(first);
}

static tern_status map_request_wait(tern_worker *worker, tern_request *request) {
    map_request *r = request->to;
    tern_map_op *m = &r->op;
    tern_wait_state wait = TERN_WAIT_START;
    while (!r->over) {
        (void)tern_puts_deliver(worker);
        (void)tern_progress_round(worker);
        if (!r->over) /* progress ends it if a rank dies */
            (void)tern_wait_step(worker->context, &wait, m->owner);
    }
    tern_status status = tern_map_op_end(m);
    tern_block_free(worker, m->map, m->old);
    status = tern_hashtable_outcome(m->map->table, m->owner, status);
    map_request_ends(m, request, status);
    if (!m->transfer.under_way)
        free(r);
    return status;
}

static const tern_request_kind map_request_kind = {map_request_look, map_request_wait,
                                                   map_request_explain};

/* Whether the wait for the request returns this status, and not its start. TERN_ERR_RANGE is about
 * the value: arguments out of range were refused before. */
static bool is_outcome(tern_status status) {
    return status == TERN_OK || status == TERN_ERR_NOT_FOUND || status == TERN_ERR_FULL ||
           status == TERN_ERR_RANGE;
}

/* Runs the op as the blocking operation does. The request is complete when this returns. */
static tern_status request_run_blocking(tern_map_op *m, tern_request *request) {
    const tern_status status = tern_map_op_finish(m);
    if (!is_outcome(status))
        return status;
    tern_error_clear();
    tern_request_begin(request, &map_request_kind, m->owner);
    tern_ignore(map_request_ends(m, request, status));
    return TERN_OK;
}

/* Makes a record with the arguments of an op. */
static map_request *request_of(const tern_map_op *from) {
    map_request *r = malloc(sizeof *r + from->key.size);
    if (r == NULL)
        return NULL;
    tern_map_op *m = &r->op;
    memcpy(m, from, offsetof(tern_map_op, under_way));
    m->op.probe.key = m->key.fingerprint;
    if (m->key.size > 0)
        memcpy(r->key_bytes, m->key.bytes, m->key.size);
    m->key.bytes = r->key_bytes;
    if (tern_map_op_puts((tern_op_kind)m->op.kind))
        m->d.words[0] = from->d.words[0];
    r->pending.move = map_request_move;
    r->over = true;
    return r;
}

/* Starts an op, whose other arguments are checked. */
static tern_status request_start(tern_map_op *m, tern_flags flags, const char *name,
                                 tern_request *request) {
    tern_worker *worker = tern_map_op_worker(m);
    tern_pick pick;
    tern_status status = tern_request_check(request, name);
    if (status == TERN_OK)
        status = tern_map_op_choose(m, TERN_PATH_BY_REACH, false, flags, name, &pick);
    if (status != TERN_OK)
        return status;
    const bool modifies = m->op.kind == TERN_OP_ADD;
    const bool flies = pick.path == TERN_PATH_REMOTE && !modifies,
               calls = m->by_call && (!modifies || tern_map_message_fits(m));
    if (!flies && !calls)
        return request_run_blocking(m, request);
    status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    map_request *r = request_of(m);
    if (r == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a request");
    status = tern_map_op_start(&r->op);
    if (status != TERN_OK) {
        free(r);
        return status;
    }
    if (flies && m->op.kind == TERN_OP_FIND) {
        r->over = false;
        tern_pending_add(worker, &r->pending);
    }
    tern_request_begin(request, &map_request_kind, m->owner);
    request->to = r;
    return TERN_OK;
}

tern_status tern_map_find_start(tern_worker *worker, tern_map *map, const void *key,
                                size_t key_bytes, tern_flags flags, void *value, size_t room,
                                tern_request *request) {
    static const char name[] = "tern_map_find_start";
    tern_map_op m;
    tern_status status =
        tern_map_op_prepare(&m, TERN_OP_FIND, worker, map, key, key_bytes, flags, name);
    if (status == TERN_OK && value == NULL && room > 0)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: value is NULL", name);
    if (status != TERN_OK)
        return status;
    tern_map_op_take(&m, value, room);
    return request_start(&m, flags, name, request);
}

static tern_status request_insert(tern_op_kind kind, tern_worker *worker, tern_map *map,
                                  const void *key, size_t key_bytes, const void *value,
                                  size_t value_bytes, tern_flags flags, tern_request *request,
                                  const char *name) {
    tern_map_op m;
    tern_status status = tern_map_op_prepare(&m, kind, worker, map, key, key_bytes, flags, name);
    if (status == TERN_OK)
        status = tern_map_check_value(value, value_bytes, name);
    if (status != TERN_OK)
        return status;
    tern_map_op_give(&m, value, value_bytes);
    return request_start(&m, flags, name, request);
}

tern_status tern_map_insert_start(tern_worker *worker, tern_map *map, const void *key,
                                  size_t key_bytes, const void *value, size_t value_bytes,
                                  tern_flags flags, tern_request *request) {
    return request_insert(TERN_OP_INSERT, worker, map, key, key_bytes, value, value_bytes, flags,
                          request, "tern_map_insert_start");
}

tern_status tern_map_insert_new_start(tern_worker *worker, tern_map *map, const void *key,
                                      size_t key_bytes, const void *value, size_t value_bytes,
                                      tern_flags flags, tern_request *request) {
    return request_insert(TERN_OP_INSERT_NEW, worker, map, key, key_bytes, value, value_bytes,
                          flags, request, "tern_map_insert_new_start");
}

tern_status tern_map_add_start(tern_worker *worker, tern_map *map, const void *key,
                               size_t key_bytes, uint64_t delta, tern_flags flags,
                               tern_request *request) {
    static const char name[] = "tern_map_add_start";
    tern_map_op m;
    const tern_status status =
        tern_map_op_prepare(&m, TERN_OP_ADD, worker, map, key, key_bytes, flags, name);
    if (status != TERN_OK)
        return status;
    tern_map_op_init_number(&m, TERN_OP_ADD, worker, map, delta, 0);
    return request_start(&m, flags, name, request);
}
