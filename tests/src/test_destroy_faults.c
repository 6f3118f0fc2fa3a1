// tern-test: ranks survivors least=2

/* A rank has died, so nobody waits for calls that are under way: an object is destroyed while a
 * service thread and another thread of the application run handlers, which may be in the object.
 * Its memory is not given back before those handlers have ended. */

#include <pthread.h>
#include <stdatomic.h>

#include "survivors.h"

#include "src/progress/wait.h"

static atomic_int entered, left;
static atomic_bool over;

static tern_status linger(tern_call_info *call, const void *arguments, size_t bytes) {
    uint32_t microseconds = 0;
    (void)call;
    memcpy(&microseconds, arguments, bytes);
    atomic_fetch_add(&entered, 1);
    usleep(microseconds);
    atomic_fetch_add(&left, 1);
    return TERN_OK;
}
TERN_FUNCTION(linger)

static void *serve(void *worker) {
    while (!atomic_load(&over))
        tern_progress(worker);
    return NULL;
}

static void expect_patience(fixture *f, tern_status (*destroy)(tern_worker *worker),
                            const char *what) {
    const tern_worker_id threads[] = {tern_context_service(f->context, f->rank), {f->rank, 1}};
    atomic_store(&entered, 0);
    atomic_store(&left, 0);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t microseconds = 100000 + i * 200000;
        EXPECT_OK(
            tern_call(f->worker, threads[i], &linger_function, &microseconds, sizeof microseconds));
    }
    while (atomic_load(&entered) < 2)
        tern_progress(f->worker);
    EXPECT(TERN_ERR_PEER, destroy(f->worker));
    if (atomic_load(&left) < 2)
        fprintf(stderr, "rank %u did not wait for a handler to destroy %s\n", f->rank, what);
    CU_ASSERT_EQUAL(atomic_load(&left), 2);
}

static tern_hashtable *table;
static tern_map *map;
static tern_distributed_queue *queue;
static tern_locks *locks;

static tern_status end_table(tern_worker *w) { return tern_hashtable_destroy(w, table); }
static tern_status end_map(tern_worker *w) { return tern_map_destroy(w, map); }
static tern_status end_queue(tern_worker *w) { return tern_distributed_queue_destroy(w, queue); }
static tern_status end_locks(tern_worker *w) { return tern_locks_destroy(w, locks); }

static void handlers_have_left(void) {
    const tern_hashtable_options as_table = {.key_bytes = 8, .value_bytes = 8, .capacity = 64};
    const tern_map_options as_map = {.capacity = 64};
    const tern_queue_options as_queue = {.item_bytes = 8, .capacity = 16};
    const uint32_t victim = (uint32_t)tern_test_size() - 1;
    tern_config config;
    fixture f;
    tern_worker *second = NULL;
    pthread_t thread;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)4 << 20;
    config.service_threads = 1;
    config.workers = 2;
    if (!fixture_open(&f, &config) || !EXPECT_OK(tern_worker_adopt(f.context, 1, &second)))
        return;
    EXPECT_OK(tern_hashtable_create(f.worker, &as_table, &table));
    EXPECT_OK(tern_map_create(f.worker, &as_map, &map));
    EXPECT_OK(tern_distributed_queue_create(f.worker, &as_queue, &queue));
    EXPECT_OK(tern_locks_create(f.worker, 4, &locks));
    fixture_lose(&f, victim);
    while (tern_glance(f.worker, victim) == TERN_OK)
        tern_progress(f.worker);
    CU_ASSERT_FATAL(pthread_create(&thread, NULL, serve, second) == 0);
    expect_patience(&f, end_table, "a hash table");
    expect_patience(&f, end_map, "a map");
    expect_patience(&f, end_queue, "a queue");
    expect_patience(&f, end_locks, "locks");
    fixture_meet_living(&f);
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    EXPECT_OK(tern_worker_release(second));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"handlers_have_left", handlers_have_left}};
    return tern_test_main(argc, argv, "destroy_faults", tests, 1);
}
