#include <stddef.h>
#include <stdlib.h>

#include "base/process.h"
#include "hashtable/near/scratch.h"
#include "map/op/message.h"
#include "src/progress/progress.h"
#include "src/progress/wait.h"

/*
 * A modification finds the value, runs the modifier on a copy, and puts the copy in place of the
 * descriptor that it has found, by a REPLACE, or, if it has found none, inserts it as a new key.
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

tern_status tern_map_resize(tern_map_modify_info *info, size_t bytes) {
    if (info == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_map_resize: info is NULL");
    tern_map_op *s = (tern_map_op *)(void *)((char *)info - offsetof(tern_map_op, info));
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

/* Puts what the modifier has made. [out] lost: another operation was faster. */
static tern_status modify_put(tern_map_op *m, bool *lost) {
    const bool existed = m->info.existed != 0;
    const size_t words = 8 * tern_map_descriptor_words(m->map);
    if (existed)
        memcpy(m->expected.words, m->d.words, words);
    tern_map_op_again(m, existed ? TERN_OP_REPLACE : TERN_OP_INSERT_NEW);
    tern_map_op_give(m, m->info.value, m->info.value_bytes);
    m->at_hand = !m->served && tern_map_in_handler(m->info.worker);
    *lost = false;
    if (existed && tern_map_descriptor_is_small(m->map, m->d.words)) {
        tern_map_descriptor_make(m->map, &m->key, m->given, m->info.value_bytes, &m->d);
        m->complete = true;
        if (memcmp(m->d.words, m->expected.words, words) == 0) /* a modifier that only looks */
            return TERN_OK;
    }
    tern_status status = tern_map_op_run(m);
    *lost = (status == TERN_ERR_NOT_FOUND && existed) ||
            (status == TERN_OK && !tern_map_op_is_stored(m));
    return *lost ? TERN_OK : status;
}

/* Whether a key that a find has not found is not there. In a phase of writes an insert that has
 * returned may be on its way; a put in place of another descriptor waits for it, and fails since no
 * descriptor is like this one. [out] lost: the key is there. */
static tern_status modify_doubt(tern_map_op *m, bool *lost) {
    const size_t words = 8 * tern_map_descriptor_words(m->map);
    tern_map_op_again(m, TERN_OP_REPLACE);
    memset(m->expected.words, 0xff, words);
    memset(m->d.words, 0, words); /* is not stored */
    m->complete = true;
    tern_status status = tern_map_op_run(m);
    *lost = status == TERN_OK;
    return status;
}

/* Tries once. [out] lost: another operation was faster, and nothing has changed. */
static tern_status modify_try(tern_map_op *m, bool *lost) {
    *lost = false;
    tern_map_op_again(m, TERN_OP_FIND);
    m->allocates = true;
    m->at_hand = tern_map_in_handler(m->info.worker);
    tern_status status = tern_map_op_run(m);
    /* To a put the other key is there, so that it would be tried again for ever. */
    if (status == TERN_ERR_NOT_FOUND && m->is_other)
        return m->inserts ? tern_map_fingerprints_meet(&m->key) : status;
    if (status == TERN_ERR_NOT_FOUND && !m->inserts)
        return modify_doubt(m, lost);
    if ((status != TERN_OK && status != TERN_ERR_NOT_FOUND) || m->is_far)
        return status;
    m->info.existed = status == TERN_OK;
    m->info.value = m->value;
    m->info.value_bytes = m->info.existed ? m->value_bytes : 0;
    m->info.result_bytes = 0;
    status = m->modifier.function(&m->info);
    if (status == TERN_OK && m->info.result_bytes > TERN_MAP_MODIFY_RESULT_MAX)
        status = tern_fail(TERN_ERR_RANGE, "a modifier's result has %zu bytes; %u are allowed",
                           m->info.result_bytes, TERN_MAP_MODIFY_RESULT_MAX);
    return status == TERN_OK ? modify_put(m, lost) : status;
}

/* Modifies it here: a handler tries once, and others until nobody comes between. */
static tern_status modify_here(tern_map_op *m) {
    uint64_t room[MODIFY_ROOM / 8];
    tern_worker *worker = m->info.worker;
    const bool waits = !tern_map_in_handler(worker);
    tern_wait_state wait = TERN_WAIT_IN("tern_map_modify");
    bool lost;
    tern_status status;
    m->value = room;
    m->room = sizeof room;
    m->allocated = NULL;
    while ((status = modify_try(m, &lost)) == TERN_OK && lost) {
        if (m->served) {
            status = tern_fail(TERN_ERR_AGAIN, "another operation has just changed the value");
            break;
        }
        tern_error_clear();
        (void)tern_progress_round(worker);
        if (waits)
            status = tern_wait_step(worker->context, &wait, m->owner);
        if (status != TERN_OK)
            break;
    }
    free(m->allocated);
    return status;
}

/* ---- By call ---- */

/* An answer: this, and the result. */
typedef struct modify_reply {
    uint64_t outcome;
    tern_ptr old; /* the block that the caller has to give back */
} modify_reply;

enum { OUTCOME_NEW, OUTCOME_EXISTED, OUTCOME_FAR /* nothing was done: the block is far */ };

_Static_assert(sizeof(modify_reply) + TERN_MAP_MODIFY_RESULT_MAX == TERN_RESULT_MAX,
               "a modifier's result fits an answer");

tern_status tern_map_run_modifier(tern_call_info *call, const void *message, size_t bytes,
                                  tern_map_modify_function function) {
    tern_map *map;
    tern_map_items items;
    tern_map_op m;
    tern_status status = tern_map_items_of(call, message, bytes, SIZE_MAX, &map, &items);
    if (status == TERN_OK)
        status = tern_map_items_next(&items, call->worker, &m);
    if (status == TERN_OK && (items.words > 0 || m.op.kind != TERN_OP_MODIFY))
        status =
            tern_fail(TERN_ERR_ARGUMENT, "a message of %zu bytes modifies nothing here", bytes);
    if (status != TERN_OK)
        return status;
    modify_reply *reply = call->result;
    const tern_map_modifier modifier = {.function = function};
    tern_map_op_init_modify(&m, call->worker, map, &modifier, m.inserts, m.info.argument,
                            m.info.argument_bytes, reply + 1, TERN_MAP_MODIFY_RESULT_MAX);
    m.info.origin = call->origin;
    m.info.user = call->user;
    m.served = true;
    status = tern_map_op_run(&m);
    if (status != TERN_OK)
        return status;
    *reply = (modify_reply){m.is_far              ? OUTCOME_FAR
                            : m.info.existed != 0 ? OUTCOME_EXISTED
                                                  : OUTCOME_NEW,
                            tern_map_free_own(call->worker, map, m.old)};
    call->result_bytes = sizeof *reply + (m.is_far ? 0 : m.info.result_bytes);
    return TERN_OK;
}

bool tern_map_op_is_asked(const tern_map_op *m) {
    const size_t most = tern_call_room(m->map->context);
    return m->info.argument_bytes <= most &&
           sizeof(tern_piece_head) + 8 * tern_map_item_words(m->key.size, m->info.argument_bytes) <=
               most;
}

static tern_status ask_send(tern_map_op *m) {
    const tern_map_modify_info *info = &m->info;
    const tern_hashtable *table = m->map->table;
    const tern_worker_id application = {m->owner, table->part[m->owner].worker};
    const size_t bytes =
        sizeof(tern_piece_head) + 8 * tern_map_item_words(m->key.size, info->argument_bytes);
    tern_scratch room;
    uint64_t *message = tern_scratch_take(&room, bytes);
    if (message == NULL)
        return TERN_ERR_MEMORY;
    const tern_piece_head head = {.head = tern_table_head_to(table)};
    memcpy(message, &head, sizeof head);
    (void)tern_map_item_write(
        message + sizeof head / 8,
        TERN_MAP_ITEM(TERN_OP_MODIFY) | (m->inserts ? TERN_MAP_ITEM_INSERTS : 0), &m->key,
        (uint32_t)info->argument_bytes, info->argument, info->argument_bytes);
    m->under_way = (tern_request){0};
    const tern_status status = tern_call_start(
        info->worker,
        m->modifier.any_thread != 0 ? tern_table_worker(table, m->owner) : application,
        m->modifier.call, message, bytes, m->reply, sizeof m->reply, &m->under_way);
    tern_scratch_free(&room);
    return status;
}

/* Takes the owner's answer. */
static tern_status ask_take(tern_map_op *m) {
    modify_reply reply;
    memcpy(&reply, m->reply, sizeof reply);
    if (m->got < sizeof reply || m->got - sizeof reply > m->result_room ||
        reply.outcome > OUTCOME_FAR)
        return tern_map_message_is_wrong(m);
    m->is_far = reply.outcome == OUTCOME_FAR;
    m->old = reply.old;
    m->info.existed = reply.outcome == OUTCOME_EXISTED;
    m->info.result_bytes = m->got - sizeof reply;
    if (m->info.result_bytes > 0)
        memcpy(m->info.result, m->reply + sizeof reply / 8, m->info.result_bytes);
    return TERN_OK;
}

/* ---- Steps ---- */

/* by_call: the owner runs the modifier. calls: find and put go by call if this rank runs it. */
tern_status tern_map_op_ask(tern_map_op *m) {
    m->calls = m->by_call;
    m->by_call = m->calls && tern_map_op_is_asked(m);
    return m->by_call ? ask_send(m) : TERN_OK;
}

tern_status tern_map_op_modify(tern_map_op *m, tern_status status) {
    if (status == TERN_OK && m->by_call)
        status = ask_take(m);
    if (status == TERN_OK && (!m->by_call || m->is_far))
        status = modify_here(m);
    m->op.kind = TERN_OP_MODIFY;
    if (status == TERN_OK && m->is_far && !m->served)
        return tern_fail(TERN_ERR_STATE,
                         "the value lies on another node, and a handler cannot wait for it");
    return status;
}
