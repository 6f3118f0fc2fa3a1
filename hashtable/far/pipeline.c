#include "hashtable/far/flight.h"

#include <stdlib.h>

#include "rma/transport/transport.h"

enum { FLIGHTS = 16 };

typedef struct window {
    tern_worker *worker;
    tern_hashtable *table;
    const tern_items *items;
    char *flights;
    size_t begun, ended;     /* in the order of flights */
    size_t number[FLIGHTS];  /* of a flight's item */
    size_t refused[FLIGHTS]; /* items that wait for the move of a part, or for room, and are done */
    size_t refusals;         /* apart before any other begins */
} window;

static size_t window_step(const tern_hashtable *table) {
    return (tern_flight_bytes(table) + 15) / 16 * 16;
}

static tern_flight *flight_of(const window *w, size_t flight) {
    return (tern_flight *)(void *)(w->flights + flight % FLIGHTS * window_step(w->table));
}

/* Whether an item with this hash flies. */
static bool window_takes(const window *w, uint64_t hash, tern_flight_kind kind) {
    return tern_flight_takes(w->table, tern_hash_owner(w->table, hash), kind);
}

static tern_status window_open(window *w, tern_worker *worker, tern_hashtable *table,
                               const tern_items *items) {
    tern_table_enter(worker, table);
    *w = (window){.worker = worker,
                  .table = table,
                  .items = items,
                  .flights = malloc(FLIGHTS * window_step(table))};
    if (w->flights != NULL)
        return TERN_OK;
    return tern_fail(TERN_ERR_MEMORY, "no memory for %d operations under way", FLIGHTS);
}

/* Frees the flights, unless a wait has failed: MPI may still write into what is under way then, and
 * it is left to that for good. */
static void window_close(const window *w) {
    bool lost = false;
    for (size_t i = 0; i < w->begun && i < FLIGHTS; i++)
        lost = lost || tern_flight_is_lost(flight_of(w, i));
    if (!lost)
        free(w->flights);
}

/* Brings the oldest flight to its end. A wait for it that fails, its next step tells. */
static tern_flight *end_oldest(window *w) {
    tern_flight *f = flight_of(w, w->ended);
    while (f->stage != TERN_FLIGHT_DONE) {
        tern_ignore(tern_transfer_wait(w->worker, &f->transfer));
        for (size_t i = w->ended; i < w->begun; i++)
            (void)tern_flight_advance(flight_of(w, i));
        /* What is complete at once makes no progress, and others may wait for this worker. */
        if (f->stage != TERN_FLIGHT_DONE && !tern_flight_is_lost(f)) {
            (void)tern_puts_deliver(w->worker);
            (void)tern_progress_round(w->worker);
        }
    }
    w->ended++;
    return f;
}

static bool under_way(const window *w, uint64_t hash) {
    for (size_t i = w->ended; i < w->begun; i++)
        if (flight_of(w, i)->probe.hash == hash)
            return true;
    return false;
}

/* The next flight is to be of this item. */
static tern_flight *pipeline_begin(window *w, size_t item) {
    w->number[w->begun % FLIGHTS] = item;
    tern_flight *flight = flight_of(w, w->begun++);
    flight->transfer = (tern_transfer){0};
    return flight;
}

static tern_items one_of(const tern_items *items, size_t number) {
    tern_items one = *items;
    one.keys += number * one.key_step;
    one.values = one.value_step > 0 ? one.values + number * one.value_step : one.values;
    one.count = 1;
    return one;
}

/* Brings the oldest to its end. False: it ends apart. */
static bool window_end(window *w, const tern_flight **flight) {
    const size_t number = w->number[w->ended % FLIGHTS];
    const tern_flight *f = *flight = end_oldest(w);
    const bool apart =
        f->outcome == TERN_MOVED || f->outcome == TERN_BEYOND ||
        (f->outcome == TERN_ERR_NOT_FOUND && f->probe.left == 0 && tern_table_moves(w->table)) ||
        f->outcome == TERN_ERR_FULL;
    if (apart)
        w->refused[w->refusals++] = number;
    return !apart;
}

static tern_status count_insert(window *w, size_t *stored) {
    const tern_flight *f;
    if (!window_end(w, &f))
        return TERN_OK;
    *stored += f->outcome == TERN_OK;
    return f->outcome;
}

/* Does what flights have left, one after the other and with waits: a part's keys may move for the
 * first time when no rank is in an operation that began before. */
static tern_status insert_refused(window *w, size_t *stored) {
    tern_status status = TERN_OK;
    while (w->ended < w->begun && status == TERN_OK)
        status = count_insert(w, stored);
    tern_table_exit(w->worker, w->table);
    for (size_t i = 0; i < w->refusals && status == TERN_OK; i++) {
        const tern_items one = one_of(w->items, w->refused[i]);
        size_t done, kept;
        status = tern_run_insert(w->worker, w->table, &one, &done, &kept);
        *stored += status == TERN_OK ? kept : 0;
    }
    tern_table_enter(w->worker, w->table);
    w->refusals = 0;
    return status;
}

/* So many items a window holds arrays for, at most, where somebody may wait to have them back. */
static bool window_pauses(const window *w, size_t item) {
    enum { ITEMS = 256 };
    return w->refusals > 0 || (item % ITEMS == ITEMS - 1 && tern_table_moves(w->table));
}

/* A counter table's value is what to add. */
static tern_flight_plan plan_insert(const tern_hashtable *table, const char *value) {
    tern_flight_plan plan = {
        .kind = TERN_FLIGHT_INSERT, .promise = TERN_WRITE_ONLY, .given = value};
    if (tern_shape_counts(table->shape)) {
        plan.kind = TERN_FLIGHT_ADD;
        memcpy(&plan.delta, value, sizeof plan.delta);
    }
    return plan;
}

static tern_status insert_far(window *w, size_t *stored) {
    const tern_items *items = w->items;
    for (size_t i = 0; i < items->count; i++) {
        const char *key = items->keys + i * items->key_step;
        uint64_t hash = tern_hash_of_bytes(w->table, key);
        const tern_flight_plan plan = plan_insert(w->table, items->values + i * items->value_step);
        if (!window_takes(w, hash, plan.kind))
            continue;
        while (w->begun - w->ended == FLIGHTS || under_way(w, hash)) {
            tern_status status = count_insert(w, stored);
            if (status != TERN_OK)
                return status;
        }
        if (window_pauses(w, i)) {
            tern_status status = insert_refused(w, stored);
            if (status != TERN_OK)
                return status;
        }
        tern_flight_begin(pipeline_begin(w, i), w->worker, w->table, key, hash, &plan);
    }
    return TERN_OK;
}

static tern_status insert_near(const window *w, size_t *stored) {
    for (size_t i = 0; i < w->items->count; i++) {
        tern_items one = one_of(w->items, i);
        size_t done, kept;
        if (window_takes(w, tern_hash_of_bytes(w->table, one.keys), TERN_FLIGHT_INSERT))
            continue;
        tern_status status = tern_run_insert(w->worker, w->table, &one, &done, &kept);
        if (status != TERN_OK)
            return status;
        *stored += kept;
    }
    return TERN_OK;
}

tern_status tern_pipeline_insert(tern_worker *worker, tern_hashtable *table,
                                 const tern_items *items, size_t *stored) {
    window w;
    *stored = 0;
    tern_status status = window_open(&w, worker, table, items);
    if (status == TERN_OK)
        status = insert_far(&w, stored);
    if (status == TERN_OK)
        status = insert_refused(&w, stored);
    while (w.ended < w.begun) {
        w.refusals = 0;
        tern_ignore(count_insert(&w, stored));
    }
    tern_table_exit(worker, table);
    if (status == TERN_OK)
        status = insert_near(&w, stored);
    window_close(&w);
    return status;
}

/* Where the finds of a batch put what they find. found may be NULL. */
typedef struct finds {
    tern_flags promise;
    char *values;
    unsigned char *found;
    size_t *present;
} finds;

static tern_status count_find(window *w, const finds *to) {
    const size_t number = w->number[w->ended % FLIGHTS];
    const tern_flight *f;
    if (!window_end(w, &f))
        return TERN_OK;
    *to->present += f->outcome == TERN_OK;
    if (to->found != NULL)
        to->found[number] = f->outcome == TERN_OK;
    return f->outcome == TERN_ERR_NOT_FOUND ? TERN_OK : f->outcome;
}

static tern_status find_one(const window *w, size_t number, const finds *to) {
    const tern_items one = one_of(w->items, number);
    size_t done, there = 0;
    tern_status status =
        tern_run_find(w->worker, w->table, &one, to->promise, false,
                      to->values + number * tern_found_bytes(w->table),
                      to->found == NULL ? NULL : to->found + number, &done, &there);
    *to->present += there;
    return status;
}

/* As insert_refused. */
static tern_status find_refused(window *w, const finds *to) {
    tern_status status = TERN_OK;
    while (w->ended < w->begun && status == TERN_OK)
        status = count_find(w, to);
    tern_table_exit(w->worker, w->table);
    for (size_t i = 0; i < w->refusals && status == TERN_OK; i++)
        status = find_one(w, w->refused[i], to);
    tern_table_enter(w->worker, w->table);
    w->refusals = 0;
    return status;
}

static tern_status pipeline_find_far(window *w, const finds *to) {
    for (size_t i = 0; i < w->items->count; i++) {
        const char *key = w->items->keys + i * w->items->key_step;
        uint64_t hash = tern_hash_of_bytes(w->table, key);
        tern_status status = TERN_OK;
        if (!window_takes(w, hash, TERN_FLIGHT_FIND))
            continue;
        if (w->begun - w->ended == FLIGHTS)
            status = count_find(w, to);
        if (status == TERN_OK && window_pauses(w, i))
            status = find_refused(w, to);
        if (status != TERN_OK)
            return status;
        const tern_flight_plan plan = {.kind = TERN_FLIGHT_FIND,
                                       .promise = to->promise,
                                       .taken = to->values + i * tern_found_bytes(w->table)};
        tern_flight_begin(pipeline_begin(w, i), w->worker, w->table, key, hash, &plan);
    }
    return find_refused(w, to);
}

static tern_status find_near(const window *w, const finds *to) {
    for (size_t i = 0; i < w->items->count; i++) {
        const char *key = w->items->keys + i * w->items->key_step;
        if (window_takes(w, tern_hash_of_bytes(w->table, key), TERN_FLIGHT_FIND))
            continue;
        tern_status status = find_one(w, i, to);
        if (status != TERN_OK)
            return status;
    }
    return TERN_OK;
}

tern_status tern_pipeline_find(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                               tern_flags promise, char *values, unsigned char *found,
                               size_t *present) {
    const finds to = {promise, values, found, present};
    window w;
    *present = 0;
    tern_status status = window_open(&w, worker, table, items);
    if (status == TERN_OK)
        status = pipeline_find_far(&w, &to);
    /* Whatever happened: gets under way write into the flights. */
    while (w.ended < w.begun) {
        w.refusals = 0;
        tern_ignore(count_find(&w, &to));
    }
    tern_table_exit(worker, table);
    if (status == TERN_OK)
        status = find_near(&w, &to);
    window_close(&w);
    return status;
}
