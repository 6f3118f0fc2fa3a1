#include "hashtable/operations.h"

#include "hashtable/far/flight.h"
#include "hashtable/growth/growth.h"
#include "hashtable/near/scratch.h"

/* Counters: every change is one atomic on the counter itself, and no lock is taken. */

static tern_status counter_follow(tern_key_search p) {
    tern_wait_state wait = TERN_WAIT_IN("an operation on a hash table");
    bool moving = tern_table_moves(p.table);
    for (;;) {
        uint64_t state;
        tern_status status = tern_state_load(&p, p.table->shape, p.part->near != NULL, &state);
        if (status == TERN_OK && (state & TERN_KIND) == TERN_LEFT)
            return TERN_MOVED;
        if (status == TERN_OK && !moving)
            return tern_bucket_left(&p);
        /* Looked at before the state: a move has left every bucket before it ends. */
        if (status == TERN_OK)
            status = tern_growth_moves(&p, &moving);
        if (status == TERN_OK && moving)
            status = tern_growth_wait(p.worker, p.part->buckets.rank, &wait);
        if (status != TERN_OK)
            return status;
    }
}

/* The short way of an add comes here without having entered the table. */
tern_status tern_counter_follow(tern_key_search p) {
    tern_table_enter(p.worker, p.table);
    const tern_status status = counter_follow(p);
    tern_table_exit(p.worker, p.table);
    return status;
}

tern_status tern_counter_revive(tern_key_search p, uint64_t word, uint64_t delta,
                                uint64_t *before) {
    tern_ptr counter = tern_bucket_far(&p, p.table->shape, 8);
    const uint64_t step = tern_counter_word(delta);
    for (;;) {
        uint64_t seen;
        tern_status status;
        if (tern_counter_moved(word))
            return tern_counter_follow(p);
        if (tern_counter_erased(word))
            status = tern_atomic_cas(p.worker, counter, word, step, &seen);
        else
            status = tern_atomic_fetch_add(p.worker, counter, step, &seen);
        if (status != TERN_OK)
            return status;
        if (!tern_counter_erased(word) && !tern_counter_gone(seen)) {
            *before = tern_counter_number(seen);
            return TERN_OK;
        }
        if (tern_counter_erased(word) && seen == word) {
            *before = 0;
            return TERN_OK;
        }
        /* After a CAS what it saw; after a late add, what that made of it. */
        word = tern_counter_erased(word) ? seen : seen + step;
    }
}

tern_status tern_probe_add_any(tern_key_search *p, bool look, bool strict, uint64_t delta,
                               uint64_t *before, bool *far_put) {
    tern_shape s = p->table->shape;
    tern_scratch room;
    uint64_t *entry = tern_scratch_take(&room, 8 * tern_entry_words(s));
    if (entry == NULL)
        return TERN_ERR_MEMORY;
    tern_status status;
    do
        status = p->part->near != NULL
                     ? tern_probe_add(p, s, true, look, strict, delta, entry, before, far_put)
                     : tern_probe_add(p, s, false, look, strict, delta, entry, before, far_put);
    while (tern_probe_again(p, true, &status));
    tern_scratch_free(&room);
    return status;
}

tern_status tern_operation_add(tern_worker *worker, const tern_hashtable *table,
                               const uint64_t *key, uint64_t hash, uint64_t delta,
                               tern_flags promise, uint64_t *before) {
    const tern_flight_plan plan = {.kind = TERN_FLIGHT_ADD, .promise = promise, .delta = delta};
    if (tern_flight_takes(table, tern_hash_owner(table, hash), plan.kind))
        return tern_flight_operate(worker, table, key, hash, &plan, before);
    tern_table_enter(worker, table);
    tern_key_search p = tern_probe_start(worker, table, key, hash);
    bool far_put = false;
    tern_status status =
        tern_probe_add_any(&p, true, tern_promise_is_strict(promise), delta, before, &far_put);
    if (status == TERN_OK && far_put && tern_growth_flushes(table, promise))
        status = tern_puts_flush(worker, p.part->buckets.rank);
    tern_table_exit(worker, table);
    return status;
}

/* The room is for the entry: a key of at most 1,024 bytes and no value. */
tern_status tern_counter_erase(tern_key_search *p) {
    uint64_t entry[1 + TERN_KEY_MAX / 8], word = 0;
    tern_status status;
    do {
        status = tern_probe_locate(p, entry);
        if (status == TERN_OK)
            status = tern_atomic_fetch_or(p->worker, tern_bucket_far(p, p->table->shape, 8),
                                          TERN_COUNTER_ERASED, &word);
        if (status == TERN_OK && tern_counter_gone(word))
            status = tern_counter_moved(word) ? tern_counter_follow(*p) : TERN_ERR_NOT_FOUND;
    } while (tern_probe_again(p, false, &status));
    return status;
}

tern_status tern_operation_compare_swap(tern_worker *worker, const tern_hashtable *table,
                                        const uint64_t *key, uint64_t hash, uint64_t expected,
                                        uint64_t desired, uint64_t *before) {
    uint64_t entry[1 + TERN_KEY_MAX / 8], word = 0;
    tern_table_enter(worker, table);
    tern_key_search p = tern_probe_start(worker, table, key, hash);
    tern_status status;
    do {
        status = tern_probe_locate(&p, entry);
        if (status == TERN_OK)
            status =
                tern_atomic_cas(worker, tern_bucket_far(&p, table->shape, 8),
                                tern_counter_word(expected), tern_counter_word(desired), &word);
        if (status == TERN_OK && tern_counter_gone(word))
            status = tern_counter_moved(word) ? tern_counter_follow(p) : TERN_ERR_NOT_FOUND;
    } while (tern_probe_again(&p, false, &status));
    if (status == TERN_OK)
        *before = tern_counter_number(word);
    tern_table_exit(worker, table);
    return status;
}
