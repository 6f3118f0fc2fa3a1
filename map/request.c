#include "tern/map_request.h"

#include "hashtable/op/pool.h"
#include "map/find.h"
#include "map/far.h"
#include "map/modify.h"
#include "rpc/call/await.h"

/*
 * Operations that start and return: done at once, a flight (map/far.h), or a call. A call under
 * way has a record of its own, with room for the answer. The wait for the request ends it: it gives
 * blocks back and gets what the answer does not hold, which a look must not do.
 */

typedef enum asked_kind { ASKED_FIND, ASKED_INSERT, ASKED_INSERT_NEW, ASKED_ADD } asked_kind;

/* What was asked for. */
typedef struct map_asked {
    const char *name;
    asked_kind kind;
    tern_flags flags;
    const void *key;
    size_t key_bytes;
    void *found;       /* FIND */
    size_t room;       /* FIND */
    const void *value; /* INSERT, INSERT_NEW */
    size_t value_bytes;
    uint64_t delta; /* ADD */
} map_asked;

typedef struct map_pending {
    map_asked asked; /* its key is that below; its value is not used any more */
    tern_map_call call;
    tern_worker *worker;
    const tern_map *map;
    uint32_t owner;
    tern_map_key key;
    union {
        tern_map_insertion in;
        tern_map_modify_request add;
    };
    char key_bytes[];
} map_pending;

static bool asked_is_insert(const map_asked *a) {
    return a->kind == ASKED_INSERT || a->kind == ASKED_INSERT_NEW;
}

static tern_status pending_send(map_pending *p) {
    const map_asked *a = &p->asked;
    tern_worker *worker = p->worker;
    if (a->kind == ASKED_FIND)
        return tern_map_call_look_send(worker, p->map, p->owner, &p->key, &p->call, true);
    if (a->kind == ASKED_ADD) {
        tern_map_modify_begin(worker, p->map, &p->key, tern_map_adding, &a->delta, sizeof a->delta,
                              TERN_ABSENT_INSERT, &p->add);
        return tern_map_modify_send(&p->add, &p->call, true);
    }
    tern_map_insertion_begin(&p->key, a->value, tern_flags_promise(a->flags), &p->in);
    p->in.only_new = a->kind == ASKED_INSERT_NEW;
    tern_map_descriptor_make(p->map, &p->key, a->value, a->value_bytes, &p->in.d);
    return tern_map_call_put_send(worker, p->map, p->owner, &p->in, &p->call, true);
}

/* Takes the answer to a find. It may hold the value, or only say where the value lies. */
static tern_status find_end(map_pending *p, uint64_t *result) {
    const map_asked *a = &p->asked;
    tern_map_descriptor d;
    tern_block_verdict verdict;
    tern_status status =
        tern_map_call_look_end(p->map, p->owner, &p->call, &d, a->found, a->room, &verdict);
    if (status != TERN_OK)
        return status;
    size_t bytes = tern_map_descriptor_value_bytes(d.words);
    if (verdict != TERN_BLOCK_MINE) {
        tern_map_search s;
        tern_map_search_begin(p->worker, p->map, &p->key, a->found, a->room, false, &s);
        s.owner = p->owner;
        s.by_call = true;
        s.known = &d;
        status = tern_map_search_run(&s, &bytes);
    }
    *result = bytes;
    return status;
}

static tern_status add_end(map_pending *p, uint64_t *result) {
    bool far = false;
    tern_status status = tern_map_modify_end(&p->add, &p->call, &far);
    if (status == TERN_OK && far)
        status = tern_map_modify_here(&p->add, true);
    if (status != TERN_OK)
        return status;
    tern_block_free(p->worker, p->map, p->add.old);
    memcpy(result, p->add.result, sizeof *result);
    return TERN_OK;
}

/* Ends what the call has begun. status: what the call came to. */
static tern_status pending_end(map_pending *p, tern_status status, uint64_t *result) {
    p->call.got = p->call.request.result;
    if (asked_is_insert(&p->asked)) {
        status = tern_map_call_put_end(p->worker, p->map, p->owner, status, &p->call, &p->in);
        if (status == TERN_OK)
            tern_block_free(p->worker, p->map, p->in.old);
        *result = p->in.existed;
        return status;
    }
    if (status != TERN_OK)
        return status;
    return p->asked.kind == ASKED_FIND ? find_end(p, result) : add_end(p, result);
}

static map_pending *pending_of(const tern_request *request) { return request->to; }

static bool map_request_look(tern_worker *worker, tern_request *request) {
    tern_request *call = &pending_of(request)->call.request;
    return !tern_request_is_under_way(call) || tern_answer_kind.look(worker, call);
}

static tern_status map_request_wait(tern_worker *worker, tern_request *request) {
    map_pending *p = pending_of(request);
    uint64_t result = 0;
    tern_status status = tern_wait(worker, &p->call.request);
    status = tern_hashtable_outcome(p->map->table, p->owner, pending_end(p, status, &result));
    const size_t fits = p->asked.room;
    free(p);
    return tern_map_request_end(request, status, result, fits);
}

tern_status tern_map_request_end(tern_request *request, tern_status outcome, uint64_t result,
                                 size_t room) {
    request->own[0] = result;
    request->room = room;
    return tern_request_end(request, outcome, result);
}

tern_status tern_map_request_explain(const tern_request *request) {
    if (request->outcome == TERN_ERR_RANGE)
        return request->own[0] > 0
                   ? tern_fail(TERN_ERR_RANGE, "the value has %llu bytes; there is room for %zu",
                               (unsigned long long)request->own[0], request->room)
                   : tern_fail(TERN_ERR_RANGE, "the value is not of 8 bytes; a number has 8");
    return tern_op_request.explain(request);
}

static const tern_request_kind map_request_kind = {map_request_look, map_request_wait,
                                                   tern_map_request_explain};

/* What a wait tells, and not the start. That arguments are out of range was seen before. */
static bool is_outcome(tern_status status) {
    return status == TERN_OK || status == TERN_ERR_NOT_FOUND || status == TERN_ERR_FULL ||
           status == TERN_ERR_RANGE;
}

/* Does it by the blocking operation, which may be one by call on a key of this rank. */
static tern_status asked_do_now(tern_worker *worker, tern_map *map, const map_asked *a,
                                tern_flags via, uint32_t owner, tern_request *request) {
    const tern_flags flags = tern_flags_promise(a->flags) | via;
    uint64_t before = 0;
    size_t bytes = 0;
    int existed = 0;
    tern_status status;
    if (a->kind == ASKED_FIND)
        status = tern_map_find(worker, map, a->key, a->key_bytes, flags, a->found, a->room, &bytes);
    else if (a->kind == ASKED_ADD)
        status = tern_map_add(worker, map, a->key, a->key_bytes, a->delta, flags, &before);
    else
        status = (a->kind == ASKED_INSERT ? tern_map_insert : tern_map_insert_new)(
            worker, map, a->key, a->key_bytes, a->value, a->value_bytes, flags, &existed);
    if (!is_outcome(status))
        return status;
    tern_error_clear();
    tern_request_begin(request, &map_request_kind, owner);
    tern_ignore(tern_map_request_end(request, status,
                                     a->kind == ASKED_FIND  ? bytes
                                     : a->kind == ASKED_ADD ? before
                                                            : (uint64_t)existed,
                                     a->room));
    return TERN_OK;
}

static tern_status asked_call(tern_worker *worker, const tern_map *map, const map_asked *a,
                              uint32_t owner, tern_request *request) {
    map_pending *p = malloc(sizeof *p + a->key_bytes);
    if (p == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a request");
    p->asked = *a;
    p->asked.key = p->key_bytes;
    p->call.request = (tern_request){0};
    p->worker = worker;
    p->map = map;
    p->owner = owner;
    if (a->key_bytes > 0)
        memcpy(p->key_bytes, a->key, a->key_bytes);
    tern_map_key_make(map, p->key_bytes, a->key_bytes, &p->key);
    tern_status status = pending_send(p);
    if (status != TERN_OK) {
        free(p);
        return status;
    }
    tern_request_begin(request, &map_request_kind, owner);
    request->to = p;
    return TERN_OK;
}

static tern_status asked_check(const tern_worker *worker, const tern_map *map, const map_asked *a,
                               const tern_request *request) {
    tern_status status =
        tern_map_check(worker, map, a->key, a->key_bytes, a->flags,
                       a->kind == ASKED_FIND ? TERN_WRITE_ONLY : TERN_READ_ONLY, a->name);
    if (status != TERN_OK)
        return status;
    status = tern_request_check(request, a->name);
    if (status == TERN_OK &&
        ((a->found == NULL && a->room > 0) || (a->value == NULL && a->value_bytes > 0)))
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: value is NULL", a->name);
    if (status == TERN_OK && a->value_bytes > TERN_MAP_VALUE_MAX)
        status = tern_fail(TERN_ERR_RANGE, "%s: a value of %zu bytes; the largest have %u", a->name,
                           a->value_bytes, TERN_MAP_VALUE_MAX);
    return status;
}

static tern_status asked_start(tern_worker *worker, tern_map *map, const map_asked *a,
                               tern_request *request) {
    tern_status status = asked_check(worker, map, a, request);
    if (status != TERN_OK)
        return status;
    const uint32_t owner = tern_map_owner(map, a->key, a->key_bytes);
    const tern_flags via = tern_map_way(map, owner, a->flags);
    const bool fits =
        a->kind != ASKED_ADD || tern_map_modify_fits(map, a->key_bytes, sizeof a->delta);
    const bool flies =
        via == TERN_BY_RMA && a->kind == ASKED_FIND && tern_map_find_flies(map, owner);
    if (!flies && (via == TERN_BY_RMA || owner == map->context->rank || !fits))
        return asked_do_now(worker, map, a, via, owner, request);
    status = tern_worker_may_wait(worker, a->name);
    if (status != TERN_OK)
        return status;
    return flies ? tern_map_fly_find(worker, map, a->key, a->key_bytes,
                                     tern_flags_promise(a->flags), a->found, a->room, request)
                 : asked_call(worker, map, a, owner, request);
}

tern_status tern_map_find_start(tern_worker *worker, tern_map *map, const void *key,
                                size_t key_bytes, tern_flags flags, void *value, size_t room,
                                tern_request *request) {
    const map_asked a = {.name = "tern_map_find_start",
                         .kind = ASKED_FIND,
                         .flags = flags,
                         .key = key,
                         .key_bytes = key_bytes,
                         .found = value,
                         .room = room};
    return asked_start(worker, map, &a, request);
}

static tern_status asked_insert(tern_worker *worker, tern_map *map, const char *name,
                                asked_kind kind, const void *key, size_t key_bytes,
                                const void *value, size_t value_bytes, tern_flags flags,
                                tern_request *request) {
    const map_asked a = {.name = name,
                         .kind = kind,
                         .flags = flags,
                         .key = key,
                         .key_bytes = key_bytes,
                         .value = value,
                         .value_bytes = value_bytes};
    return asked_start(worker, map, &a, request);
}

tern_status tern_map_insert_start(tern_worker *worker, tern_map *map, const void *key,
                                  size_t key_bytes, const void *value, size_t value_bytes,
                                  tern_flags flags, tern_request *request) {
    return asked_insert(worker, map, "tern_map_insert_start", ASKED_INSERT, key, key_bytes, value,
                        value_bytes, flags, request);
}

tern_status tern_map_insert_new_start(tern_worker *worker, tern_map *map, const void *key,
                                      size_t key_bytes, const void *value, size_t value_bytes,
                                      tern_flags flags, tern_request *request) {
    return asked_insert(worker, map, "tern_map_insert_new_start", ASKED_INSERT_NEW, key, key_bytes,
                        value, value_bytes, flags, request);
}

tern_status tern_map_add_start(tern_worker *worker, tern_map *map, const void *key,
                               size_t key_bytes, uint64_t delta, tern_flags flags,
                               tern_request *request) {
    const map_asked a = {.name = "tern_map_add_start",
                         .kind = ASKED_ADD,
                         .flags = flags,
                         .key = key,
                         .key_bytes = key_bytes,
                         .delta = delta};
    return asked_start(worker, map, &a, request);
}
