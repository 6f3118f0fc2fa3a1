// tern-test: transports

/* Several workers of each process, each with a thread of its own, on few keys of one map: blocks
 * are given back and used again while others read them. */

#include "map_tools.h"
#include "thread_tools.h"

enum { THREADS = 3, KEYS = 3 };

typedef struct job {
    fixture *f;
    tern_map *map;
    uint32_t index; /* of the worker */
    int times;
    uint64_t failures, found;
    unsigned char key[MAP_KEY_ROOM], value[MAP_VALUE_ROOM];
} job;

static void one_operation(job *j, tern_worker *worker, uint64_t *random, uint64_t version) {
    const tern_flags path = fixture_path(below(random, 4));
    const uint64_t number = 1 + below(random, KEYS), what = below(random, 8);
    size_t key_bytes = make_map_key(j->key, number), bytes = 0;
    tern_status status;
    if (what < 4) {
        status = tern_map_find(worker, j->map, j->key, key_bytes, path, j->value, sizeof j->value,
                               &bytes);
        j->found += status == TERN_OK;
        j->failures += status == TERN_OK ? !is_some_map_value(j->value, bytes, number)
                                         : status != TERN_ERR_NOT_FOUND;
    } else if (what < 7) {
        /* Where bytes are cheap, mostly values that take a while to read, so that others replace
         * them meanwhile. */
        for (int i = 0;
             i < 5 && fixture_all_direct(j->f) && map_value_bytes(number, version) < 4000; i++)
            version += (uint64_t)1 << 32;
        bytes = make_map_value(j->value, number, version);
        status = tern_map_insert(worker, j->map, j->key, key_bytes, j->value, bytes, path, NULL);
        j->failures += status != TERN_OK;
    } else {
        status = tern_map_erase(worker, j->map, j->key, key_bytes, path);
        j->failures += status != TERN_OK && status != TERN_ERR_NOT_FOUND;
    }
}

static void *work(void *argument) {
    job *j = argument;
    tern_worker *worker = NULL;
    j->failures += tern_worker_adopt(j->f->context, j->index, &worker) != TERN_OK;
    uint64_t random = fixture_seed(j->f, j->index * 1000);
    for (int i = 0; i < j->times && j->failures == 0; i++)
        one_operation(j, worker, &random, (uint64_t)i * 1000 + j->f->rank * 10 + j->index);
    j->failures += tern_worker_release(worker) != TERN_OK;
    return NULL;
}

static void a_worker_for_each_thread(void) {
    static job jobs[THREADS];
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.workers = THREADS + 1;
    config.segment_size = (size_t)16 << 20;
    if (!fixture_open(&f, &config))
        return;
    tern_map *map = NULL;
    EXPECT_OK(tern_map_create(f.worker, &(tern_map_options){.capacity = KEYS}, &map));
    size_t before = heap_at_first(&f);
    memset(jobs, 0, sizeof jobs);
    for (uint32_t t = 0; t < THREADS; t++) {
        jobs[t].f = &f;
        jobs[t].map = map;
        jobs[t].index = t + 1;
        jobs[t].times = fixture_times(&f, 2000);
    }
    run_serving(&f, work, jobs, sizeof jobs[0], THREADS);
    uint64_t found = 0;
    for (uint32_t t = 0; t < THREADS; t++) {
        CU_ASSERT_EQUAL(jobs[t].failures, 0);
        found += jobs[t].found;
    }
    CU_ASSERT(found > 0 || jobs[0].times < 100);
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    EXPECT_OK(tern_map_destroy(f.worker, map));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_worker_for_each_thread", a_worker_for_each_thread},
    };
    return tern_test_main(argc, argv, "map_threads", tests, 1);
}
