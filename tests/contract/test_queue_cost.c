// tern-test: transports

/* What the operations of the queue cost, in puts, gets and atomics of the caller: the table in
 * tern/queue.h. One rank works, the host serves it. And how often a push to a distributed queue
 * waits for another node. */

#include "fixture.h"
#include "tern/distributed_queue.h"

enum { CAPACITY = 64, TIMES = 40 };

typedef struct cost {
    uint64_t gets, puts, atomics, calls;
    uint64_t fences; /* wanted: of which over rma each is a flush */
} cost;

static tern_stats before;

static void begin(fixture *f) { tern_stats_get(f->worker, &before); }

/* Of all operations since begin together. */
static bool costs(fixture *f, cost wanted, const char *what) {
    tern_stats after;
    tern_stats_get(f->worker, &after);
    cost got = {after.gets - before.gets, after.puts - before.puts, after.atomics - before.atomics,
                after.calls_sent - before.calls_sent, after.flushes - before.flushes};
    bool same = got.gets == wanted.gets && got.puts == wanted.puts &&
                got.atomics == wanted.atomics && got.calls == wanted.calls &&
                (got.fences == 0 || got.fences == wanted.fences);
    if (!same)
        fprintf(stderr, "%s cost %llu gets, %llu puts, %llu atomics, %llu calls, %llu flushes\n",
                what, (unsigned long long)got.gets, (unsigned long long)got.puts,
                (unsigned long long)got.atomics, (unsigned long long)got.calls,
                (unsigned long long)got.fences);
    return same;
}

/* Since begin. */
static uint64_t trips(fixture *f) {
    tern_stats after;
    tern_stats_get(f->worker, &after);
    return after.trips - before.trips;
}

typedef tern_status (*push_function)(tern_worker *, tern_queue *, const void *, tern_flags);
typedef tern_status (*pop_function)(tern_worker *, tern_queue *, void *, tern_flags);

static void push(fixture *f, tern_queue *queue, int times, push_function function,
                 tern_flags flags) {
    for (uint64_t i = 0; i < (uint64_t)times; i++)
        EXPECT_OK(function(f->worker, queue, &i, flags));
}

static void pop(fixture *f, tern_queue *queue, int times, pop_function function, tern_flags flags) {
    for (uint64_t i = 0; i < (uint64_t)times; i++) {
        uint64_t item = UINT64_MAX;
        EXPECT_OK(function(f->worker, queue, &item, flags));
        CU_ASSERT_EQUAL(item, i);
    }
}

/* A row of the table in tern/queue.h: a push and a pop. */
typedef struct row {
    const char *name;
    tern_flags push_promise, pop_promise;
    push_function push;
    pop_function pop;
    cost push_cost, pop_cost;
} row;

#define RW TERN_READ_WRITE
#define W TERN_WRITE_ONLY
#define R TERN_READ_ONLY

#define PUSH_COST                                                                                  \
    { .atomics = 1, .puts = 1 }
#define POP_COST                                                                                   \
    { .gets = 1, .atomics = 1 }
#define POP_RW_COST                                                                                \
    { .gets = 1, .atomics = 1, .puts = 1 }

static const row rows[] = {
    {"waiting", RW, RW, tern_queue_push, tern_queue_pop, PUSH_COST, POP_RW_COST},
    {"trying", RW, RW, tern_queue_try_push, tern_queue_try_pop, PUSH_COST, POP_RW_COST},
    {"in phases", W, R, tern_queue_push, tern_queue_pop, PUSH_COST, POP_COST},
    {"trying in phases", W, R, tern_queue_try_push, tern_queue_try_pop, PUSH_COST, POP_COST},
};

static cost times(cost one, uint64_t n) {
    return (cost){n * one.gets, n * one.puts, n * one.atomics, n * one.calls, n * one.fences};
}

static void measure_row(fixture *f, const row *r, uint64_t each, tern_queue *queue) {
    const uint64_t n = each * TIMES;
    begin(f);
    push(f, queue, TIMES, r->push, r->push_promise | TERN_BY_RMA);
    CU_ASSERT(costs(f, times(r->push_cost, n), r->name));
    CU_ASSERT_EQUAL(trips(f), n); /* the put is not waited for */
    EXPECT_OK(tern_barrier(f->worker));
    begin(f);
    pop(f, queue, TIMES, r->pop, r->pop_promise | TERN_BY_RMA);
    CU_ASSERT(costs(f, times(r->pop_cost, n), r->name));
    CU_ASSERT_EQUAL(trips(f), 2 * n);
    EXPECT_OK(tern_barrier(f->worker));
}

/* Whether this rank, which shares memory with the host, has to do atomics by MPI all the same. */
static bool atomics_by_mpi(fixture *f, tern_queue *queue) {
    tern_stats after;
    uint64_t size;
    begin(f);
    EXPECT_OK(tern_queue_size(f->worker, queue, &size));
    tern_stats_get(f->worker, &after);
    return after.atomics != before.atomics;
}

/* Each row on a fresh queue: within the first generation, everything is free. */
static void every_row(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tern_queue_options options = {.item_bytes = 8, .capacity = CAPACITY};
        tern_queue *queue = NULL;
        EXPECT_OK(tern_queue_create(f.worker, &options, &queue));
        tern_transport transport = TERN_SHM;
        EXPECT_OK(tern_context_transport(f.context, 0, &transport));
        bool direct = transport == TERN_SHM;
        if (f.rank == f.size - 1 && (!direct || !atomics_by_mpi(&f, queue))) {
            measure_row(&f, &rows[i], !direct, queue);
        } else {
            EXPECT_OK(tern_barrier(f.worker));
            EXPECT_OK(tern_barrier(f.worker));
        }
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_queue_destroy(f.worker, queue));
    }
    fixture_close(&f);
}

/* The host alone, whatever lies between the others and it. */
static void alone(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    const tern_flags local = TERN_LOCAL;
    tern_queue *queue = NULL;
    EXPECT_OK(tern_queue_create(
        f.worker, &(tern_queue_options){.item_bytes = 8, .capacity = CAPACITY}, &queue));
    if (f.rank == 0 && !atomics_by_mpi(&f, queue)) {
        uint64_t item;
        begin(&f);
        for (int generation = 0; generation < 3; generation++) {
            push(&f, queue, CAPACITY, tern_queue_push, local | TERN_BY_RMA);
            EXPECT(TERN_ERR_FULL, tern_queue_push(f.worker, queue, &item, local | TERN_BY_RMA));
            pop(&f, queue, CAPACITY, tern_queue_pop, local | TERN_BY_RMA);
            EXPECT(TERN_ERR_EMPTY, tern_queue_pop(f.worker, queue, &item, local | TERN_BY_RMA));
        }
        CU_ASSERT(costs(&f, (cost){.gets = 0}, "local"));
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

/* At the limits. each: what one operation counts, 0 for a worker that
 * reaches the host by load and store. */
static void at_limits(fixture *f, tern_queue *queue, uint64_t each) {
    const tern_flags rma = TERN_BY_RMA, call = TERN_BY_CALL;
    uint64_t item;
    begin(f);
    EXPECT(TERN_ERR_EMPTY, tern_queue_try_pop(f->worker, queue, &item, rma));
    CU_ASSERT(costs(f, (cost){.gets = each, .atomics = each}, "pop from an empty queue"));
    begin(f);
    EXPECT(TERN_ERR_EMPTY, tern_queue_try_pop(f->worker, queue, &item, TERN_READ_ONLY | rma));
    CU_ASSERT(costs(f, (cost){.gets = each}, "pop from an empty queue in a phase"));
    begin(f);
    EXPECT(TERN_ERR_EMPTY, tern_queue_pop(f->worker, queue, &item, TERN_READ_ONLY | rma));
    CU_ASSERT(costs(f, (cost){.gets = each, .atomics = 2 * each}, "a ticket given back"));

    /* From the second generation on, one get reads all turns of a generation. */
    push(f, queue, CAPACITY, tern_queue_push, rma);
    pop(f, queue, CAPACITY, tern_queue_pop, rma);
    begin(f);
    push(f, queue, CAPACITY, tern_queue_push, rma);
    CU_ASSERT(costs(f, (cost){.gets = each, .atomics = each * CAPACITY, .puts = each * CAPACITY},
                    "push of a whole generation"));
    begin(f);
    EXPECT(TERN_ERR_FULL, tern_queue_try_push(f->worker, queue, &item, rma));
    CU_ASSERT(costs(f, (cost){.gets = each, .atomics = each}, "push to a full queue"));
    begin(f);
    EXPECT(TERN_ERR_FULL, tern_queue_push(f->worker, queue, &item, TERN_WRITE_ONLY | rma));
    CU_ASSERT(costs(f, (cost){.atomics = each}, "push to a full queue in a phase"));
    pop(f, queue, CAPACITY, tern_queue_pop, rma);

    uint64_t batch[CAPACITY] = {0};
    size_t done;
    begin(f);
    EXPECT_OK(tern_queue_push_many(f->worker, queue, batch, CAPACITY, rma, &done));
    CU_ASSERT(costs(f, (cost){.gets = each, .atomics = each, .puts = each}, "push of a batch"));
    begin(f);
    EXPECT_OK(tern_queue_pop_many(f->worker, queue, batch, CAPACITY, rma, &done));
    CU_ASSERT(costs(f, (cost){.gets = each, .atomics = each, .puts = each}, "pop of a batch"));

    /* No put is left to the first wait for a reply. */
    EXPECT_OK(tern_flush_all(f->worker));
    begin(f);
    push(f, queue, TIMES, tern_queue_push, call);
    pop(f, queue, TIMES, tern_queue_pop, call);
    EXPECT(TERN_ERR_EMPTY, tern_queue_try_pop(f->worker, queue, &item, call));
    EXPECT_OK(tern_queue_push_many(f->worker, queue, batch, CAPACITY, call, &done));
    EXPECT_OK(tern_queue_pop_many(f->worker, queue, batch, CAPACITY, call, &done));
    bool in_place = tern_worker_self(f->worker).rank == 0;
    /* The batch is popped in two pieces, for it wraps. */
    CU_ASSERT(costs(f, (cost){.calls = in_place ? 0 : 2 * TIMES + 4}, "by call"));
}

static void at_home_and_away(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    for (uint32_t actor = 0; actor < f.size; actor++) {
        tern_queue *queue = NULL;
        EXPECT_OK(tern_queue_create(
            f.worker, &(tern_queue_options){.item_bytes = 8, .capacity = CAPACITY}, &queue));
        tern_transport transport = TERN_SHM;
        EXPECT_OK(tern_context_transport(f.context, 0, &transport));
        if (f.rank == actor && (transport != TERN_SHM || !atomics_by_mpi(&f, queue)))
            at_limits(&f, queue, transport != TERN_SHM);
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_queue_destroy(f.worker, queue));
    }
    fixture_close(&f);
}

/* A push waits for another node at most twice if the part that it goes to has room. Returns how
 * often count pushes wait. */
static uint64_t push_apart(fixture *f, tern_distributed_queue *queue, uint64_t count) {
    uint64_t all = 0;
    for (uint64_t i = 0; i < count; i++) {
        begin(f);
        EXPECT_OK(tern_distributed_queue_try_push(f->worker, queue, &i, TERN_BY_RMA));
        CU_ASSERT(trips(f) <= 2);
        all += trips(f);
    }
    return all;
}

/* One rank fills its own part, and then pushes to the others' parts, none of which gets full. */
static void distributed(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_distributed_queue *queue = NULL;
    tern_queue *own = NULL;
    EXPECT_OK(tern_distributed_queue_create(
        f.worker, &(tern_queue_options){.item_bytes = 8, .capacity = CAPACITY}, &queue));
    EXPECT_OK(tern_distributed_queue_part(queue, f.rank, &own));
    uint32_t remote = 0;
    for (uint32_t r = 0; r < f.size; r++) {
        tern_transport transport = TERN_SHM;
        if (r != f.rank)
            EXPECT_OK(tern_context_transport(f.context, r, &transport));
        remote += transport != TERN_SHM;
    }
    for (uint64_t generation = 0; generation < 2; generation++) {
        if (f.rank == f.size - 1) {
            CU_ASSERT_EQUAL(push_apart(&f, queue, CAPACITY), 0);
            const uint64_t waits = push_apart(&f, queue, f.size > 1 ? TIMES : 0);
            if (remote == 0)
                CU_ASSERT_EQUAL(waits, 0);
            /* A ticket each, and once per generation what the other rank has popped. */
            if (remote > 0 && remote == f.size - 1 && (generation == 0 || f.size == 2))
                CU_ASSERT_EQUAL(waits, TIMES + generation);
        }
        EXPECT_OK(tern_barrier(f.worker));
        uint64_t items[CAPACITY];
        size_t popped = 0;
        const tern_status status =
            tern_queue_pop_many(f.worker, own, items, CAPACITY, TERN_BY_RMA, &popped);
        CU_ASSERT(status == TERN_OK || (status == TERN_ERR_EMPTY && f.rank < f.size - 1));
        EXPECT_OK(tern_barrier(f.worker));
    }
    EXPECT_OK(tern_distributed_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"every_row", every_row},
        {"alone", alone},
        {"at_home_and_away", at_home_and_away},
        {"distributed", distributed},
    };
    return tern_test_main(argc, argv, "queue_cost", tests, sizeof tests / sizeof tests[0]);
}
