#include "hashtable/batch/run.h"

#include "hashtable/op/pool.h"

/* A run looks at a group of items ahead of their turn, all together. A prefetch waits for the walk
 * of the page tables, which takes longest, and only walks close together in the program overlap.
 */
enum { GROUP = 16, LINES_AHEAD = 4, ITEMS_PER_PROGRESS = 1024 };

/* What is known of the items ahead, by their number. */
typedef struct lookahead {
    uint64_t hash[2 * GROUP];
    uint64_t key[TERN_KEY_MAX / 8]; /* the one that is worked on */
} lookahead;

/* Always inlined: to gcc a function that only prefetches has no effect, so it drops the call. */
static inline __attribute__((always_inline)) void run_prefetch(const tern_hashtable *table,
                                                               uint32_t owner, uint64_t hash) {
    const tern_table_part *part = tern_table_part_of(table, owner);
    const char *direct = part->direct;
    if (direct == NULL)
        return;
    direct += tern_part_bucket(part, hash) * table->shape.stride;
    for (uint32_t at = 0; at < table->shape.stride && at < 64 * LINES_AHEAD; at += 64)
        __builtin_prefetch(direct + at, 1);
}

/* False: the key belongs to another rank, and the items were to be this rank's. */
static inline __attribute__((always_inline)) bool
look_at(const tern_hashtable *table, const tern_items *items, size_t number, lookahead *ahead) {
    uint64_t hash = tern_hash_of_bytes(table, items->keys + number * items->key_step);
    uint32_t owner = tern_hash_owner(table, hash);
    ahead->hash[number % (2 * GROUP)] = hash;
    run_prefetch(table, owner, hash);
    return items->owner != table->rank || owner == table->rank;
}

static bool look_ahead(const tern_hashtable *table, const tern_items *items, size_t first,
                       lookahead *ahead) {
    bool right = true;
    for (size_t i = first; i < first + GROUP && i < items->count; i++)
        right = look_at(table, items, i, ahead) && right;
    return right;
}

static tern_status run_refuse(void) {
    return tern_fail(TERN_ERR_ARGUMENT, "a key in a batch belongs to another rank");
}

static void load_key(const tern_hashtable *table, const tern_items *items, size_t number,
                     lookahead *ahead) {
    const char *key = items->keys + number * items->key_step;
    if (table->key_bytes == 8)
        memcpy(ahead->key, key, 8);
    else
        tern_words_fill(ahead->key, table->shape.key_words, key, table->key_bytes);
}

static void run_make_progress(tern_worker *worker, size_t number) {
    if (number % ITEMS_PER_PROGRESS == ITEMS_PER_PROGRESS - 1 && !worker->in_handler)
        (void)tern_progress_round(worker);
}

uint64_t tern_items_keys(const tern_items *items, size_t number) {
    uint64_t count = 1;
    if (items->counts != NULL)
        memcpy(&count, items->counts + number * items->value_step, sizeof count);
    return count;
}

tern_items tern_items_of(const tern_hashtable *table, const tern_bundle_head *head,
                         const uint64_t *words) {
    const size_t numbers = tern_bundle_numbers(head->kind, head->form);
    const size_t step = 8 * tern_item_words(table, head->kind, head->form);
    const char *keys = (const char *)(words + numbers);
    const char *values = keys + 8 * (size_t)table->shape.key_words;
    const bool valued = tern_op_inserts(head->kind) || (head->form & TERN_BUNDLE_NUMBERED) != 0;
    return (tern_items){.kind = head->kind,
                        .promise = TERN_READ_WRITE,
                        .count = head->count,
                        .keys = keys,
                        .values = valued ? values : NULL,
                        .counts = head->form & TERN_BUNDLE_COUNTED ? keys + step - 8 : NULL,
                        .key_step = step,
                        .value_step = step,
                        .number = numbers > 0 ? words[0] : 0,
                        .desired = numbers > 1 ? words[1] : 0,
                        .owner = table->rank};
}

void tern_items_op(const tern_items *items, size_t number, tern_op *op) {
    const char *value = items->values == NULL ? NULL : items->values + number * items->value_step;
    op->kind = items->kind;
    op->given = value;
    op->number = items->number;
    op->desired = items->desired;
    if (op->kind != TERN_OP_ADD)
        return;
    if (value != NULL)
        memcpy(&op->number, value, sizeof op->number);
    op->number *= tern_items_keys(items, number);
}

char *tern_outcome_value(const tern_outcomes *out, const tern_hashtable *table, size_t number) {
    const size_t place = out->packed          ? out->stored
                         : out->place != NULL ? out->place[number]
                                              : number;
    return out->values + place * tern_found_bytes(table);
}

bool tern_outcome_note(tern_outcomes *out, const tern_items *items, size_t number,
                       tern_status outcome) {
    if (!tern_op_is_answer(outcome))
        return false;
    if (outcome == TERN_OK)
        out->stored += tern_items_keys(items, number);
    if (out->found != NULL)
        out->found[out->place != NULL ? out->place[number] : number] = outcome == TERN_OK;
    return true;
}

static tern_status run_one(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                           size_t number, const uint64_t *key, uint64_t hash,
                           const tern_outcomes *out) {
    tern_op op;
    if (items->kind == TERN_OP_FIND) {
        tern_op_init(&op, TERN_OP_FIND, worker, table, key, hash, items->promise);
        op.taken = tern_outcome_value(out, table, number);
    } else {
        tern_items_op(items, number, &op);
        tern_op_init(&op, (tern_op_kind)op.kind, worker, table, key, hash, TERN_WRITE_ONLY);
    }
    return tern_op_run(&op);
}

static tern_status run_all(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                           tern_outcomes *out) {
    lookahead ahead;
    bool right = look_ahead(table, items, 0, &ahead);
    for (size_t i = 0; i < items->count && right; i++) {
        uint64_t hash = ahead.hash[i % (2 * GROUP)];
        if (i % GROUP == 0)
            right = look_ahead(table, items, i + GROUP, &ahead);
        load_key(table, items, i, &ahead);
        const tern_status status = run_one(worker, table, items, i, ahead.key, hash, out);
        if (!tern_outcome_note(out, items, i, status))
            return status;
        out->done = i + 1;
        run_make_progress(worker, i);
    }
    return right ? TERN_OK : run_refuse();
}

tern_status tern_items_run(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                           tern_outcomes *out) {
    out->done = out->stored = 0;
    const tern_status status = run_all(worker, table, items, out);
    if (items->kind != TERN_OP_FIND)
        tern_entries_take_effect();
    return status;
}
