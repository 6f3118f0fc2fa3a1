#include "map/call.h"

#include "base/process.h"
#include "hashtable/near/probe.h"
#include "hashtable/near/scratch.h"
#include "map/map.h"

enum {
    ONLY_NEW = 1,
    CONTENT = 2, /* a key and a value follow, as in a block; else a descriptor */
    EXPECTED = 4 /* the descriptor that is to be replaced comes first */
};

/* The answer to an insert or an erase. */
typedef struct put_reply {
    uint64_t existed;
    tern_ptr old; /* the block that the caller has to give back */
} put_reply;

/* The answer to a find. If has_value is set, the value follows the descriptor. */
typedef struct look_reply {
    uint64_t has_value;
    uint64_t descriptor[TERN_RESULT_MAX / 8 - 1];
} look_reply;

_Static_assert(sizeof(look_reply) <= TERN_RESULT_MAX, "a reply is a result");
_Static_assert(8 * TERN_MAP_WORDS_MAX <= sizeof((look_reply *)0)->descriptor,
               "a descriptor fits a reply");

tern_map *tern_map_of_call(const tern_worker *worker, const void *message, size_t bytes,
                           size_t least) {
    tern_hashtable *table = tern_table_of_call(worker, message, bytes, least);
    return table != NULL && table->object.kind == tern_map_kind ? table->key_argument : NULL;
}

tern_status tern_map_read_message(tern_call_info *call, const void *message, size_t bytes,
                                  tern_map_head *m, tern_map **map, tern_map_key *key) {
    tern_map *to = tern_map_of_call(call->worker, message, bytes, sizeof *m);
    if (to == NULL)
        return tern_callee_missing(call->worker->context, "map");
    tern_read_once(m, message, sizeof *m);
    *key = (tern_map_key){.size = tern_map_descriptor_key_bytes(&m->lengths),
                          .fingerprint = {m->fingerprint[0], m->fingerprint[1]},
                          .hash = tern_key_hash(to->table, m->fingerprint),
                          .seed = m->seed};
    if (tern_hash_owner(to->table, key->hash) != to->context->rank)
        return tern_fail(TERN_ERR_ARGUMENT, "the key belongs to rank %u",
                         tern_hash_owner(to->table, key->hash));
    *map = to;
    return TERN_OK;
}

tern_ptr tern_map_free_own(tern_worker *worker, const tern_map *map, tern_ptr old) {
    if (old.rank != map->context->rank)
        return old;
    tern_block_free(worker, map, old);
    return TERN_NULL;
}

/* Answers an insert or an erase. */
static void answer_put(tern_call_info *call, const tern_map *map, bool existed, tern_ptr old) {
    put_reply reply = {existed, TERN_NULL};
    reply.old = tern_map_free_own(call->worker, map, old);
    memcpy(call->result, &reply, sizeof reply);
    call->result_bytes = sizeof reply;
}

/* [out] d: the descriptor in the message, or that of a new block with the message's content. */
static tern_status take_descriptor(tern_call_info *call, const tern_map *map,
                                   const tern_map_head *m, const uint64_t *came, size_t rest,
                                   tern_map_key *key, tern_map_descriptor *d) {
    const bool content = (m->flags & CONTENT) != 0;
    const size_t due = content ? tern_block_bytes(&m->lengths) : 8 * tern_map_descriptor_words(map);
    if (rest != due || (content && tern_map_descriptor_is_small(map, &m->lengths)))
        return tern_fail(TERN_ERR_ARGUMENT, "an insert of %zu bytes where %zu are due", rest, due);
    if (!content) {
        tern_read_once(d->words, came, due);
        return TERN_OK;
    }
    const size_t value_bytes = tern_map_descriptor_value_bytes(&m->lengths);
    const char *value = (const char *)came + tern_block_value_at(&m->lengths);
    key->bytes = came;
    tern_map_descriptor_make(map, key, value, value_bytes, d);
    return tern_block_make(call->worker, map, key, value, value_bytes, d);
}

static tern_status tern_map_on_put(tern_call_info *call, const void *message, size_t bytes) {
    const uint64_t *came = (const uint64_t *)((const tern_map_head *)message + 1);
    tern_map_head m;
    tern_map *map = NULL;
    tern_map_key key;
    tern_map_descriptor expected;
    tern_status status = tern_map_read_message(call, message, bytes, &m, &map, &key);
    if (status != TERN_OK)
        return status;
    size_t rest = bytes - sizeof m;
    const size_t words = tern_map_descriptor_words(map);
    tern_map_insertion in;
    tern_map_insertion_begin(&key, NULL, TERN_WRITE_ONLY, &in);
    in.only_new = (m.flags & ONLY_NEW) != 0;
    if ((m.flags & EXPECTED) != 0 && rest >= 8 * words) {
        tern_read_once(expected.words, came, 8 * words);
        in.expected = &expected;
        came += words;
        rest -= 8 * words;
    }
    status = take_descriptor(call, map, &m, came, rest, &key, &in.d);
    if (status != TERN_OK)
        return status;
    status = tern_map_put(call->worker, map, &in);
    tern_entries_take_effect();
    if ((m.flags & CONTENT) != 0 && (status != TERN_OK || !tern_map_insertion_is_stored(&in)))
        tern_block_free(call->worker, map, tern_block_place(in.d.words));
    if (status == TERN_OK)
        answer_put(call, map, in.existed, in.old);
    return status;
}
TERN_FUNCTION(tern_map_on_put)

static tern_status tern_map_on_remove(tern_call_info *call, const void *message, size_t bytes) {
    tern_map_head m;
    tern_map *map = NULL;
    tern_map_key key;
    tern_ptr old = TERN_NULL;
    tern_status status = tern_map_read_message(call, message, bytes, &m, &map, &key);
    if (status == TERN_OK)
        status = tern_map_remove(call->worker, map, &key, false, &old);
    if (status == TERN_OK)
        answer_put(call, map, true, old);
    return status;
}
TERN_FUNCTION(tern_map_on_remove)

static tern_status tern_map_on_look(tern_call_info *call, const void *message, size_t bytes) {
    tern_map_head m;
    tern_map *map = NULL;
    tern_map_key key;
    tern_map_descriptor d;
    tern_status status = tern_map_read_message(call, message, bytes, &m, &map, &key);
    if (status == TERN_OK)
        status = tern_map_look(call->worker, map, &key, TERN_READ_WRITE, &d);
    if (status != TERN_OK)
        return status;
    const size_t words = tern_map_descriptor_words(map),
                 value_bytes = tern_map_descriptor_value_bytes(d.words);
    look_reply *reply = call->result;
    call->result_bytes = 8 + 8 * words;
    const bool comes = !tern_map_descriptor_is_small(map, d.words) &&
                       bytes - sizeof m == key.size &&
                       tern_map_descriptor_is_of(map, d.words, &key) &&
                       call->result_bytes + value_bytes <= sizeof *reply &&
                       tern_block_is_near(call->worker, d.words);
    tern_block_verdict verdict = TERN_BLOCK_STALE;
    key.bytes = (const tern_map_head *)message + 1;
    if (comes)
        status =
            tern_block_read(call->worker, map, d.words, &key, reply->descriptor + words, &verdict);
    reply->has_value = verdict == TERN_BLOCK_MINE;
    memcpy(reply->descriptor, d.words, 8 * words);
    call->result_bytes += reply->has_value ? value_bytes : 0;
    return status;
}
TERN_FUNCTION(tern_map_on_look)

tern_map_head tern_map_head_to(const tern_map *map, const tern_map_key *key, size_t value_bytes,
                               uint64_t flags) {
    return (tern_map_head){.head = tern_table_head_to(map->table),
                           .fingerprint = {key->fingerprint[0], key->fingerprint[1]},
                           .seed = key->seed,
                           .lengths = (uint64_t)value_bytes << 32 | key->size,
                           .flags = flags};
}

static tern_status map_call_make(tern_worker *worker, const tern_map *map, uint32_t owner,
                                 const tern_function *function, const void *message, size_t bytes,
                                 tern_map_call *call, bool starts) {
    const tern_worker_id target = tern_table_worker(map->table, owner);
    return tern_map_call_to(worker, target, function, message, bytes, call, starts);
}

tern_status tern_map_call_to(tern_worker *worker, tern_worker_id target,
                             const tern_function *function, const void *message, size_t bytes,
                             tern_map_call *call, bool starts) {
    return starts ? tern_call_start(worker, target, function, message, bytes, call->reply,
                                    sizeof call->reply, &call->request)
                  : tern_call_return(worker, target, function, message, bytes, call->reply,
                                     sizeof call->reply, &call->got);
}

/* Reads the answer to an insert or an erase. */
static tern_status put_take(const tern_map_call *call, uint32_t owner, bool *existed,
                            tern_ptr *old) {
    put_reply reply;
    if (call->got != sizeof reply)
        return tern_fail(TERN_ERR_SYSTEM, "rank %u's reply makes no sense", owner);
    memcpy(&reply, call->reply, sizeof reply);
    *existed = reply.existed != 0;
    *old = reply.old;
    return TERN_OK;
}

/* Sends an insertion, with the content of its block or with its descriptor. */
static tern_status send_insertion(tern_worker *worker, const tern_map *map, uint32_t owner,
                                  const tern_map_insertion *in, bool content, tern_map_call *call,
                                  bool starts) {
    const size_t value_bytes = tern_map_descriptor_value_bytes(in->d.words);
    const size_t words = 8 * tern_map_descriptor_words(map);
    const size_t before = in->expected != NULL ? words : 0;
    const size_t bytes =
        sizeof(tern_map_head) + before + (content ? tern_block_bytes(in->d.words) : words);
    tern_scratch room;
    char *message = (char *)tern_scratch_take(&room, bytes);
    if (message == NULL)
        return TERN_ERR_MEMORY;
    const tern_map_head head =
        tern_map_head_to(map, in->key, value_bytes,
                         (content ? CONTENT : 0) | (in->only_new ? ONLY_NEW : 0) |
                             (in->expected != NULL ? EXPECTED : 0));
    memcpy(message, &head, sizeof head);
    char *to = message + sizeof head;
    if (in->expected != NULL)
        memcpy(to, in->expected->words, words);
    to += before;
    if (content) {
        memset(to, 0, tern_block_value_at(in->d.words));
        memcpy(to, in->key->bytes, in->key->size);
        if (value_bytes > 0)
            memcpy(to + tern_block_value_at(in->d.words), in->value, value_bytes);
    } else {
        memcpy(to, in->d.words, words);
    }
    tern_status status =
        map_call_make(worker, map, owner, &tern_map_on_put_function, message, bytes, call, starts);
    tern_scratch_free(&room);
    return status;
}

/* Whether the owner makes the block, from what the message has in it. */
static bool sends_content(const tern_map *map, const tern_map_insertion *in) {
    const size_t bytes = sizeof(tern_map_head) + tern_block_bytes(in->d.words) +
                         (in->expected != NULL ? 8 * tern_map_descriptor_words(map) : 0);
    return bytes <= tern_call_room(map->context);
}

static bool makes_block(const tern_map *map, const tern_map_insertion *in) {
    return !tern_map_descriptor_is_small(map, in->d.words) && !sends_content(map, in);
}

tern_status tern_map_call_put_send(tern_worker *worker, const tern_map *map, uint32_t owner,
                                   tern_map_insertion *in, tern_map_call *call, bool starts) {
    const bool makes = makes_block(map, in);
    tern_status status = TERN_OK;
    if (makes)
        status = tern_block_make(worker, map, in->key, in->value,
                                 tern_map_descriptor_value_bytes(in->d.words), &in->d);
    if (status != TERN_OK)
        return status;
    const bool content = !makes && !tern_map_descriptor_is_small(map, in->d.words);
    status = send_insertion(worker, map, owner, in, content, call, starts);
    if (status != TERN_OK && starts && makes)
        tern_block_free(worker, map, tern_block_place(in->d.words));
    return status;
}

tern_status tern_map_call_put_end(tern_worker *worker, const tern_map *map, uint32_t owner,
                                  tern_status status, const tern_map_call *call,
                                  tern_map_insertion *in) {
    if (status == TERN_OK)
        status = put_take(call, owner, &in->existed, &in->old);
    if (makes_block(map, in) && ((status != TERN_OK && !tern_map_put_is_uncertain(status)) ||
                                 (status == TERN_OK && !tern_map_insertion_is_stored(in))))
        tern_block_free(worker, map, tern_block_place(in->d.words));
    return status;
}

tern_status tern_map_call_put(tern_worker *worker, const tern_map *map, uint32_t owner,
                              tern_map_insertion *in) {
    tern_map_call call;
    tern_status status = tern_map_call_put_send(worker, map, owner, in, &call, false);
    return tern_map_call_put_end(worker, map, owner, status, &call, in);
}

tern_status tern_map_call_remove(tern_worker *worker, const tern_map *map, uint32_t owner,
                                 const tern_map_key *key, tern_ptr *old) {
    const tern_map_head head = tern_map_head_to(map, key, 0, 0);
    tern_map_call call;
    bool existed;
    tern_status status = map_call_make(worker, map, owner, &tern_map_on_remove_function, &head,
                                       sizeof head, &call, false);
    return status == TERN_OK ? put_take(&call, owner, &existed, old) : status;
}

tern_status tern_map_call_look_send(tern_worker *worker, const tern_map *map, uint32_t owner,
                                    const tern_map_key *key, tern_map_call *call, bool starts) {
    size_t bytes = sizeof(tern_map_head) + key->size;
    bytes = bytes <= tern_call_room(map->context) ? bytes : sizeof(tern_map_head);
    tern_scratch room;
    char *message = (char *)tern_scratch_take(&room, bytes);
    if (message == NULL)
        return TERN_ERR_MEMORY;
    tern_map_head head = tern_map_head_to(map, key, 0, 0);
    memcpy(message, &head, sizeof head);
    if (bytes > sizeof head)
        memcpy(message + sizeof head, key->bytes, key->size);
    tern_status status =
        map_call_make(worker, map, owner, &tern_map_on_look_function, message, bytes, call, starts);
    tern_scratch_free(&room);
    return status;
}

tern_status tern_map_call_look_end(const tern_map *map, uint32_t owner, const tern_map_call *call,
                                   tern_map_descriptor *d, void *value, size_t room,
                                   tern_block_verdict *verdict) {
    const size_t words = tern_map_descriptor_words(map), got = call->got;
    const look_reply *reply = (const look_reply *)(const void *)call->reply;
    if (got < 8 + 8 * words)
        return tern_fail(TERN_ERR_SYSTEM, "rank %u's reply makes no sense", owner);
    const size_t value_bytes = tern_map_descriptor_value_bytes(reply->descriptor);
    if (got != 8 + 8 * words + (reply->has_value ? value_bytes : 0))
        return tern_fail(TERN_ERR_SYSTEM, "rank %u's reply makes no sense", owner);
    memcpy(d->words, reply->descriptor, 8 * words);
    *verdict = reply->has_value && value_bytes <= room ? TERN_BLOCK_MINE : TERN_BLOCK_STALE;
    if (*verdict == TERN_BLOCK_MINE && value_bytes > 0)
        memcpy(value, reply->descriptor + words, value_bytes);
    return TERN_OK;
}

tern_status tern_map_call_look(tern_worker *worker, const tern_map *map, uint32_t owner,
                               const tern_map_key *key, tern_map_descriptor *d, void *value,
                               size_t room, tern_block_verdict *verdict) {
    tern_map_call call;
    tern_status status = tern_map_call_look_send(worker, map, owner, key, &call, false);
    return status == TERN_OK ? tern_map_call_look_end(map, owner, &call, d, value, room, verdict)
                             : status;
}
