#include "map/batch/batch.h"

#include "tern/map.h"

enum { LATER = -1 }; /* slot->found of a find that is left for the end */

static void batch_note(tern_map_batch *b, size_t number, tern_map_outcome outcome,
                       size_t value_bytes) {
    if (b->slots == NULL) {
        const bool stored = outcome == TERN_MAP_STORED || outcome == TERN_MAP_REPLACED;
        b->stored += stored ? number : 0;
        b->refused += outcome == TERN_MAP_REFUSED ? number : 0;
        return;
    }
    tern_map_slot *slot = &b->slots[number];
    const bool there = outcome == TERN_MAP_FOUND || outcome == TERN_MAP_LARGE;
    slot->found = outcome == TERN_MAP_LEFT ? LATER : there;
    slot->value_bytes = there ? value_bytes : 0;
    b->stored += there;
    b->refused += outcome == TERN_MAP_LARGE;
    b->later += outcome == TERN_MAP_LEFT;
}

tern_status tern_map_batch_run(tern_map_batch *batch, tern_map_op *m, size_t number) {
    m->value_bytes = 0;
    const tern_status status = tern_map_op_run(m);
    if (status == TERN_ERR_AGAIN)
        return status;
    tern_block_free(batch->scatter.worker, batch->map, m->old);
    const tern_map_outcome outcome = tern_map_outcome_of(m, m->room, status);
    if (outcome == TERN_MAP_FAILED)
        tern_ignore(tern_scatter_note(&batch->scatter, status));
    if (status != TERN_OK)
        tern_error_clear(); /* the end of the batch returns it */
    batch_note(batch, number, outcome, m->value_bytes);
    return TERN_OK;
}

/* ---- Changes with calls of their own ---- */

/* Notes the outcome of a change. A change with TERN_ERR_AGAIN (all calls under way) is lost. */
static void large_note(tern_map_batch *b, size_t keys, tern_status status) {
    if (status == TERN_ERR_AGAIN)
        status = tern_fail(TERN_ERR_MEMORY,
                           "a key of a batch found all %d calls of the worker "
                           "under way",
                           TERN_CALL_REQUESTS);
    batch_note(b, keys,
               status == TERN_OK         ? TERN_MAP_STORED
               : status == TERN_ERR_FULL ? TERN_MAP_REFUSED
                                         : TERN_MAP_FAILED,
               0);
    if (status == TERN_OK)
        return;
    if (status != TERN_ERR_FULL)
        tern_ignore(tern_scatter_note(&b->scatter, status));
    tern_error_clear(); /* the end of the batch returns it */
}

static void large_end_one(tern_map_batch *b) {
    const size_t oldest = b->ended++ % TERN_LARGE_UNDER_WAY;
    large_note(b, b->keys[oldest], tern_wait(b->scatter.worker, &b->large[oldest]));
}

/* Ends the changes that have calls of their own, so that the caller can repeat what ended with
 * TERN_ERR_AGAIN. False if none was under way. */
static bool large_end_all(tern_map_batch *b) {
    const bool any = b->ended < b->begun;
    while (b->ended < b->begun)
        large_end_one(b);
    return any;
}

static tern_status large_start_one(tern_map_batch *b, const tern_map_op *m, tern_flags promise,
                                   tern_request *request) {
    const tern_flags flags = promise | TERN_BY_CALL;
    tern_worker *worker = b->scatter.worker;
    return m->op.kind == TERN_OP_ADD
               ? tern_map_add_start(worker, b->map, m->key.bytes, m->key.size, m->number[0], flags,
                                    request)
               : tern_map_insert_start(worker, b->map, m->key.bytes, m->key.size, m->given,
                                       tern_map_descriptor_value_bytes(m->d.words), flags, request);
}

/* Starts a change by a call of its own. If the program has most of the worker's calls in use, this
 * first ends the changes and bundles that are under way. */
static tern_status large_start(tern_map_batch *b, const tern_map_op *m, size_t count,
                               tern_flags promise) {
    const size_t next = b->begun % TERN_LARGE_UNDER_WAY;
    tern_status status = tern_scatter_send_to(&b->scatter, m->owner);
    if (status == TERN_ERR_AGAIN && large_end_all(b))
        status = tern_scatter_send_to(&b->scatter, m->owner);
    if (status != TERN_OK)
        return status;
    if (b->begun - b->ended == TERN_LARGE_UNDER_WAY)
        large_end_one(b);
    status = large_start_one(b, m, promise, &b->large[next]);
    if (status == TERN_ERR_AGAIN) {
        tern_ignore(tern_scatter_wait(&b->scatter));
        (void)large_end_all(b);
        status = large_start_one(b, m, promise, &b->large[next]);
    }
    if (status == TERN_OK)
        b->keys[b->begun++ % TERN_LARGE_UNDER_WAY] = count;
    return status;
}

/* ---- Answers ---- */

/* Does an add by a call of its own, since the owner does not reach the block of the number. */
static tern_status add_by_itself(tern_map_batch *b, const uint64_t *item) {
    const tern_map_item_head head = tern_map_item_read(item);
    const size_t key_bytes = tern_map_item_key_bytes(head.what);
    const uint64_t *key = item + sizeof head / 8;
    return tern_map_add(b->scatter.worker, b->map, key, key_bytes, key[tern_map_words(key_bytes)],
                        TERN_BY_CALL, NULL);
}

/* Whether an owner can give this outcome to an item. at: the words behind; left: how many. */
static bool answer_may_be(const tern_map_batch *b, const tern_scatter_bundle *bundle, size_t i,
                          unsigned char outcome, const uint64_t *at, size_t left) {
    const bool finds = b->slots != NULL;
    const size_t room = finds ? b->slots[bundle->number[i]].room : 0;
    switch (outcome) {
    case TERN_MAP_STORED:
    case TERN_MAP_REFUSED:
        return !finds;
    case TERN_MAP_REPLACED:
        return !finds && left >= tern_map_answer_words(outcome, at);
    case TERN_MAP_ABSENT:
        return finds;
    case TERN_MAP_FOUND:
        return finds && left > 0 && at[0] <= room && at[0] <= 8 * (left - 1);
    case TERN_MAP_LARGE:
        return finds && left > 0 && at[0] > room;
    case TERN_MAP_LEFT:
        return finds || tern_map_item_kind(
                            tern_map_item_read(bundle->words + bundle->at[i]).what) == TERN_OP_ADD;
    default:
        return outcome == TERN_MAP_FAILED;
    }
}

/* Whether the answer is one that an owner gives. [out] words: how many follow the outcomes. */
static bool answer_is_whole(const tern_map_batch *b, const tern_scatter_bundle *bundle,
                            const tern_map_answer *a, size_t bytes, size_t *words) {
    const size_t before = tern_map_answer_bytes(bundle->count, 0);
    if (bytes < before || a->done > bundle->count || a->status >= TERN_STATUS_COUNT ||
        a->status == TERN_ERR_AGAIN || (b->slots == NULL && a->done < bundle->count))
        return false;
    const unsigned char *outcome = (const unsigned char *)(a + 1);
    const uint64_t *word = (const uint64_t *)(const void *)((const char *)a + before);
    const size_t most = (bytes - before) / 8;
    bool failed = false;
    *words = 0;
    for (size_t i = 0; i < a->done; i++) {
        if (!answer_may_be(b, bundle, i, outcome[i], word + *words, most - *words))
            return false;
        *words += tern_map_answer_words(outcome[i], word + *words);
        failed = failed || outcome[i] == TERN_MAP_FAILED;
    }
    return failed == (a->status != TERN_OK) && (failed || bytes == before + 8 * *words);
}

/* Acts on the outcome of one item. at: the words that belong to it. */
static void answer_take(tern_map_batch *b, const tern_scatter_bundle *bundle, size_t i,
                        tern_map_outcome outcome, const uint64_t *at) {
    const size_t number = bundle->number[i];
    tern_ptr block;
    if (outcome == TERN_MAP_LEFT && b->slots == NULL) {
        large_note(b, number, add_by_itself(b, bundle->words + bundle->at[i]));
        return;
    }
    if (outcome == TERN_MAP_REPLACED) {
        memcpy(&block, at, sizeof block);
        tern_block_free(b->scatter.worker, b->map, block);
    }
    if (outcome == TERN_MAP_FOUND && at[0] > 0)
        memcpy(b->slots[number].value, at + 1, at[0]);
    const bool sized = outcome == TERN_MAP_FOUND || outcome == TERN_MAP_LARGE;
    batch_note(b, number, outcome, sized ? at[0] : 0);
}

/* Takes the answer to a bundle. [out] done: stays 0 if no owner can have sent the answer. */
static tern_status batch_take(tern_scatter *scatter, tern_scatter_bundle *bundle, const void *reply,
                              size_t bytes, uint32_t *done) {
    tern_map_batch *b = (tern_map_batch *)(void *)scatter;
    const tern_map_answer *a = reply;
    size_t words;
    if (!answer_is_whole(b, bundle, a, bytes, &words))
        return TERN_OK;
    const unsigned char *outcome = (const unsigned char *)(a + 1);
    const char *behind = (const char *)a + tern_map_answer_bytes(bundle->count, 0);
    const uint64_t *at = (const uint64_t *)(const void *)behind;
    const uint32_t status = a->status;
    for (size_t i = 0; i < a->done; i++) {
        answer_take(b, bundle, i, (tern_map_outcome)outcome[i], at);
        at += tern_map_answer_words(outcome[i], at);
    }
    *done = a->done;
    if (status == TERN_OK)
        return TERN_OK;
    const size_t text = bytes - tern_map_answer_bytes(bundle->count, words);
    return tern_fail((tern_status)status, "rank %u: %.*s", bundle->owner,
                     (int)(text < TERN_MAP_ANSWER_TEXT ? text : TERN_MAP_ANSWER_TEXT),
                     behind + 8 * words);
}

/* ---- A batch ---- */

tern_status tern_map_batch_choose(tern_map_batch *batch, tern_worker *worker, tern_map *map,
                                  tern_map_slot *slots, tern_flags flags, const char *name) {
    *batch = (tern_map_batch){
        .scatter.worker = worker, .map = map, .slots = slots, .promise = tern_flags_promise(flags)};
    tern_path_question question =
        tern_map_question(worker, map, map->table->rank, TERN_PATH_BY_REACH, flags, name);
    for (int reached = 0; reached < 2; reached++) {
        tern_pick pick;
        question.reached = reached != 0;
        const tern_status status = tern_choice_of(&question, &pick);
        if (status != TERN_OK)
            return status;
        batch->by_call[reached] = pick.flag == TERN_BY_CALL;
    }
    return TERN_OK;
}

tern_status tern_map_batch_begin(tern_map_batch *batch, size_t expected, uint32_t limit) {
    /* No function for bundles in place is needed: keys of this rank never go into a bundle. */
    batch->ops = (tern_scatter_ops){tern_map_ops, TERN_MAP_ANSWER_MAX, NULL, batch_take};
    const tern_status status = tern_scatter_begin_sizes(
        &batch->scatter, batch->scatter.worker, batch->map->table, &batch->ops, expected, limit);
    batch->scatter.head.kind = batch->slots != NULL ? TERN_OP_FIND : TERN_OP_INSERT;
    return status;
}

/* Whether this process does an op itself. Where load and store reach the key's part, a call would
 * save nothing, and would wait for the owner. */
static bool batch_needs_no_call(const tern_map_batch *batch, const tern_map_op *m) {
    const tern_hashtable *table = batch->map->table;
    return m->owner == table->rank || !batch->by_call[!tern_op_is_remote(table, m->owner)];
}

tern_status tern_map_batch_take(tern_map_batch *batch, tern_map_op *m, size_t number) {
    tern_scatter *scatter = &batch->scatter;
    if (batch_needs_no_call(batch, m))
        return tern_map_batch_run(batch, m, number);
    const size_t size = tern_map_message_item_words(m);
    if (size > scatter->bundle_words && batch->slots == NULL)
        return large_start(batch, m, number, batch->promise);
    if (size > scatter->bundle_words) {
        batch_note(batch, number, TERN_MAP_LEFT, 0);
        return TERN_OK;
    }
    uint64_t *words;
    tern_status status = tern_scatter_item(scatter, m->owner, number, size, &words);
    if (status == TERN_ERR_AGAIN && large_end_all(batch))
        status = tern_scatter_item(scatter, m->owner, number, size, &words);
    if (status != TERN_OK)
        return status;
    (void)tern_map_message_fill(m, false, words);
    if (tern_scatter_written(scatter, m->owner) != TERN_OK)
        tern_error_clear(); /* the scatter has noted it */
    return TERN_OK;
}

static tern_status batch_find_left(tern_map_batch *b, size_t i) {
    const tern_map_slot *slot = &b->slots[i];
    tern_map_op m;
    tern_map_key_make(b->map, slot->key, slot->key_bytes, &m.key);
    tern_map_op_init_find(&m, b->scatter.worker, b->map, TERN_READ_WRITE, slot->value, slot->room);
    m.by_call = true;
    b->later--;
    return tern_map_batch_run(b, &m, i);
}

tern_status tern_map_batch_finish(tern_map_batch *batch, size_t count) {
    tern_scatter *scatter = &batch->scatter;
    tern_status status = tern_scatter_send(scatter);
    if (large_end_all(batch) && status == TERN_ERR_AGAIN)
        status = tern_scatter_send(scatter);
    tern_ignore(tern_scatter_wait(scatter));
    for (size_t i = 0;
         i < count && batch->later > 0 && status != TERN_ERR_AGAIN && scatter->failed == TERN_OK;
         i++)
        if (batch->slots[i].found == LATER)
            status = batch_find_left(batch, i);
    return status == TERN_ERR_AGAIN ? status : TERN_OK;
}

void tern_map_batch_end(tern_map_batch *batch) { tern_scatter_end(&batch->scatter); }
