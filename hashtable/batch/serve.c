#include "hashtable/op/message.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/process.h"
#include "hashtable/batch/deferred.h"
#include "hashtable/batch/run.h"

/*
 * The owner's side of operations by call: one handler reads a message, does its items in their
 * order, and answers.
 *
 * The owner works on its own part and never waits for another rank. An item that would have to wait
 * ends with TERN_ERR_AGAIN and has changed nothing. Then the call stays at the head of its ring,
 * and the owner notes how many items were done: a change must not be applied twice (deferred.h).
 * Finds change nothing: the owner answers with those done, and the origin asks for the rest.
 */

TERN_FUNCTION(tern_hashtable_on_values)

/* A message whose head was copied and checked; the words behind it may change. */
typedef struct serve_request {
    tern_bundle_head head;
    tern_hashtable *table;
    const uint64_t *words;
} serve_request;

/* How many items were done of a message that stays at the head of its ring. */
typedef struct serve_cursor {
    tern_bundle_head of;
    size_t done, stored;
} serve_cursor;

/* Whether ops of this kind come by call to a table like this one. */
static bool kind_is_for(uint8_t kind, const tern_hashtable *table) {
    enum {
        OF_ANY = 1 << TERN_OP_FIND | 1 << TERN_OP_ERASE,
        OF_VALUES = OF_ANY | 1 << TERN_OP_INSERT | 1 << TERN_OP_INSERT_NEW,
        OF_COUNTERS = OF_ANY | 1 << TERN_OP_ADD | 1 << TERN_OP_COMPARE_SWAP
    };

    const unsigned kinds = tern_shape_counts(table->shape) ? OF_COUNTERS : OF_VALUES;
    return kind <= TERN_OP_COPY && (kinds >> kind & 1) != 0;
}

static bool form_is_for(const tern_bundle_head *head) {
    const uint8_t numbered = head->form & TERN_BUNDLE_NUMBERED,
                  counted = head->form & TERN_BUNDLE_COUNTED;
    if (head->form == TERN_BUNDLE_ALONE)
        return head->count == 1;
    if (head->form >= TERN_BUNDLE_FORMS || (head->form & TERN_BUNDLE_ALONE) || head->count == 0 ||
        head->count > TERN_BUNDLE_ITEMS)
        return false;
    return (!numbered || head->kind == TERN_OP_ADD) &&
           (!counted || head->kind == TERN_OP_ADD || head->kind == TERN_OP_INSERT);
}

static tern_status serve_read(const tern_call_info *call, const void *message, size_t bytes,
                              serve_request *r) {
    const tern_context *context = call->worker->context;
    if (bytes < sizeof r->head)
        return tern_callee_missing(context, "hash table");
    tern_read_once(&r->head, message, sizeof r->head);
    r->table = tern_callee_find(context, TERN_CALLEE_TABLE, r->head.head.nonce);
    if (r->table == NULL)
        return tern_callee_missing(context, "hash table");
    const tern_bundle_head *head = &r->head;
    if (!kind_is_for(head->kind, r->table) || !form_is_for(head) ||
        bytes != tern_bundle_bytes(r->table, head->kind, head->form, head->count))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "a message of %zu bytes with %u operations of kind %u and form %u is not "
                         "one that this table's ranks send",
                         bytes, head->count, head->kind, head->form);
    r->words = (const uint64_t *)((const tern_bundle_head *)message + 1);
    return TERN_OK;
}

/* Serves one item that is alone: its outcome is the call's, and the reply is its result. */
static tern_status serve_alone(tern_call_info *call, const serve_request *r) {
    const tern_hashtable *table = r->table;
    const uint8_t kind = r->head.kind;
    const size_t result = tern_op_result_bytes(table, kind),
                 numbers = tern_bundle_numbers(kind, TERN_BUNDLE_ALONE);
    const uint64_t *at = r->words + numbers;
    uint64_t key[TERN_KEY_MAX / 8];
    if (table->shape.key_words == 1)
        key[0] = at[0];
    else
        memcpy(key, at, 8 * (size_t)table->shape.key_words);
    const uint64_t hash = tern_key_hash(table, key);
    if (tern_hash_owner(table, hash) != table->rank)
        return tern_fail(TERN_ERR_ARGUMENT, "the key belongs to rank %u",
                         tern_hash_owner(table, hash));
    if (result > TERN_RESULT_MAX)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "a find of a value of %zu bytes; a call returns at most %u", result,
                         TERN_RESULT_MAX);
    const bool finds = kind == TERN_OP_FIND;
    tern_op op;
    tern_op_init(&op, (tern_op_kind)kind, call->worker, table, key, hash,
                 finds ? TERN_READ_WRITE : TERN_WRITE_ONLY);
    if (numbers > 0)
        op.number = r->words[0];
    if (numbers > 1)
        op.desired = r->words[1];
    op.given = at + table->shape.key_words;
    op.taken = call->result;
    const tern_status status = tern_op_run(&op);
    if (!finds) {
        tern_entries_take_effect(); /* no flush is needed in this rank's own part */
        memcpy(call->result, &op.result, sizeof op.result);
    }
    if (status == TERN_OK)
        call->result_bytes = result;
    return status;
}

/* Begins the reply. If status is an error, it has ended the items, and its text ends the reply. */
static void serve_answer(tern_call_info *call, tern_status status, size_t done, size_t stored) {
    tern_bundle_reply *reply = call->result;
    reply->done = (uint32_t)done;
    reply->stored = (uint32_t)stored;
    reply->status = (uint16_t)status;
    reply->late = 0;
    call->result_bytes = TERN_BUNDLE_REPLY;
    if (status == TERN_OK)
        return;
    snprintf(reply->rest, sizeof reply->rest, "%s", tern_error_detail());
    call->result_bytes += strlen(reply->rest);
}

/* ---- Changes ---- */

static void items_skip(tern_items *items, size_t count) {
    items->keys += count * items->key_step;
    items->values = items->values == NULL ? NULL : items->values + count * items->value_step;
    items->counts = items->counts == NULL ? NULL : items->counts + count * items->value_step;
    items->count -= count;
}

static tern_status serve_changes(tern_call_info *call, const serve_request *r) {
    serve_cursor c = {r->head, 0, 0};
    (void)tern_deferred_take(call, r->table, &c, sizeof c);
    if (memcmp(&c.of, &r->head, sizeof c.of) != 0)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "a message of %u operations has changed since some of them were done",
                         r->head.count);
    tern_items items = tern_items_of(r->table, &r->head, r->words);
    tern_outcomes out = {0};
    items_skip(&items, c.done);
    tern_status status = tern_items_without_calls(call->worker, r->table, &items, &out);
    c.done += out.done;
    c.stored += out.stored;
    if (status == TERN_ERR_AGAIN) {
        if (c.done == 0 || tern_deferred_put(call, r->table, &c, sizeof c))
            return status;
        status = tern_fail(TERN_ERR_MEMORY, "no memory to keep how far a batch got");
    }
    serve_answer(call, status, c.done, c.stored);
    return TERN_OK;
}

/* ---- Finds ---- */

/* Puts the values found into the reply or, if that has too little room, into a call of its own. */
static tern_status finds_answer(tern_call_info *call, const serve_request *r,
                                tern_found_late *found, const tern_outcomes *out) {
    const size_t values = out->stored * tern_found_bytes(r->table);
    tern_bundle_reply *reply = call->result;
    serve_answer(call, TERN_OK, out->done, out->stored);
    if (out->done + values <= sizeof reply->rest) {
        memcpy(reply->rest, found->found, out->done);
        memcpy(reply->rest + out->done, found->values, values);
        call->result_bytes += out->done + values;
        return TERN_OK;
    }
    reply->late = 1;
    found->number = r->head.number;
    found->done = (uint32_t)out->done;
    memset(found->found + out->done, 0, sizeof found->found - out->done);
    const tern_status status =
        tern_call(call->worker, call->origin, &tern_hashtable_on_values_function, found,
                  sizeof *found + values);
    if (status != TERN_OK)
        call->result_bytes = 0;
    return status;
}

/* most: how many items are done at most. The origin asks again for the others. */
static tern_status finds_run(tern_call_info *call, const serve_request *r, size_t most,
                             tern_found_late *found) {
    tern_items items = tern_items_of(r->table, &r->head, r->words);
    tern_outcomes out = {.values = (char *)found->values, .found = found->found, .packed = true};
    items.count = items.count < most ? items.count : most;
    const tern_status status = tern_items_without_calls(call->worker, r->table, &items, &out);
    if (status == TERN_OK || (status == TERN_ERR_AGAIN && out.done > 0))
        return finds_answer(call, r, found, &out);
    if (status == TERN_ERR_AGAIN)
        return status;
    serve_answer(call, status, 0, 0);
    return TERN_OK;
}

static tern_status serve_finds(tern_call_info *call, const serve_request *r) {
    const size_t value = tern_found_bytes(r->table);
    uint64_t small[(sizeof(tern_found_late) + TERN_BUNDLE_BYTES) / 8];
    if (value <= TERN_BUNDLE_BYTES)
        return finds_run(call, r, value > 0 ? TERN_BUNDLE_BYTES / value : TERN_BUNDLE_ITEMS,
                         (void *)small);
    tern_found_late *found = malloc(sizeof *found + value);
    if (found == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a value of %zu bytes", value);
    const tern_status status = finds_run(call, r, 1, found);
    free(found);
    return status;
}

tern_status tern_hashtable_on_ops(tern_call_info *call, const void *message, size_t bytes) {
    serve_request r;
    tern_status status = serve_read(call, message, bytes, &r);
    if (status != TERN_OK)
        return status;
    return r.head.form & TERN_BUNDLE_ALONE ? serve_alone(call, &r)
           : r.head.kind == TERN_OP_FIND   ? serve_finds(call, &r)
                                           : serve_changes(call, &r);
}
