// tern-test: unit

/* Handlers of containers in service threads beside the application's own workers on the same
 * containers: calls of a process to itself, which the public functions do in place, are made by the
 * functions beneath. For ThreadSanitizer above all. */

#include "thread_tools.h"

#include "hashtable/batch/ask.h"
#include "hashtable/op/op.h"
#include "map/block.h"
#include "map/op/op.h"
#include "queue/op.h"

enum { THREADS = 2, KEYS = 32, LARGE = 400 };

static const tern_flags rw = TERN_READ_WRITE;

typedef struct job {
    fixture *f;
    uint32_t index; /* of the worker */
    tern_hashtable *values, *counters;
    tern_queue *queue;
    tern_map *map;
    int times;
    uint64_t added, pushed, popped, failures;
} job;

static tern_table_key key_of(const tern_hashtable *table, uint64_t number) {
    uint64_t words[TERN_KEY_MAX / 8];
    tern_table_key key;
    memset(words, 0, sizeof words);
    words[0] = number;
    tern_key_load(table, words, &key);
    return key;
}

/* An operation on a key of rank 0 by call. */
static tern_status call(tern_worker *worker, const tern_hashtable *table, tern_op_kind kind,
                        uint64_t number, const void *given, void *taken, tern_request *request) {
    const tern_table_key key = key_of(table, number);
    tern_op op;
    tern_op_init(&op, kind, worker, table, key.words, key.hash, rw);
    op.given = given;
    op.taken = taken;
    op.number = 1;
    return tern_op_call(&op, request);
}

static void use_tables(job *j, tern_worker *worker, uint64_t number) {
    uint64_t value[2] = {number, 0}, found[2] = {0, 0};
    value[1] = ~number;
    j->failures += call(worker, j->values, TERN_OP_INSERT, number, value, NULL, NULL) != TERN_OK;
    j->failures += tern_hashtable_find(worker, j->values, &number, TERN_BY_RMA, found) != TERN_OK ||
                   found[1] != ~found[0];
    j->failures +=
        tern_hashtable_insert(worker, j->values, &number, value, TERN_BY_RMA, NULL) != TERN_OK;
    j->failures += call(worker, j->values, TERN_OP_FIND, number, NULL, found, NULL) != TERN_OK ||
                   found[1] != ~found[0];
    number += (uint64_t)j->times * KEYS; /* the table grows */
    j->failures += call(worker, j->counters, TERN_OP_ADD, number, NULL, NULL, NULL) != TERN_OK;
    j->failures +=
        tern_hashtable_add(worker, j->counters, &number, 1, TERN_BY_RMA, NULL) != TERN_OK;
    j->added += 2;
}

/* By call, of one item. */
static tern_status ask_host(tern_worker *worker, tern_queue *queue, tern_path_kind kind,
                            uint64_t *item) {
    tern_queue_op op;
    tern_queue_op_init(&op, kind, worker, queue, item, 1, rw, TERN_QUEUE_TRY);
    bool waited;
    op.stage = TERN_QUEUE_CALL;
    return tern_queue_op_run(&op, &waited);
}

static void use_queue(job *j, tern_worker *worker, bool by_call) {
    uint64_t item = j->pushed + 1;
    tern_status status = by_call ? ask_host(worker, j->queue, TERN_PATH_PUSH, &item)
                                 : tern_queue_try_push(worker, j->queue, &item, TERN_BY_RMA);
    j->failures += status != TERN_OK && status != TERN_ERR_FULL;
    j->pushed += status == TERN_OK;
    status = by_call ? tern_queue_try_pop(worker, j->queue, &item, TERN_BY_RMA)
                     : ask_host(worker, j->queue, TERN_PATH_POP, &item);
    j->failures += status != TERN_OK && status != TERN_ERR_EMPTY;
    j->popped += status == TERN_OK;
    /* Requests: each worker adds its pool to the queue's list. */
    tern_request request[2] = {{0}};
    uint64_t other = 0;
    j->failures +=
        tern_queue_push_start(worker, j->queue, &item, TERN_BY_RMA, &request[0]) != TERN_OK;
    j->failures +=
        tern_queue_pop_start(worker, j->queue, &other, TERN_BY_RMA, &request[1]) != TERN_OK;
    status = tern_wait(worker, &request[0]);
    j->failures += status != TERN_OK && status != TERN_ERR_FULL;
    j->pushed += status == TERN_OK;
    status = tern_wait(worker, &request[1]);
    j->failures += status != TERN_OK && status != TERN_ERR_EMPTY;
    j->popped += status == TERN_OK;
}

/* Insert by call with its content, replace in place, find by call, erase by call. */
static void use_map(job *j, tern_worker *worker, uint64_t number) {
    char value[LARGE], found[LARGE];
    size_t bytes = 0;
    memset(value, (int)number, sizeof value);
    tern_map_op m;
    tern_map_key_make(j->map, &number, sizeof number, &m.key);
    tern_map_op_init_change(&m, TERN_OP_INSERT, worker, j->map, TERN_READ_WRITE, value,
                            sizeof value);
    m.by_call = true;
    j->failures += tern_map_op_run(&m) != TERN_OK;
    j->failures += tern_map_insert(worker, j->map, &number, sizeof number, value, sizeof value,
                                   TERN_BY_RMA, NULL) != TERN_OK;
    tern_map_op_init_find(&m, worker, j->map, TERN_READ_WRITE, found, sizeof found);
    m.by_call = true;
    tern_status status = tern_map_op_run(&m);
    j->failures += status == TERN_OK ? m.value_bytes != LARGE || memcmp(found, value, LARGE) != 0
                                     : status != TERN_ERR_NOT_FOUND;
    status = tern_map_find(worker, j->map, &number, sizeof number, TERN_BY_RMA, found, sizeof found,
                           &bytes);
    j->failures += status == TERN_OK ? bytes != LARGE || memcmp(found, value, bytes) != 0
                                     : status != TERN_ERR_NOT_FOUND;
    tern_map_op_init(&m, TERN_OP_ERASE, worker, j->map, TERN_READ_WRITE);
    m.by_call = true;
    status = tern_map_op_run(&m);
    j->failures += status != TERN_OK && status != TERN_ERR_NOT_FOUND;
}

static void *work(void *argument) {
    job *j = argument;
    tern_worker *worker = NULL;
    j->failures += tern_worker_adopt(j->f->context, j->index, &worker) != TERN_OK;
    uint64_t random = fixture_seed(j->f, j->index * 1000);
    for (int i = 0; i < j->times && j->failures == 0; i++) {
        const uint64_t number = below(&random, KEYS);
        use_tables(j, worker, number + (uint64_t)i);
        use_queue(j, worker, i % 2 == 0);
        use_map(j, worker, number);
    }
    j->failures += tern_worker_release(worker) != TERN_OK;
    return NULL;
}

static bool set_up(fixture *f, size_t threads) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.workers = THREADS + 1;
    config.service_threads = threads;
    config.segment_size = (size_t)16 << 20;
    return fixture_open(f, &config);
}

static tern_hashtable *make_table(fixture *f, bool counter) {
    tern_hashtable *table = NULL;
    tern_hashtable_options options = {.key_bytes = 8,
                                      .value_bytes = counter ? 0 : 16,
                                      .counter = counter,
                                      .capacity = counter ? 8 : 4096,
                                      .grow = counter};
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

static int sum_up(const void *key, const void *value, void *argument) {
    uint64_t count;
    (void)key;
    memcpy(&count, value, sizeof count);
    *(uint64_t *)argument += count;
    return 0;
}

static void beside_the_application(void) {
    fixture f;
    if (!set_up(&f, 1))
        return;
    job shared = {.f = &f, .times = tern_test_full() ? 20000 : 400}, jobs[THREADS];
    shared.values = make_table(&f, false);
    shared.counters = make_table(&f, true);
    EXPECT_OK(tern_queue_create(f.worker, &(tern_queue_options){.item_bytes = 8, .capacity = 8},
                                &shared.queue));
    EXPECT_OK(tern_map_create(f.worker, &(tern_map_options){.capacity = 256}, &shared.map));
    for (uint32_t t = 0; t < THREADS; t++) {
        jobs[t] = shared;
        jobs[t].index = t + 1;
    }
    run_serving(&f, work, jobs, sizeof jobs[0], THREADS);
    uint64_t added = 0, counted = 0, left = 0, item;
    for (uint32_t t = 0; t < THREADS; t++) {
        CU_ASSERT_EQUAL(jobs[t].failures, 0);
        added += jobs[t].added;
        left += jobs[t].pushed - jobs[t].popped;
    }
    EXPECT_OK(tern_hashtable_for_each(f.worker, shared.counters, sum_up, &counted));
    CU_ASSERT_EQUAL(counted, added);
    while (left > 0 && EXPECT_OK(tern_queue_try_pop(f.worker, shared.queue, &item, TERN_BY_RMA)))
        left--;
    EXPECT(TERN_ERR_EMPTY, tern_queue_try_pop(f.worker, shared.queue, &item, TERN_BY_RMA));
    EXPECT_OK(tern_map_destroy(f.worker, shared.map));
    EXPECT_OK(tern_queue_destroy(f.worker, shared.queue));
    EXPECT_OK(tern_hashtable_destroy(f.worker, shared.counters));
    EXPECT_OK(tern_hashtable_destroy(f.worker, shared.values));
    fixture_close(&f);
}

typedef struct labor {
    fixture *f;
    uint32_t index;
    tern_distributed_queue *queue;
    uint64_t levels;
    _Atomic int64_t *open; /* items that are not done */
    _Atomic int *vain;     /* pops that found none */
    uint64_t leaves, failures;
} labor;

/* An item is a number of levels of a tree below it. While a worker has the root, the other one
 * looks for items in vain. */
static void *labor_to_the_end(void *argument) {
    labor *l = argument;
    tern_worker *worker = NULL;
    l->failures += tern_worker_adopt(l->f->context, l->index, &worker) != TERN_OK;
    for (int end = 0; end < 2 && l->failures == 0;) {
        uint64_t items[2];
        size_t got = 0;
        const tern_status status =
            tern_distributed_queue_pop_timed(worker, l->queue, items, 2, 0, 0, &got);
        if (status == TERN_ERR_DONE) {
            end++;
            l->failures += end == 1 && atomic_load(l->open) != 0;
        }
        l->failures += status != TERN_OK && status != TERN_ERR_DONE && status != TERN_ERR_TIMEOUT;
        atomic_fetch_add(l->vain, status != TERN_OK);
        while (got > 0 && items[0] == l->levels && atomic_load(l->vain) < 8)
            sched_yield();
        for (size_t i = 0; i < got; i++) {
            const uint64_t children[2] = {items[i] - 1, items[i] - 1};
            size_t pushed = 0;
            l->leaves += items[i] == 0;
            atomic_fetch_add(l->open, items[i] > 0 ? 2 : 0);
            if (items[i] > 0)
                l->failures += tern_distributed_queue_push_many(worker, l->queue, children, 2, 0,
                                                                &pushed) != TERN_OK ||
                               pushed != 2;
            atomic_fetch_sub(l->open, 1);
        }
    }
    l->failures += tern_worker_release(worker) != TERN_OK;
    return NULL;
}

/* Each worker is told of both ends, of the work and of none. */
static void workers_share_work_to_the_end(void) {
    fixture f;
    if (!set_up(&f, 1))
        return;
    const uint64_t levels = tern_test_full() ? 14 : 8;
    const tern_queue_options options = {.item_bytes = 8, .capacity = 2u << levels};
    _Atomic int64_t open = 1;
    _Atomic int vain = 0;
    uint64_t leaves = 0;
    labor labors[THREADS], shared = {.f = &f, .levels = levels, .open = &open, .vain = &vain};
    EXPECT_OK(tern_distributed_queue_create(f.worker, &options, &shared.queue));
    EXPECT_OK(tern_distributed_queue_try_push(f.worker, shared.queue, &levels, 0));
    for (uint32_t t = 0; t < THREADS; t++) {
        labors[t] = shared;
        labors[t].index = t + 1;
    }
    run_serving(&f, labor_to_the_end, labors, sizeof labors[0], THREADS);
    for (uint32_t t = 0; t < THREADS; t++) {
        CU_ASSERT_EQUAL(labors[t].failures, 0);
        leaves += labors[t].leaves;
    }
    CU_ASSERT_EQUAL(leaves, (uint64_t)1 << levels);
    EXPECT_OK(tern_distributed_queue_destroy(f.worker, shared.queue));
    fixture_close(&f);
}

/* Calls that nobody has waited for when their table is destroyed: each finds the table whole or not
 * at all. */
static void destroyed_under_calls(void) {
    enum { CALLS = 20 };
    fixture f;
    if (!set_up(&f, 2))
        return;
    const int times = tern_test_full() ? 5000 : 100;
    for (int i = 0; i < times; i++) {
        tern_hashtable *table = make_table(&f, false);
        tern_request requests[CALLS] = {0};
        uint64_t number = 7, value[2] = {1, 2}, got[CALLS][2];
        EXPECT_OK(tern_hashtable_insert(f.worker, table, &number, value, TERN_BY_RMA, NULL));
        for (int c = 0; c < CALLS; c++)
            EXPECT_OK(call(f.worker, table, TERN_OP_FIND, number, NULL, got[c], &requests[c]));
        EXPECT_OK(tern_hashtable_destroy(f.worker, table));
        for (int c = 0; c < CALLS; c++) {
            tern_status status = tern_wait(f.worker, &requests[c]);
            CU_ASSERT(status == TERN_OK ? got[c][0] == 1 && got[c][1] == 2
                                        : status == TERN_ERR_STATE);
        }
    }
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"beside_the_application", beside_the_application},
        {"workers_share_work_to_the_end", workers_share_work_to_the_end},
        {"destroyed_under_calls", destroyed_under_calls},
    };
    return tern_test_main(argc, argv, "container_service_threads", tests,
                          sizeof tests / sizeof tests[0]);
}
