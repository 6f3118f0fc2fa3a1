#include "map/batch/changes.h"

#include "map/modify.h"
#include "map/op/op.h"
#include "tern/map_request.h"

/* Notes what has come of a change, which is lost if all calls were under way. */
static void changes_note(tern_map_changes *c, size_t keys, tern_status status) {
    if (status == TERN_ERR_AGAIN)
        status = tern_fail(TERN_ERR_MEMORY,
                           "a key of a batch found all %d calls of the worker "
                           "under way",
                           TERN_CALL_REQUESTS);
    c->stored += status == TERN_OK ? keys : 0;
    c->refused += status == TERN_ERR_FULL ? keys : 0;
    if (status == TERN_OK)
        return;
    if (status != TERN_ERR_FULL)
        tern_ignore(tern_scatter_note(&c->scatter, status));
    tern_error_clear(); /* the end of all tells of it */
}

/* Adds in a call of its own, for an owner that does not reach the number. */
static tern_status changes_add_far(tern_map_changes *c, const uint64_t *words) {
    const tern_map_item_head head = tern_map_item_read(words);
    const size_t key_bytes = tern_map_item_key_bytes(head.what);
    const uint64_t *key = words + sizeof head / 8;
    return tern_map_add(c->scatter.worker, c->map, key, key_bytes, key[tern_map_words(key_bytes)],
                        TERN_BY_CALL, NULL);
}

static bool answer_makes_sense(const tern_scatter_piece *piece, const tern_map_changes_answer *a,
                               size_t bytes) {
    if (bytes < sizeof *a || a->blocks > piece->count || a->status >= TERN_STATUS_COUNT ||
        bytes != tern_map_answer_bytes(piece->count, a->blocks))
        return false;
    bool failed = false;
    for (size_t i = 0; i < piece->count; i++) {
        if (a->outcome[i] > TERN_MAP_FAILED ||
            (a->outcome[i] == TERN_MAP_FAR &&
             tern_map_item_kind(tern_map_item_read(piece->words + piece->at[i]).what) !=
                 TERN_OP_ADD))
            return false;
        failed = failed || a->outcome[i] == TERN_MAP_FAILED;
    }
    return failed == (a->status != TERN_OK);
}

/* Takes the answer to a piece. */
static tern_status changes_take(tern_scatter *scatter, tern_scatter_piece *piece, const void *reply,
                                size_t bytes, uint32_t *done) {
    tern_map_changes *c = (tern_map_changes *)(void *)scatter;
    const tern_map_changes_answer *a = reply;
    if (!answer_makes_sense(piece, a, bytes))
        return TERN_OK;
    for (size_t i = 0; i < piece->count; i++) {
        if (a->outcome[i] == TERN_MAP_FAR)
            changes_note(c, piece->number[i], changes_add_far(c, piece->words + piece->at[i]));
        c->stored += a->outcome[i] == TERN_MAP_STORED ? piece->number[i] : 0;
        c->refused += a->outcome[i] == TERN_MAP_REFUSED ? piece->number[i] : 0;
    }
    const char *blocks = (const char *)a->outcome + 8 * tern_map_words(piece->count);
    for (size_t i = 0; i < a->blocks; i++) {
        tern_ptr block;
        memcpy(&block, blocks + i * sizeof block, sizeof block);
        tern_block_free(scatter->worker, c->map, block);
    }
    *done = piece->count;
    return a->status == TERN_OK ? TERN_OK
                                : tern_fail((tern_status)a->status, "rank %u: %.*s", piece->owner,
                                            (int)sizeof a->text - 1, a->text);
}

TERN_FUNCTION(tern_map_on_changes)

/* Keys of this rank are in no piece. */
static const tern_scatter_ops changes_ops = {&tern_map_on_changes_function, TERN_MAP_ANSWER_MAX,
                                             NULL, changes_take};

tern_status tern_map_changes_begin(tern_map_changes *changes, tern_worker *worker, tern_map *map,
                                   size_t expected, uint32_t limit) {
    *changes = (tern_map_changes){.map = map};
    return tern_scatter_begin_sizes(&changes->scatter, worker, map->table, &changes_ops, expected,
                                    limit);
}

void tern_map_change_here(tern_map_changes *changes, tern_map_op *m, size_t count) {
    tern_worker *worker = changes->scatter.worker;
    const uint64_t delta = m->op.number;
    uint64_t before;
    if (m->op.kind == TERN_OP_ADD)
        tern_map_op_init_add(m, worker, changes->map, &delta, &before);
    const tern_status status = tern_map_op_run(m);
    tern_block_free(worker, changes->map, m->old);
    changes_note(changes, count, status);
}

static void changes_end_large(tern_map_changes *c) {
    const size_t oldest = c->ended++ % TERN_LARGE_UNDER_WAY;
    changes_note(c, c->keys[oldest], tern_wait(c->scatter.worker, &c->large[oldest]));
}

/* Gives the program's calls back that are under way here, to go on with what was TERN_ERR_AGAIN.
 * False if none are. */
static bool changes_end_all_large(tern_map_changes *c) {
    const bool any = c->ended < c->begun;
    while (c->ended < c->begun)
        changes_end_large(c);
    return any;
}

static tern_status change_start(tern_map_changes *c, const tern_map_op *m, tern_flags promise,
                                tern_request *request) {
    const tern_flags flags = promise | TERN_BY_CALL;
    tern_worker *worker = c->scatter.worker;
    return m->op.kind == TERN_OP_ADD
               ? tern_map_add_start(worker, c->map, m->key.bytes, m->key.size, m->op.number, flags,
                                    request)
               : tern_map_insert_start(worker, c->map, m->key.bytes, m->key.size, m->given,
                                       tern_map_descriptor_value_bytes(m->d.words), flags, request);
}

/* Where the program holds most of the calls that a worker may have under way, what is under way
 * ends first. */
static tern_status changes_start_large(tern_map_changes *c, const tern_map_op *m, size_t count,
                                       tern_flags promise) {
    const size_t next = c->begun % TERN_LARGE_UNDER_WAY;
    tern_status status = tern_scatter_send_to(&c->scatter, m->owner);
    if (status == TERN_ERR_AGAIN && changes_end_all_large(c))
        status = tern_scatter_send_to(&c->scatter, m->owner);
    if (status != TERN_OK)
        return status;
    if (c->begun - c->ended == TERN_LARGE_UNDER_WAY)
        changes_end_large(c);
    status = change_start(c, m, promise, &c->large[next]);
    if (status == TERN_ERR_AGAIN) {
        tern_ignore(tern_scatter_wait(&c->scatter));
        (void)changes_end_all_large(c);
        status = change_start(c, m, promise, &c->large[next]);
    }
    if (status == TERN_OK)
        c->keys[c->begun++ % TERN_LARGE_UNDER_WAY] = count;
    return status;
}

tern_status tern_map_changes_take(tern_map_changes *changes, tern_map_op *m, size_t count,
                                  tern_flags flags) {
    const tern_map *map = changes->map;
    const uint32_t owner = m->owner;
    if (owner == map->context->rank || tern_map_way(map, owner, flags) == TERN_BY_RMA) {
        tern_map_change_here(changes, m, count);
        return TERN_OK;
    }
    const size_t value_bytes = tern_map_descriptor_value_bytes(m->d.words);
    const size_t size = tern_map_item_words(m->key.size, value_bytes);
    if (size > changes->scatter.piece_words)
        return changes_start_large(changes, m, count, tern_flags_promise(flags));
    uint64_t *words;
    tern_status status = tern_scatter_item(&changes->scatter, owner, count, size, &words);
    if (status == TERN_ERR_AGAIN && changes_end_all_large(changes))
        status = tern_scatter_item(&changes->scatter, owner, count, size, &words);
    if (status != TERN_OK)
        return status;
    (void)tern_map_item_write(words, TERN_MAP_ITEM(m->op.kind), &m->key, (uint32_t)value_bytes,
                              m->op.kind == TERN_OP_ADD ? &m->op.number : m->given, value_bytes);
    if (tern_scatter_written(&changes->scatter, owner) != TERN_OK)
        tern_error_clear(); /* it is noted */
    return TERN_OK;
}

tern_status tern_map_changes_finish(tern_map_changes *changes) {
    tern_status status = tern_scatter_send(&changes->scatter);
    if (changes_end_all_large(changes) && status == TERN_ERR_AGAIN)
        status = tern_scatter_send(&changes->scatter);
    tern_ignore(tern_scatter_wait(&changes->scatter));
    return status == TERN_ERR_AGAIN ? status : TERN_OK;
}

void tern_map_changes_end(tern_map_changes *changes) { tern_scatter_end(&changes->scatter); }
