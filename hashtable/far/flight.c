#include "hashtable/far/flight.h"

#include "hashtable/growth/growth.h"
#include "hashtable/near/lock.h"

void tern_flight_finish(tern_flight *flight, tern_status outcome) {
    flight->stage = TERN_FLIGHT_DONE;
    flight->outcome = outcome;
}

/* Ends a flight that something has failed for. A hint for the owner comes when the operation is
 * done, and may get lost. */
static void flight_fail(tern_flight *f, tern_status status) {
    const bool hint = f->stage == TERN_FLIGHT_WISH && f->wish == TERN_WISH_SOON;
    if (hint)
        tern_error_clear();
    tern_flight_finish(f, hint ? TERN_OK : status);
}

void tern_flight_started(tern_flight *flight, tern_flight_stage stage, tern_status status) {
    flight->stage = stage;
    if (status != TERN_OK)
        flight_fail(flight, status);
}

static bool flight_finds(const tern_flight *f) { return f->plan.kind <= TERN_FLIGHT_LOCATE; }
static bool flight_adds(const tern_flight *f) { return f->plan.kind == TERN_FLIGHT_ADD; }

/* A key that is there is left alone. */
static bool only_new(const tern_flight *f) {
    return f->plan.kind == TERN_FLIGHT_INSERT_NEW || f->table->value_bytes == 0;
}

/* Nobody writes, and no keys are moved. */
static bool flight_is_still(const tern_flight *f) {
    return f->plan.promise == TERN_READ_ONLY && !tern_table_moves(f->table);
}

/* Whether what a get says of words that atomics change means anything: MPI forbids to look. */
static bool flight_sees_words(const tern_flight *f) { return f->table->words_seen; }

void tern_flight_atomic(tern_flight *flight, tern_flight_stage stage, tern_atomic_op op,
                        uint32_t at, uint64_t operand, uint64_t expected) {
    const tern_ptr place = tern_bucket_far(&flight->probe, flight->table->shape, at);
    tern_flight_started(flight, stage,
                        tern_transfer_atomic(flight->worker, place, op, operand, expected,
                                             &flight->word, &flight->transfer));
}

static void flight_add(tern_flight *f) {
    tern_flight_atomic(f, TERN_FLIGHT_COUNTER, TERN_ATOMIC_ADD, 8, tern_counter_word(f->plan.delta),
                       0);
}

static void flight_revive(tern_flight *f, uint64_t expected) {
    f->expected = expected;
    tern_flight_atomic(f, TERN_FLIGHT_REVIVE, TERN_ATOMIC_CAS, 8, tern_counter_word(f->plan.delta),
                       expected);
}

/* Gets the bucket that the probe is at and those behind it, each time twice as many. */
void tern_flight_look(tern_flight *flight) {
    tern_flight *f = flight;
    const tern_shape s = f->table->shape;
    const uint64_t line = tern_shape_line(s), most = tern_flight_buckets(s);
    f->run = f->run == 0 ? line : 2 * f->run < most ? 2 * f->run : most;
    f->first = f->probe.index & ~(line - 1);
    f->count = f->probe.part->count - f->first;
    f->count = f->count < f->run ? f->count : f->run;
    const tern_ptr from = tern_ptr_add(f->probe.part->buckets, (int64_t)(f->first * s.stride));
    const size_t bytes = f->count > 1 ? f->count * s.stride : s.entry_at + 8 * tern_entry_words(s);
    tern_flight_started(f, TERN_FLIGHT_LOOK,
                        tern_transfer_get(f->worker, f->memory, from, bytes, &f->transfer));
}

/* Notes a state that does not go with its entry, and whether it has been met too often. */
static bool flight_doubts(tern_flight *f, uint64_t state) {
    enum { LOOKS = 64 };

    f->doubts = state == f->doubted ? f->doubts + 1 : 0;
    f->doubted = state;
    return f->doubts >= LOOKS;
}

/* Another look at the bucket. state: why. */
static void flight_look_again(tern_flight *f, uint64_t state) {
    const uint32_t writer = tern_state_writer(state);
    tern_status status = tern_bucket_check(&f->probe, state);
    f->word = state;
    if (writer != TERN_NOBODY) {
        f->doubted = 0;
        if (status == TERN_OK)
            tern_bucket_doubt(&f->probe, state);
    } else if (status == TERN_OK && flight_doubts(f, state))
        status = tern_bucket_not_whole(&f->probe, state);
    if (status == TERN_OK)
        status = tern_wait_step(f->worker->context, &f->wait, writer);
    f->run = 0;
    f->waits = true;
    if (status == TERN_OK)
        tern_flight_look(f);
    else
        tern_flight_finish(f, status);
}

/* Puts the entry, sealed with stamp, if the state is as expected. */
static void flight_store(tern_flight *f, uint64_t expected, uint64_t during, uint64_t then,
                         uint64_t stamp) {
    const tern_shape s = f->table->shape;
    f->waits = false;
    const bool counter = tern_shape_counts(s);
    uint64_t *entry = f->put->words + counter;
    const tern_put_if head = {expected, during, then, 8, counter, f->plan.hook != NULL};
    *f->put = head;
    f->put->words[0] = tern_counter_word(f->plan.delta); /* of a counter; else the check */
    if (f->plan.kind == TERN_FLIGHT_ERASE)
        memset(entry + 1 + s.key_words, 0, 8 * (size_t)s.value_words);
    else
        tern_words_fill(entry + 1 + s.key_words, s.value_words, f->plan.given,
                        f->table->value_bytes);
    tern_entry_seal(&f->probe, s, entry, stamp);
    f->expected = expected;
    f->first = f->probe.index;
    f->count = 1;
    tern_flight_started(f, TERN_FLIGHT_STORE,
                        tern_transfer_put_if(f->worker, tern_bucket_far(&f->probe, s, 0), f->put,
                                             counter + tern_entry_words(s), f->memory,
                                             s.entry_at + 8 * tern_entry_words(s), &f->transfer));
}

void tern_flight_create(tern_flight *flight) {
    const uint32_t rank = flight->table->rank;
    const uint64_t mine = tern_state_taken(flight->probe.hash, rank);
    flight_store(flight, TERN_FREE, mine, mine, tern_stamp_inserted(rank));
}

/* Shows the hook the value in a copy of the bucket; NULL: that nothing was replaced. */
static tern_status flight_show(const tern_flight *f, const uint64_t *bucket) {
    const tern_shape s = f->table->shape;
    tern_replace_hook *hook = f->plan.hook;
    if (hook == NULL)
        return TERN_OK;
    return hook->see(hook, bucket == NULL ? NULL : bucket + s.entry_at / 8 + 1 + s.key_words);
}

/* A key that is there, erased or not, gets another entry. A hook sees the one that it would replace
 * before, and may refuse, and the one that it has replaced behind the put, when it is too late for
 * that. Of two in between the key is the same. */
static void flight_replace(tern_flight *f, bool was_erased) {
    const bool erases = f->plan.kind == TERN_FLIGHT_ERASE;
    const uint64_t state = f->bucket[0], hash = f->probe.hash;
    const bool fits =
        (state & TERN_KIND) == TERN_TAKEN && ((state & TERN_ERASED) != 0) == was_erased;
    f->result = !was_erased;
    tern_status status = was_erased ? TERN_OK : flight_show(f, f->bucket);
    /* What a STORE has brought says it again unless others change the bucket each time. */
    if (status == TERN_OK && !fits && flight_doubts(f, state))
        status = tern_bucket_contradictory(&f->probe, state);
    if (status != TERN_OK) {
        tern_flight_finish(f, status);
        return;
    }
    flight_store(f, fits ? state : tern_state_unlocked(hash, was_erased),
                 tern_state_locked(hash, f->table->rank), tern_state_unlocked(hash, erases),
                 erases ? TERN_STAMP_ERASED : TERN_STAMP_UPDATED);
}

/* The key's counter, as the get has brought it. */
static void flight_count(tern_flight *f) {
    uint64_t number = f->bucket[1];
    if (tern_counter_gone(number) && flight_sees_words(f)) {
        if (tern_counter_moved(number))
            tern_flight_leave_counter(f);
        else
            tern_flight_finish(f, TERN_ERR_NOT_FOUND);
    } else if (flight_is_still(f) || (number != 0 && flight_sees_words(f))) {
        number = tern_counter_number(number);
        memcpy(f->plan.taken, &number, sizeof number);
        tern_flight_finish(f, TERN_OK);
    } else {
        tern_flight_atomic(f, TERN_FLIGHT_COUNTER, TERN_ATOMIC_LOAD, 8, 0, 0);
    }
}

/* The entry is the key's. */
static void flight_meet(tern_flight *f, bool erased) {
    const tern_shape s = f->table->shape;
    const uint64_t state = f->bucket[0];
    const bool erases = f->plan.kind == TERN_FLIGHT_ERASE;
    if (erased && (flight_finds(f) || erases)) {
        tern_flight_finish(f, TERN_ERR_NOT_FOUND);
    } else if (f->plan.kind == TERN_FLIGHT_LOCATE) {
        tern_flight_finish(f, TERN_OK);
    } else if (flight_finds(f) && tern_shape_counts(s)) {
        flight_count(f);
    } else if (flight_finds(f)) {
        if (f->table->value_bytes > 0)
            memcpy(f->plan.taken, f->bucket + s.entry_at / 8 + 1 + s.key_words,
                   f->table->value_bytes);
        tern_flight_finish(f, TERN_OK);
    } else if (flight_adds(f)) {
        flight_add(f);
    } else if (!erases && only_new(f) && !erased) {
        f->result = 1;
        tern_flight_finish(f, TERN_OK);
    } else if ((state & TERN_KIND) == TERN_LEFT && state != TERN_FROZEN) {
        tern_flight_leave(f, TERN_MOVED);
    } else if ((state & TERN_KIND) == TERN_LOCKED) {
        flight_look_again(f, state);
    } else {
        flight_replace(f, erased);
    }
}

/* The probe has been everywhere. */
static void flight_end_nowhere(tern_flight *f) {
    tern_flight_leave(f, tern_flight_creates(f) ? TERN_ERR_FULL : TERN_ERR_NOT_FOUND);
}

static void flight_walk(tern_flight *f);

/* At the next bucket. */
static void flight_move_on(tern_flight *f) {
    tern_probe_next(&f->probe, f->table->shape);
    f->wait = (tern_wait_state)TERN_WAIT_START;
    flight_walk(f);
}

/* The entry is not whole. state: as new as the entry. */
static void flight_ask_state(tern_flight *f, uint64_t state) {
    const bool arriving = (state & (TERN_KIND | TERN_UPDATED)) == TERN_TAKEN;
    if (!tern_state_may_hold(state, f->probe.hash) || state == TERN_LOST ||
        (arriving && f->plan.kind == TERN_FLIGHT_FIND))
        flight_move_on(f);
    else
        flight_look_again(f, state);
}

static void flight_meet_nothing(tern_flight *f) {
    const uint64_t state = flight_sees_words(f) ? f->bucket[0] : TERN_LOCKED;
    if (state == TERN_FROZEN)
        tern_flight_leave(f, TERN_BEYOND);
    else if (state == TERN_FREE && tern_flight_creates(f) && !f->permitted)
        tern_flight_ask_room(f);
    else if (state == TERN_FREE && tern_flight_creates(f))
        tern_flight_create(f);
    else if (state == TERN_FREE || flight_is_still(f))
        tern_flight_finish(f, TERN_ERR_NOT_FOUND);
    else if (tern_flight_creates(f))
        flight_ask_state(f, state);
    else
        tern_flight_atomic(f, TERN_FLIGHT_STATE, TERN_ATOMIC_LOAD, 0, 0, 0);
}

/* Goes through the buckets that are here. */
static void flight_walk(tern_flight *f) {
    const tern_shape s = f->table->shape;
    tern_verdict verdict = TERN_ENTRY_OTHER;
    f->waits = false;
    for (; f->probe.left > 0 && f->probe.index - f->first < f->count;
         tern_probe_next(&f->probe, s)) {
        f->bucket = f->memory + (f->probe.index - f->first) * s.stride / 8;
        verdict = tern_probe_judge(&f->probe, s, f->bucket + s.entry_at / 8);
        if (verdict != TERN_ENTRY_OTHER)
            break;
    }
    if (verdict == TERN_ENTRY_MOVED)
        tern_flight_leave(f, TERN_MOVED);
    else if (verdict == TERN_ENTRY_INVALID)
        flight_meet_nothing(f);
    else if (verdict != TERN_ENTRY_OTHER)
        flight_meet(f, verdict == TERN_ENTRY_ERASED);
    else if (f->probe.left == 0)
        flight_end_nowhere(f);
    else
        tern_flight_look(f);
}

static void step_store(tern_flight *f) {
    if (f->memory[0] != f->expected) {
        f->result = 0;
        if (tern_probe_passes_by())
            flight_move_on(f);
        else
            flight_walk(f);
        return;
    }
    tern_ignore(flight_show(f, f->result != 0 ? f->memory : NULL));
    if (f->expected == TERN_FREE)
        tern_flight_report(f);
    else
        tern_flight_finish(f, TERN_OK);
}

/* The state was loaded after the entry was got, as find_moving explains. */
static void step_state(tern_flight *f) {
    const uint64_t state = f->word;
    if (state == TERN_FROZEN)
        tern_flight_leave(f, TERN_BEYOND);
    else if (state == TERN_FREE)
        tern_flight_finish(f, TERN_ERR_NOT_FOUND);
    else
        flight_ask_state(f, state);
}

static void step_counter(tern_flight *f) {
    const uint64_t number = tern_counter_number(f->word);
    const bool erased = tern_counter_erased(f->word);
    if (tern_counter_moved(f->word)) {
        tern_flight_leave_counter(f);
        return;
    }
    if (flight_adds(f) && erased) {
        flight_revive(f, f->word + tern_counter_word(f->plan.delta));
        return;
    }
    f->result = number;
    if (flight_finds(f) && !erased)
        memcpy(f->plan.taken, &number, sizeof number);
    tern_flight_finish(f, erased ? TERN_ERR_NOT_FOUND : TERN_OK);
}

/* As tern_counter_revive. */
static void step_revive(tern_flight *f) {
    if (f->word == f->expected)
        tern_flight_finish(f, TERN_OK);
    else if (tern_counter_moved(f->word))
        tern_flight_leave_counter(f);
    else if (tern_counter_erased(f->word))
        flight_revive(f, f->word);
    else
        flight_add(f);
}

static void flight_step(tern_flight *f) {
    switch (f->stage) {
    case TERN_FLIGHT_LOOK:
        flight_walk(f);
        break;
    case TERN_FLIGHT_STORE:
        step_store(f);
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
    case TERN_FLIGHT_NEWS:
    case TERN_FLIGHT_LEFT:
    case TERN_FLIGHT_RESERVE:
    case TERN_FLIGHT_WISH:
        tern_flight_step_follow(f);
        break;
    case TERN_FLIGHT_DONE:
        break;
    }
}

size_t tern_flight_advance(tern_flight *flight) {
    /* What MPI did at once is complete at once, but a bucket may have to be looked at for ever. One
     * that waits outside stays there until the caller has seen it. */
    enum { STEPS = 8 };

    size_t steps = 0;
    for (; steps < STEPS && flight->stage != TERN_FLIGHT_DONE && (steps == 0 || !flight->outside);
         steps++) {
        int done = 0;
        const bool waited = flight->transfer.under_way;
        tern_status status = tern_transfer_test(flight->worker, &flight->transfer, &done);
        flight->worker->stats.trips += waited && done;
        if (status != TERN_OK)
            flight_fail(flight, status);
        else if (!done)
            break;
        else
            flight_step(flight);
    }
    return steps;
}

void tern_flight_set_out(tern_flight *flight) {
    tern_flight *f = flight;
    const tern_shape s = f->table->shape;
    f->put = (tern_put_if *)(void *)(f->memory + tern_flight_buckets(s) * s.stride / 8);
    f->result = f->run = f->doubted = 0;
    f->waits = f->outside = false;
    f->bucket = NULL;
    f->transfer = (tern_transfer){0};
    f->wait = (tern_wait_state)TERN_WAIT_START;
    if (tern_flight_creates(f) && f->permitted && s.stride <= TERN_FLIGHT_GUESS)
        tern_flight_create(f);
    else
        tern_flight_look(f);
}

/* With its probe and its plan. */
static void flight_start(tern_flight *f) {
    f->permitted = true;
    f->asked = false;
    f->refused = UINT64_MAX;
    tern_flight_set_out(f);
}

void tern_flight_begin(tern_flight *flight, tern_worker *worker, const tern_hashtable *table,
                       const void *key, uint64_t hash, const tern_flight_plan *plan) {
    tern_flight *f = flight;
    f->worker = worker;
    f->table = table;
    f->plan = *plan;
    tern_words_fill(f->key, table->shape.key_words, key, table->key_bytes);
    f->probe = tern_probe_start(worker, table, f->key, hash);
    flight_start(f);
}

void tern_flight_resume(tern_flight *flight, const tern_key_search *probe,
                        const tern_flight_plan *plan) {
    flight->worker = probe->worker;
    flight->table = probe->table;
    flight->plan = *plan;
    flight->probe = *probe;
    flight_start(flight);
}
