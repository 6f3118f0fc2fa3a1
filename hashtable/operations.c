#include "hashtable/operations.h"

#include "hashtable/probe.h"
#include "hashtable/room.h"

/*
 * Cost, in operations that are not load/store, away from collisions (tests/test_hashtable_cost.c):
 *
 *     insert, new key      CAS, put; one CAS lost or one get more if the last insert met its key
 *     insert, known key    get, CAS, put, CAS; one CAS more if the last insert met a new key
 *     add                  get, fetch-and-add; new key: get, CAS, fetch-and-add, put
 *     find                 get; counters and absent keys a load more, except in a phase of reads
 */

/* Puts a new value into a bucket that holds the key. guess: its state, if it is not locked. The
 * lock is the linking piece of two updates: each reads nothing, so which state precedes which does
 * not matter, only that entries are put one at a time. */
static tern_status update(const tern_search *p, bool near, uint64_t guess, uint64_t *entry) {
    const tern_hashtable *table = p->table;
    const uint64_t locked = tern_state_locked(p->hash, table->rank);
    tern_wait_state wait = TERN_WAIT_START;
    uint64_t expected = guess, seen;
    tern_status status;
    for (;;) {
        if ((expected & TERN_KIND) == TERN_LOCKED) {
            status = tern_probe_wait(p->worker, &wait, expected);
            if (status != TERN_OK)
                return status;
            expected = tern_state_unlocked(p->hash);
        }
        status = tern_state_cas(p, table->shape, near, expected, locked, &seen);
        if (status != TERN_OK)
            return status;
        if (seen == expected)
            break;
        expected = seen;
    }
    tern_entry_seal(p, table->shape, entry, TERN_STAMP_UPDATED);
    status = tern_entry_put(p, table->shape, near, entry);
    /* Whoever locks next must not have its put overtaken by this one. */
    if (status == TERN_OK && !near)
        status = tern_fence(p->worker, p->part->buckets.rank);
    if (status == TERN_OK)
        status = tern_state_cas(p, table->shape, near, locked, tern_state_unlocked(p->hash), &seen);
    return status;
}

static tern_status insert(tern_search *p, bool near, bool look, bool flush, uint64_t *entry,
                          uint64_t *seen, bool *existed) {
    const tern_hashtable *table = p->table;
    tern_claim claim;
    tern_status status = near ? tern_probe_claim(p, table->shape, true, look, seen, &claim)
                              : tern_probe_claim(p, table->shape, false, look, seen, &claim);
    if (status != TERN_OK)
        return status;
    *existed = !claim.created;
    if (!claim.created)
        return table->value_bytes > 0 ? update(p, near, claim.state, entry) : TERN_OK;
    tern_entry_seal(p, table->shape, entry, tern_stamp_inserted(table->rank));
    status = tern_entry_put(p, table->shape, near, entry);
    /* A find takes an entry that has not arrived for an insert that has not returned. */
    if (status == TERN_OK && !near && flush)
        status = tern_flush(p->worker, p->part->buckets.rank);
    return status;
}

tern_status tern_operation_insert(tern_worker *worker, tern_hashtable *table, const uint64_t *key,
                                  uint64_t hash, const void *value, tern_promise promise,
                                  bool *existed) {
    tern_room room_for_mine, room_for_seen;
    size_t bytes = 8 * tern_entry_words(table->shape);
    uint64_t *entry = tern_room_take(&room_for_mine, bytes);
    uint64_t *seen = tern_room_take(&room_for_seen, bytes);
    tern_status status = TERN_ERR_MEMORY;
    if (entry == NULL || seen == NULL)
        goto out;
    tern_words_fill(entry + 1 + table->shape.key_words, table->shape.value_words, value,
                    table->value_bytes);
    tern_search p = tern_probe_start(worker, table, key, hash);
    bool look = atomic_load_explicit(&table->meets_keys, memory_order_relaxed);
    status = insert(&p, p.part->near != NULL, look, promise != TERN_PROMISE_WRITE_ONLY, entry, seen,
                    existed);
    if (status == TERN_OK && *existed != look)
        atomic_store_explicit(&table->meets_keys, *existed, memory_order_relaxed);
out:
    tern_room_free(&room_for_mine);
    tern_room_free(&room_for_seen);
    return status;
}

tern_status tern_probe_add_any(tern_search *p, bool look, uint64_t delta, uint64_t *before,
                               bool *far_put) {
    tern_shape s = p->table->shape;
    tern_room room;
    uint64_t *entry = tern_room_take(&room, 8 * tern_entry_words(s));
    if (entry == NULL)
        return TERN_ERR_MEMORY;
    tern_status status = p->part->near != NULL
                             ? tern_probe_add(p, s, true, look, delta, entry, before, far_put)
                             : tern_probe_add(p, s, false, look, delta, entry, before, far_put);
    tern_room_free(&room);
    return status;
}

tern_status tern_operation_add(tern_worker *worker, const tern_hashtable *table,
                               const uint64_t *key, uint64_t hash, uint64_t delta,
                               tern_promise promise, uint64_t *before) {
    tern_search p = tern_probe_start(worker, table, key, hash);
    bool far_put = false;
    tern_status status = tern_probe_add_any(&p, true, delta, before, &far_put);
    if (status == TERN_OK && far_put && promise != TERN_PROMISE_WRITE_ONLY)
        status = tern_flush(worker, p.part->buckets.rank);
    return status;
}

/* Finds while others may write. On TERN_OK p stands at the bucket and its entry is in entry. */
TERN_ALWAYS_INLINE tern_status find_moving(tern_search *p, tern_shape s, bool near,
                                           uint64_t *entry) {
    for (; p->left > 0; tern_probe_next(p, s)) {
        uint64_t state = TERN_FREE;
        if (near) {
            (void)tern_state_load(p, s, near, &state);
            if (state == TERN_FREE)
                break;
            if (!tern_state_may_hold(state, p->hash))
                continue;
        }
        tern_wait_state wait = TERN_WAIT_START;
        for (;;) {
            tern_status status = tern_entry_get(p, s, near, entry);
            if (status != TERN_OK)
                return status;
            tern_verdict verdict = tern_probe_judge(p, s, entry);
            if (verdict == TERN_ENTRY_MINE)
                return TERN_OK;
            if (verdict == TERN_ENTRY_OTHER)
                break;
            /* After the entry was read, so that "never updated" rules out that an update tore it:
             * what was met is an insert that had not arrived, hence has not returned. */
            status = tern_state_load(p, s, near, &state);
            if (status != TERN_OK)
                return status;
            if (state == TERN_FREE)
                return TERN_ERR_NOT_FOUND;
            if ((state & (TERN_KIND | TERN_UPDATED)) == TERN_TAKEN)
                break;
            status = tern_probe_wait(p->worker, &wait, state);
            if (status != TERN_OK)
                return status;
        }
    }
    return TERN_ERR_NOT_FOUND;
}

/* Finds by gets while nobody writes: an entry that does not check ends the probe, and several
 * buckets can be had at once, states and counters included: run of them, whole cache lines. [out]
 * found: the entry, in room. */
static tern_status find_still(tern_search *p, tern_shape s, uint64_t *room, uint64_t run,
                              const uint64_t **found) {
    while (p->left > 0) {
        uint64_t first = p->index & ~(tern_shape_line(s) - 1);
        uint64_t count = p->table->buckets - first;
        count = count < run ? count : run;
        tern_status status =
            tern_get(p->worker, room, tern_ptr_add(p->part->buckets, (int64_t)(first * s.stride)),
                     count * s.stride);
        if (status != TERN_OK)
            return status;
        for (uint64_t i = 0; i < count && p->left > 0; i++, tern_probe_next(p, s)) {
            const uint64_t *entry = room + ((p->index - first) * s.stride + s.entry_at) / 8;
            tern_verdict verdict = tern_probe_judge(p, s, entry);
            if (verdict == TERN_ENTRY_INVALID)
                return TERN_ERR_NOT_FOUND;
            if (verdict == TERN_ENTRY_MINE) {
                *found = entry;
                return TERN_OK;
            }
        }
    }
    return TERN_ERR_NOT_FOUND;
}

tern_status tern_operation_find(tern_worker *worker, const tern_hashtable *table,
                                const uint64_t *key, uint64_t hash, tern_promise promise,
                                void *value) {
    tern_shape s = table->shape;
    tern_search p = tern_probe_start(worker, table, key, hash);
    bool near = p.part->near != NULL;
    bool still = !near && promise == TERN_PROMISE_READ_ONLY;
    tern_room room;
    /* Where a get is a copy, reading ahead costs cache lines and saves nothing. */
    bool copies = tern_reach_address(worker, p.part->buckets, 8) != NULL;
    uint64_t line = tern_shape_line(s), most = still && !copies ? sizeof room.small / s.stride : 1;
    uint64_t run = most > line ? most / line * line : line;
    uint64_t *entry = tern_room_take(&room, run * s.stride);
    if (entry == NULL)
        return TERN_ERR_MEMORY;
    const uint64_t *found = entry;
    tern_status status = near    ? find_moving(&p, s, true, entry)
                         : still ? find_still(&p, s, entry, run, &found)
                                 : find_moving(&p, s, false, entry);
    if (status != TERN_OK)
        goto out;
    if (!tern_shape_counts(s)) {
        if (table->value_bytes > 0)
            memcpy(value, found + 1 + s.key_words, table->value_bytes);
        goto out;
    }
    uint64_t count;
    if (still)
        count = found[-1];
    else if (near)
        count = __atomic_load_n(tern_counter_near(&p, s), __ATOMIC_ACQUIRE);
    else
        status = tern_atomic_load(worker, tern_bucket_far(&p, s, 8), &count);
    if (status == TERN_OK)
        memcpy(value, &count, sizeof count);
out:
    tern_room_free(&room);
    return status;
}
