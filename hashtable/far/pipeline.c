#include "hashtable/far/flight.h"

#include <stdlib.h>

#include "rma/transport/transport.h"

enum { FLIGHTS = 16 };

typedef struct window {
    tern_worker *worker;
    tern_hashtable *table;
    const tern_items *items;
    char *flights;
    size_t flying;           /* items before it, of far parts; then keys may move */
    size_t begun, ended;     /* in the order of flights */
    size_t number[FLIGHTS];  /* of a flight's item */
    size_t refused[FLIGHTS]; /* items that have found no room, and that are inserted at once: */
    size_t refusals;
} window;

static tern_flight *flight_of(const window *w, size_t flight) {
    return (tern_flight *)(void *)(w->flights + flight % FLIGHTS * tern_flight_bytes(w->table));
}

/* Whether an item with this hash flies, or flew. */
static bool window_takes(const window *w, size_t item, uint64_t hash) {
    return item < w->flying && w->table->part[tern_hash_owner(w->table, hash)].near == NULL;
}

static tern_status window_open(window *w, tern_worker *worker, tern_hashtable *table,
                               const tern_items *items) {
    tern_table_enter(worker, table);
    *w = (window){.worker = worker,
                  .table = table,
                  .items = items,
                  .flights = malloc(FLIGHTS * tern_flight_bytes(table)),
                  .flying = tern_table_moves(table) ? 0 : items->count};
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

static tern_status count_insert(window *w, size_t *stored) {
    const size_t number = w->number[w->ended % FLIGHTS];
    const tern_flight *f = end_oldest(w);
    *stored += f->outcome == TERN_OK;
    if (f->outcome != TERN_ERR_FULL)
        return f->outcome;
    w->refused[w->refusals++] = number;
    return TERN_OK;
}

/* Inserts what flights have found no room for, one after the other and with waits: their part's
 * keys may move for the first time when no rank is in an operation that began before. */
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
        if (!window_takes(w, i, hash))
            continue;
        while (w->begun - w->ended == FLIGHTS || under_way(w, hash)) {
            tern_status status = count_insert(w, stored);
            if (status != TERN_OK)
                return status;
        }
        if (w->refusals > 0) {
            tern_status status = insert_refused(w, stored);
            if (status != TERN_OK)
                return status;
            w->flying = tern_table_moves(w->table) ? i : w->flying;
            if (w->flying == i)
                return TERN_OK;
        }
        const tern_flight_plan plan = plan_insert(w->table, items->values + i * items->value_step);
        tern_flight_begin(pipeline_begin(w, i), w->worker, w->table, key, hash, &plan);
    }
    return TERN_OK;
}

static tern_status insert_near(const window *w, size_t *stored) {
    for (size_t i = 0; i < w->items->count; i++) {
        tern_items one = one_of(w->items, i);
        size_t done, kept;
        if (window_takes(w, i, tern_hash_of_bytes(w->table, one.keys)))
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

static tern_status count_find(window *w, unsigned char *found, size_t *present) {
    size_t number = w->number[w->ended % FLIGHTS];
    const tern_flight *f = end_oldest(w);
    *present += f->outcome == TERN_OK;
    if (found != NULL)
        found[number] = f->outcome == TERN_OK;
    return f->outcome == TERN_ERR_NOT_FOUND ? TERN_OK : f->outcome;
}

/* found may be NULL, here and below. */
static tern_status pipeline_find_far(window *w, tern_flags promise, char *values,
                                     unsigned char *found, size_t *present) {
    for (size_t i = 0; i < w->items->count; i++) {
        const char *key = w->items->keys + i * w->items->key_step;
        uint64_t hash = tern_hash_of_bytes(w->table, key);
        if (!window_takes(w, i, hash))
            continue;
        if (w->begun - w->ended == FLIGHTS) {
            tern_status status = count_find(w, found, present);
            if (status != TERN_OK)
                return status;
        }
        const tern_flight_plan plan = {.kind = TERN_FLIGHT_FIND,
                                       .promise = promise,
                                       .taken = values + i * tern_found_bytes(w->table)};
        tern_flight_begin(pipeline_begin(w, i), w->worker, w->table, key, hash, &plan);
    }
    return TERN_OK;
}

static tern_status find_near(const window *w, tern_flags promise, char *values,
                             unsigned char *found, size_t *present) {
    for (size_t i = 0; i < w->items->count; i++) {
        tern_items one = one_of(w->items, i);
        size_t done, there;
        if (window_takes(w, i, tern_hash_of_bytes(w->table, one.keys)))
            continue;
        tern_status status = tern_run_find(w->worker, w->table, &one, promise, false,
                                           values + i * tern_found_bytes(w->table),
                                           found == NULL ? NULL : found + i, &done, &there);
        if (status != TERN_OK)
            return status;
        *present += there;
    }
    return TERN_OK;
}

tern_status tern_pipeline_find(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                               tern_flags promise, char *values, unsigned char *found,
                               size_t *present) {
    window w;
    *present = 0;
    tern_status status = window_open(&w, worker, table, items);
    if (status == TERN_OK)
        status = pipeline_find_far(&w, promise, values, found, present);
    /* Whatever happened: gets under way write into the flights. */
    while (w.ended < w.begun) {
        tern_status ended = count_find(&w, found, present);
        status = status == TERN_OK ? ended : status;
    }
    tern_table_exit(worker, table);
    if (status == TERN_OK)
        status = find_near(&w, promise, values, found, present);
    window_close(&w);
    return status;
}
