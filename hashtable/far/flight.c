#include "hashtable/far/flight.h"

static void flight_end(tern_flight *f, tern_status outcome) {
    f->stage = TERN_FLIGHT_DONE;
    f->outcome = outcome;
}

/* What was started is under way, or has failed. */
static void flight_started(tern_flight *f, tern_flight_stage stage, tern_status status) {
    f->stage = stage;
    if (status != TERN_OK)
        flight_end(f, status);
}

static bool flight_finds(const tern_flight *f) { return f->plan.kind == TERN_FLIGHT_FIND; }
static bool flight_adds(const tern_flight *f) { return f->plan.kind == TERN_FLIGHT_ADD; }

/* A key that is there is left alone. */
static bool only_new(const tern_flight *f) {
    return f->plan.kind == TERN_FLIGHT_INSERT_NEW || f->table->value_bytes == 0;
}

static void get_entry(tern_flight *f, tern_flight_stage stage) {
    tern_shape s = f->table->shape;
    flight_started(f, stage,
                   tern_transfer_get(f->worker, f->entry, tern_bucket_far(&f->probe, s, s.entry_at),
                                     8 * tern_entry_words(s), &f->transfer));
}

static void start_atomic(tern_flight *f, tern_flight_stage stage, tern_atomic_op op, uint32_t at,
                         uint64_t operand, uint64_t expected) {
    flight_started(f, stage,
                   tern_transfer_atomic(f->worker, tern_bucket_far(&f->probe, f->table->shape, at),
                                        op, operand, expected, &f->word, &f->transfer));
}

static void flight_claim(tern_flight *f) {
    start_atomic(f, TERN_FLIGHT_CLAIM, TERN_ATOMIC_CAS, 0,
                 tern_state_taken(f->probe.hash, f->table->rank), TERN_FREE);
}

static void flight_lock(tern_flight *f, uint64_t expected) {
    f->expected = expected;
    start_atomic(f, TERN_FLIGHT_LOCK, TERN_ATOMIC_CAS, 0,
                 tern_state_locked(f->probe.hash, f->table->rank), expected);
}

static void flight_add(tern_flight *f, tern_flight_stage stage) {
    start_atomic(f, stage, TERN_ATOMIC_ADD, 8, tern_counter_word(f->plan.delta), 0);
}

static void flight_revive(tern_flight *f, uint64_t expected) {
    f->expected = expected;
    start_atomic(f, TERN_FLIGHT_REVIVE, TERN_ATOMIC_CAS, 8, tern_counter_word(f->plan.delta),
                 expected);
}

static bool flight_looks(const tern_flight *f) {
    /* R4 */
    return flight_finds(f) || flight_adds(f) ||
           atomic_load_explicit(&f->table->meets_keys, memory_order_relaxed);
}

static void remember_meeting(const tern_flight *f, bool met) {
    if (!flight_finds(f) && !flight_adds(f) && flight_looks(f) != met)
        /* R4 */
        atomic_store_explicit(&f->table->meets_keys, met, memory_order_relaxed);
}

static void flight_look(tern_flight *f) {
    f->expected = TERN_FREE;
    f->wait = (tern_wait_state)TERN_WAIT_START;
    if (flight_looks(f))
        get_entry(f, TERN_FLIGHT_ENTRY);
    else
        flight_claim(f);
}

/* At the next bucket. */
static void move_on(tern_flight *f) {
    tern_probe_next(&f->probe, f->table->shape);
    if (f->probe.left == 0)
        flight_end(f, flight_finds(f) ? TERN_ERR_NOT_FOUND : TERN_ERR_FULL);
    else
        flight_look(f);
}

/* Whether the rank that writes the bucket is still alive. */
static tern_status check_writer(tern_flight *f, uint64_t state) {
    tern_status status = tern_bucket_check(&f->probe, state);
    return status == TERN_OK
               ? tern_probe_step(f->worker->context, &f->wait, tern_state_writer(state))
               : status;
}

/* Another look at a bucket that was being written. */
static void flight_look_again(tern_flight *f) {
    tern_status status = check_writer(f, f->word);
    if (status == TERN_OK)
        get_entry(f, TERN_FLIGHT_ENTRY);
    else
        flight_end(f, status);
}

/* The entry is the key's. */
static void flight_meet(tern_flight *f, bool erased) {
    tern_shape s = f->table->shape;
    remember_meeting(f, true);
    if (flight_finds(f) && erased) {
        flight_end(f, TERN_ERR_NOT_FOUND);
    } else if (flight_finds(f) && tern_shape_counts(s)) {
        start_atomic(f, TERN_FLIGHT_COUNTER, TERN_ATOMIC_LOAD, 8, 0, 0);
    } else if (flight_finds(f)) {
        if (f->table->value_bytes > 0)
            memcpy(f->plan.taken, f->entry + 1 + s.key_words, f->table->value_bytes);
        flight_end(f, TERN_OK);
    } else if (flight_adds(f)) {
        flight_add(f, TERN_FLIGHT_COUNTER);
    } else if (only_new(f) && !erased) {
        f->result = 1;
        flight_end(f, TERN_OK);
    } else {
        flight_lock(f, tern_state_of_check(f->entry[0], f->probe.hash));
    }
}

static void step_entry(tern_flight *f) {
    tern_verdict verdict = tern_probe_judge(&f->probe, f->table->shape, f->entry);
    if (verdict == TERN_ENTRY_OTHER)
        move_on(f);
    else if (verdict != TERN_ENTRY_INVALID)
        flight_meet(f, verdict == TERN_ENTRY_ERASED);
    else if (!flight_finds(f))
        flight_claim(f);
    else if (f->plan.promise == TERN_READ_ONLY)
        flight_end(f, TERN_ERR_NOT_FOUND);
    else
        start_atomic(f, TERN_FLIGHT_STATE, TERN_ATOMIC_LOAD, 0, 0, 0);
}

/* The state was loaded after the entry was got, as find_moving explains. */
static void step_state(tern_flight *f) {
    const uint64_t state = f->word;
    if (state == TERN_FREE)
        flight_end(f, TERN_ERR_NOT_FOUND);
    else if ((state & (TERN_KIND | TERN_UPDATED)) == TERN_TAKEN ||
             !tern_state_may_hold(state, f->probe.hash))
        move_on(f);
    else
        flight_look_again(f);
}

static void step_counter(tern_flight *f) {
    const uint64_t number = tern_counter_number(f->word);
    const bool erased = tern_counter_erased(f->word);
    if (flight_adds(f) && erased) {
        flight_revive(f, f->word + tern_counter_word(f->plan.delta));
        return;
    }
    f->result = number;
    if (flight_finds(f) && !erased)
        memcpy(f->plan.taken, &number, sizeof number);
    flight_end(f, erased ? TERN_ERR_NOT_FOUND : TERN_OK);
}

/* As tern_counter_revive. */
static void step_revive(tern_flight *f) {
    if (f->word == f->expected)
        flight_end(f, TERN_OK);
    else if (tern_counter_erased(f->word))
        flight_revive(f, f->word);
    else
        flight_add(f, TERN_FLIGHT_COUNTER);
}

static void put_entry(tern_flight *f, uint64_t stamp) {
    tern_shape s = f->table->shape;
    tern_words_fill(f->entry + 1 + s.key_words, s.value_words, f->plan.given,
                    f->table->value_bytes);
    tern_entry_seal(&f->probe, s, f->entry, stamp);
    flight_started(f, TERN_FLIGHT_PUT,
                   tern_transfer_put(f->worker, tern_bucket_far(&f->probe, s, s.entry_at), f->entry,
                                     8 * tern_entry_words(s), &f->transfer));
}

static void put_new(tern_flight *f) { put_entry(f, tern_stamp_inserted(f->table->rank)); }

/* A bucket that is being written is met a second time, and its entry was not whole in between. */
static void wait_for_writer(tern_flight *f) {
    tern_status status = TERN_OK;
    /* It may be this worker's own put, of a phase that flushes only at its end. In progress that
     * may not be possible yet. */
    if (tern_state_writer(f->word) == f->table->rank)
        status = tern_fence(f->worker, f->probe.part->buckets.rank);
    if (status == TERN_OK || status == TERN_ERR_STATE)
        flight_look_again(f);
    else
        flight_end(f, status);
}

static void step_claim(tern_flight *f) {
    if (f->word == TERN_FREE) {
        remember_meeting(f, false);
        if (flight_adds(f))
            flight_add(f, TERN_FLIGHT_FIRST);
        else
            put_new(f);
    } else if (!tern_state_may_hold(f->word, f->probe.hash)) {
        move_on(f);
    } else if (f->word == f->expected) {
        wait_for_writer(f);
    } else {
        f->expected = f->word;
        get_entry(f, TERN_FLIGHT_ENTRY);
    }
}

/* As tern_bucket_lock_slowly. */
static void step_lock(tern_flight *f) {
    const uint64_t seen = f->word;
    const bool erased = (seen & TERN_ERASED) != 0, locked = (seen & TERN_KIND) == TERN_LOCKED;
    if (seen == f->expected) {
        f->locked = true;
        f->result = !erased;
        put_entry(f, TERN_STAMP_UPDATED);
    } else if (locked) {
        tern_status status = check_writer(f, seen);
        if (status == TERN_OK)
            flight_lock(f, tern_state_unlocked(f->probe.hash, only_new(f)));
        else
            flight_end(f, status);
    } else if (only_new(f) && !erased) {
        f->result = 1;
        flight_end(f, TERN_OK);
    } else {
        flight_lock(f, seen);
    }
}

static void step_put(tern_flight *f) {
    if (!f->locked) {
        if (f->plan.promise == TERN_WRITE_ONLY)
            flight_end(f, TERN_OK);
        else
            get_entry(f, TERN_FLIGHT_ARRIVAL);
        return;
    }
    /* This put must not overtake that of the next rank to lock. */
    tern_status status = tern_fence(f->worker, f->probe.part->buckets.rank);
    if (status == TERN_OK)
        start_atomic(f, TERN_FLIGHT_UNLOCK, TERN_ATOMIC_CAS, 0,
                     tern_state_unlocked(f->probe.hash, false),
                     tern_state_locked(f->probe.hash, f->table->rank));
    else if (status != TERN_ERR_STATE)
        flight_end(f, status);
}

/* An MPI may keep a put back until a flush, and another rank may be writing the next entry. */
static void step_arrival(tern_flight *f) {
    enum { LOOKS = 16 };

    tern_status status = TERN_OK;
    if (tern_probe_judge(&f->probe, f->table->shape, f->entry) == TERN_ENTRY_INVALID)
        status = ++f->wait.rounds < LOOKS ? TERN_ERR_STATE
                                          : tern_flush(f->worker, f->probe.part->buckets.rank);
    if (status == TERN_ERR_STATE)
        get_entry(f, TERN_FLIGHT_ARRIVAL);
    else
        flight_end(f, status);
}

static void flight_step(tern_flight *f) {
    switch (f->stage) {
    case TERN_FLIGHT_ENTRY:
        step_entry(f);
        break;
    case TERN_FLIGHT_STATE:
        step_state(f);
        break;
    case TERN_FLIGHT_COUNTER:
        step_counter(f);
        break;
    case TERN_FLIGHT_REVIVE:
        step_revive(f);
        break;
    case TERN_FLIGHT_CLAIM:
        step_claim(f);
        break;
    case TERN_FLIGHT_FIRST:
        put_new(f);
        break;
    case TERN_FLIGHT_LOCK:
        step_lock(f);
        break;
    case TERN_FLIGHT_PUT:
        step_put(f);
        break;
    case TERN_FLIGHT_ARRIVAL:
        step_arrival(f);
        break;
    case TERN_FLIGHT_UNLOCK:
        flight_end(f, TERN_OK);
        break;
    case TERN_FLIGHT_DONE:
        break;
    }
}

size_t tern_flight_advance(tern_flight *flight) {
    /* What MPI did at once is complete at once, but a bucket may have to be looked at for ever. */
    enum { STEPS = 8 };

    size_t steps = 0;
    for (; steps < STEPS && flight->stage != TERN_FLIGHT_DONE; steps++) {
        int done = 0;
        tern_status status = tern_transfer_test(flight->worker, &flight->transfer, &done);
        if (status != TERN_OK)
            flight_end(flight, status);
        else if (!done)
            break;
        else
            flight_step(flight);
    }
    return steps;
}

void tern_flight_begin(tern_flight *flight, tern_worker *worker, tern_hashtable *table,
                       const void *key, uint64_t hash, const tern_flight_plan *plan) {
    tern_flight *f = flight;
    f->worker = worker;
    f->table = table;
    f->plan = *plan;
    f->result = 0;
    f->locked = false;
    f->transfer = (tern_transfer){0};
    tern_words_fill(f->key, table->shape.key_words, key, table->key_bytes);
    f->probe = tern_probe_start(worker, table, f->key, hash);
    flight_look(f);
}
