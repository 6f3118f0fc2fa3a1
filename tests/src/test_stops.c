// tern-test: transports least=2

/* Each rank in turn is stopped (SIGSTOP) at a random moment of a mixed run, and goes on after a
 * while: all ranks end their work, what it gives is right, and nobody counts as dead. */

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"
#include "src/mpi/mpi.h"

enum {
    STEPS = 60,         /* of a rank in a phase */
    KEYS = 40,          /* of each rank */
    LATEST_US = 4000,   /* after the phase has begun */
    LONGEST_US = 30000, /* of a stop */
    MOST = 64,          /* ranks */
    FIRST_CID = 1000
};

static struct {
    fixture f;
    pid_t pid[MOST];
    tern_ptr memory[MOST]; /* of each rank: a word for each rank, then a counter */
    tern_hashtable *counters;
    tern_map *map;
    tern_queue *queue;
    uint64_t state;
    uint64_t added, pushed, popped, called, counted, written[MOST];
} run;

static uint64_t served; /* calls */

static tern_status serve(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t number;
    CU_ASSERT_EQUAL(bytes, sizeof number);
    memcpy(&number, arguments, sizeof number);
    served++;
    number = ~number;
    const tern_status status = tern_call_result(call, sizeof number);
    if (status == TERN_OK)
        memcpy(call->result, &number, sizeof number);
    return status;
}
TERN_FUNCTION(serve)

static uint64_t draw(uint64_t limit) { return below(&run.state, limit); }

static uint32_t draw_rank(void) { return (uint32_t)draw(run.f.size); }

/* ---- Steps ---- */

static void step_counter(void) {
    const uint64_t key = draw(KEYS), delta = 1 + draw(9);
    if (EXPECT_OK(tern_hashtable_add(run.f.worker, run.counters, &key, delta, fixture_path(draw(3)),
                                     NULL)))
        run.added += delta;
}

/* A key of this rank alone: what it finds is what it stored last. */
static void step_map(void) {
    const uint64_t key = draw(KEYS) * run.f.size + run.f.rank;
    const size_t bytes = 8 + draw(300);
    char value[320], found[320];
    size_t found_bytes = 0;
    memset(value, (int)draw(256), bytes);
    EXPECT_OK(tern_map_insert(run.f.worker, run.map, &key, sizeof key, value, bytes,
                              fixture_path(draw(3)), NULL));
    EXPECT_OK(tern_map_find(run.f.worker, run.map, &key, sizeof key, fixture_path(draw(3)), found,
                            sizeof found, &found_bytes));
    CU_ASSERT(found_bytes == bytes && memcmp(value, found, bytes) == 0);
}

static void step_queue(void) {
    uint64_t item = 1 + draw(1000);
    tern_status status = tern_queue_try_push(run.f.worker, run.queue, &item, fixture_path(draw(3)));
    CU_ASSERT(status == TERN_OK || status == TERN_ERR_FULL);
    if (status == TERN_OK)
        run.pushed += item;
    status = tern_queue_try_pop(run.f.worker, run.queue, &item, fixture_path(draw(3)));
    CU_ASSERT(status == TERN_OK || status == TERN_ERR_EMPTY);
    if (status == TERN_OK)
        run.popped += item;
}

static void step_memory(void) {
    const uint32_t to = draw_rank();
    const tern_ptr word = tern_ptr_add(run.memory[to], 8 * (int64_t)run.f.rank);
    const uint64_t value = ++run.written[to];
    uint64_t seen = 0;
    EXPECT_OK(tern_put(run.f.worker, word, &value, sizeof value));
    EXPECT_OK(tern_flush(run.f.worker, to));
    EXPECT_OK(tern_get(run.f.worker, &seen, word, sizeof seen));
    CU_ASSERT_EQUAL(seen, value);
}

static void step_atomic(void) {
    const uint32_t to = draw_rank();
    const tern_ptr word = tern_ptr_add(run.memory[to], 8 * (int64_t)run.f.size);
    uint64_t before;
    if (EXPECT_OK(tern_atomic_fetch_add(run.f.worker, word, 1, &before)))
        run.counted++;
}

static void step_call(void) {
    const uint64_t number = draw(UINT32_MAX);
    uint64_t result = 0;
    size_t bytes = 0;
    if (EXPECT_OK(tern_call_return(run.f.worker, (tern_worker_id){.rank = draw_rank()},
                                   &serve_function, &number, sizeof number, &result, sizeof result,
                                   &bytes)))
        run.called++;
    CU_ASSERT(bytes == sizeof result && result == ~number);
}

/* The next rank is told of each phase, once. */
static void tell_next(uint64_t phase) {
    const uint32_t next = (run.f.rank + 1) % run.f.size;
    const uint64_t cid = FIRST_CID + phase;
    EXPECT_OK(
        tern_put_notify(run.f.worker, (tern_worker_id){.rank = next}, run.memory[next], NULL, 0,
                        &(tern_notify_options){
                            .cid = &cid, .cid_bytes = sizeof cid, .flags = TERN_NOTIFY_NO_LOCAL}));
}

static void hear_of_last(uint64_t phase) {
    tern_event event;
    uint64_t cid = 0;
    if (!EXPECT_OK(tern_event_wait(run.f.worker, TERN_PROBE_REMOTE, &event)))
        return;
    memcpy(&cid, event.cid, sizeof cid);
    CU_ASSERT_EQUAL(cid, FIRST_CID + phase);
    CU_ASSERT_EQUAL(event.peer.rank, (run.f.rank + run.f.size - 1) % run.f.size);
}

static void work(uint64_t phase) {
    static void (*const steps[])(void) = {step_counter, step_map,    step_queue,
                                          step_memory,  step_atomic, step_call};
    const uint64_t tells = draw(STEPS);
    for (uint64_t i = 0; i < STEPS; i++) {
        steps[draw(sizeof steps / sizeof *steps)]();
        if (i == tells)
            tell_next(phase);
    }
    hear_of_last(phase);
}

/* ---- Stops ---- */

typedef struct stop {
    pid_t pid;
    uint64_t at_us, for_us;
} stop;

static void *stop_and_continue(void *argument) {
    const stop *s = argument;
    usleep((useconds_t)s->at_us);
    const int stopped = kill(s->pid, SIGSTOP);
    usleep((useconds_t)s->for_us);
    const int continued = kill(s->pid, SIGCONT);
    return stopped == 0 && continued == 0 ? argument : NULL;
}

/* A thread of the next rank stops the victim. */
static void phase(uint64_t number) {
    const uint32_t victim = (uint32_t)(number % run.f.size);
    const bool stops = run.f.rank == (victim + 1) % run.f.size;
    stop s = {.pid = run.pid[victim],
              .at_us = draw(LATEST_US),
              .for_us = 1000 + draw(LONGEST_US * (tern_test_full() ? 20 : 1))};
    pthread_t thread;
    EXPECT_OK(tern_barrier(run.f.worker));
    if (stops)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, stop_and_continue, &s), 0);
    work(number);
    if (stops) {
        void *done = NULL;
        CU_ASSERT_EQUAL(pthread_join(thread, &done), 0);
        CU_ASSERT_PTR_NOT_NULL(done);
    }
    CU_ASSERT_EQUAL(tern_context_dead(run.f.context), TERN_NO_RANK);
}

static void check_sums(void) {
    uint64_t sums[] = {run.added, run.pushed, run.popped, run.called, run.counted, 0, served, 0};
    uint64_t words[MOST + 1], key = 0, count, item;
    EXPECT_OK(tern_quiesce(run.f.worker));
    /* What the ranks before have pushed and nobody popped, and all counters, are counted by one. */
    for (; run.f.rank == 0 && key < KEYS; key++)
        if (tern_hashtable_find(run.f.worker, run.counters, &key, TERN_BY_RMA, &count) == TERN_OK)
            sums[5] += count;
    while (run.f.rank == 0 && tern_queue_try_pop(run.f.worker, run.queue, &item, 0) == TERN_OK)
        sums[2] += item;
    EXPECT_OK(tern_get(run.f.worker, words, run.memory[run.f.rank], 8 * (run.f.size + 1)));
    sums[7] = words[run.f.size];
    EXPECT_OK(tern_sum(run.f.worker, sums, sizeof sums / sizeof *sums));
    CU_ASSERT_EQUAL(sums[0], sums[5]);
    CU_ASSERT_EQUAL(sums[1], sums[2]);
    CU_ASSERT_EQUAL(sums[3], sums[6]);
    CU_ASSERT_EQUAL(sums[4], sums[7]);
}

static void open_all(void) {
    const pid_t pid = getpid();
    const tern_queue_options queue = {.item_bytes = 8, .capacity = 16};
    memset(&run.added, 0, sizeof run - offsetof(typeof(run), added));
    served = 0;
    run.state = fixture_seed(&run.f, 1);
    fixture_share(&run.f, &pid, sizeof pid, run.pid);
    fixture_alloc_all(&run.f, 8 * (run.f.size + 1), TERN_DOMAIN_GLOBAL, run.memory);
    EXPECT_OK(tern_hashtable_create(
        run.f.worker, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = 8 * KEYS},
        &run.counters));
    EXPECT_OK(tern_map_create(run.f.worker, &(tern_map_options){.capacity = 8 * KEYS * run.f.size},
                              &run.map));
    EXPECT_OK(tern_queue_create(run.f.worker, &queue, &run.queue));
}

static void each_in_turn(void) {
    if (tern_test_size() > MOST || !fixture_open(&run.f, NULL))
        return;
    open_all();
    const uint64_t phases = run.f.size * (tern_test_full() ? 40 : 2);
    for (uint64_t i = 0; i < phases; i++)
        phase(i);
    EXPECT_OK(tern_barrier(run.f.worker));
    check_sums();
    EXPECT_OK(tern_queue_destroy(run.f.worker, run.queue));
    EXPECT_OK(tern_map_destroy(run.f.worker, run.map));
    EXPECT_OK(tern_hashtable_destroy(run.f.worker, run.counters));
    fixture_free_all(&run.f, run.memory);
    fixture_close(&run.f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"each_in_turn", each_in_turn}};
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "stops", tests, 1);
}
