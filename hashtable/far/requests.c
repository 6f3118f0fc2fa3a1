#include "hashtable/far/requests.h"

#include <stdlib.h>

#include "rpc/call/await.h"
#include "src/progress/progress.h"
#include "rma/transport/transport.h"

_Static_assert(TERN_HASHTABLE_REQUESTS == 64, "places of a pool are bits of one word");

/* A worker's flights on one table. Used by the worker alone. */
typedef struct tern_table_requests {
    tern_pending pending; /* first; on the worker's list while any is under way */
    tern_hashtable *table;
    uint64_t under_way; /* places of flights */
    uint64_t lost;      /* places that MPI may still write into, for good */
    tern_request *request[TERN_HASHTABLE_REQUESTS];
    char memory[];
} tern_table_requests;

static size_t place_bytes(const tern_hashtable *table) {
    return (tern_flight_bytes(table) + 63) / 64 * 64;
}

static tern_flight *flight_at(tern_table_requests *pool, unsigned place) {
    return (tern_flight *)(void *)(pool->memory + place * place_bytes(pool->table));
}

static size_t flights_advance(tern_table_requests *pool, unsigned place) {
    tern_flight *flight = flight_at(pool, place);
    size_t steps = tern_flight_advance(flight);
    if (flight->stage != TERN_FLIGHT_DONE)
        return steps;
    pool->under_way &= ~(UINT64_C(1) << place);
    if (tern_flight_is_lost(flight))
        pool->lost |= UINT64_C(1) << place;
    tern_request_end(pool->request[place], flight->outcome, flight->result);
    return steps + 1;
}

static bool flights_move(tern_worker *worker, tern_pending *pending, size_t *events) {
    tern_table_requests *pool = (tern_table_requests *)pending;
    (void)worker;
    for (uint64_t left = pool->under_way; left != 0; left &= left - 1)
        *events += flights_advance(pool, (unsigned)__builtin_ctzll(left));
    return pool->under_way != 0;
}

static tern_table_requests *pool_of(const tern_worker *worker, tern_hashtable *table) {
    tern_table_requests **pool = &table->requests[worker->index];
    if (*pool != NULL)
        return *pool;
    *pool = malloc(sizeof **pool + TERN_HASHTABLE_REQUESTS * place_bytes(table));
    if (*pool != NULL) {
        (*pool)->pending.move = flights_move;
        (*pool)->table = table;
        (*pool)->under_way = (*pool)->lost = 0;
    }
    return *pool;
}

tern_status tern_requests_fly(tern_worker *worker, tern_hashtable *table, const void *key,
                              uint64_t hash, const tern_flight_plan *plan, uint32_t owner,
                              tern_request *request) {
    tern_table_requests *pool = pool_of(worker, table);
    if (pool == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %u requests under way",
                         TERN_HASHTABLE_REQUESTS);
    uint64_t vacant = ~(pool->under_way | pool->lost);
    if (vacant == 0)
        return tern_fail(TERN_ERR_AGAIN,
                         "all %u requests of this worker on the table are under way; wait for one",
                         TERN_HASHTABLE_REQUESTS);
    unsigned place = (unsigned)__builtin_ctzll(vacant);
    pool->request[place] = request;
    tern_request_begin(request, &tern_flight_request, owner);
    tern_table_enter(worker, table);
    tern_flight_begin(flight_at(pool, place), worker, table, key, hash, plan);
    /* Only now: beginning may make progress, which would step it. */
    if (pool->under_way == 0)
        tern_pending_add(worker, &pool->pending);
    pool->under_way |= UINT64_C(1) << place;
    tern_table_exit(worker, table);
    return TERN_OK;
}

bool tern_requests_hold(const tern_hashtable *table, uint32_t worker, uint32_t owner,
                        uint64_t generation) {
    tern_table_requests *pool = table->requests[worker];
    for (uint64_t left = pool != NULL ? pool->under_way : 0; left != 0; left &= left - 1)
        if (tern_flight_holds(flight_at(pool, (unsigned)__builtin_ctzll(left)), owner, generation))
            return true;
    return false;
}

static bool flight_request_look(tern_worker *worker, tern_request *request) {
    (void)request;                   /* progress ends it */
    (void)tern_puts_deliver(worker); /* the owner may wait for them */
    return false;
}

/* A death ends the flight in progress. */
static tern_status flight_request_wait(tern_worker *worker, tern_request *request) {
    tern_wait_state wait = TERN_WAIT_START;
    while (tern_request_is_under_way(request)) {
        (void)tern_puts_deliver(worker); /* other flights may have put meanwhile */
        (void)tern_progress_round(worker);
        if (tern_request_is_under_way(request))
            (void)tern_wait_step(worker->context, &wait, request->rank);
    }
    return tern_request_tell(request);
}

static tern_status table_request_explain(const tern_request *request) {
    const tern_status status = (tern_status)request->outcome;
    if (status == TERN_ERR_NOT_FOUND)
        return tern_fail(status, "no such key");
    if (status == TERN_ERR_FULL)
        return tern_fail(status,
                         "all buckets of rank %u's part belong to other keys, erased ones too; "
                         "clear the table, create it with grow = 1 or a greater capacity or, if "
                         "it grows, raise TERN_SEGMENT_SIZE",
                         request->rank);
    return tern_fail(status, "an operation on rank %u's part failed while it was under way: %s",
                     request->rank, tern_strerror(status));
}

static bool call_request_look(tern_worker *worker, tern_request *request) {
    return tern_answer_kind.look(worker, request);
}

/* That a key is absent or a table full is an answer without a text. */
static tern_status call_request_wait(tern_worker *worker, tern_request *request) {
    const tern_status status = tern_answer_kind.wait(worker, request);
    return status == TERN_ERR_NOT_FOUND || status == TERN_ERR_FULL ? table_request_explain(request)
                                                                   : status;
}

const tern_request_kind tern_flight_request = {flight_request_look, flight_request_wait,
                                               table_request_explain};
const tern_request_kind tern_table_call_request = {call_request_look, call_request_wait,
                                                   table_request_explain};

void tern_requests_drain(tern_worker *worker, tern_hashtable *table) {
    tern_table_requests *mine = table->requests[worker->index];
    tern_wait_state wait = TERN_WAIT_START;
    while (mine != NULL && mine->under_way != 0) {
        (void)tern_puts_deliver(worker);
        (void)tern_progress_round(worker);
        if (mine->under_way != 0) /* a death ends flights */
            (void)tern_wait_step(table->context, &wait, TERN_ANYBODY);
    }
}

void tern_requests_free(tern_hashtable *table) {
    for (uint32_t i = 0; i < table->context->workers; i++)
        if (table->requests[i] != NULL && table->requests[i]->lost == 0)
            free(table->requests[i]);
    free(table->requests);
}
