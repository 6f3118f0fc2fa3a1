#include "tern/map_modify.h"

#include "base/process.h"
#include "hashtable/near/scratch.h"
#include "map/call.h"
#include "map/find.h"
#include "map/modify.h"
#include "src/progress/progress.h"
#include "src/progress/wait.h"

/*
 * A modification finds the value, runs the modifier on a copy, and puts the copy in place of the
 * descriptor that it has found (tern_map_put), or, if it has found none, inserts it as a new key.
 * Either fails if another operation has changed the key meanwhile: then everything is done again.
 *
 * Why no change is lost, and no block: the put compares the descriptor while the bucket is locked,
 * so the value that is replaced is the one that the modifier has worked on. The one put that
 * replaces a descriptor is told of its block, and gives the block back. A put that loses has made a
 * block that no descriptor names, and gives back that one.
 *
 * Owner and caller do the same. The owner, in a handler, tries once: TERN_ERR_AGAIN has the call
 * run again after other work. If the block is far, it says so, since a handler cannot wait for a
 * get, and the caller does the work.
 */

/* Values of up to so many bytes are modified on the stack. */
enum { MODIFY_ROOM = 1024 };

typedef struct modification {
    tern_map_modify_info info; /* first: what the modifier sees */
    tern_map_modify_function function;
    tern_absent absent;
    bool own_only;          /* replaces no block of another rank */
    tern_map_search search; /* the copy of the value lies in its room */
    tern_ptr old;           /* [out] block that was replaced */
    uint64_t room[MODIFY_ROOM / 8];
} modification;

/* [out] m: everything but what the modifier is to see of its call. */
static void modification_begin(modification *m, tern_worker *worker, const tern_map *map,
                               const tern_map_key *key, tern_map_modify_function function,
                               tern_absent absent) {
    m->info = (tern_map_modify_info){
        .worker = worker, .key = key->bytes, .key_bytes = key->size, .value = m->room};
    m->function = function;
    m->absent = absent;
    m->own_only = false;
    m->old = TERN_NULL;
    tern_map_search_begin(worker, map, key, m->room, sizeof m->room, true, &m->search);
    m->search.owner = tern_hash_owner(map->table, key->hash);
}

tern_status tern_map_resize(tern_map_modify_info *info, size_t bytes) {
    if (info == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_map_resize: info is NULL");
    tern_map_search *s = &((modification *)(void *)info)->search;
    if (bytes > TERN_MAP_VALUE_MAX)
        return tern_fail(TERN_ERR_RANGE,
                         "tern_map_resize: a value of %zu bytes; the largest have %u", bytes,
                         TERN_MAP_VALUE_MAX);
    if (s->room < bytes) {
        /* A value that grows step by step is not copied each time. */
        const size_t room = bytes > 2 * s->room ? bytes : 2 * s->room;
        void *more = malloc(room);
        if (more == NULL)
            return tern_fail(TERN_ERR_MEMORY, "no memory for a value of %zu bytes", bytes);
        memcpy(more, info->value, info->value_bytes);
        free(s->allocated);
        info->value = s->value = s->allocated = more;
        s->room = room;
    }
    if (bytes > info->value_bytes)
        memset((char *)info->value + info->value_bytes, 0, bytes - info->value_bytes);
    info->value_bytes = bytes;
    return TERN_OK;
}

/* Puts what the modifier has made. expected: the descriptor that it has found, or NULL. [out] lost:
 * another operation was faster. */
static tern_status modification_put(modification *m, const tern_map_descriptor *expected,
                                    bool *lost) {
    const tern_map_search *s = &m->search;
    tern_map_insertion in;
    tern_map_insertion_begin(s->key, m->info.value, TERN_READ_WRITE, &in);
    tern_map_descriptor_make(s->map, s->key, m->info.value, m->info.value_bytes, &in.d);
    in.only_new = expected == NULL;
    in.expected = expected;
    in.own_only = m->own_only;
    /* A modifier that only looks. */
    *lost = false;
    if (expected != NULL && tern_map_descriptor_is_small(s->map, in.d.words) &&
        memcmp(in.d.words, expected->words, 8 * tern_map_descriptor_words(s->map)) == 0)
        return TERN_OK;
    tern_status status = tern_map_insertion_do(s->worker, s->map, s->owner, s->by_call, &in);
    *lost = (status == TERN_ERR_NOT_FOUND && expected != NULL) ||
            (status == TERN_OK && !tern_map_insertion_is_stored(&in));
    m->old = in.old;
    return *lost ? TERN_OK : status;
}

/* Whether a key that a find has not found is not there. In a phase of writes an insert that has
 * returned may be on its way; a put in place of another descriptor waits for it, and fails since no
 * descriptor is like this one. [out] lost: the key is there. */
static tern_status modification_doubt(const modification *m, bool *lost) {
    const tern_map_search *s = &m->search;
    tern_map_descriptor none;
    memset(none.words, 0xff, 8 * tern_map_descriptor_words(s->map));
    tern_map_insertion in;
    tern_map_insertion_begin(s->key, NULL, TERN_READ_WRITE, &in);
    memset(in.d.words, 0, 8 * tern_map_descriptor_words(s->map)); /* is not stored */
    in.expected = &none;
    tern_status status = tern_map_insertion_do(s->worker, s->map, s->owner, s->by_call, &in);
    *lost = status == TERN_OK;
    return status;
}

/* Tries once. [out] lost: another operation was faster, and nothing has changed. */
static tern_status modification_try(modification *m, bool *lost) {
    tern_map_search *s = &m->search;
    size_t bytes = 0;
    *lost = false;
    tern_status status = tern_map_search_run(s, &bytes);
    /* To a put the other key is there, so that it would be tried again for ever. */
    if (status == TERN_ERR_NOT_FOUND && s->is_other)
        return m->absent == TERN_ABSENT_FAIL ? status : tern_map_fingerprints_meet(s->key);
    if (status == TERN_ERR_NOT_FOUND && m->absent == TERN_ABSENT_FAIL)
        return modification_doubt(m, lost);
    if ((status != TERN_OK && status != TERN_ERR_NOT_FOUND) || s->is_far)
        return status;
    m->info.existed = status == TERN_OK;
    m->info.value = s->value;
    m->info.value_bytes = m->info.existed ? bytes : 0;
    m->info.result_bytes = 0;
    status = m->function(&m->info);
    if (status == TERN_OK && m->info.result_bytes > TERN_MAP_MODIFY_RESULT_MAX)
        status = tern_fail(TERN_ERR_RANGE, "a modifier's result has %zu bytes; %u are allowed",
                           m->info.result_bytes, TERN_MAP_MODIFY_RESULT_MAX);
    return status == TERN_OK ? modification_put(m, m->info.existed ? &s->d : NULL, lost) : status;
}

/* What a handler does at the owner. */
static tern_status modification_once(modification *m) {
    bool lost;
    m->search.near_only = true;
    tern_status status = modification_try(m, &lost);
    free(m->search.allocated);
    return status == TERN_OK && lost
               ? tern_fail(TERN_ERR_AGAIN, "another operation has just changed the value")
               : status;
}

/* A message: this, the key in whole words, the argument. */
typedef struct map_modify_head {
    tern_map_head head;
    uint64_t absent;
    uint64_t bytes; /* of the argument */
} map_modify_head;

/* An answer: this, and the result. */
typedef struct modify_reply {
    uint64_t outcome;
    tern_ptr old; /* the block that the caller has to give back */
} modify_reply;

enum { OUTCOME_NEW, OUTCOME_EXISTED, OUTCOME_FAR /* nothing was done: the block is far */ };

_Static_assert(sizeof(modify_reply) + TERN_MAP_MODIFY_RESULT_MAX == TERN_RESULT_MAX,
               "a modifier's result fits an answer");

static size_t modify_key_bytes(size_t key_bytes) { return (key_bytes + 7) & ~(size_t)7; }

tern_status tern_map_run_modifier(tern_call_info *call, const void *message, size_t bytes,
                                  tern_map_modify_function function) {
    map_modify_head m;
    tern_map *map = NULL;
    tern_map_key key;
    if (bytes < sizeof m)
        return tern_fail(TERN_ERR_ARGUMENT, "a message of %zu bytes modifies nothing here", bytes);
    tern_status status = tern_map_read_message(call, message, bytes, &m.head, &map, &key);
    if (status != TERN_OK)
        return status;
    tern_read_once(&m, message, sizeof m);
    const size_t key_bytes = modify_key_bytes(key.size);
    const size_t argument_bytes = bytes - sizeof m - key_bytes;
    if (bytes < sizeof m + key_bytes || m.bytes != argument_bytes)
        return tern_fail(TERN_ERR_ARGUMENT, "a message of %zu bytes modifies nothing here", bytes);
    key.bytes = (const map_modify_head *)message + 1;
    modify_reply *reply = call->result;
    modification work;
    modification_begin(&work, call->worker, map, &key, function,
                       m.absent != 0 ? TERN_ABSENT_INSERT : TERN_ABSENT_FAIL);
    work.info.origin = call->origin;
    work.info.argument = (const char *)key.bytes + key_bytes;
    work.info.argument_bytes = argument_bytes;
    work.info.result = reply + 1;
    work.info.user = call->user;
    status = modification_once(&work);
    if (status != TERN_OK)
        return status;
    *reply = (modify_reply){work.search.is_far       ? OUTCOME_FAR
                            : work.info.existed != 0 ? OUTCOME_EXISTED
                                                     : OUTCOME_NEW,
                            tern_map_free_own(call->worker, map, work.old)};
    call->result_bytes = sizeof *reply + (work.search.is_far ? 0 : work.info.result_bytes);
    return TERN_OK;
}

static void modification_of(tern_map_modify_request *r, modification *m) {
    modification_begin(m, r->worker, r->map, r->key, r->modifier->function, r->absent);
    m->info.origin = tern_worker_self(r->worker);
    m->info.argument = r->argument;
    m->info.argument_bytes = r->argument_bytes;
    m->info.result = r->result;
    m->info.user = r->modifier->call->user;
}

static void modification_tell(const modification *m, tern_map_modify_request *r) {
    r->old = m->old;
    r->existed = m->info.existed != 0;
    r->got = m->info.result_bytes;
}

tern_status tern_map_modify_once(tern_map_modify_request *r, bool *far) {
    modification work;
    modification_of(r, &work);
    tern_status status = modification_once(&work);
    *far = work.search.is_far;
    modification_tell(&work, r);
    return status;
}

tern_status tern_map_modify_here(tern_map_modify_request *r, bool by_call) {
    modification work;
    modification_of(r, &work);
    work.search.by_call = by_call;
    work.own_only = work.search.near_only = tern_map_in_handler(r->worker);
    tern_wait_state wait = TERN_WAIT_IN("tern_map_modify");
    bool lost;
    tern_status status;
    while ((status = modification_try(&work, &lost)) == TERN_OK && lost) {
        tern_error_clear();
        (void)tern_progress_round(r->worker);
        if (!work.own_only)
            status = tern_wait_step(r->worker->context, &wait, r->owner);
        if (status != TERN_OK)
            break;
    }
    free(work.search.allocated);
    if (status == TERN_OK && work.search.is_far)
        return tern_fail(TERN_ERR_STATE,
                         "the value lies on another node, and a handler cannot wait for it");
    modification_tell(&work, r);
    return status;
}

bool tern_map_modify_fits(const tern_map *map, size_t key_bytes, size_t argument_bytes) {
    const size_t most = tern_call_room(map->context);
    return argument_bytes <= most &&
           sizeof(map_modify_head) + modify_key_bytes(key_bytes) + argument_bytes <= most;
}

tern_status tern_map_modify_send(const tern_map_modify_request *r, tern_map_call *call,
                                 bool starts) {
    const size_t before = sizeof(map_modify_head) + modify_key_bytes(r->key->size),
                 bytes = before + r->argument_bytes;
    tern_scratch room;
    char *message = (char *)tern_scratch_take(&room, bytes);
    if (message == NULL)
        return TERN_ERR_MEMORY;
    const map_modify_head head = {tern_map_head_to(r->map, r->key, 0, 0),
                                  r->absent == TERN_ABSENT_INSERT, r->argument_bytes};
    memset(message, 0, before);
    memcpy(message, &head, sizeof head);
    memcpy(message + sizeof head, r->key->bytes, r->key->size);
    if (r->argument_bytes > 0)
        memcpy(message + before, r->argument, r->argument_bytes);
    const tern_worker_id application = {r->owner, r->map->table->part[r->owner].worker};
    tern_status status = tern_map_call_to(
        r->worker,
        r->modifier->any_thread != 0 ? tern_table_worker(r->map->table, r->owner) : application,
        r->modifier->call, message, bytes, call, starts);
    tern_scratch_free(&room);
    return status;
}

tern_status tern_map_modify_end(tern_map_modify_request *r, const tern_map_call *call, bool *far) {
    modify_reply reply;
    memcpy(&reply, call->reply, sizeof reply);
    if (call->got < sizeof reply || reply.outcome > OUTCOME_FAR)
        return tern_fail(TERN_ERR_SYSTEM, "rank %u's reply makes no sense", r->owner);
    *far = reply.outcome == OUTCOME_FAR;
    r->old = reply.old;
    r->existed = reply.outcome == OUTCOME_EXISTED;
    r->got = call->got - sizeof reply;
    memcpy(r->result, (const char *)call->reply + sizeof reply, r->got);
    return TERN_OK;
}

/* The owner runs the modifier. [out] far: it cannot, and nothing was done. */
static tern_status modify_there(tern_map_modify_request *r, bool *far) {
    *far = !tern_map_modify_fits(r->map, r->key->size, r->argument_bytes);
    if (*far)
        return TERN_OK;
    tern_map_call call;
    tern_status status = tern_map_modify_send(r, &call, false);
    return status == TERN_OK ? tern_map_modify_end(r, &call, far) : status;
}

static tern_status modify_check(const char *name, const tern_worker *worker, const tern_map *map,
                                const void *key, size_t key_bytes,
                                const tern_map_modifier *modifier, const void *argument,
                                size_t bytes, tern_absent absent, tern_flags flags,
                                const void *result, size_t capacity) {
    tern_status status = tern_map_check(worker, map, key, key_bytes, flags, TERN_READ_ONLY, name);
    if (status != TERN_OK)
        return status;
    if (modifier == NULL || (argument == NULL && bytes > 0) || (result == NULL && capacity > 0))
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         modifier == NULL                ? "modifier"
                         : argument == NULL && bytes > 0 ? "argument"
                                                         : "result");
    if ((unsigned)absent > TERN_ABSENT_INSERT)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: absent %d is none", name, (int)absent);
    return TERN_OK;
}

tern_status tern_map_modify_as(const char *name, tern_worker *worker, tern_map *map,
                               const void *key, size_t key_bytes, const tern_map_modifier *modifier,
                               const void *argument, size_t bytes, tern_absent absent,
                               tern_flags flags, void *result, size_t capacity,
                               size_t *result_bytes, int *existed) {
    tern_status status = modify_check(name, worker, map, key, key_bytes, modifier, argument, bytes,
                                      absent, flags, result, capacity);
    if (status != TERN_OK)
        return status;
    tern_map_key k;
    tern_map_key_make(map, key, key_bytes, &k);
    tern_map_modify_request r;
    tern_map_modify_begin(worker, map, &k, modifier, argument, bytes, absent, &r);
    const tern_flags via = tern_map_way(map, r.owner, flags);
    status = tern_map_may_run(worker, map, r.owner, via, name);
    if (status != TERN_OK)
        return status;
    const bool by_call = !tern_map_in_place(worker, map, r.owner, via);
    bool here = !by_call;
    if (by_call)
        status = modify_there(&r, &here);
    if (status == TERN_OK && here)
        status = tern_map_modify_here(&r, by_call);
    if (status != TERN_OK)
        return tern_hashtable_outcome(map->table, r.owner, status);
    tern_block_free(worker, map, r.old);
    if (r.got > capacity)
        return tern_fail(TERN_ERR_RANGE, "the result has %zu bytes; there is room for %zu", r.got,
                         capacity);
    if (r.got > 0)
        memcpy(result, r.result, r.got);
    if (result_bytes != NULL)
        *result_bytes = r.got;
    if (existed != NULL)
        *existed = r.existed;
    return TERN_OK;
}

tern_status tern_map_modify(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
                            const tern_map_modifier *modifier, const void *argument, size_t bytes,
                            tern_absent absent, tern_flags flags, void *result, size_t capacity,
                            size_t *result_bytes, int *existed) {
    return tern_map_modify_as("tern_map_modify", worker, map, key, key_bytes, modifier, argument,
                              bytes, absent, flags, result, capacity, result_bytes, existed);
}
