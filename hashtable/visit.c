#include "hashtable/room.h"
#include "hashtable/table.h"
#include "tern/transfer.h"

/*
 * Walks over this rank's own part. Nobody writes meanwhile, so everything is read plainly, counters
 * too: a plain load is far cheaper than an atomic of MPI.
 */

typedef int visitor(const void *key, const void *value, void *argument);

static tern_status walk(const tern_hashtable *table, visitor *visit, void *argument) {
    tern_shape s = table->shape;
    size_t words = tern_entry_words(s);
    const char *bucket = tern_local(table->context, table->part[table->rank].buckets);
    tern_room room;
    uint64_t *entry = tern_room_take(&room, 8 * words);
    if (entry == NULL)
        return TERN_ERR_MEMORY;
    for (uint64_t i = 0; i < table->buckets; i++, bucket += s.stride) {
        const uint64_t *place = (const uint64_t *)(const void *)(bucket + s.entry_at);
        if (__atomic_load_n(place, __ATOMIC_RELAXED) == 0)
            continue;
        tern_copy(entry, place, 8 * words);
        /* The key with itself: what counts is that the entry is whole. */
        if (tern_entry_judge(table->nonce, i, s, entry, entry + 1) != TERN_ENTRY_MINE)
            continue;
        uint64_t counter;
        const void *value = entry + 1 + s.key_words;
        if (tern_shape_counts(s)) {
            counter = __atomic_load_n(place - 1, __ATOMIC_RELAXED);
            if (tern_counter_erased(counter))
                continue;
            counter = tern_counter_number(counter);
            value = &counter;
        }
        if (visit(entry + 1, value, argument) != 0)
            break;
    }
    tern_room_free(&room);
    return TERN_OK;
}

static tern_status check(const tern_worker *worker, const tern_hashtable *table, bool missing,
                         const char *name) {
    if (worker == NULL || table == NULL || missing)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: NULL argument", name);
    if (worker->context != table->context)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker and table are of different contexts", name);
    return TERN_OK;
}

tern_status tern_hashtable_for_each(tern_worker *worker, tern_hashtable *table,
                                    int (*visit)(const void *key, const void *value,
                                                 void *argument),
                                    void *argument) {
    tern_status status = check(worker, table, visit == NULL, "tern_hashtable_for_each");
    return status == TERN_OK ? walk(table, visit, argument) : status;
}

static int count_one(const void *key, const void *value, void *argument) {
    (void)key;
    (void)value;
    ++*(uint64_t *)argument;
    return 0;
}

tern_status tern_hashtable_local_size(tern_worker *worker, tern_hashtable *table, uint64_t *count) {
    tern_status status = check(worker, table, count == NULL, "tern_hashtable_local_size");
    uint64_t keys = 0;
    if (status == TERN_OK)
        status = walk(table, count_one, &keys);
    if (status == TERN_OK)
        *count = keys;
    return status;
}
