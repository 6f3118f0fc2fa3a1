#include "map/op/message.h"

#include "hashtable/bucket/scratch.h"

TERN_FUNCTION(tern_map_on_op)
const tern_function *const tern_map_ops = &tern_map_on_op_function;

/* [out] value: what follows the key in an item. Returns its size in bytes. */
static size_t message_value(const tern_map_op *m, const void **value) {
    switch (m->op.kind) {
    case TERN_OP_FIND:
    case TERN_OP_ERASE:
        *value = NULL;
        return 0;
    case TERN_OP_ADD:
    case TERN_OP_COMPARE_SWAP:
        *value = m->number;
        return tern_map_number_bytes((tern_op_kind)m->op.kind);
    case TERN_OP_MODIFY:
        *value = m->info.argument;
        return m->info.argument_bytes;
    default:
        *value = m->given;
        return tern_map_descriptor_value_bytes(m->d.words);
    }
}

size_t tern_map_message_item_words(const tern_map_op *m) {
    const void *value;
    return tern_map_item_words(m->key.size, message_value(m, &value)) +
           (m->op.kind == TERN_OP_REPLACE ? tern_map_descriptor_words(m->map) : 0);
}

static size_t message_words(const tern_map_op *m) {
    return sizeof(tern_bundle_head) / 8 + tern_map_message_item_words(m);
}

bool tern_map_message_fits(const tern_map_op *m) {
    const size_t most = tern_call_room(m->map->context);
    const void *value;
    return message_value(m, &value) <= most && 8 * message_words(m) <= most;
}

/* A small value fits any message. */
bool tern_map_message_has_value(const tern_map_op *m) {
    return !m->complete &&
           (tern_map_descriptor_is_small(m->map, m->d.words) || tern_map_message_fits(m));
}

/* Whether the message is bare: key and value stay at the caller. */
static bool message_is_bare(const tern_map_op *m) {
    return m->op.kind == TERN_OP_ERASE ||
           (m->op.kind == TERN_OP_FIND
                ? !tern_map_message_fits(m)
                : tern_map_op_puts((tern_op_kind)m->op.kind) && !tern_map_message_has_value(m));
}

uint64_t *tern_map_message_fill(const tern_map_op *m, bool bare, uint64_t *to) {
    const tern_op_kind kind = (tern_op_kind)m->op.kind;
    const size_t words = tern_map_descriptor_words(m->map);
    const void *value;
    size_t bytes = message_value(m, &value);
    const size_t said = kind != TERN_OP_FIND ? bytes : m->room < UINT32_MAX ? m->room : UINT32_MAX;
    if (bare) {
        value = m->d.words;
        bytes = tern_map_op_puts(kind) ? 8 * words : 0;
    }
    const uint32_t flags = (bare ? TERN_MAP_ITEM_BARE : 0) |
                           (kind == TERN_OP_MODIFY && m->inserts ? TERN_MAP_ITEM_INSERTS : 0);
    to =
        tern_map_item_write(to, TERN_MAP_ITEM(kind) | flags, &m->key, (uint32_t)said, value, bytes);
    if (kind != TERN_OP_REPLACE)
        return to;
    memcpy(to, m->expected.words, 8 * words);
    return to + words;
}

/* The worker to send to. A modifier whose any_thread is 0 must run in a thread of the program. */
static tern_worker_id message_target(const tern_map_op *m) {
    const tern_hashtable *table = m->map->table;
    if (m->op.kind == TERN_OP_MODIFY && m->modifier.any_thread == 0)
        return (tern_worker_id){m->owner, table->part[m->owner].worker};
    return tern_table_worker(table, m->owner);
}

tern_status tern_map_message_send(tern_map_op *m) {
    const bool bare = message_is_bare(m);
    const size_t least = sizeof(tern_bundle_head) / 8 + sizeof(tern_map_item_head) / 8 +
                         2 * tern_map_descriptor_words(m->map);
    const size_t room = bare ? least : message_words(m);
    tern_scratch scratch;
    uint64_t *message = tern_scratch_take(&scratch, 8 * room);
    if (message == NULL)
        return TERN_ERR_MEMORY;
    const tern_bundle_head head = {.head = tern_table_head_to(m->map->table),
                                   .kind = m->op.kind,
                                   .form = TERN_BUNDLE_ALONE,
                                   .count = 1};
    memcpy(message, &head, sizeof head);
    const uint64_t *end = tern_map_message_fill(m, bare, message + sizeof head / 8);
    m->under_way = (tern_request){0};
    const tern_status status = tern_call_start(
        tern_map_op_worker(m), message_target(m),
        m->op.kind == TERN_OP_MODIFY ? m->modifier.call : &tern_map_on_op_function, message,
        8 * (size_t)(end - message), m->reply, sizeof m->reply, &m->under_way);
    m->sent = status == TERN_OK;
    tern_scratch_free(&scratch);
    return status;
}

/* ---- Answers ---- */

tern_map_outcome tern_map_outcome_of(const tern_map_op *m, size_t room, tern_status status) {
    const bool finds = m->op.kind == TERN_OP_FIND;
    if (status == TERN_OK)
        return m->is_remote ? TERN_MAP_LEFT : finds ? TERN_MAP_FOUND : TERN_MAP_STORED;
    if (finds)
        return status == TERN_ERR_NOT_FOUND                        ? TERN_MAP_ABSENT
               : status == TERN_ERR_RANGE && m->value_bytes > room ? TERN_MAP_LARGE
                                                                   : TERN_MAP_FAILED;
    return status == TERN_ERR_FULL ? TERN_MAP_REFUSED : TERN_MAP_FAILED;
}

/* Returns TERN_ERR_SYSTEM: the answer is one that no owner gives to this op. */
static tern_status message_is_wrong(const tern_map_op *m) {
    return tern_fail(TERN_ERR_SYSTEM,
                     "rank %u has answered an operation on a map with %zu bytes, which are no "
                     "answer to it; look for what writes into that rank's memory",
                     m->owner, m->got);
}

tern_status tern_map_message_changed(tern_map_op *m) {
    const tern_op_kind kind = (tern_op_kind)m->op.kind;
    tern_map_change_reply reply;
    if (m->got < sizeof reply)
        return message_is_wrong(m);
    memcpy(&reply, m->reply, sizeof reply);
    const size_t bytes = m->got - sizeof reply;
    const bool remote = reply.outcome == TERN_MAP_IS_REMOTE, modifies = tern_map_op_modifies(kind);
    const size_t room = !modifies || remote ? 0 : kind == TERN_OP_MODIFY ? m->result_room : 8;
    if (reply.outcome > TERN_MAP_IS_REMOTE || (remote && !modifies) || bytes > room ||
        (bytes < room && kind != TERN_OP_MODIFY))
        return message_is_wrong(m);
    m->is_remote = remote;
    m->existed = reply.outcome == TERN_MAP_EXISTED;
    m->old = reply.old;
    if (kind == TERN_OP_MODIFY)
        m->info.result_bytes = bytes;
    if (bytes > 0)
        memcpy(kind == TERN_OP_MODIFY ? m->info.result : &m->before, m->reply + sizeof reply / 8,
               bytes);
    return TERN_OK;
}

tern_status tern_map_message_found(tern_map_op *m, tern_block_verdict *verdict) {
    const size_t words = tern_map_descriptor_words(m->map);
    const tern_map_find_reply *reply = (const tern_map_find_reply *)(const void *)m->reply;
    const bool whole = m->got >= 8 + 8 * words;
    const size_t value_bytes = whole ? tern_map_descriptor_value_bytes(reply->descriptor) : 0;
    if (!whole || m->got != 8 + 8 * words + (reply->has_value ? value_bytes : 0))
        return message_is_wrong(m);
    memcpy(m->d.words, reply->descriptor, 8 * words);
    *verdict = reply->has_value && value_bytes <= m->room ? TERN_BLOCK_MINE : TERN_BLOCK_UNREAD;
    if (*verdict == TERN_BLOCK_MINE && value_bytes > 0)
        memcpy(m->value, reply->descriptor + words, value_bytes);
    if (*verdict == TERN_BLOCK_MINE)
        m->value_bytes = value_bytes;
    return TERN_OK;
}
