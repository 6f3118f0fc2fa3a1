#include "hashtable/flight.h"

#include "hashtable/operations.h"

static void end(tern_flight *f, tern_status outcome) {
    f->stage = TERN_FLIGHT_DONE;
    f->outcome = outcome;
}

/* What was started is under way, or has failed. */
static void started(tern_flight *f, tern_flight_stage stage, tern_status status) {
    f->stage = stage;
    if (status != TERN_OK)
        end(f, status);
}

static void get_entry(tern_flight *f) {
    tern_shape s = f->table->shape;
    started(f, TERN_FLIGHT_ENTRY,
            tern_get_nb(f->worker, f->entry, tern_bucket_far(&f->probe, s, s.entry_at),
                        8 * tern_entry_words(s), &f->request));
}

static void start_atomic(tern_flight *f, tern_flight_stage stage, tern_atomic_op op, uint32_t at,
                         uint64_t operand) {
    started(f, stage,
            tern_atomic_nb(f->worker, tern_bucket_far(&f->probe, f->table->shape, at), op, operand,
                           TERN_FREE, &f->word, &f->request));
}

static void claim(tern_flight *f) {
    start_atomic(f, TERN_FLIGHT_CLAIM, TERN_ATOMIC_CAS, 0,
                 tern_state_taken(f->probe.hash, f->table->rank));
}

static bool looks(const tern_flight *f) {
    return f->given == NULL || atomic_load_explicit(&f->table->meets_keys, memory_order_relaxed);
}

static void look(tern_flight *f) {
    if (looks(f))
        get_entry(f);
    else
        claim(f);
}

/* At the next bucket. */
static void move_on(tern_flight *f) {
    tern_probe_next(&f->probe, f->table->shape);
    if (f->probe.left == 0)
        end(f, f->given == NULL ? TERN_ERR_NOT_FOUND : TERN_ERR_FULL);
    else
        look(f);
}

/* The entry is the key's. */
static void found(tern_flight *f) {
    tern_shape s = f->table->shape;
    if (f->given != NULL) {
        f->stage = TERN_FLIGHT_BLOCKED;
    } else if (tern_shape_counts(s)) {
        start_atomic(f, TERN_FLIGHT_COUNTER, TERN_ATOMIC_LOAD, 8, 0);
    } else {
        if (f->table->value_bytes > 0)
            memcpy(f->taken, f->entry + 1 + s.key_words, f->table->value_bytes);
        end(f, TERN_OK);
    }
}

static void step_entry(tern_flight *f) {
    tern_verdict verdict = tern_probe_judge(&f->probe, f->table->shape, f->entry);
    if (verdict == TERN_ENTRY_MINE)
        found(f);
    else if (verdict == TERN_ENTRY_OTHER)
        move_on(f);
    else if (verdict != TERN_ENTRY_INVALID)
        f->stage = TERN_FLIGHT_BLOCKED;
    else if (f->given != NULL)
        claim(f);
    else if (f->promise == TERN_PROMISE_READ_ONLY)
        end(f, TERN_ERR_NOT_FOUND);
    else
        start_atomic(f, TERN_FLIGHT_STATE, TERN_ATOMIC_LOAD, 0, 0);
}

/* The state was loaded after the entry was got, as find_moving explains. */
static void step_state(tern_flight *f) {
    if (f->word == TERN_FREE)
        end(f, TERN_ERR_NOT_FOUND);
    else if ((f->word & (TERN_KIND | TERN_UPDATED)) == TERN_TAKEN)
        move_on(f);
    else
        f->stage = TERN_FLIGHT_BLOCKED;
}

static void step_counter(tern_flight *f) {
    const uint64_t number = tern_counter_number(f->word);
    if (!tern_counter_erased(f->word))
        memcpy(f->taken, &number, sizeof number);
    end(f, tern_counter_erased(f->word) ? TERN_ERR_NOT_FOUND : TERN_OK);
}

static void step_claim(tern_flight *f) {
    tern_shape s = f->table->shape;
    if (f->word != TERN_FREE) {
        if (tern_state_may_hold(f->word, f->probe.hash))
            f->stage = TERN_FLIGHT_BLOCKED;
        else
            move_on(f);
        return;
    }
    if (looks(f))
        atomic_store_explicit(&f->table->meets_keys, false, memory_order_relaxed);
    tern_words_fill(f->entry + 1 + s.key_words, s.value_words, f->given, f->table->value_bytes);
    tern_entry_seal(&f->probe, s, f->entry, tern_stamp_inserted(f->table->rank));
    started(f, TERN_FLIGHT_PUT,
            tern_put_nb(f->worker, tern_bucket_far(&f->probe, s, s.entry_at), f->entry,
                        8 * tern_entry_words(s), &f->request));
}

void tern_flight_step(tern_flight *flight) {
    switch (flight->stage) {
    case TERN_FLIGHT_ENTRY:
        step_entry(flight);
        break;
    case TERN_FLIGHT_STATE:
        step_state(flight);
        break;
    case TERN_FLIGHT_COUNTER:
        step_counter(flight);
        break;
    case TERN_FLIGHT_CLAIM:
        step_claim(flight);
        break;
    case TERN_FLIGHT_PUT:
        end(flight, TERN_OK);
        break;
    case TERN_FLIGHT_DONE:
    case TERN_FLIGHT_BLOCKED:
        break;
    }
}

void tern_flight_land(tern_flight *flight) {
    while (flight->stage == TERN_FLIGHT_CLAIM) {
        tern_status status = tern_wait(flight->worker, &flight->request);
        if (status != TERN_OK)
            end(flight, status);
        else
            tern_flight_step(flight);
    }
}

void tern_flight_finish(tern_flight *flight) {
    tern_flight *f = flight;
    const tern_search *p = &f->probe;
    bool existed = false;
    if (f->given == NULL) {
        end(f, tern_operation_find(f->worker, f->table, f->key, p->hash, f->promise, f->taken));
        return;
    }
    end(f, tern_operation_insert(f->worker, f->table, f->key, p->hash, f->given, false, f->promise,
                                 &existed));
    f->existed = existed;
}

static void begin(tern_flight *f, tern_worker *worker, tern_hashtable *table, const void *key,
                  uint64_t hash) {
    f->worker = worker;
    f->table = table;
    f->existed = false;
    f->request = (tern_request){{0}};
    tern_words_fill(f->key, table->shape.key_words, key, table->key_bytes);
    f->probe = tern_probe_start(worker, table, f->key, hash);
    if (f->probe.part->near != NULL || table->classic)
        f->stage = TERN_FLIGHT_BLOCKED;
    else
        look(f);
}

void tern_flight_find(tern_flight *flight, tern_worker *worker, tern_hashtable *table,
                      const void *key, uint64_t hash, tern_promise promise, void *taken) {
    flight->promise = promise;
    flight->given = NULL;
    flight->taken = taken;
    begin(flight, worker, table, key, hash);
}

void tern_flight_insert(tern_flight *flight, tern_worker *worker, tern_hashtable *table,
                        const void *key, uint64_t hash, const void *given, tern_promise promise) {
    flight->promise = promise;
    flight->given = given;
    flight->taken = NULL;
    begin(flight, worker, table, key, hash);
}
