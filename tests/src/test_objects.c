// tern-test: transports

/*
 * A context with objects in it is not destroyed: every rank is told which they are, and goes on as
 * before.
 */

#include "call_tools.h"

static tern_hashtable *table;
static tern_map *map;
static tern_queue *queue;
static tern_distributed_queue *distributed;
static tern_locks *locks;

static void make_table(tern_worker *worker) {
    tern_hashtable_options options = {.key_bytes = 8, .value_bytes = 8, .capacity = 100};
    EXPECT_OK(tern_hashtable_create(worker, &options, &table));
}
static void end_table(tern_worker *worker) { EXPECT_OK(tern_hashtable_destroy(worker, table)); }

static void make_map(tern_worker *worker) {
    tern_map_options options = {.capacity = 100};
    EXPECT_OK(tern_map_create(worker, &options, &map));
}
static void end_map(tern_worker *worker) { EXPECT_OK(tern_map_destroy(worker, map)); }

static void make_queue(tern_worker *worker) {
    tern_queue_options options = {.item_bytes = 8, .capacity = 10};
    EXPECT_OK(tern_queue_create(worker, &options, &queue));
}
static void end_queue(tern_worker *worker) { EXPECT_OK(tern_queue_destroy(worker, queue)); }

static void make_distributed(tern_worker *worker) {
    tern_queue_options options = {.item_bytes = 8, .capacity = 10};
    EXPECT_OK(tern_distributed_queue_create(worker, &options, &distributed));
}
static void end_distributed(tern_worker *worker) {
    EXPECT_OK(tern_distributed_queue_destroy(worker, distributed));
}

static void make_locks(tern_worker *worker) { EXPECT_OK(tern_locks_create(worker, 3, &locks)); }
static void end_locks(tern_worker *worker) { EXPECT_OK(tern_locks_destroy(worker, locks)); }

static const struct {
    const char *kind;
    void (*make)(tern_worker *);
    void (*end)(tern_worker *);
} kinds[] = {
    {"hash table", make_table, end_table}, {"map", make_map, end_map},
    {"queue", make_queue, end_queue},      {"distributed queue", make_distributed, end_distributed},
    {"locks", make_locks, end_locks},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static uint64_t counted;

static tern_status count(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    counted++;
    return TERN_OK;
}
TERN_FUNCTION(count)

static tern_status answer(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    return TERN_OK;
}
TERN_FUNCTION(answer)

/* Nothing of the context has suffered. */
static void context_works(fixture *f) {
    uint64_t before = counted;
    EXPECT_OK(tern_barrier(f->worker));
    for (uint32_t r = 0; r < f->size; r++)
        EXPECT_OK(tern_call(f->worker, to(r), &count_function, NULL, 0));
    EXPECT_OK(tern_quiesce(f->worker));
    CU_ASSERT_EQUAL(counted, before + f->size);
    EXPECT_OK(tern_call_return(f->worker, tern_context_service(f->context, 0), &answer_function,
                               NULL, 0, NULL, 0, NULL));
    EXPECT_OK(tern_barrier(f->worker));
}

static void each_kind_is_named(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    for (size_t i = 0; i < KINDS; i++) {
        char text[80];
        snprintf(text, sizeof text, "1 object is still alive: %s;", kinds[i].kind);
        kinds[i].make(f.worker);
        EXPECT(TERN_ERR_STATE, tern_context_destroy(f.context));
        EXPECT_DETAIL(text);
        context_works(&f);
        kinds[i].end(f.worker);
    }
    fixture_close(&f);
}

/* In the order of their creation; those that are gone are not named. */
static void all_are_named(void) {
    tern_config config;
    fixture f;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    int level = 0;
    MPI_Query_thread(&level);
    config.service_threads = level >= MPI_THREAD_SERIALIZED ? 1 : 0;
    if (!fixture_open(&f, &config))
        return;
    for (size_t i = 0; i < KINDS; i++)
        kinds[i].make(f.worker);
    EXPECT(TERN_ERR_STATE, tern_context_destroy(f.context));
    EXPECT_DETAIL("5 objects are still alive: hash table, map, queue, distributed queue, locks;");
    kinds[1].end(f.worker);
    kinds[4].end(f.worker);
    EXPECT(TERN_ERR_STATE, tern_context_destroy(f.context));
    EXPECT_DETAIL("3 objects are still alive: hash table, queue, distributed queue;");
    context_works(&f);
    kinds[2].end(f.worker);
    kinds[0].end(f.worker);
    kinds[3].end(f.worker);
    fixture_close(&f);
}

/* A text that is full is cut. */
static void many_are_counted(void) {
    enum { MANY = 40 };
    tern_locks *many[MANY];
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    for (int i = 0; i < MANY; i++)
        EXPECT_OK(tern_locks_create(f.worker, 1, &many[i]));
    EXPECT(TERN_ERR_STATE, tern_context_destroy(f.context));
    EXPECT_DETAIL("40 objects are still alive: locks, locks, ");
    for (int i = 0; i < MANY; i++)
        EXPECT_OK(tern_locks_destroy(f.worker, many[i]));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"each_kind_is_named", each_kind_is_named},
        {"all_are_named", all_are_named},
        {"many_are_counted", many_are_counted},
    };
    return tern_test_main(argc, argv, "objects", tests, sizeof tests / sizeof tests[0]);
}
