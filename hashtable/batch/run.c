#include "hashtable/batch/run.h"

#include "hashtable/op/op.h"

/* A group is looked at ahead of its turn, all its items together: what takes longest is the walk of
 * the page tables, which a prefetch waits for, and only those close together in the program
 * overlap.
 */
enum { GROUP = 16, LINES_AHEAD = 4, ITEMS_PER_PROGRESS = 1024 };

/* What is known of the items ahead, by their number. */
typedef struct lookahead {
    uint64_t hash[2 * GROUP];
    uint64_t key[TERN_KEY_MAX / 8]; /* the one that is worked on */
} lookahead;

/* Inlined always: a call of a function that does no more has no effect for gcc, which drops it. */
static inline __attribute__((always_inline)) void run_prefetch(const tern_hashtable *table,
                                                               uint32_t owner, uint64_t hash) {
    const tern_table_part *part = tern_table_part_of(table, owner);
    const char *near = part->near;
    if (near == NULL)
        return;
    near += tern_part_bucket(part, hash) * table->shape.stride;
    for (uint32_t at = 0; at < table->shape.stride && at < 64 * LINES_AHEAD; at += 64)
        __builtin_prefetch(near + at, 1);
}

/* False: the key has no business here. */
static inline __attribute__((always_inline)) bool
look_at(const tern_hashtable *table, const tern_items *items, size_t number, lookahead *ahead) {
    uint64_t hash = tern_hash_of_bytes(table, items->keys + number * items->key_step);
    uint32_t owner = tern_hash_owner(table, hash);
    ahead->hash[number % (2 * GROUP)] = hash;
    run_prefetch(table, owner, hash);
    return !items->own || owner == table->rank;
}

static bool look_ahead(const tern_hashtable *table, const tern_items *items, size_t first,
                       lookahead *ahead) {
    bool right = true;
    for (size_t i = first; i < first + GROUP && i < items->count; i++)
        right = look_at(table, items, i, ahead) && right;
    return right;
}

static tern_status run_refuse(void) {
    return tern_fail(TERN_ERR_ARGUMENT, "a key in a batch is another rank's");
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

void tern_items_op(const tern_items *items, size_t number, const tern_hashtable *table,
                   tern_op *op) {
    const char *value = items->values + number * items->value_step;
    op->kind = TERN_OP_INSERT;
    op->given = value;
    if (!tern_shape_counts(table->shape))
        return;
    op->kind = TERN_OP_ADD;
    if (items->counts != NULL)
        op->number = items->each * tern_items_keys(items, number);
    else
        memcpy(&op->number, value, sizeof op->number);
}

static tern_status run_insert(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                              size_t number, const uint64_t *key, uint64_t hash) {
    tern_op op;
    tern_items_op(items, number, table, &op);
    tern_op_init(&op, (tern_op_kind)op.kind, worker, table, key, hash, TERN_WRITE_ONLY);
    return tern_op_run(&op);
}

static tern_status insert_all(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                              size_t *done, size_t *stored) {
    lookahead ahead;
    *done = *stored = 0;
    bool right = look_ahead(table, items, 0, &ahead);
    for (size_t i = 0; i < items->count && right; i++) {
        uint64_t hash = ahead.hash[i % (2 * GROUP)];
        if (i % GROUP == 0)
            right = look_ahead(table, items, i + GROUP, &ahead);
        load_key(table, items, i, &ahead);
        tern_status status = run_insert(worker, table, items, i, ahead.key, hash);
        if (status != TERN_OK && status != TERN_ERR_FULL)
            return status;
        *stored += status == TERN_OK ? tern_items_keys(items, i) : 0;
        *done = i + 1;
        run_make_progress(worker, i);
    }
    return right ? TERN_OK : run_refuse();
}

tern_status tern_run_insert(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                            size_t *done, size_t *stored) {
    tern_status status = insert_all(worker, table, items, done, stored);
    tern_entries_take_effect();
    return status;
}

tern_status tern_run_find(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                          tern_flags promise, bool packed, char *values, unsigned char *found,
                          size_t *done, size_t *present) {
    const size_t step = tern_found_bytes(table);
    lookahead ahead;
    *done = *present = 0;
    bool right = look_ahead(table, items, 0, &ahead);
    for (size_t i = 0; i < items->count && right; i++) {
        uint64_t hash = ahead.hash[i % (2 * GROUP)];
        if (i % GROUP == 0)
            right = look_ahead(table, items, i + GROUP, &ahead);
        load_key(table, items, i, &ahead);
        char *value = values + (packed ? *present : i) * step;
        tern_op op;
        tern_op_init(&op, TERN_OP_FIND, worker, table, ahead.key, hash, promise);
        op.taken = value;
        const tern_status status = tern_op_run(&op);
        if (status != TERN_OK && status != TERN_ERR_NOT_FOUND)
            return status;
        *present += status == TERN_OK;
        if (found != NULL)
            found[i] = status == TERN_OK;
        *done = i + 1;
        run_make_progress(worker, i);
    }
    return right ? TERN_OK : run_refuse();
}
