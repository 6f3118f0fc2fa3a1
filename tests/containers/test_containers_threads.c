// tern-test: transports

/* Several workers of each process, each with a thread of its own, on one table and one queue. */

#include "thread_tools.h"

enum { THREADS = 2, KEYS = 64 };

typedef struct job {
    fixture *f;
    uint32_t index; /* of the worker */
    tern_hashtable *counters, *values;
    tern_queue *queue;
    int times;
    uint64_t added, pushed, popped, sum_in, sum_out, failures;
} job;

static void *work(void *argument) {
    job *j = argument;
    tern_worker *worker = NULL;
    j->failures += tern_worker_adopt(j->f->context, j->index, &worker) != TERN_OK;
    uint64_t random = fixture_seed(j->f, j->index * 1000);
    for (int i = 0; i < j->times && j->failures == 0; i++) {
        tern_flags path = fixture_path(below(&random, 4));
        uint64_t key = below(&random, KEYS), value[2], keys[20];
        for (int k = 0; k < 20; k++)
            keys[k] = below(&random, KEYS);
        size_t added = 0;
        j->failures +=
            tern_hashtable_add_many(worker, j->counters, keys, 20, 1, path, &added) != TERN_OK;
        j->added += added;
        value[0] = random;
        value[1] = key ^ random;
        j->failures += tern_hashtable_insert(worker, j->values, &key, value, path, NULL) != TERN_OK;
        key = below(&random, KEYS);
        tern_status status = tern_hashtable_find(worker, j->values, &key, path, value);
        j->failures +=
            status == TERN_OK ? (value[0] ^ value[1]) != key : status != TERN_ERR_NOT_FOUND;
        status = tern_queue_try_push(worker, j->queue, &key, path);
        j->failures += status != TERN_OK && status != TERN_ERR_FULL;
        j->pushed += status == TERN_OK;
        j->sum_in += status == TERN_OK ? key : 0;
        status = tern_queue_try_pop(worker, j->queue, &key, path);
        j->failures += status != TERN_OK && status != TERN_ERR_EMPTY;
        j->popped += status == TERN_OK;
        j->sum_out += status == TERN_OK ? key : 0;
    }
    j->failures += tern_worker_release(worker) != TERN_OK;
    return NULL;
}

static int sum_counts(const void *key, const void *value, void *argument) {
    uint64_t count;
    (void)key;
    memcpy(&count, value, 8);
    *(uint64_t *)argument += count;
    return 0;
}

static void a_worker_for_each_thread(void) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.workers = THREADS + 1;
    config.segment_size = (size_t)16 << 20;
    if (!fixture_open(&f, &config))
        return;
    job jobs[THREADS] = {{0}};
    tern_hashtable *counters = NULL, *values = NULL;
    tern_queue *queue = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = KEYS},
        &counters));
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 16, .capacity = KEYS},
        &values));
    EXPECT_OK(tern_queue_create(f.worker, &(tern_queue_options){.item_bytes = 8, .capacity = 10},
                                &queue));
    for (uint32_t t = 0; t < THREADS; t++) {
        jobs[t].f = &f;
        jobs[t].index = t + 1;
        jobs[t].counters = counters;
        jobs[t].values = values;
        jobs[t].queue = queue;
        jobs[t].times = fixture_times(&f, 400);
    }
    run_serving(&f, work, jobs, sizeof jobs[0], THREADS);
    uint64_t mine[5] = {0}, all[64][5], sum[5] = {0}, counted = 0, item, left = 0, left_sum = 0;
    for (uint32_t t = 0; t < THREADS; t++) {
        CU_ASSERT_EQUAL(jobs[t].failures, 0);
        mine[0] += jobs[t].added;
        mine[1] += jobs[t].pushed - jobs[t].popped;
        mine[2] += jobs[t].sum_in - jobs[t].sum_out;
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_for_each(f.worker, counters, sum_counts, &mine[3]));
    while (tern_queue_try_pop(f.worker, queue, &item, TERN_READ_ONLY | TERN_BY_RMA) == TERN_OK) {
        left++;
        left_sum += item;
    }
    mine[1] -= left;
    mine[2] -= left_sum;
    fixture_share(&f, mine, sizeof mine, all);
    for (uint32_t r = 0; r < f.size; r++)
        for (int i = 0; i < 5; i++)
            sum[i] += all[r][i];
    counted = sum[3];
    CU_ASSERT_EQUAL(counted, sum[0]);
    CU_ASSERT_EQUAL(sum[0], (uint64_t)jobs[0].times * 20 * THREADS * f.size);
    CU_ASSERT_EQUAL(sum[1], 0);
    CU_ASSERT_EQUAL(sum[2], 0);
    EXPECT_OK(tern_hashtable_destroy(f.worker, counters));
    EXPECT_OK(tern_hashtable_destroy(f.worker, values));
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_worker_for_each_thread", a_worker_for_each_thread},
    };
    return tern_test_main(argc, argv, "containers_threads", tests, 1);
}
