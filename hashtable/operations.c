#include "hashtable/operations.h"

#include "hashtable/far/flight.h"
#include "hashtable/growth/growth.h"
#include "hashtable/near/lock.h"
#include "hashtable/near/scratch.h"

/*
 * Near parts are worked on here and in near/, keys of other parts by flights, whose cost
 * far/flight.h states. Where the owner does not put (tern_owners_put), inserts, erases and adds of
 * other parts are done here, too, with gets, puts and atomics. That costs, in round trips, away
 * from collisions (tests/hashtable/test_hashtable_cost.c):
 *
 *     insert, new key     CAS, put; one CAS lost or get more if the last insert met its key
 *     insert, known key   get, CAS, put, CAS; a CAS more if the last insert met a new key
 *     insert_new          as insert; known key: get, a CAS more if the last met a new one
 *     erase               get, CAS, put, CAS; counters: get, or
 *     add                 get, fetch-and-add; new key: get, CAS, fetch-and-add, put
 *     compare_swap        get, CAS
 */

/* Puts a new value into a bucket that holds the key, unless only_new and it is not erased. */
static tern_status operation_replace(const tern_key_search *p, const tern_claim *claim,
                                     bool only_new, tern_replace_hook *hook, uint64_t *entry,
                                     bool *existed) {
    *existed = true;
    only_new = only_new || p->table->value_bytes == 0;
    if (only_new && !claim->erased)
        return TERN_OK;
    uint64_t before;
    tern_status status =
        tern_bucket_lock(p, claim->state, only_new ? TERN_LOCK_ERASED : TERN_LOCK_ANY, &before);
    if (status != TERN_OK)
        return status == TERN_ERR_EXISTS ? TERN_OK : status;
    *existed = (before & TERN_ERASED) == 0;
    if (__builtin_expect(hook != NULL, 0))
        status = tern_replace_hook_ask(p, hook, before);
    return status == TERN_OK ? tern_bucket_write(p, entry, false) : status;
}

/* Moves to the key's bucket. What the last insert met decides what is tried first. */
static tern_status claim_bucket(tern_key_search *p, tern_hashtable *table, uint64_t *seen,
                                tern_claim *claim) {
    const uint64_t mine = tern_state_taken(p->hash, table->rank);
    /* R4 */
    bool look = atomic_load_explicit(&table->meets_keys, memory_order_relaxed);
    tern_status status = p->part->near != NULL
                             ? tern_probe_claim(p, table->shape, true, look, mine, seen, claim)
                             : tern_probe_claim(p, table->shape, false, look, mine, seen, claim);
    if (status == TERN_OK && claim->created == look)
        /* R4 */
        atomic_store_explicit(&table->meets_keys, !look, memory_order_relaxed);
    return status;
}

/* Writes a bucket that the claim has created. */
static tern_status operation_fill(const tern_key_search *p, tern_flags promise, uint64_t *entry) {
    const bool near = p->part->near != NULL;
    tern_shape s = p->table->shape;
    tern_entry_seal(p, s, entry, tern_stamp_inserted(p->table->rank));
    tern_status status = tern_entry_put(p, s, near, tern_promise_is_strict(promise), entry);
    /* A find takes an entry that has not arrived for an insert that has not returned. */
    if (status == TERN_OK && !near && tern_growth_flushes(p->table, promise))
        status = tern_puts_flush(p->worker, p->part->buckets.rank);
    tern_probe_report(p);
    return status;
}

tern_status tern_operation_insert(tern_worker *worker, tern_hashtable *table, const uint64_t *key,
                                  uint64_t hash, const void *value, bool only_new,
                                  tern_flags promise, bool *existed) {
    return tern_operation_exchange(worker, table, key, hash, value, only_new, promise, NULL,
                                   existed);
}

/* By a flight. */
static tern_status insert_far(tern_worker *worker, const tern_hashtable *table, const uint64_t *key,
                              uint64_t hash, const tern_flight_plan *plan, bool *existed) {
    uint64_t there = 0;
    const tern_status status = tern_flight_operate(worker, table, key, hash, plan, &there);
    *existed = there != 0;
    return status;
}

tern_status tern_operation_exchange(tern_worker *worker, tern_hashtable *table, const uint64_t *key,
                                    uint64_t hash, const void *value, bool only_new,
                                    tern_flags promise, tern_replace_hook *hook, bool *existed) {
    const tern_flight_plan plan = {.kind = only_new ? TERN_FLIGHT_INSERT_NEW : TERN_FLIGHT_INSERT,
                                   .promise = promise,
                                   .given = value,
                                   .hook = only_new ? NULL : hook};
    if (tern_flight_takes(table, tern_hash_owner(table, hash), plan.kind))
        return insert_far(worker, table, key, hash, &plan, existed);
    tern_scratch room_for_mine, room_for_seen;
    size_t bytes = 8 * tern_entry_words(table->shape);
    uint64_t *entry = tern_scratch_take(&room_for_mine, bytes);
    uint64_t *seen = tern_scratch_take(&room_for_seen, bytes);
    tern_status status = TERN_ERR_MEMORY;
    tern_table_enter(worker, table);
    if (entry == NULL || seen == NULL)
        goto out;
    tern_words_fill(entry + 1 + table->shape.key_words, table->shape.value_words, value,
                    table->value_bytes);
    tern_key_search p = tern_probe_start(worker, table, key, hash);
    tern_claim claim = {false, false, TERN_FREE};
    do {
        *existed = false;
        status = claim_bucket(&p, table, seen, &claim);
        if (status == TERN_OK && !claim.created)
            status = operation_replace(&p, &claim, only_new, hook, entry, existed);
        else if (status == TERN_OK)
            status = operation_fill(&p, promise, entry);
    } while (tern_probe_again(&p, true, &status));
out:
    tern_table_exit(worker, table);
    tern_scratch_free(&room_for_mine);
    tern_scratch_free(&room_for_seen);
    return status;
}

tern_status tern_operation_erase(tern_worker *worker, const tern_hashtable *table,
                                 const uint64_t *key, uint64_t hash) {
    if (!tern_shape_counts(table->shape))
        return tern_operation_change(worker, table, key, hash, NULL, NULL);
    tern_table_enter(worker, table);
    tern_key_search p = tern_probe_start(worker, table, key, hash);
    const tern_status status = tern_counter_erase(&p);
    tern_table_exit(worker, table);
    return status;
}

tern_status tern_operation_change(tern_worker *worker, const tern_hashtable *table,
                                  const uint64_t *key, uint64_t hash, const void *value,
                                  tern_replace_hook *hook) {
    tern_shape s = table->shape;
    tern_scratch room;
    const tern_flight_plan plan = {.kind = TERN_FLIGHT_ERASE, .hook = hook};
    if (value == NULL && tern_flight_takes(table, tern_hash_owner(table, hash), plan.kind))
        return tern_flight_operate(worker, table, key, hash, &plan, NULL);
    uint64_t *entry = tern_scratch_take(&room, 8 * tern_entry_words(s));
    if (entry == NULL)
        return TERN_ERR_MEMORY;
    tern_table_enter(worker, table);
    tern_key_search p = tern_probe_start(worker, table, key, hash);
    uint64_t before;
    tern_status status;
    do {
        status = tern_probe_locate(&p, entry);
        if (status == TERN_OK)
            status =
                tern_bucket_lock(&p, tern_state_of_check(entry[0], hash), TERN_LOCK_LIVE, &before);
    } while (tern_probe_again(&p, false, &status));
    if (status == TERN_OK && hook != NULL)
        status = tern_replace_hook_ask(&p, hook, before);
    if (status == TERN_OK) {
        if (value != NULL)
            tern_words_fill(entry + 1 + s.key_words, s.value_words, value, table->value_bytes);
        else
            memset(entry + 1 + s.key_words, 0, 8 * (size_t)s.value_words);
        status = tern_bucket_write(&p, entry, value == NULL);
    }
    tern_table_exit(worker, table);
    tern_scratch_free(&room);
    return status;
}
