// tern-test: ranks

/*
 * What errors say: the field in which ranks differ, with both values; what to do about a container
 * that is full; that an object has been destroyed; that two threads use one worker.
 */

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "call_tools.h"
#include "caught.h"
#include "tern/agree.h"
#include "tern/hashtable.h"
#include "tern/map.h"

/* The last rank has another value than the others. */
#define DIFFERS(call, text)                                                                        \
    do {                                                                                           \
        char wanted[200];                                                                          \
        snprintf(wanted, sizeof wanted, text " on rank %u; give every rank the same", last);       \
        EXPECT(TERN_ERR_MISMATCH, call);                                                           \
        EXPECT_DETAIL(wanted);                                                                     \
    } while (0)

static void objects_name_the_field(void) {
    fixture f;
    tern_hashtable *table = NULL;
    tern_map *map = NULL;
    tern_queue *queue = NULL;
    tern_distributed_queue *parts = NULL;
    tern_locks *locks = NULL;
    tern_ptr p = TERN_NULL;
    if (!fixture_open(&f, NULL))
        return;
    const uint32_t last = f.size - 1;
    const bool other = f.rank == last;
    if (f.size > 1) {
        DIFFERS(tern_hashtable_create(f.worker,
                                      &(tern_hashtable_options){.key_bytes = 8,
                                                                .value_bytes = other ? 16 : 8,
                                                                .capacity = 100},
                                      &table),
                "tern_hashtable_create: value_bytes is 8 on rank 0 and 16");
        DIFFERS(tern_map_create(f.worker, &(tern_map_options){.capacity = other ? 200 : 100}, &map),
                "tern_map_create: capacity is 100 on rank 0 and 200");
        DIFFERS(
            tern_map_create(f.worker, &(tern_map_options){.capacity = 100, .grow = other}, &map),
            "tern_map_create: grow is 0 on rank 0 and 1");
        DIFFERS(tern_queue_create(f.worker,
                                  &(tern_queue_options){.item_bytes = 8, .capacity = other ? 8 : 4},
                                  &queue),
                "tern_queue_create: capacity is 4 on rank 0 and 8");
        DIFFERS(tern_distributed_queue_create(
                    f.worker, &(tern_queue_options){.item_bytes = other ? 24 : 8, .capacity = 4},
                    &parts),
                "tern_distributed_queue_create: item_bytes is 8 on rank 0 and 24");
        DIFFERS(tern_locks_create(f.worker, other ? 2 : 1, &locks),
                "tern_locks_create: count is 1 on rank 0 and 2");
        DIFFERS(tern_alloc_all(f.worker, other ? 128 : 64, 0, TERN_DOMAIN_GLOBAL, &p),
                "tern_alloc_all: bytes is 64 on rank 0 and 128");
        EXPECT_OK(tern_map_create(f.worker, &(tern_map_options){.capacity = 100}, &map));
        DIFFERS(tern_map_save(f.worker, map, other ? "there/b.map" : "here/a.map", NULL, 0),
                "the path of a file is 'here/a.map' on rank 0 and 'there/b.map'");
        DIFFERS(tern_map_save(f.worker, map, "messages.map", "abc", other ? 3 : 2),
                "tern_map_save: note_bytes is 2 on rank 0 and 3");
        EXPECT_OK(tern_map_destroy(f.worker, map));
        const uint16_t data[2] = {7, other ? 0x0300 : 0x0200};
        EXPECT(TERN_ERR_MISMATCH, tern_same(f.worker, data, sizeof data, "the data"));
        EXPECT_DETAIL("byte 3 of 4 is 0x02 and 0x03");
    }
    fixture_close(&f);
}

static void contexts_name_the_option(void) {
    tern_config config;
    tern_context *context = NULL;
    EXPECT_OK(tern_config_init(&config));
    if (tern_test_rank() == tern_test_size() - 1)
        config.segment_size = (size_t)32 << 20;
    else
        config.segment_size = (size_t)16 << 20;
    if (tern_test_size() == 1)
        return;
    const uint32_t last = (uint32_t)tern_test_size() - 1;
    DIFFERS(tern_context_create(MPI_COMM_WORLD, &config, &context),
            "TERN_SEGMENT_SIZE is '16M' on rank 0 and '32M'");
}

/* Each operation that finds no room for a key, in a table and a map of few keys. */
static void tables_name_grow(void) {
    static const char remedy[] = "create it with grow = 1 or a greater capacity";
    enum { KEYS = 1000 };
    static uint64_t keys[KEYS];
    fixture f;
    tern_hashtable *table = NULL, *counts = NULL;
    tern_hashtable_buffer *buffer = NULL;
    tern_request request = {0};
    uint64_t i = 0;
    size_t stored;
    if (!fixture_open(&f, NULL))
        return;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 50},
        &table));
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = 50},
        &counts));
    for (uint64_t k = 0; k < KEYS; k++)
        keys[k] = (k * f.size + f.rank) * 0x9E3779B97F4A7C15u;
    tern_status status = TERN_OK;
    while (status == TERN_OK && i < KEYS) {
        status = tern_hashtable_insert(f.worker, table, &keys[i], &i, 0, NULL);
        i++;
    }
    CU_ASSERT_EQUAL(status, TERN_ERR_FULL);
    EXPECT_DETAIL(remedy);
    EXPECT(TERN_ERR_FULL,
           tern_hashtable_insert_many(f.worker, table, keys, keys, KEYS, 0, &stored));
    EXPECT_DETAIL(remedy);
    status = TERN_OK;
    while (status == TERN_OK && i < KEYS) {
        EXPECT_OK(tern_hashtable_insert_start(f.worker, table, &keys[i], &i, 0, &request));
        status = tern_wait(f.worker, &request);
        i++;
    }
    CU_ASSERT_EQUAL(status, TERN_ERR_FULL);
    EXPECT_DETAIL("grow = 1");
    EXPECT(TERN_ERR_FULL, tern_hashtable_add_many(f.worker, counts, keys, KEYS, 1, 0, &stored));
    EXPECT_DETAIL(remedy);
    status = TERN_OK;
    for (i = 0; status == TERN_OK && i < KEYS; i++)
        status = tern_hashtable_add(f.worker, counts, &keys[i], 1, 0, NULL);
    CU_ASSERT_EQUAL(status, TERN_ERR_FULL);
    EXPECT_DETAIL(remedy);
    EXPECT_OK(tern_hashtable_buffer_create(f.worker, table, 0, &buffer));
    for (i = 0; i < KEYS; i++)
        EXPECT_OK(tern_hashtable_buffer_insert(f.worker, buffer, &keys[i], &i));
    EXPECT(TERN_ERR_FULL, tern_hashtable_buffer_flush(f.worker, buffer, NULL));
    EXPECT_DETAIL(remedy);
    EXPECT_OK(tern_hashtable_buffer_destroy(f.worker, buffer, NULL));
    EXPECT_OK(tern_hashtable_destroy(f.worker, counts));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

static void maps_and_queues_name_it_too(void) {
    enum { KEYS = 1000 };
    static uint64_t keys[KEYS];
    static tern_map_item items[KEYS];
    fixture f;
    tern_map *map = NULL;
    tern_queue *queue = NULL;
    size_t stored;
    uint64_t i = 0;
    if (!fixture_open(&f, NULL))
        return;
    EXPECT_OK(tern_map_create(f.worker, &(tern_map_options){.capacity = 50}, &map));
    for (uint64_t k = 0; k < KEYS; k++) {
        keys[k] = k * f.size + f.rank;
        items[k] =
            (tern_map_item){.key = &keys[k], .key_bytes = 8, .value = &keys[k], .value_bytes = 8};
    }
    tern_status status = TERN_OK;
    for (i = 0; status == TERN_OK && i < KEYS; i++)
        status = tern_map_insert(f.worker, map, &keys[i], 8, &i, 8, 0, NULL);
    CU_ASSERT_EQUAL(status, TERN_ERR_FULL);
    EXPECT_DETAIL("create it with grow = 1 or a greater capacity");
    EXPECT(TERN_ERR_FULL, tern_map_insert_many(f.worker, map, items, KEYS, 0, &stored));
    EXPECT_DETAIL("create it with grow = 1 or a greater capacity");
    EXPECT_OK(tern_map_destroy(f.worker, map));
    EXPECT_OK(
        tern_queue_create(f.worker, &(tern_queue_options){.item_bytes = 8, .capacity = 4}, &queue));
    for (status = TERN_OK, i = 0; status == TERN_OK && i < 100; i++)
        status = tern_queue_try_push(f.worker, queue, &i, 0);
    CU_ASSERT_EQUAL(status, TERN_ERR_FULL);
    EXPECT_DETAIL("tern_queue_try_push: all 4 items that fit are in the queue; pop some, or create "
                  "it with a greater capacity");
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

#define DESTROYED(call, name)                                                                      \
    do {                                                                                           \
        EXPECT(TERN_ERR_STATE, call);                                                              \
        EXPECT_DETAIL("the " name " has been destroyed");                                          \
    } while (0)

static void objects_say_that_they_are_destroyed(void) {
    fixture f;
    tern_hashtable *table = NULL;
    tern_map *map = NULL;
    tern_queue *queue = NULL;
    tern_distributed_queue *parts = NULL;
    tern_locks *locks = NULL;
    tern_circular *circular = NULL;
    tern_piece piece;
    const tern_queue_options eight = {.item_bytes = 8, .capacity = 4};
    uint64_t word = 0;
    size_t count = 0;
    if (!fixture_open(&f, NULL))
        return;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 50},
        &table));
    EXPECT_OK(tern_map_create(f.worker, &(tern_map_options){.capacity = 50}, &map));
    EXPECT_OK(tern_queue_create(f.worker, &eight, &queue));
    EXPECT_OK(tern_distributed_queue_create(f.worker, &eight, &parts));
    EXPECT_OK(tern_locks_create(f.worker, 1, &locks));
    EXPECT_OK(tern_circular_create(f.worker, NULL, &circular));
    EXPECT_OK(tern_circular_destroy(f.worker, circular));
    EXPECT_OK(tern_locks_destroy(f.worker, locks));
    EXPECT_OK(tern_distributed_queue_destroy(f.worker, parts));
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    EXPECT_OK(tern_map_destroy(f.worker, map));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    DESTROYED(tern_hashtable_find(f.worker, table, &word, 0, &word), "table");
    DESTROYED(tern_hashtable_insert(f.worker, table, &word, &word, 0, NULL), "table");
    DESTROYED(tern_hashtable_insert_many(f.worker, table, &word, &word, 1, 0, &count), "table");
    DESTROYED(tern_hashtable_size(f.worker, table, &word), "table");
    DESTROYED(tern_hashtable_clear(f.worker, table), "table");
    DESTROYED(tern_hashtable_destroy(f.worker, table), "table");
    DESTROYED(tern_map_insert(f.worker, map, "key", 3, &word, 8, 0, NULL), "map");
    DESTROYED(tern_map_find(f.worker, map, "key", 3, 0, &word, 8, &count), "map");
    DESTROYED(tern_map_size(f.worker, map, &word), "map");
    DESTROYED(tern_map_destroy(f.worker, map), "map");
    DESTROYED(tern_queue_push(f.worker, queue, &word, 0), "queue");
    DESTROYED(tern_queue_try_pop(f.worker, queue, &word, 0), "queue");
    DESTROYED(tern_queue_destroy(f.worker, queue), "queue");
    DESTROYED(tern_distributed_queue_try_push(f.worker, parts, &word, 0), "queue");
    DESTROYED(tern_distributed_queue_pop(f.worker, parts, &word, 0), "queue");
    DESTROYED(tern_distributed_queue_destroy(f.worker, parts), "queue");
    DESTROYED(tern_lock_acquire(f.worker, locks, 0), "locks");
    DESTROYED(tern_locks_destroy(f.worker, locks), "locks");
    DESTROYED(tern_piece_take(f.worker, circular, 8, &piece), "circular buffer");
    DESTROYED(tern_circular_destroy(f.worker, circular), "circular buffer");
    fixture_close(&f);
}

typedef struct second {
    tern_worker *worker;
    tern_status status;
    char detail[300];
} second;

static void *use_worker(void *argument) {
    second *s = argument;
    (void)tern_progress(s->worker);
    s->status = tern_barrier(s->worker);
    snprintf(s->detail, sizeof s->detail, "%s", tern_error_detail());
    return NULL;
}

/* While this thread runs a handler. */
static tern_status start_second(tern_call_info *call, const void *arguments, size_t bytes) {
    second s = {.worker = call->worker};
    pthread_t thread;
    (void)arguments;
    (void)bytes;
    CU_ASSERT_EQUAL(pthread_create(&thread, NULL, use_worker, &s), 0);
    CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
    CU_ASSERT_EQUAL(s.status, TERN_ERR_STATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.detail, "tern_barrier: another thread is using worker 0; each "
                                            "thread adopts a worker of its own"));
    /* The handler's own thread has another reason. */
    EXPECT(TERN_ERR_STATE, tern_barrier(call->worker));
    EXPECT_DETAIL("tern_barrier may wait and is not allowed in a handler");
    return TERN_OK;
}
TERN_FUNCTION(start_second)

static void two_threads_on_a_worker(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    caught err = caught_begin();
    EXPECT_OK(tern_call(f.worker, to((f.rank + 1) % f.size), &start_second_function, NULL, 0));
    EXPECT_OK(tern_quiesce(f.worker));
    char *said = caught_end(&err);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "two threads use worker 0 of rank"));
    free(said);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"objects_name_the_field", objects_name_the_field},
        {"contexts_name_the_option", contexts_name_the_option},
        {"tables_name_grow", tables_name_grow},
        {"maps_and_queues_name_it_too", maps_and_queues_name_it_too},
        {"objects_say_that_they_are_destroyed", objects_say_that_they_are_destroyed},
        {"two_threads_on_a_worker", two_threads_on_a_worker},
    };
    return tern_test_main(argc, argv, "messages", tests, sizeof tests / sizeof *tests);
}
