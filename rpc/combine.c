#include "tern/combine.h"

#include <stdlib.h>

#include "base/error.h"
#include "rpc/call/send.h"
#include "src/holder.h"
#include "src/progress/wait.h"

/*
 * A combiner is a direct-mapped table of updates that have not been sent. A wait for room makes
 * progress, and handlers may then change any entry. So after each wait tern_combine looks at its
 * entry again; sending itself runs no handler. Hot path: an update that meets its object's entry
 * touches that entry and nothing else. Guarded by `tern-bench update`.
 */

#define ENTRIES ((size_t)1024)
#define ENTRIES_MAX ((size_t)1 << 24)
#define EMPTY UINT32_MAX

/* A call sends the bytes of an entry from key on. */
typedef struct entry {
    tern_worker_id target; /* rank EMPTY: the entry holds no update */
    uint64_t key;
    char update[];
} entry;

struct tern_combiner {
    tern_worker *worker;
    const tern_function *function;
    void (*combine)(void *into, const void *update, size_t bytes);
    size_t bytes;
    size_t stride; /* bytes of an entry */
    size_t entries;
    unsigned shift; /* a hash, halved and shifted right by this, is an entry's number */
    char *table;
    tern_holder holder;
};

static void add_words(void *into, const void *update, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t sum, by;
        memcpy(&sum, (char *)into + at, 8);
        memcpy(&by, (const char *)update + at, 8);
        sum += by;
        memcpy((char *)into + at, &sum, 8);
    }
}

static entry *entry_number(const tern_combiner *c, size_t i) {
    return (entry *)(void *)(c->table + i * c->stride);
}

/* Returns the entry of an object. Its number is the upper bits of a product, which depend on all
 * bits of the key. */
static entry *entry_of(const tern_combiner *c, tern_worker_id target, uint64_t key) {
    uint64_t mixed = key ^ ((uint64_t)target.rank << 32 | target.index) * 0xc2b2ae3d27d4eb4fu;
    return entry_number(c, (size_t)(mixed * 0x9e3779b97f4a7c15u >> 1 >> c->shift));
}

static bool is_of(const entry *e, tern_worker_id target, uint64_t key) {
    return e->key == key && e->target.rank == target.rank && e->target.index == target.index;
}

/* Sends the update of an entry and empties the entry. TERN_ERR_AGAIN: there is no room. */
static tern_status combine_send(tern_worker *worker, const tern_combiner *c, entry *e) {
    size_t bytes = sizeof e->key + c->bytes;
    tern_status status = TERN_OK;
    if (!tern_internal_call_try(worker, e->target, c->function, &e->key, bytes)) {
        tern_outgoing call = {{tern_worker_number(worker->context, e->target), false},
                              tern_rpc_of(worker->context)->header[c->function->id],
                              {{&e->key, bytes}}};
        status = tern_outgoing_send(worker, &call,
                                    worker->in_progress ? TERN_FULL_QUEUE : TERN_FULL_FAIL);
    }
    if (status == TERN_OK)
        e->target.rank = EMPTY;
    return status;
}

/* Waits for one round after TERN_ERR_AGAIN. TERN_OK: try again. TERN_ERR_AGAIN: a handler must not
 * wait. */
static tern_status wait_for_room(tern_worker *worker, tern_wait_state *wait, uint32_t rank) {
    if (worker->in_progress)
        return TERN_ERR_AGAIN;
    return tern_wait_round(worker->context, wait, tern_progress_round(worker), rank);
}

static tern_status combine_check(const tern_worker *worker, const tern_combiner *c,
                                 const char *function) {
    if (worker == NULL || c == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker or combiner is NULL", function);
    if (c->worker != worker)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "%s: the combiner is worker %u's, not worker %u's; pass the worker that created it",
            function, c->worker->id, worker->id);
    return TERN_OK;
}

/* Handles an update whose object is not in the entry: sends what the entry holds, and stores the
 * update there. */
static tern_status take_place(tern_worker *worker, const tern_combiner *c, entry *e,
                              tern_worker_id target, uint64_t key, const void *update) {
    tern_wait_state wait = TERN_WAIT_IN("tern_combine");
    while (e->target.rank != EMPTY) {
        tern_status status = combine_send(worker, c, e);
        if (status == TERN_ERR_AGAIN)
            status = wait_for_room(worker, &wait, e->target.rank);
        if (status != TERN_OK)
            return status;
        if (is_of(e, target, key)) { /* a handler has stored an update of this object meanwhile */
            c->combine(e->update, update, c->bytes);
            return TERN_OK;
        }
    }
    e->target = target;
    e->key = key;
    memcpy(e->update, update, c->bytes);
    return TERN_OK;
}

static tern_status combine_refuse(const tern_worker *worker, const tern_combiner *c,
                                  tern_worker_id target, const void *update) {
    static const char name[] = "tern_combine";
    tern_status status = combine_check(worker, c, name);
    if (status != TERN_OK)
        return status;
    if (update == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: update is NULL", name);
    return tern_worker_check(worker->context, target, name);
}

tern_status tern_combine(tern_worker *worker, tern_combiner *combiner, tern_worker_id target,
                         uint64_t key, const void *update) {
    if (worker == NULL || combiner == NULL || combiner->worker != worker || update == NULL ||
        target.rank >= worker->view.ranks || target.index >= worker->view.workers)
        return combine_refuse(worker, combiner, target, update);
    entry *e = entry_of(combiner, target, key);
    if (!is_of(e, target, key))
        return take_place(worker, combiner, e, target, key, update);
    combiner->combine(e->update, update, combiner->bytes);
    return TERN_OK;
}

/* Sends the update of an entry, and waits for room if there is too little. */
static tern_status send_entry(tern_worker *worker, const tern_combiner *c, entry *e) {
    tern_wait_state wait = TERN_WAIT_IN("tern_combine");
    tern_status status = TERN_OK;
    while (e->target.rank != EMPTY && status == TERN_OK) {
        status = combine_send(worker, c, e);
        if (status == TERN_ERR_AGAIN)
            status = wait_for_room(worker, &wait, e->target.rank);
    }
    return status;
}

tern_status tern_combiner_flush(tern_worker *worker, tern_combiner *combiner) {
    tern_status first = combine_check(worker, combiner, "tern_combiner_flush");
    if (first != TERN_OK)
        return first;
    for (size_t i = 0; i < combiner->entries; i++) {
        tern_status status = send_entry(worker, combiner, entry_number(combiner, i));
        if (status == TERN_ERR_AGAIN)
            return status;
        if (first == TERN_OK)
            first = status;
    }
    /* Progress publishes the calls that this cannot publish yet, so that is no error. */
    if (tern_call_flush_all(worker) != TERN_OK && first == TERN_OK)
        tern_error_clear();
    return first;
}

tern_status tern_combiner_destroy(tern_worker *worker, tern_combiner *combiner) {
    static const char name[] = "tern_combiner_destroy";
    if (combiner == NULL)
        return TERN_OK;
    tern_status status = combine_check(worker, combiner, name);
    if (status == TERN_OK)
        status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    status = tern_combiner_flush(worker, combiner);
    tern_holder_remove(worker, &combiner->holder);
    free(combiner->table);
    free(combiner);
    return status;
}

static tern_status combine_check_options(const tern_worker *worker,
                                         const tern_combiner_options *o) {
    uint64_t key = 0;
    tern_worker_id self = tern_worker_self(worker);
    if (o->bytes == 0 || o->bytes > TERN_COMBINE_MAX || (o->combine == NULL && o->bytes % 8 != 0))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_combiner_create: bytes is %zu; allowed are 1 to %u, and a multiple "
                         "of 8 without combine",
                         o->bytes, TERN_COMBINE_MAX);
    if (o->entries > ENTRIES_MAX)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_combiner_create: entries is %zu; at most %zu are allowed",
                         o->entries, ENTRIES_MAX);
    tern_call_target to;
    return tern_call_header(worker, self, o->function, &key, sizeof key, &to) != 0
               ? TERN_OK
               : tern_call_refuse(worker, self, o->function, &key, sizeof key);
}

static size_t combine_count(const tern_holder *holder) {
    const tern_combiner *c = (const tern_combiner *)(const void *)((const char *)holder -
                                                                   offsetof(tern_combiner, holder));
    size_t updates = 0;
    for (size_t i = 0; i < c->entries; i++)
        updates += entry_number(c, i)->target.rank != EMPTY;
    return updates;
}

/* Allocates the table, with every entry empty. False: there is no memory. */
static bool make_table(tern_combiner *c, size_t entries) {
    c->entries = 1;
    c->shift = 63;
    for (; c->entries < entries; c->entries *= 2)
        c->shift--;
    c->table = calloc(c->entries, c->stride);
    for (size_t i = 0; c->table != NULL && i < c->entries; i++)
        entry_number(c, i)->target.rank = EMPTY;
    return c->table != NULL;
}

tern_status tern_combiner_create(tern_worker *worker, const tern_combiner_options *options,
                                 tern_combiner **combiner) {
    if (worker == NULL || options == NULL || combiner == NULL)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_combiner_create: worker, options or combiner is NULL");
    tern_status status = combine_check_options(worker, options);
    if (status != TERN_OK)
        return status;
    tern_combiner *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a combiner");
    *fresh = (tern_combiner){.worker = worker,
                             .function = options->function,
                             .combine = options->combine != NULL ? options->combine : add_words,
                             .bytes = options->bytes,
                             .stride = sizeof(entry) + ((options->bytes + 7) & ~(size_t)7)};
    if (!make_table(fresh, options->entries > 0 ? options->entries : ENTRIES)) {
        free(fresh);
        return tern_fail(TERN_ERR_MEMORY, "no memory for a combiner of %zu entries",
                         options->entries);
    }
    fresh->holder = (tern_holder){.count = combine_count,
                                  .item = "update",
                                  .place = "combiner",
                                  .flush = "tern_combiner_flush"};
    tern_holder_add(worker, &fresh->holder);
    *combiner = fresh;
    return TERN_OK;
}
