#include "hashtable/batch/batch.h"

#include <stdlib.h>

#include "hashtable/arrays/arrays.h"
#include "hashtable/bucket/short.h"
#include "hashtable/op/op.h"

/*
 * Many adds: the hot path of counters. Budget for a key of 8 bytes by load/store: one cache line,
 * one locked instruction, no call of a function, no branch on the table's shape (measured by
 * tern-bench). Keys are worked on in groups. While the buckets of one group are prefetched, the
 * keys of the one before are looked up, which costs checksums and mispredicted branches that
 * overlap, and only then counted: a locked instruction lets nothing overlap.
 */
enum { GROUP = 16 };

/* A round of progress takes as long as one key. Ranks that send batches by call wait for it. If it
 * came more rarely, they would measure calls as slow only because this rank works by RMA. */
enum { KEYS_PER_PROGRESS = 128 };

/* If a group has met a part that is crowded or moving, makes progress at once, as a single
 * operation would. Otherwise a batch could put new keys into the part faster than its owner, which
 * may be this rank, moves them out, and probes would get longer without end. */
static void batch_make_progress(tern_worker *worker, const tern_hashtable *table, size_t applied) {
    tern_table_inside *inside = &table->inside[worker->index];
    if (__builtin_expect(!inside->owes, 1) && applied % KEYS_PER_PROGRESS != 0)
        return;
    if (worker->in_handler)
        return;
    inside->owes = false;
    (void)tern_progress_round(worker);
}

/* What was found out about a key of a group. */
typedef struct direct_key {
    uint64_t hash;
    uint64_t *counter; /* NULL: the key was not there */
} direct_key;

/* Hashes the keys of a group and prefetches their buckets. */
TERN_ALWAYS_INLINE bool stage_direct8(tern_worker *worker, const tern_hashtable *table,
                                      const char *keys, size_t count, direct_key *group) {
    for (size_t i = 0; i < count; i++) {
        group[i].hash = XXH3_64bits(keys + 8 * i, 8);
        tern_key_search p = tern_probe_start(worker, table, NULL, group[i].hash);
        if (__builtin_expect(p.part->direct == NULL, 0))
            return false;
        __builtin_prefetch(tern_bucket_direct(&p, TERN_SHAPE_COUNT8, 0), 1);
    }
    return true;
}

TERN_ALWAYS_INLINE void look_direct8(tern_worker *worker, const tern_hashtable *table,
                                     const char *keys, size_t count, direct_key *group) {
    for (size_t i = 0; i < count; i++) {
        uint64_t key, entry[2];
        memcpy(&key, keys + 8 * i, 8);
        tern_key_search p = tern_probe_start(worker, table, &key, group[i].hash);
        const bool there = tern_short_probe(&p, TERN_SHAPE_COUNT8, entry) == TERN_SHORT_MINE;
        group[i].counter = there ? tern_counter_direct(&p, TERN_SHAPE_COUNT8) : NULL;
    }
}

/* Adds to one key by an op of its own. The batch holds no array meanwhile. */
static __attribute__((noinline)) tern_status add_alone(tern_worker *worker,
                                                       const tern_hashtable *table,
                                                       const uint64_t *key, uint64_t hash,
                                                       uint64_t delta) {
    tern_op op;
    tern_op_init(&op, TERN_OP_ADD, worker, table, key, hash, TERN_WRITE_ONLY);
    op.number = delta;
    tern_table_exit(worker, table); /* what the batch has found may move */
    /* The short path was tried. */
    const tern_status status = tern_op_run_in(&op, NULL);
    tern_table_reenter(worker, table);
    return status;
}

/* [out] alone: add_alone was needed, so counters that were found before may have moved. */
TERN_ALWAYS_INLINE tern_status add_direct8_one(tern_worker *worker, const tern_hashtable *table,
                                               const char *at, const direct_key *found,
                                               uint64_t delta, bool *alone) {
    if (found->counter != NULL &&
        __builtin_expect(
            !tern_counter_gone(tern_counter_add(found->counter, tern_counter_word(delta))), 1))
        return TERN_OK;
    uint64_t key, before;
    memcpy(&key, at, 8);
    if (tern_short_add(tern_probe_start(worker, table, &key, found->hash), delta, TERN_WRITE_ONLY,
                       &before) != TERN_SHORT_DECLINED)
        return TERN_OK;
    *alone = true;
    return add_alone(worker, table, &key, found->hash, delta);
}

TERN_ALWAYS_INLINE tern_status count_direct8(tern_worker *worker, const tern_hashtable *table,
                                             const char *keys, size_t count, uint64_t delta,
                                             direct_key *group, tern_outcomes *out) {
    tern_status status = TERN_OK;
    size_t i = 0, added = 0;
    for (; i < count; i++) {
        bool alone = false;
        status = add_direct8_one(worker, table, keys + 8 * i, &group[i], delta, &alone);
        if (__builtin_expect(status != TERN_OK && status != TERN_ERR_FULL, 0))
            break;
        if (__builtin_expect(alone, 0))
            look_direct8(worker, table, keys + 8 * (i + 1), count - i - 1, group + i + 1);
        added += status == TERN_OK;
    }
    out->done += i;
    out->stored += added;
    return i < count ? status : TERN_OK;
}

/* Load and store must reach every key's part. The caller has checked that, except for keys that
 * came in a message. */
static tern_status add_direct8(tern_worker *worker, const tern_hashtable *table, const char *keys,
                               size_t count, uint64_t delta, tern_outcomes *out) {
    direct_key groups[2][GROUP];
    bool right = stage_direct8(worker, table, keys, count < GROUP ? count : GROUP, groups[0]);
    for (size_t at = 0; at < count && right; at += GROUP) {
        direct_key *group = groups[at / GROUP % 2], *next = groups[(at / GROUP + 1) % 2];
        size_t left = count - at, here = left < GROUP ? left : GROUP;
        left -= here;
        right =
            stage_direct8(worker, table, keys + 8 * (at + here), left < GROUP ? left : GROUP, next);
        look_direct8(worker, table, keys + 8 * at, here, group);
        tern_status status = count_direct8(worker, table, keys + 8 * at, here, delta, group, out);
        if (status != TERN_OK)
            return status;
        batch_make_progress(worker, table, at);
    }
    return right ? TERN_OK : tern_fail(TERN_ERR_ARGUMENT, "a key in a batch is another rank's");
}

/* Adds keys in the order of regions or, without memory to sort them, in their own. done counts
 * keys, and does not say which. */
static tern_status add_by_region(tern_worker *worker, const tern_hashtable *table, const char *keys,
                                 size_t count, uint64_t delta, tern_outcomes *out) {
    const size_t together = tern_regions_together(table, count);
    uint64_t *sorted = malloc(8 * together);
    tern_status status = TERN_OK;
    if (sorted == NULL)
        return add_direct8(worker, table, keys, count, delta, out);
    while (count > 0 && status == TERN_OK) {
        const size_t here = count < together ? count : together;
        tern_regions_sort(table, keys, here, sorted);
        status = add_direct8(worker, table, (const char *)sorted, here, delta, out);
        keys += 8 * here;
        count -= here;
    }
    free(sorted);
    return status;
}

/* Whether this is the hot path's case: keys of 8 bytes in direct memory, which all add the same. */
static bool adds_are_direct8(const tern_hashtable *table, const tern_items *items, bool direct) {
    return direct && items->kind == TERN_OP_ADD && items->values == NULL && items->counts == NULL &&
           items->key_step == 8 && table->key_bytes == 8 && !table->users_hash;
}

static tern_status add_many_direct8(tern_worker *worker, const tern_hashtable *table,
                                    const tern_items *items, tern_outcomes *out) {
    /* Of a message the items that are done have to be the first ones, so these are not sorted. */
    const bool regions = items->owner == TERN_NOBODY && tern_regions_pay(table, items->count);
    out->done = out->stored = 0;
    tern_table_enter(worker, table);
    const tern_status status =
        regions ? add_by_region(worker, table, items->keys, items->count, items->number, out)
                : add_direct8(worker, table, items->keys, items->count, items->number, out);
    tern_table_exit(worker, table);
    tern_entries_take_effect();
    return status;
}

tern_status tern_items_without_calls(tern_worker *worker, tern_hashtable *table,
                                     const tern_items *items, tern_outcomes *out) {
    const bool direct = table->all_direct ||
                        (items->owner != TERN_NOBODY && table->part[items->owner].direct != NULL);
    if (adds_are_direct8(table, items, direct))
        return add_many_direct8(worker, table, items, out);
    if (direct || items->owner == table->rank)
        return tern_items_run(worker, table, items, out);
    return tern_items_pipeline(worker, table, items, out);
}
