#include "map/op/message.h"

#include "base/process.h"
#include "hashtable/near/probe.h"
#include "hashtable/near/scratch.h"

/* The answer to a change. */
typedef struct map_change_reply {
    uint64_t existed;
    tern_ptr old; /* the block that the caller has to give back */
} map_change_reply;

/* The answer to a find. If has_value is set, the value follows the descriptor. */
typedef struct map_find_reply {
    uint64_t has_value;
    uint64_t descriptor[TERN_RESULT_MAX / 8 - 1];
} map_find_reply;

_Static_assert(sizeof(map_find_reply) <= TERN_RESULT_MAX, "a reply is a result");
_Static_assert(8 * TERN_MAP_WORDS_MAX <= sizeof((map_find_reply *)0)->descriptor,
               "a descriptor fits a reply");

/* ---- The owner's side ---- */

tern_map *tern_map_of_call(const tern_worker *worker, const void *message, size_t bytes,
                           size_t least) {
    tern_hashtable *table = tern_table_of_call(worker, message, bytes, least);
    return table != NULL && table->object.kind == tern_map_kind ? table->key_argument : NULL;
}

tern_ptr tern_map_free_own(tern_worker *worker, const tern_map *map, tern_ptr old) {
    if (old.rank != map->context->rank)
        return old;
    tern_block_free(worker, map, old);
    return TERN_NULL;
}

static tern_status serve_change(tern_call_info *call, tern_map_op *m) {
    const tern_status status = tern_map_op_run(m);
    tern_entries_take_effect();
    if (status != TERN_OK)
        return status;
    map_change_reply reply = {m->existed || m->op.kind == TERN_OP_ERASE, TERN_NULL};
    reply.old = tern_map_free_own(call->worker, m->map, m->old);
    memcpy(call->result, &reply, sizeof reply);
    call->result_bytes = sizeof reply;
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
    map_find_reply *reply = call->result;
    call->result_bytes = 8 + 8 * words;
    const bool comes = !tern_map_descriptor_is_small(m->map, d) && m->key.bytes != NULL &&
                       tern_map_descriptor_is_of(m->map, d, &m->key) &&
                       call->result_bytes + value_bytes <= sizeof *reply &&
                       tern_block_is_near(call->worker, d);
    tern_block_verdict verdict = TERN_BLOCK_STALE;
    if (comes)
        status =
            tern_block_read(call->worker, m->map, d, &m->key, reply->descriptor + words, &verdict);
    reply->has_value = verdict == TERN_BLOCK_MINE;
    memcpy(reply->descriptor, d, 8 * words);
    call->result_bytes += reply->has_value ? value_bytes : 0;
    return status;
}

static tern_status tern_map_on_op(tern_call_info *call, const void *message, size_t bytes) {
    tern_map *map;
    tern_map_items items;
    tern_map_op m;
    tern_status status = tern_map_items_of(call, message, bytes, SIZE_MAX, &map, &items);
    if (status == TERN_OK)
        status = tern_map_items_next(&items, call->worker, &m);
    if (status == TERN_OK &&
        (items.words > 0 || m.op.kind == TERN_OP_ADD || m.op.kind == TERN_OP_MODIFY))
        status =
            tern_fail(TERN_ERR_ARGUMENT, "a message of %zu bytes is no operation on a map", bytes);
    if (status != TERN_OK)
        return status;
    return m.op.kind == TERN_OP_FIND ? serve_find(call, &m) : serve_change(call, &m);
}
TERN_FUNCTION(tern_map_on_op)

/* ---- The caller's side ---- */

/* Words of a message whose item is not bare. */
static size_t message_words(const tern_map_op *m) {
    const bool finds = m->op.kind == TERN_OP_FIND;
    return sizeof(tern_piece_head) / 8 +
           tern_map_item_words(m->key.size,
                               finds ? 0 : tern_map_descriptor_value_bytes(m->d.words)) +
           (m->op.kind == TERN_OP_REPLACE ? tern_map_descriptor_words(m->map) : 0);
}

/* A small value goes in a message of any size. */
bool tern_map_message_has_value(const tern_map_op *m) {
    return !m->complete && (tern_map_descriptor_is_small(m->map, m->d.words) ||
                            8 * message_words(m) <= tern_call_room(m->map->context));
}

/* Whether key and value stay here. */
static bool message_is_bare(const tern_map_op *m) {
    return m->op.kind == TERN_OP_ERASE ||
           (m->op.kind == TERN_OP_FIND ? 8 * message_words(m) > tern_call_room(m->map->context)
                                       : !tern_map_message_has_value(m));
}

/* Writes the item of an op. Returns its end. */
static uint64_t *message_fill(const tern_map_op *m, bool bare, uint64_t *to) {
    const tern_op_kind kind = (tern_op_kind)m->op.kind;
    const bool stores = kind != TERN_OP_FIND && kind != TERN_OP_ERASE;
    const size_t words = tern_map_descriptor_words(m->map),
                 bytes = stores ? tern_map_descriptor_value_bytes(m->d.words) : 0;
    to = tern_map_item_write(to, TERN_MAP_ITEM(kind) | (bare ? TERN_MAP_ITEM_BARE : 0), &m->key,
                             (uint32_t)bytes, bare ? m->d.words : m->given,
                             !bare    ? bytes
                             : stores ? 8 * words
                                      : 0);
    if (kind == TERN_OP_REPLACE)
        memcpy(to, m->expected.words, 8 * words);
    return to + (kind == TERN_OP_REPLACE ? words : 0);
}

tern_status tern_map_message_send(tern_map_op *m) {
    const bool bare = message_is_bare(m);
    const size_t least = sizeof(tern_piece_head) / 8 + sizeof(tern_map_item_head) / 8 +
                         2 * tern_map_descriptor_words(m->map);
    const size_t room = bare ? least : message_words(m);
    const tern_worker_id target = tern_table_worker(m->map->table, m->owner);
    tern_scratch scratch;
    uint64_t *message = tern_scratch_take(&scratch, 8 * room);
    if (message == NULL)
        return TERN_ERR_MEMORY;
    const tern_piece_head head = {.head = tern_table_head_to(m->map->table)};
    memcpy(message, &head, sizeof head);
    const uint64_t *end = message_fill(m, bare, message + sizeof head / 8);
    m->under_way = (tern_request){0};
    const tern_status status =
        tern_call_start(tern_map_op_worker(m), target, &tern_map_on_op_function, message,
                        8 * (size_t)(end - message), m->reply, sizeof m->reply, &m->under_way);
    m->sent = status == TERN_OK;
    tern_scratch_free(&scratch);
    return status;
}

tern_status tern_map_message_is_wrong(const tern_map_op *m) {
    return tern_fail(TERN_ERR_SYSTEM,
                     "rank %u has answered an operation on a map with %zu bytes, which are no "
                     "answer to it; look for what writes into that rank's memory",
                     m->owner, m->got);
}

tern_status tern_map_message_changed(tern_map_op *m) {
    map_change_reply reply;
    if (m->got != sizeof reply)
        return tern_map_message_is_wrong(m);
    memcpy(&reply, m->reply, sizeof reply);
    m->existed = reply.existed != 0;
    m->old = reply.old;
    return TERN_OK;
}

tern_status tern_map_message_found(tern_map_op *m, tern_block_verdict *verdict) {
    const size_t words = tern_map_descriptor_words(m->map);
    const map_find_reply *reply = (const map_find_reply *)(const void *)m->reply;
    const bool whole = m->got >= 8 + 8 * words;
    const size_t value_bytes = whole ? tern_map_descriptor_value_bytes(reply->descriptor) : 0;
    if (!whole || m->got != 8 + 8 * words + (reply->has_value ? value_bytes : 0))
        return tern_map_message_is_wrong(m);
    memcpy(m->d.words, reply->descriptor, 8 * words);
    *verdict = reply->has_value && value_bytes <= m->room ? TERN_BLOCK_MINE : TERN_BLOCK_STALE;
    if (*verdict == TERN_BLOCK_MINE && value_bytes > 0)
        memcpy(m->value, reply->descriptor + words, value_bytes);
    if (*verdict == TERN_BLOCK_MINE)
        m->value_bytes = value_bytes;
    return TERN_OK;
}
