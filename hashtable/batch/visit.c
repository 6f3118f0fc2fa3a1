#include "hashtable/batch/batch.h"

#include "hashtable/arrays/arrays.h"

#include "hashtable/bucket/scratch.h"

/*
 * Walks over one part, or over all. Nobody writes meanwhile, so entries are copied plainly and
 * counters are read by plain loads, which is far cheaper than atomics of MPI. Parts that load and
 * store do not reach are read by large gets.
 *
 * A walk of a part begins when none of its keys are being moved. It stays in the array of that
 * moment even if the owner then begins to move keys: nobody else writes, so moved entries are still
 * there to read. But the owner marks some of their words meanwhile. So entries are copied word by
 * word, except those that a get has brought.
 */

enum { PIECE = 64 << 10 }; /* bytes of a get */

typedef int table_visitor(const void *key, const void *value, void *argument);

typedef struct table_walk {
    const tern_hashtable *table;
    const tern_table_part *part;
    uint64_t *entry; /* room for one */
    table_visitor *visit;
    void *argument;
    bool marked; /* the owner may be marking words of what is visited */
    bool ended;  /* visit has asked to end the walk */
} table_walk;

static bool is_there(tern_verdict verdict, const uint64_t *entry) {
    return verdict == TERN_ENTRY_MINE ||
           (verdict == TERN_ENTRY_MOVED && (entry[0] & TERN_STAMP) == TERN_STAMP_MOVED);
}

/* Visits count buckets, the first of which has that index and lies at buckets. */
static void visit_buckets(table_walk *w, const char *buckets, uint64_t index, uint64_t count) {
    const tern_hashtable *table = w->table;
    tern_shape s = table->shape;
    size_t words = tern_entry_words(s);
    for (uint64_t i = 0; i < count && !w->ended; i++, buckets += s.stride) {
        const uint64_t *place = (const uint64_t *)(const void *)(buckets + s.entry_at);
        /* R2: move_leave; nobody writes but the owner that moves keys */
        if (__atomic_load_n(place, __ATOMIC_RELAXED) == 0)
            continue;
        if (w->marked)
            tern_entry_copy(place, words, w->entry);
        else
            tern_internal_copy(w->entry, place, 8 * words);
        /* Compares the entry's key with itself: only whether the entry is whole matters. */
        if (!is_there(tern_entry_judge(w->part->nonce, index + i, s, w->entry, w->entry + 1),
                      w->entry))
            continue;
        uint64_t counter;
        const void *value = w->entry + 1 + s.key_words;
        if (tern_shape_counts(s)) {
            /* R2: move_leave */
            counter = __atomic_load_n(place - 1, __ATOMIC_RELAXED);
            if (tern_counter_erased(counter))
                continue;
            counter = tern_counter_number(counter);
            value = &counter;
        }
        w->ended = w->visit(w->entry + 1, value, w->argument) != 0;
    }
}

/* Visits a part that only gets reach. */
static tern_status visit_remote(tern_worker *worker, table_walk *w) {
    const uint64_t stride = w->table->shape.stride, all = w->part->count;
    const uint64_t most = stride < PIECE ? PIECE / stride : 1;
    char *piece = malloc(most * stride);
    if (piece == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %llu bytes of buckets",
                         (unsigned long long)most * stride);
    tern_status status = TERN_OK;
    for (uint64_t at = 0; at < all && !w->ended && status == TERN_OK; at += most) {
        uint64_t count = all - at < most ? all - at : most;
        status = tern_get(worker, piece, tern_ptr_add(w->part->buckets, (int64_t)(at * stride)),
                          count * stride);
        if (status == TERN_OK)
            visit_buckets(w, piece, at, count);
    }
    free(piece);
    return status;
}

/* Visits the parts of ranks from first to last. */
static tern_status visit_parts(tern_worker *worker, tern_hashtable *table, uint32_t first,
                               uint32_t last, table_visitor *visit, void *argument) {
    tern_scratch room;
    table_walk w = {.table = table,
                    .entry = tern_scratch_take(&room, 8 * tern_entry_words(table->shape)),
                    .visit = visit,
                    .argument = argument};
    if (w.entry == NULL)
        return TERN_ERR_MEMORY;
    tern_status status = TERN_OK;
    tern_table_enter(worker, table);
    for (uint32_t r = first; r <= last && !w.ended && status == TERN_OK; r++) {
        status = tern_growth_rest(worker, table, r);
        if (status != TERN_OK)
            break;
        w.part = tern_table_part_of(table, r);
        const uint64_t bytes = w.part->count * table->shape.stride;
        const char *direct = tern_internal_reach_address(worker, w.part->buckets, bytes);
        w.marked = direct != NULL;
        if (direct != NULL)
            visit_buckets(&w, direct, 0, w.part->count);
        else
            status = visit_remote(worker, &w);
    }
    tern_table_exit(worker, table);
    tern_scratch_free(&room);
    return status;
}

tern_status tern_visit_check(const tern_worker *worker, const tern_hashtable *table, bool missing,
                             const char *name) {
    if (worker == NULL || table == NULL || missing)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker, table, visit or count is NULL", name);
    if (worker->context != table->context)
        return tern_object_refuse(table->context, name, "table");
    return TERN_OK;
}

tern_status tern_hashtable_for_each(tern_worker *worker, tern_hashtable *table,
                                    int (*visit)(const void *key, const void *value,
                                                 void *argument),
                                    void *argument) {
    tern_status status = tern_visit_check(worker, table, visit == NULL, "tern_hashtable_for_each");
    return status == TERN_OK ? visit_parts(worker, table, table->rank, table->rank, visit, argument)
                             : status;
}

tern_status tern_hashtable_for_each_anywhere(tern_worker *worker, tern_hashtable *table,
                                             int (*visit)(const void *key, const void *value,
                                                          void *argument),
                                             void *argument) {
    tern_status status =
        tern_visit_check(worker, table, visit == NULL, "tern_hashtable_for_each_anywhere");
    return status == TERN_OK ? visit_parts(worker, table, 0, table->ranks - 1, visit, argument)
                             : status;
}

static int count_one(const void *key, const void *value, void *argument) {
    (void)key;
    (void)value;
    ++*(uint64_t *)argument;
    return 0;
}

tern_status tern_hashtable_local_size(tern_worker *worker, tern_hashtable *table, uint64_t *count) {
    tern_status status =
        tern_visit_check(worker, table, count == NULL, "tern_hashtable_local_size");
    uint64_t keys = 0;
    if (status == TERN_OK)
        status = visit_parts(worker, table, table->rank, table->rank, count_one, &keys);
    if (status == TERN_OK)
        *count = keys;
    return status;
}
