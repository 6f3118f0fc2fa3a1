#include "map/batch/changes.h"

#include <stdio.h>

#include "base/process.h"
#include "hashtable/batch/deferred.h"
#include "hashtable/near/probe.h"
#include "map/modify.h"
#include "map/op/message.h"
#include "src/log.h"

/*
 * The owner goes through all items of a piece. One that fails is passed over, and the answer says
 * so. If a bucket is being written by another rank, the call stays at the head of its ring, and
 * what has been done is kept until it runs again (hashtable/batch/deferred.h).
 */

typedef struct changes_state {
    tern_piece_head of; /* the message, by its number */
    size_t done;
    size_t blocks; /* of other ranks that were replaced */
    size_t room;   /* for so many of them in the answer */
    tern_status status;
    char text[sizeof((tern_map_changes_answer *)0)->text];
    unsigned char outcome[TERN_PIECE_ITEMS];
    tern_ptr block[TERN_PIECE_ITEMS];
} changes_state;

/* Blocks for which a result needs no memory of the segment. */
static size_t blocks_at_hand(void) {
    return (TERN_RESULT_MAX - tern_map_answer_bytes(TERN_PIECE_ITEMS, 0)) / sizeof(tern_ptr);
}

/* Makes room in the answer for one more block, before a block is replaced. */
static tern_status changes_make_room(tern_call_info *call, changes_state *s) {
    if (__builtin_expect(s->blocks < s->room, 1))
        return TERN_OK;
    tern_status status = tern_call_result(call, TERN_MAP_ANSWER_MAX);
    if (status == TERN_OK)
        s->room = TERN_PIECE_ITEMS;
    return status;
}

/* Does one item. TERN_ERR_AGAIN: it was not done, and the rest has to wait. */
static tern_status changes_one(tern_call_info *call, changes_state *s, tern_map_op *m) {
    tern_worker *worker = call->worker;
    const tern_map *map = m->map;
    tern_status status = changes_make_room(call, s);
    if (status == TERN_OK && m->op.kind == TERN_OP_ADD) {
        const uint64_t delta = m->op.number;
        uint64_t before;
        tern_map_op_init_add(m, worker, map, &delta, &before);
        m->served = true;
        status = tern_map_op_run(m);
    } else if (status == TERN_OK) {
        status = tern_map_op_run(m);
    }
    if (status == TERN_ERR_AGAIN)
        return status;
    s->outcome[s->done++] = status == TERN_ERR_FULL ? TERN_MAP_REFUSED
                            : status != TERN_OK     ? TERN_MAP_FAILED
                            : m->is_far             ? TERN_MAP_FAR
                                                    : TERN_MAP_STORED;
    if (status != TERN_OK && status != TERN_ERR_FULL && s->status == TERN_OK) {
        s->status = status;
        snprintf(s->text, sizeof s->text, "%s", tern_error_detail());
    }
    if (status != TERN_OK) {
        tern_error_clear();
        return TERN_OK;
    }
    const tern_ptr old = tern_map_free_own(worker, map, m->old);
    if (!tern_ptr_is_null(old))
        s->block[s->blocks++] = old;
    return TERN_OK;
}

static void changes_answer(tern_call_info *call, const changes_state *s) {
    const size_t blocks = s->blocks < s->room ? s->blocks : s->room;
    if (blocks < s->blocks)
        tern_log(TERN_LOG_WARN, "a map has let go of %zu blocks of other ranks, which stay there",
                 s->blocks - blocks);
    tern_map_changes_answer *answer = call->result;
    answer->blocks = (uint32_t)blocks;
    answer->status = (uint32_t)s->status;
    memset(answer->text, 0, sizeof answer->text);
    if (s->status != TERN_OK)
        memcpy(answer->text, s->text, strlen(s->text));
    memset(answer->outcome, 0, 8 * tern_map_words(s->done));
    memcpy(answer->outcome, s->outcome, s->done);
    if (blocks > 0)
        memcpy(answer->outcome + 8 * tern_map_words(s->done), s->block, blocks * sizeof(tern_ptr));
    call->result_bytes = tern_map_answer_bytes(s->done, blocks);
}

/* There is no memory to keep what was done: the item that met the bucket, and all behind it, fail.
 */
static void changes_give_up(tern_worker *worker, changes_state *s, tern_map_items *items) {
    tern_map_op m;
    if (s->status == TERN_OK) {
        s->status = TERN_ERR_MEMORY;
        snprintf(s->text, sizeof s->text, "no memory to park a batch of changes");
    }
    do
        s->outcome[s->done++] = TERN_MAP_FAILED;
    while (items->words > 0 && tern_map_items_next(items, worker, &m) == TERN_OK);
}

tern_status tern_map_on_changes(tern_call_info *call, const void *message, size_t bytes) {
    tern_map *map;
    tern_map_items items;
    changes_state s;
    tern_status status = tern_map_items_of(call, message, bytes, TERN_PIECE_BYTES, &map, &items);
    if (status != TERN_OK)
        return status;
    s.done = s.blocks = 0;
    s.status = TERN_OK;
    tern_piece_head head;
    tern_read_once(&head, message, sizeof head);
    s.of = head;
    (void)tern_deferred_take(call, map->table, &s, sizeof s);
    if (memcmp(&s.of, &head, sizeof head) != 0)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "a message of changes has changed since some of them were done");
    s.room = blocks_at_hand();
    for (size_t i = 0; items.words > 0 && status == TERN_OK; i++) {
        tern_map_op m;
        status = tern_map_items_next(&items, call->worker, &m);
        if (status == TERN_OK &&
            ((m.op.kind != TERN_OP_INSERT && m.op.kind != TERN_OP_ADD) || m.key.bytes == NULL))
            status = tern_fail(TERN_ERR_ARGUMENT, "an item of a batch that changes nothing");
        if (status == TERN_OK && i >= s.done)
            status = changes_one(call, &s, &m);
    }
    tern_entries_take_effect();
    if (status == TERN_ERR_AGAIN && s.done > 0 &&
        !tern_deferred_put(call, map->table, &s, sizeof s)) {
        changes_give_up(call->worker, &s, &items);
        status = TERN_OK;
    }
    if (status == TERN_OK)
        changes_answer(call, &s);
    return status;
}
