#include "hashtable/operations.h"

#include "hashtable/far/flight.h"
#include "hashtable/growth/growth.h"
#include "hashtable/near/scratch.h"

/* Finding: with writers about, without them, and for what then changes the key that it has found.
 */

/* Finds in a near part while others may write. On TERN_OK p stands at the bucket and its entry is
 * in entry. settle: an insert that is under way is waited for. */
TERN_ALWAYS_INLINE tern_status find_moving(tern_key_search *p, tern_shape s, bool settle,
                                           uint64_t *entry) {
    for (; p->left > 0; tern_probe_next(p, s)) {
        uint64_t state;
        (void)tern_state_load(p, s, true, &state);
        if (state == TERN_FREE)
            break;
        if (state == TERN_FROZEN)
            return TERN_BEYOND;
        if (!tern_state_may_hold(state, p->hash))
            continue;
        tern_wait_state wait = TERN_WAIT_IN("an operation on a hash table");
        for (;;) {
            (void)tern_entry_get(p, s, true, entry);
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
            (void)tern_state_reload(p, s, true, &state);
            if (state == TERN_FREE)
                return TERN_ERR_NOT_FOUND;
            if (state == TERN_FROZEN)
                return TERN_BEYOND;
            bool arriving = (state & (TERN_KIND | TERN_UPDATED)) == TERN_TAKEN;
            if (!tern_state_may_hold(state, p->hash) || (arriving && !settle) ||
                state == TERN_LOST || TERN_BROKEN(TERN_BREAK_UPDATE))
                break;
            /* Seen moved, it was whole before. */
            const tern_status status =
                arriving ? tern_probe_settle(*p, &verdict) : tern_bucket_wait(p, &wait, state);
            if (status != TERN_OK)
                return status;
        }
    }
    return TERN_ERR_NOT_FOUND;
}

tern_status tern_probe_locate(tern_key_search *p, uint64_t *entry) {
    static const tern_flight_plan locate = {.kind = TERN_FLIGHT_LOCATE};
    return p->part->near != NULL ? find_moving(p, p->table->shape, true, entry)
                                 : tern_flight_run(p, &locate, NULL, entry);
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

/* What the find returns: of the entry at found, or of the counter above it. still: nobody changes
 * it.
 */
static inline tern_status bucket_take(const tern_key_search *p, bool still, const uint64_t *found,
                                      void *value) {
    const tern_hashtable *table = p->table;
    tern_shape s = table->shape;
    if (!tern_shape_counts(s)) {
        if (table->value_bytes > 0)
            memcpy(value, found + 1 + s.key_words, table->value_bytes);
        return TERN_OK;
    }
    uint64_t count;
    if (still)
        count = found[-1];
    else
        /* R7: tern_counter_add */
        count = __atomic_load_n(tern_counter_near(p, s), __ATOMIC_SEQ_CST);
    if (tern_counter_gone(count))
        return tern_counter_moved(count) ? tern_counter_follow(*p) : TERN_ERR_NOT_FOUND;
    count = tern_counter_number(count);
    memcpy(value, &count, sizeof count);
    return TERN_OK;
}

/* Where nobody writes and no keys move. */
static tern_status operation_find_still(tern_worker *worker, const tern_hashtable *table,
                                        const uint64_t *key, uint64_t hash, void *value) {
    tern_shape s = table->shape;
    tern_scratch room;
    /* Where a get is a copy, reading ahead costs cache lines and saves nothing. */
    const tern_ptr there = table->part[tern_hash_owner(table, hash)].buckets;
    const bool copies = tern_reach_address(worker, there, 8) != NULL;
    const uint64_t line = tern_shape_line(s), most = copies ? 0 : sizeof room.small / s.stride;
    const uint64_t run = most > line ? most / line * line : line;
    uint64_t *entry = tern_scratch_take(&room, run * s.stride);
    if (entry == NULL)
        return TERN_ERR_MEMORY;
    tern_table_enter(worker, table);
    tern_key_search p = tern_probe_start(worker, table, key, hash);
    const uint64_t *found = entry;
    tern_status status = find_still(&p, s, entry, run, &found);
    if (status == TERN_OK)
        status = bucket_take(&p, true, found, value);
    tern_table_exit(worker, table);
    tern_scratch_free(&room);
    return status;
}

static tern_status operation_find_near(tern_worker *worker, const tern_hashtable *table,
                                       const uint64_t *key, uint64_t hash, void *value) {
    tern_shape s = table->shape;
    tern_scratch room;
    uint64_t *entry = tern_scratch_take(&room, 8 * tern_entry_words(s));
    if (entry == NULL)
        return TERN_ERR_MEMORY;
    tern_table_enter(worker, table);
    tern_key_search p = tern_probe_start(worker, table, key, hash);
    tern_status status;
    do {
        status = find_moving(&p, s, false, entry);
        if (status == TERN_OK)
            status = bucket_take(&p, false, entry, value);
    } while (tern_probe_again(&p, false, &status));
    tern_table_exit(worker, table);
    tern_scratch_free(&room);
    return status;
}

tern_status tern_operation_find(tern_worker *worker, const tern_hashtable *table,
                                const uint64_t *key, uint64_t hash, tern_flags promise,
                                void *value) {
    if (table->part[tern_hash_owner(table, hash)].near != NULL)
        return operation_find_near(worker, table, key, hash, value);
    /* Where keys move, the owner may be moving keys in any phase. */
    if (promise == TERN_READ_ONLY && !tern_table_moves(table))
        return operation_find_still(worker, table, key, hash, value);
    const tern_flight_plan plan = {.kind = TERN_FLIGHT_FIND, .promise = promise, .taken = value};
    return tern_flight_operate(worker, table, key, hash, &plan, NULL);
}
