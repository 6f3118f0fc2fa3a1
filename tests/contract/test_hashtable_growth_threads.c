// tern-test: transports

/* Several workers of each process, each with a thread of its own, and a service thread, on tables
 * that grow. */

#include "table_tools.h"
#include "thread_tools.h"

enum { THREADS = 2 };

typedef struct job {
    fixture *f;
    uint32_t index; /* of the worker */
    tern_hashtable *counters, *values;
    uint64_t times, added, failures;
} job;

static void *work(void *argument) {
    job *j = argument;
    tern_worker *worker = NULL;
    j->failures += tern_worker_adopt(j->f->context, j->index, &worker) != TERN_OK;
    uint64_t random = fixture_seed(j->f, j->index * 1000);
    const uint64_t lanes = j->f->size * THREADS, lane = j->f->rank * THREADS + j->index - 1;
    for (uint64_t i = 0; i < j->times && j->failures == 0; i++) {
        tern_flags path = any_path(&random);
        uint64_t keys[20], key = i * lanes + lane, value = 0;
        size_t added = 0;
        for (int k = 0; k < 20; k++)
            keys[k] = below(&random, (i + 1) * 10);
        j->failures +=
            tern_hashtable_add_many(worker, j->counters, keys, 20, 1, path, &added) != TERN_OK;
        j->added += added;
        j->failures += tern_hashtable_insert(worker, j->values, &key, &i, path, NULL) != TERN_OK;
        const uint64_t earlier = below(&random, i + 1);
        key = earlier * lanes + lane;
        j->failures += tern_hashtable_find(worker, j->values, &key, path, &value) != TERN_OK ||
                       value != earlier;
    }
    j->failures += tern_worker_release(worker) != TERN_OK;
    return NULL;
}

static int sum_up(const void *key, const void *value, void *argument) {
    uint64_t count;
    (void)key;
    memcpy(&count, value, sizeof count);
    *(uint64_t *)argument += count;
    return 0;
}

static tern_hashtable *make(fixture *f, bool counter) {
    tern_hashtable *table = NULL;
    tern_hashtable_options options = {.key_bytes = 8,
                                      .value_bytes = counter ? 0 : 8,
                                      .counter = counter,
                                      .capacity = 2,
                                      .grow = 1};
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

static void all_at_once(int service_threads) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    config.workers = 1 + THREADS;
    config.service_threads = (uint32_t)service_threads;
    if (!fixture_open(&f, &config))
        return;
    tern_hashtable *counters = make(&f, true), *values = make(&f, false);
    job jobs[THREADS];
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t t = 0; t < THREADS; t++) {
        jobs[t] = (job){&f, t + 1, counters, values, (uint64_t)fixture_times(&f, 400), 0, 0};
    }
    run_serving(&f, work, jobs, sizeof jobs[0], THREADS);
    uint64_t mine[2] = {0, 0}, all[64][2], added = 0, counted = 0;
    for (uint32_t t = 0; t < THREADS; t++) {
        CU_ASSERT_EQUAL(jobs[t].failures, 0);
        mine[0] += jobs[t].added;
    }
    CU_ASSERT_EQUAL(mine[0], jobs[0].times * 20 * THREADS);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_for_each(f.worker, counters, sum_up, &mine[1]));
    fixture_share(&f, mine, sizeof mine, all);
    for (uint32_t r = 0; r < f.size; r++) {
        added += all[r][0];
        counted += all[r][1];
    }
    CU_ASSERT_EQUAL(counted, added);
    CU_ASSERT_EQUAL(total_keys(&f, values), jobs[0].times * THREADS * f.size);
    EXPECT_OK(tern_hashtable_destroy(f.worker, counters));
    EXPECT_OK(tern_hashtable_destroy(f.worker, values));
    fixture_close(&f);
}

static void workers(void) { all_at_once(0); }

static void workers_and_service_threads(void) { all_at_once(1); }

static int count_slowly(const void *key, const void *value, void *argument) {
    (void)key, (void)value;
    if (++*(uint64_t *)argument % 64 == 0)
        sched_yield();
    return 0;
}

/* The last insert asked for a larger array; the service thread moves the keys when it comes to it.
 */
static void walk_while_keys_move(void) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    config.service_threads = 1;
    if (!fixture_open(&f, &config))
        return;
    for (int i = fixture_times(&f, 10); i > 0; i--) {
        tern_hashtable *values = make(&f, false);
        for (uint64_t n = 1; n <= 256; n++) {
            const uint64_t key = (uint64_t)f.rank << 32 | n;
            EXPECT_OK(tern_hashtable_insert(f.worker, values, &key, &n, 0, NULL));
            if ((n & (n - 1)) != 0)
                continue;
            EXPECT_OK(tern_barrier(f.worker));
            uint64_t mine = 0, all = 0, counts[64];
            EXPECT_OK(tern_hashtable_for_each(f.worker, values, count_slowly, &mine));
            fixture_share(&f, &mine, sizeof mine, counts);
            for (uint32_t r = 0; r < f.size; r++)
                all += counts[r];
            CU_ASSERT_EQUAL(all, n * f.size);
            EXPECT_OK(tern_barrier(f.worker));
        }
        EXPECT_OK(tern_hashtable_destroy(f.worker, values));
    }
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"workers", workers},
        {"workers_and_service_threads", workers_and_service_threads},
        {"walk_while_keys_move", walk_while_keys_move},
    };
    return tern_test_main(argc, argv, "hashtable_growth_threads", tests, 3);
}
