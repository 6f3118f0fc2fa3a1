#include "hashtable/operations.h"

#include "hashtable/growth/growth.h"
#include "hashtable/near/scratch.h"

/* Finding: with writers about, without them, and for what then changes the key that it has found.
 */

/* Finds while others may write. On TERN_OK p stands at the bucket and its entry is in entry.
 * settle: an insert that is under way is waited for. */
TERN_ALWAYS_INLINE tern_status find_moving(tern_key_search *p, tern_shape s, bool near, bool settle,
                                           uint64_t *entry) {
    for (; p->left > 0; tern_probe_next(p, s)) {
        uint64_t state = TERN_FREE;
        if (!near && tern_probe_is_long(p)) {
            tern_status status = tern_probe_skip(p);
            if (status != TERN_OK)
                return status;
            if (p->left == 0)
                break;
        }
        if (near) {
            (void)tern_state_load(p, s, near, &state);
            if (state == TERN_FREE)
                break;
            if (state == TERN_FROZEN)
                return TERN_BEYOND;
            if (!tern_state_may_hold(state, p->hash))
                continue;
        }
        tern_wait_state wait = TERN_WAIT_IN("an operation on a hash table");
        for (;;) {
            tern_status status = tern_entry_get(p, s, near, entry);
            if (status != TERN_OK)
                return status;
            tern_verdict verdict = tern_probe_judge(p, s, entry);
            if (verdict == TERN_ENTRY_MINE)
                return TERN_OK;
            if (verdict == TERN_ENTRY_ERASED)
                return TERN_ERR_NOT_FOUND;
            if (verdict == TERN_ENTRY_MOVED)
                return TERN_MOVED;
            if (verdict == TERN_ENTRY_OTHER)
                break;
            /* After the entry was read, so that "never updated" rules out that an update tore it:
             * what was met is an insert that had not arrived, hence has not returned. */
            status = tern_state_reload(p, s, near, &state);
            if (status != TERN_OK)
                return status;
            if (state == TERN_FREE)
                return TERN_ERR_NOT_FOUND;
            if (state == TERN_FROZEN)
                return TERN_BEYOND;
            bool arriving = (state & (TERN_KIND | TERN_UPDATED)) == TERN_TAKEN;
            if (!tern_state_may_hold(state, p->hash) || (arriving && !settle) ||
                state == TERN_LOST || TERN_BROKEN(TERN_BREAK_UPDATE))
                break;
            /* Seen moved, it was whole before. */
            status = arriving ? tern_probe_settle(*p, &verdict) : tern_bucket_wait(p, &wait, state);
            if (status != TERN_OK)
                return status;
        }
    }
    return TERN_ERR_NOT_FOUND;
}

tern_status tern_probe_locate(tern_key_search *p, uint64_t *entry) {
    tern_shape s = p->table->shape;
    return p->part->near != NULL ? find_moving(p, s, true, true, entry)
                                 : find_moving(p, s, false, true, entry);
}

/* Finds by gets while nobody writes: an entry that does not check ends the probe, and several
 * buckets can be had at once, states and counters included: run of them, whole cache lines. [out]
 * found: the entry, in room. */
static tern_status find_still(tern_key_search *p, tern_shape s, uint64_t *room, uint64_t run,
                              const uint64_t **found) {
    while (p->left > 0) {
        uint64_t first = p->index & ~(tern_shape_line(s) - 1);
        uint64_t count = p->part->count - first;
        count = count < run ? count : run;
        tern_status status =
            tern_get(p->worker, room, tern_ptr_add(p->part->buckets, (int64_t)(first * s.stride)),
                     count * s.stride);
        if (status != TERN_OK)
            return status;
        for (uint64_t i = 0; i < count && p->left > 0; i++, tern_probe_next(p, s)) {
            const uint64_t *entry = room + ((p->index - first) * s.stride + s.entry_at) / 8;
            tern_verdict verdict = tern_probe_judge(p, s, entry);
            if (verdict == TERN_ENTRY_INVALID || verdict == TERN_ENTRY_ERASED)
                return TERN_ERR_NOT_FOUND;
            if (verdict == TERN_ENTRY_MINE) {
                *found = entry;
                return TERN_OK;
            }
        }
    }
    return TERN_ERR_NOT_FOUND;
}

/* What the find returns: of the entry at found, or of the counter above it. */
static inline tern_status bucket_take(const tern_key_search *p, bool near, bool still,
                                      const uint64_t *found, void *value) {
    const tern_hashtable *table = p->table;
    tern_shape s = table->shape;
    if (!tern_shape_counts(s)) {
        if (table->value_bytes > 0)
            memcpy(value, found + 1 + s.key_words, table->value_bytes);
        return TERN_OK;
    }
    uint64_t count;
    tern_status status = TERN_OK;
    if (still)
        count = found[-1];
    else if (near)
        /* R7: tern_counter_add */
        count = __atomic_load_n(tern_counter_near(p, s), __ATOMIC_SEQ_CST);
    else
        status = tern_atomic_load(p->worker, tern_bucket_far(p, s, 8), &count);
    if (status != TERN_OK)
        return status;
    if (tern_counter_gone(count))
        return tern_counter_moved(count) ? tern_counter_follow(*p) : TERN_ERR_NOT_FOUND;
    count = tern_counter_number(count);
    memcpy(value, &count, sizeof count);
    return TERN_OK;
}

tern_status tern_operation_find(tern_worker *worker, const tern_hashtable *table,
                                const uint64_t *key, uint64_t hash, tern_flags promise,
                                void *value) {
    tern_shape s = table->shape;
    tern_table_enter(worker, table);
    tern_key_search p = tern_probe_start(worker, table, key, hash);
    bool near = p.part->near != NULL;
    /* Where keys move, the owner may be moving keys in any phase. */
    bool still = !near && promise == TERN_READ_ONLY && !tern_table_moves(table);
    tern_scratch room;
    /* Where a get is a copy, reading ahead costs cache lines and saves nothing. */
    bool copies = tern_reach_address(worker, p.part->buckets, 8) != NULL;
    uint64_t line = tern_shape_line(s), most = still && !copies ? sizeof room.small / s.stride : 1;
    uint64_t run = most > line ? most / line * line : line;
    uint64_t *entry = tern_scratch_take(&room, run * s.stride);
    tern_status status = TERN_ERR_MEMORY;
    if (entry == NULL)
        goto out;
    const uint64_t *found = entry;
    do {
        status = near    ? find_moving(&p, s, true, false, entry)
                 : still ? find_still(&p, s, entry, run, &found)
                         : find_moving(&p, s, false, false, entry);
        if (status == TERN_OK)
            status = bucket_take(&p, near, still, found, value);
    } while (tern_probe_again(&p, false, &status));
out:
    tern_table_exit(worker, table);
    tern_scratch_free(&room);
    return status;
}
