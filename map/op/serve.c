#include <stdio.h>

#include "base/process.h"
#include "hashtable/batch/deferred.h"
#include "hashtable/bucket/probe.h"
#include "map/op/message.h"
#include "src/log.h"

/*
 * The owner's side of operations by call: one handler reads a message, does its items in their
 * order, and answers. It never waits for another rank.
 *
 * If an item among others fails, the handler goes on with the next one, and the answer says so. An
 * item that would have to wait ends with TERN_ERR_AGAIN and has changed nothing. Then the call
 * stays at the head of its ring, and the answer so far is kept until the call runs again
 * (hashtable/batch/deferred.h). So nothing is done twice, and inserts of one key keep their order.
 */

tern_map *tern_map_of_call(const tern_worker *worker, const void *message, size_t bytes,
                           size_t least) {
    tern_hashtable *table = tern_table_of_call(worker, message, bytes, least);
    return table != NULL && table->object.kind == tern_map_kind ? table->key_argument : NULL;
}

/* [out] head: a copy, which is checked; items: of the message. TERN_ERR_STATE: there is no such
 * map. */
static tern_status serve_read(const tern_call_info *call, const void *message, size_t bytes,
                              tern_bundle_head *head, tern_map_items *items) {
    const tern_map *map = tern_map_of_call(call->worker, message, bytes, sizeof *head);
    if (map == NULL)
        return tern_callee_missing(call->worker->context, "map");
    tern_read_once(head, message, sizeof *head);
    const uint64_t *at = (const uint64_t *)((const tern_bundle_head *)message + 1);
    *items = (tern_map_items){map, at, (bytes - sizeof *head) / 8};
    const bool alone = head->form == TERN_BUNDLE_ALONE && head->count == 1;
    const bool many = head->form == 0 && head->count > 0 && head->count <= TERN_BUNDLE_ITEMS &&
                      (head->kind == TERN_OP_FIND || head->kind == TERN_OP_INSERT);
    return bytes % 8 == 0 && (alone || many)
               ? TERN_OK
               : tern_fail(TERN_ERR_ARGUMENT,
                           "a message of %zu bytes with %u operations of kind %u and form %u is "
                           "not one that this map's ranks send",
                           bytes, head->count, head->kind, head->form);
}

static tern_status serve_check_end(const tern_map_items *items) {
    return items->words == 0
               ? TERN_OK
               : tern_fail(TERN_ERR_ARGUMENT, "a message to a map has %zu bytes behind its items",
                           8 * items->words);
}

/* Gives a replaced block of this rank back. Returns a block of another rank, which the caller has
 * to give back, or TERN_NULL. */
static tern_ptr free_own(tern_worker *worker, const tern_map_op *m) {
    const tern_ptr old = m->old;
    if (old.rank != m->map->context->rank)
        return old;
    tern_block_free(worker, m->map, old);
    return TERN_NULL;
}

/* ---- One op that is alone ---- */

static tern_status serve_change(tern_call_info *call, tern_map_op *m) {
    const tern_op_kind kind = (tern_op_kind)m->op.kind;
    const bool modifies = tern_map_op_modifies(kind);
    tern_map_change_reply *reply = call->result;
    const tern_status status = tern_map_op_run(m);
    if (!modifies)
        tern_entries_take_effect();
    if (status != TERN_OK)
        return status;
    const bool existed = m->existed || kind == TERN_OP_ERASE;
    reply->outcome = m->is_remote ? TERN_MAP_IS_REMOTE
                     : existed    ? TERN_MAP_EXISTED
                                  : TERN_MAP_WAS_NEW;
    reply->old = free_own(call->worker, m);
    call->result_bytes = sizeof *reply;
    if (!modifies || m->is_remote)
        return TERN_OK;
    if (kind != TERN_OP_MODIFY)
        memcpy(reply + 1, &m->before, sizeof m->before);
    call->result_bytes += kind == TERN_OP_MODIFY ? m->info.result_bytes : sizeof m->before;
    return TERN_OK;
}

/* Answers with the descriptor and, where load and store reach the block, the value. */
static tern_status serve_find(tern_call_info *call, tern_map_op *m) {
    tern_status status = tern_map_op_begin(m);
    if (status != TERN_OK)
        return status;
    const uint64_t *d = m->d.words;
    const size_t words = tern_map_descriptor_words(m->map),
                 value_bytes = tern_map_descriptor_value_bytes(d);
    tern_map_find_reply *reply = call->result;
    call->result_bytes = 8 + 8 * words;
    const bool comes = !tern_map_descriptor_is_small(m->map, d) && m->key.bytes != NULL &&
                       tern_map_descriptor_is_of(m->map, d, &m->key) &&
                       call->result_bytes + value_bytes <= sizeof *reply &&
                       tern_block_is_direct(call->worker, d);
    tern_block_verdict verdict = TERN_BLOCK_UNREAD;
    if (comes)
        status =
            tern_block_read(call->worker, m->map, d, &m->key, reply->descriptor + words, &verdict);
    reply->has_value = verdict == TERN_BLOCK_MINE;
    memcpy(reply->descriptor, d, 8 * words);
    call->result_bytes += reply->has_value ? value_bytes : 0;
    return status;
}

/* [out] m: the op of a message in which it is alone. */
static tern_status serve_read_alone(const tern_call_info *call, const tern_bundle_head *head,
                                    tern_map_items *items, bool by_program, tern_map_op *m) {
    tern_status status = tern_map_items_next(items, call->worker, m);
    if (status == TERN_OK)
        status = serve_check_end(items);
    if (status != TERN_OK)
        return status;
    if (m->op.kind == head->kind && (m->op.kind == TERN_OP_MODIFY) == by_program)
        return TERN_OK;
    return tern_fail(TERN_ERR_ARGUMENT,
                     "a message of kind %u with an operation of kind %u is not one that this "
                     "function is sent",
                     head->kind, m->op.kind);
}

tern_status tern_internal_map_run_modifier(tern_call_info *call, const void *message, size_t bytes,
                                           tern_map_modify_function function) {
    tern_bundle_head head;
    tern_map_items items;
    tern_map_op m;
    tern_status status = serve_read(call, message, bytes, &head, &items);
    if (status == TERN_OK)
        status = serve_read_alone(call, &head, &items, true, &m);
    if (status != TERN_OK)
        return status;
    const tern_map_modifier modifier = {.function = function};
    tern_map_op_init_modify(&m, call->worker, items.map, &modifier, m.inserts, m.info.argument,
                            m.info.argument_bytes, (tern_map_change_reply *)call->result + 1,
                            TERN_MAP_MODIFY_RESULT_MAX);
    m.info.origin = call->origin;
    m.info.user = call->user;
    m.served = true;
    return serve_change(call, &m);
}

/* ---- Many ops ---- */

/* An answer that is being made. */
typedef struct serve_reply {
    tern_bundle_head of; /* the message */
    size_t room;         /* bytes of the call's result */
    bool full;           /* the next value does not fit into what is left */
    uint32_t done, words;
    tern_status status;
    char text[TERN_MAP_ANSWER_TEXT];
    unsigned char outcome[TERN_BUNDLE_ITEMS];
    uint64_t word[TERN_MAP_ANSWER_WORDS];
} serve_reply;

static size_t reply_bytes(const serve_reply *r, size_t words) {
    return tern_map_answer_bytes(r->of.count, words);
}

/* Makes room in the result for one more block, before one is replaced. */
static tern_status reply_reserve(tern_call_info *call, serve_reply *r) {
    const size_t block = sizeof(tern_ptr) / 8;
    if (__builtin_expect(reply_bytes(r, r->words + block) <= r->room, 1))
        return TERN_OK;
    const size_t room =
        reply_bytes(r, r->words + block * (r->of.count - r->done)) + TERN_MAP_ANSWER_TEXT;
    const tern_status status = tern_call_result(call, room);
    if (status == TERN_OK)
        r->room = room;
    return status;
}

static void reply_fails(serve_reply *r, tern_status status, const char *text) {
    if (r->status != TERN_OK)
        return;
    r->status = status;
    snprintf(r->text, sizeof r->text, "%s", text);
}

/* Notes the outcome of an item and the words that belong to it. The value of a find is in place. */
static void reply_note(serve_reply *r, tern_map_outcome outcome, size_t value_bytes, tern_ptr old) {
    uint64_t *at = r->word + r->words;
    if (outcome == TERN_MAP_FOUND || outcome == TERN_MAP_LARGE)
        at[0] = value_bytes;
    if (outcome == TERN_MAP_FOUND)
        memset((char *)(at + 1) + value_bytes, 0, 8 * tern_map_words(value_bytes) - value_bytes);
    if (outcome == TERN_MAP_STORED && !tern_ptr_is_null(old)) {
        outcome = TERN_MAP_REPLACED;
        memcpy(at, &old, sizeof old);
    }
    r->outcome[r->done++] = (unsigned char)outcome;
    r->words += (uint32_t)tern_map_answer_words((unsigned char)outcome, at);
}

/* Does one find, whose value goes straight into the answer. [out] outcome. */
static tern_status serve_one_find(serve_reply *r, tern_map_op *m, tern_map_outcome *outcome) {
    const size_t left = 8 * (size_t)(TERN_MAP_ANSWER_WORDS - r->words - 1), room = m->room;
    m->value = r->word + r->words + 1;
    m->room = room < left ? room : left;
    m->allocated = NULL;
    m->value_bytes = 0;
    m->at_hand = true;
    const tern_status status = tern_map_op_run(m);
    *outcome = tern_map_outcome_of(m, room, status);
    if (status != TERN_ERR_RANGE || *outcome != TERN_MAP_FAILED)
        return status;
    *outcome = TERN_MAP_LEFT;
    r->full = m->value_bytes <= TERN_BUNDLE_BYTES - 8;
    return status;
}

/* Does one item. TERN_ERR_AGAIN: it was not done, and the rest has to wait. */
static tern_status serve_one(tern_call_info *call, serve_reply *r, tern_map_op *m) {
    tern_map_outcome outcome;
    tern_status status;
    if (m->op.kind == TERN_OP_FIND) {
        status = serve_one_find(r, m, &outcome);
    } else {
        status = reply_reserve(call, r);
        if (status == TERN_OK)
            status = tern_map_op_run(m);
        outcome = tern_map_outcome_of(m, 0, status);
    }
    if (status == TERN_ERR_AGAIN)
        return status;
    if (outcome == TERN_MAP_FAILED)
        reply_fails(r, status, tern_error_detail());
    if (status != TERN_OK)
        tern_error_clear();
    if (!r->full)
        reply_note(r, outcome, m->value_bytes, free_own(call->worker, m));
    r->full = r->full || r->words == TERN_MAP_ANSWER_WORDS;
    return TERN_OK;
}

/* Leaves out the finds whose values have no room in the answer. The origin asks again for those
 * behind the last one that has, or does the first one by itself if it has none. */
static void reply_shorten(serve_reply *r) {
    const size_t room = (r->room - reply_bytes(r, 0)) / 8;
    size_t done = 0, at = 0, next = 0;
    while (done < r->done &&
           (next = at + tern_map_answer_words(r->outcome[done], r->word + at)) <= room) {
        at = next;
        done++;
    }
    if (done == 0)
        r->outcome[done++] = TERN_MAP_LEFT;
    r->done = (uint32_t)done;
    r->words = (uint32_t)at;
    if (memchr(r->outcome, TERN_MAP_FAILED, done) == NULL)
        r->status = TERN_OK;
}

/* Says of changes that they were made, and not which blocks of other ranks they replaced: nobody
 * gives these back. That is so for changes of a message that had to wait, made when there was
 * memory for the answer. */
static void reply_forget_blocks(serve_reply *r) {
    size_t lost = 0;
    for (size_t i = 0; i < r->done; i++)
        if (r->outcome[i] == TERN_MAP_REPLACED) {
            r->outcome[i] = TERN_MAP_STORED;
            lost++;
        }
    r->words = 0;
    tern_log(TERN_LOG_WARN, "a map has let go of %zu blocks of other ranks, which stay there",
             lost);
}

static void reply_answer(tern_call_info *call, serve_reply *r) {
    const size_t whole = reply_bytes(r, r->words);
    if (whole > r->room && tern_call_result(call, whole) == TERN_OK)
        r->room = whole;
    if (whole > r->room) {
        (r->of.kind == TERN_OP_FIND ? reply_shorten : reply_forget_blocks)(r);
        tern_error_clear();
    }
    const size_t count = r->of.count, bytes = reply_bytes(r, r->words);
    const size_t text = r->status == TERN_OK ? 0 : strlen(r->text), left = r->room - bytes;
    const tern_map_answer head = {r->done, (uint32_t)r->status};
    char *to = call->result;
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, r->outcome, r->done);
    memset(to + sizeof head + r->done, 0, 8 * tern_map_words(count) - r->done);
    memcpy(to + reply_bytes(r, 0), r->word, 8 * (size_t)r->words);
    call->result_bytes = bytes + (text < left ? text : left);
    memcpy(to + bytes, r->text, call->result_bytes - bytes);
}

/* There is no memory to keep the answer: the item that has to wait, and all behind it, fail. */
static void reply_give_up(serve_reply *r) {
    reply_fails(r, TERN_ERR_MEMORY, "no memory to keep how far a batch got");
    memset(r->outcome + r->done, TERN_MAP_FAILED, r->of.count - r->done);
    r->done = r->of.count;
}

/* Whether an op may come among others, in a message with this head. */
static bool comes_with_others(const tern_map_op *m, const tern_bundle_head *head) {
    const bool changes = m->op.kind == TERN_OP_INSERT || m->op.kind == TERN_OP_ADD;
    return m->key.bytes != NULL &&
           (head->kind == TERN_OP_FIND ? m->op.kind == TERN_OP_FIND : changes);
}

static tern_status serve_items(tern_call_info *call, serve_reply *r, tern_map_items *items) {
    tern_status status = TERN_OK;
    for (size_t i = 0; i < r->of.count && status == TERN_OK && !r->full; i++) {
        tern_map_op m;
        status = tern_map_items_next(items, call->worker, &m);
        if (status == TERN_OK && !comes_with_others(&m, &r->of))
            status = tern_fail(TERN_ERR_ARGUMENT,
                               "an operation of kind %u in a message of many of kind %u", m.op.kind,
                               r->of.kind);
        if (status == TERN_OK && i >= r->done)
            status = serve_one(call, r, &m);
    }
    tern_entries_take_effect();
    return status == TERN_OK && !r->full ? serve_check_end(items) : status;
}

static tern_status serve_many(tern_call_info *call, const tern_bundle_head *head,
                              tern_map_items *items) {
    tern_hashtable *table = items->map->table;
    serve_reply r;
    r.of = *head;
    r.done = r.words = 0;
    r.status = TERN_OK;
    (void)tern_deferred_take(call, table, &r, sizeof r);
    if (memcmp(&r.of, head, sizeof *head) != 0)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "a message of %u operations has changed since some of them were done",
                         head->count);
    r.room = TERN_RESULT_MAX;
    r.full = false;
    tern_status status = serve_items(call, &r, items);
    if (status == TERN_ERR_AGAIN && r.done > 0 &&
        !tern_deferred_put(call, table, &r, offsetof(serve_reply, word) + 8 * (size_t)r.words)) {
        reply_give_up(&r);
        status = TERN_OK;
    }
    if (status == TERN_OK)
        reply_answer(call, &r);
    return status;
}

tern_status tern_map_on_op(tern_call_info *call, const void *message, size_t bytes) {
    tern_bundle_head head;
    tern_map_items items;
    tern_map_op m;
    tern_status status = serve_read(call, message, bytes, &head, &items);
    if (status != TERN_OK)
        return status;
    if (head.form != TERN_BUNDLE_ALONE)
        return serve_many(call, &head, &items);
    status = serve_read_alone(call, &head, &items, false, &m);
    if (status != TERN_OK)
        return status;
    return m.op.kind == TERN_OP_FIND ? serve_find(call, &m) : serve_change(call, &m);
}
