#include "map/far.h"

#include "hashtable/op/pool.h"
#include "rma/transfer.h"
#include "rma/transport/transport.h"
#include "src/progress/progress.h"

typedef struct map_flight {
    tern_pending pending; /* first; on the worker's list until the block is here */
    tern_worker *worker;
    const tern_map *map;
    uint32_t owner;
    bool over; /* nothing is under way any more */
    void *value;
    size_t room;
    tern_map_key key;
    tern_request look; /* the table's find, which brings d */
    tern_map_descriptor d;
    tern_transfer transfer; /* the get of the block, */
    char *copy;             /* which comes here; NULL: none was started */
    char key_bytes[];
} map_flight;

/* Starts the get of the block, if the value lies in one that is far and fits. */
static tern_status flight_get_block(map_flight *f) {
    const uint64_t *d = f->d.words;
    const size_t bytes = tern_block_bytes(d);
    if (tern_map_descriptor_is_small(f->map, d) || !tern_map_descriptor_is_of(f->map, d, &f->key) ||
        tern_map_descriptor_value_bytes(d) > f->room || tern_block_is_near(f->worker, d))
        return TERN_OK;
    f->copy = malloc(bytes);
    if (f->copy == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a value of %zu bytes", bytes);
    tern_status status =
        tern_transfer_get(f->worker, f->copy, tern_block_place(d), bytes, &f->transfer);
    if (status != TERN_OK) {
        free(f->copy);
        f->copy = NULL;
    }
    return status;
}

/* What fails here is done again by the wait, which tells. */
static bool map_flight_move(tern_worker *worker, tern_pending *pending, size_t *events) {
    map_flight *f = (map_flight *)pending;
    int done = 1;
    if (tern_request_is_under_way(&f->look))
        return true;
    tern_status status = TERN_OK;
    if (f->copy == NULL && f->look.outcome == TERN_OK)
        status = flight_get_block(f);
    if (status == TERN_OK)
        status = tern_transfer_test(worker, &f->transfer, &done);
    f->over = status != TERN_OK || done;
    if (status != TERN_OK)
        tern_error_clear();
    *events += f->over;
    return !f->over;
}

static bool map_flight_look(tern_worker *worker, tern_request *request) {
    (void)tern_puts_deliver(worker); /* the owner may wait for them */
    return ((const map_flight *)request->to)->over;
}

/* Whether the block that has come is the key's value. */
static bool flight_has_value(const map_flight *f) {
    return f->copy != NULL && !f->transfer.under_way &&
           tern_block_is_whole(f->map, f->d.words, f->copy) &&
           tern_map_key_is(f->map, &f->key, f->copy);
}

/* When nothing is under way. [out] bytes: of the value. */
static tern_status map_flight_end(map_flight *f, size_t *bytes) {
    tern_status status = tern_wait(f->worker, &f->look);
    if (status != TERN_OK)
        return status;
    *bytes = tern_map_descriptor_value_bytes(f->d.words);
    if (flight_has_value(f)) {
        if (*bytes > 0)
            memcpy(f->value, f->copy + tern_block_value_at(f->d.words), *bytes);
        return TERN_OK;
    }
    tern_map_search s;
    tern_map_search_begin(f->worker, f->map, &f->key, f->value, f->room, false, &s);
    s.owner = f->owner;
    s.known = &f->d;
    return tern_hashtable_outcome(f->map->table, f->owner, tern_map_search_run(&s, bytes));
}

static tern_status map_flight_wait(tern_worker *worker, tern_request *request) {
    map_flight *f = request->to;
    tern_wait_state wait = TERN_WAIT_START;
    size_t bytes = 0;
    while (!f->over) {
        (void)tern_puts_deliver(worker);
        (void)tern_progress_round(worker);
        if (!f->over) /* a death ends it in progress */
            (void)tern_wait_step(worker->context, &wait, f->owner);
    }
    const tern_status status = map_flight_end(f, &bytes);
    const size_t room = f->room;
    if (!f->transfer.under_way) {
        free(f->copy);
        free(f);
    }
    return tern_map_request_end(request, status, bytes, room);
}

static const tern_request_kind map_flight_kind = {map_flight_look, map_flight_wait,
                                                  tern_map_request_explain};

bool tern_map_find_flies(const tern_map *map, uint32_t owner) {
    return tern_op_is_remote(map->table, owner);
}

tern_status tern_map_fly_find(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
                              tern_flags promise, void *value, size_t room, tern_request *request) {
    map_flight *f = calloc(1, sizeof *f + key_bytes);
    if (f == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a request");
    f->pending.move = map_flight_move;
    f->worker = worker;
    f->map = map;
    f->value = value;
    f->room = room;
    if (key_bytes > 0)
        memcpy(f->key_bytes, key, key_bytes);
    tern_map_key_make(map, f->key_bytes, key_bytes, &f->key);
    f->owner = tern_hash_owner(map->table, f->key.hash);
    tern_op op;
    tern_op_init(&op, TERN_OP_FIND, worker, map->table, f->key.fingerprint, f->key.hash, promise);
    op.taken = f->d.words;
    const tern_status status = tern_pool_start(&op, &f->look);
    if (status != TERN_OK) {
        free(f);
        return status;
    }
    tern_pending_add(worker, &f->pending);
    tern_request_begin(request, &map_flight_kind, f->owner);
    request->to = f;
    return TERN_OK;
}
