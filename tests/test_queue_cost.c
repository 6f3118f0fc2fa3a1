// tern-test: transports

/* What the operations of the queue cost, in puts, gets and atomics of the caller: the table in
 * tern/queue.h. One rank works, the host serves it. */

#include "fixture.h"

enum { CAPACITY = 64, TIMES = 40 };

typedef struct cost {
    uint64_t gets, puts, atomics, calls;
} cost;

static tern_stats before;

static void begin(fixture *f) { tern_stats_get(f->worker, &before); }

/* Of all operations since begin together. */
static bool costs(fixture *f, cost wanted, const char *what) {
    tern_stats after;
    tern_stats_get(f->worker, &after);
    cost got = {after.gets - before.gets, after.puts - before.puts, after.atomics - before.atomics,
                after.calls_sent - before.calls_sent};
    bool same = got.gets == wanted.gets && got.puts == wanted.puts &&
                got.atomics == wanted.atomics && got.calls == wanted.calls &&
                after.flushes == before.flushes;
    if (!same)
        fprintf(stderr, "%s cost %llu gets, %llu puts, %llu atomics, %llu calls, %llu flushes\n",
                what, (unsigned long long)got.gets, (unsigned long long)got.puts,
                (unsigned long long)got.atomics, (unsigned long long)got.calls,
                (unsigned long long)(after.flushes - before.flushes));
    return same;
}

static void push(fixture *f, tern_queue *queue, int times, tern_promise promise, tern_via via) {
    for (uint64_t i = 0; i < (uint64_t)times; i++)
        EXPECT_OK(tern_queue_push(f->worker, queue, &i, promise, via));
}

static void pop(fixture *f, tern_queue *queue, int times, tern_promise promise, tern_via via) {
    for (uint64_t i = 0; i < (uint64_t)times; i++) {
        uint64_t item = UINT64_MAX;
        EXPECT_OK(tern_queue_pop(f->worker, queue, &item, promise, via));
        CU_ASSERT_EQUAL(item, i);
    }
}

/* each: what one operation counts, 0 for a worker that reaches the host by load and store. */
static void all_operations(fixture *f, tern_queue *queue, uint64_t each) {
    const tern_promise rw = TERN_PROMISE_READ_WRITE;
    const tern_via rma = TERN_VIA_RMA, call = TERN_VIA_CALL;
    uint64_t item;
    begin(f);
    push(f, queue, TIMES, rw, rma);
    CU_ASSERT(costs(f, (cost){.atomics = each * TIMES, .puts = each * TIMES}, "push"));
    begin(f);
    pop(f, queue, TIMES, rw, rma);
    CU_ASSERT(costs(f, (cost){.gets = each * TIMES, .atomics = each * TIMES, .puts = each * TIMES},
                    "pop"));
    begin(f);
    EXPECT(TERN_ERR_EMPTY, tern_queue_pop(f->worker, queue, &item, rw, rma));
    CU_ASSERT(costs(f, (cost){.gets = each, .atomics = each}, "pop from an empty queue"));
    begin(f);
    EXPECT(TERN_ERR_EMPTY, tern_queue_pop(f->worker, queue, &item, TERN_PROMISE_READ_ONLY, rma));
    CU_ASSERT(costs(f, (cost){.gets = each}, "pop from an empty queue in a phase"));

    /* To the end of the first lap: from the second on, a get tells of a lap's turns. */
    push(f, queue, CAPACITY - TIMES, TERN_PROMISE_WRITE_ONLY, rma);
    pop(f, queue, CAPACITY - TIMES, TERN_PROMISE_READ_ONLY, rma);
    begin(f);
    push(f, queue, CAPACITY, rw, rma);
    CU_ASSERT(costs(f, (cost){.gets = each, .atomics = each * CAPACITY, .puts = each * CAPACITY},
                    "push of a whole lap"));
    begin(f);
    EXPECT(TERN_ERR_FULL, tern_queue_push(f->worker, queue, &item, rw, rma));
    CU_ASSERT(costs(f, (cost){.gets = each, .atomics = each}, "push to a full queue"));
    begin(f);
    EXPECT(TERN_ERR_FULL, tern_queue_push(f->worker, queue, &item, TERN_PROMISE_WRITE_ONLY, rma));
    CU_ASSERT(costs(f, (cost){.gets = each}, "push to a full queue in a phase"));
    pop(f, queue, CAPACITY, TERN_PROMISE_READ_ONLY, rma);

    begin(f);
    push(f, queue, TIMES, rw, call);
    pop(f, queue, TIMES, rw, call);
    EXPECT(TERN_ERR_EMPTY, tern_queue_pop(f->worker, queue, &item, rw, call));
    bool in_place = tern_worker_self(f->worker).rank == 0;
    CU_ASSERT(costs(f, (cost){.calls = in_place ? 0 : 2 * TIMES + 1}, "by call"));
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

static void at_home_and_away(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    for (uint32_t actor = 0; actor < f.size; actor++) {
        tern_queue *queue = NULL;
        EXPECT_OK(tern_queue_create(
            f.worker, &(tern_queue_options){.item_bytes = 8, .capacity = CAPACITY}, &queue));
        tern_transport transport = TERN_SHM;
        EXPECT_OK(tern_context_transport(f.context, 0, &transport));
        if (f.rank == actor && (transport != TERN_SHM || !atomics_by_mpi(&f, queue)))
            all_operations(&f, queue, transport != TERN_SHM);
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_queue_destroy(f.worker, queue));
    }
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"at_home_and_away", at_home_and_away},
    };
    return tern_test_main(argc, argv, "queue_cost", tests, 1);
}
