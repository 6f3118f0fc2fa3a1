// tern-test: transports

/* Container calls with service threads: they are served while the owner's application waits in MPI
 * or computes, and what only application workers may run waits for them. */

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "fixture.h"

enum { KEYS = 64, LARGE = 700 };

static const tern_flags rw = TERN_READ_WRITE;
static const tern_flags by_call = TERN_BY_CALL;

/* Which threads modifiers have run in, on this rank. */
static pthread_t application;
static atomic_uint elsewhere, here;

static void note_thread(void) {
    atomic_fetch_add(pthread_equal(pthread_self(), application) ? &here : &elsewhere, 1);
}

static tern_status add_safely(tern_hashtable_modify_info *info, void *value) {
    (void)info;
    uint64_t words[2];
    memcpy(words, value, sizeof words);
    words[1]++;
    memcpy(value, words, sizeof words);
    note_thread();
    return TERN_OK;
}
TERN_HASHTABLE_MODIFIER_ANY_THREAD(add_safely)

static tern_status add_at_home(tern_hashtable_modify_info *info, void *value) {
    return add_safely(info, value);
}
TERN_HASHTABLE_MODIFIER(add_at_home)

typedef struct containers {
    fixture f;
    tern_hashtable *values, *counters, *call_only;
    tern_queue *queue;
    tern_map *map;
} containers;

static bool set_up(containers *c, size_t threads) {
    tern_config config;
    memset(c, 0, sizeof *c);
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    config.service_threads = threads;
    application = pthread_self();
    elsewhere = here = 0;
    if (!fixture_open(&c->f, &config))
        return false;
    tern_hashtable_options options = {.key_bytes = 8, .value_bytes = 16, .capacity = 4096};
    EXPECT_OK(tern_hashtable_create(c->f.worker, &options, &c->values));
    options.call_only = 1;
    EXPECT_OK(tern_hashtable_create(c->f.worker, &options, &c->call_only));
    options = (tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = 64, .grow = 1};
    EXPECT_OK(tern_hashtable_create(c->f.worker, &options, &c->counters));
    EXPECT_OK(tern_queue_create(
        c->f.worker, &(tern_queue_options){.item_bytes = 8, .capacity = 256}, &c->queue));
    EXPECT_OK(tern_map_create(c->f.worker, &(tern_map_options){.capacity = 4096}, &c->map));
    EXPECT_OK(tern_barrier(c->f.worker));
    return true;
}

static void tear_down(containers *c) {
    EXPECT_OK(tern_map_destroy(c->f.worker, c->map));
    EXPECT_OK(tern_queue_destroy(c->f.worker, c->queue));
    EXPECT_OK(tern_hashtable_destroy(c->f.worker, c->counters));
    EXPECT_OK(tern_hashtable_destroy(c->f.worker, c->call_only));
    EXPECT_OK(tern_hashtable_destroy(c->f.worker, c->values));
    fixture_close(&c->f);
}

/* A key of this rank's own among those of all, and none of the first numbers, which all share. */
static uint64_t key_of(const containers *c, uint64_t i) { return (c->f.rank + 1) * 100000 + i; }

static void use_table(containers *c, tern_hashtable *table) {
    tern_worker *w = c->f.worker;
    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t key = key_of(c, i), value[2] = {key, 0}, found[2] = {0, 0};
        int existed = 1;
        EXPECT_OK(tern_hashtable_insert(w, table, &key, value, by_call, &existed));
        CU_ASSERT_EQUAL(existed, 0);
        EXPECT_OK(tern_hashtable_modify(w, table, &key, &add_safely_modifier, NULL, rw, NULL));
        EXPECT_OK(tern_hashtable_find(w, table, &key, by_call, found));
        CU_ASSERT(found[0] == key && found[1] == 1);
        if (i % 2 == 1)
            EXPECT_OK(tern_hashtable_erase(w, table, &key, by_call));
        EXPECT(i % 2 == 1 ? TERN_ERR_NOT_FOUND : TERN_OK,
               tern_hashtable_find(w, table, &key, by_call, found));
    }
}

static void use_batches(containers *c) {
    tern_worker *w = c->f.worker;
    uint64_t keys[KEYS], values[KEYS][2];
    unsigned char found[KEYS];
    size_t count = 0;
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = values[i][0] = key_of(c, 1000 + i);
        values[i][1] = i;
    }
    EXPECT_OK(tern_hashtable_insert_many(w, c->values, keys, values, KEYS, by_call, &count));
    CU_ASSERT_EQUAL(count, KEYS);
    memset(values, 0, sizeof values);
    EXPECT_OK(tern_hashtable_find_many(w, c->values, keys, KEYS, by_call, values, found, &count));
    CU_ASSERT_EQUAL(count, KEYS);
    for (uint64_t i = 0; i < KEYS; i++)
        CU_ASSERT(found[i] == 1 && values[i][0] == keys[i] && values[i][1] == i);
    for (int i = 0; i < 20; i++) { /* the table grows meanwhile */
        for (uint64_t k = 0; k < KEYS; k++)
            keys[k] = key_of(c, (uint64_t)i * KEYS / 2 + k);
        EXPECT_OK(tern_hashtable_add_many(w, c->counters, keys, KEYS, 1, by_call, &count));
        CU_ASSERT_EQUAL(count, KEYS);
    }
    uint64_t value[2] = {0, 0}, result = 1;
    tern_request request = {0};
    EXPECT_OK(tern_hashtable_add_start(w, c->counters, &keys[0], 5, by_call, &request));
    EXPECT_OK(tern_wait(w, &request));
    result = tern_request_result(&request);
    EXPECT_OK(tern_hashtable_find(w, c->counters, &keys[0], by_call, value));
    CU_ASSERT_EQUAL(value[0], result + 5);
}

static void use_queue(containers *c) {
    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t item = key_of(c, i), popped = 0;
        EXPECT_OK(tern_queue_push(c->f.worker, c->queue, &item, by_call));
        EXPECT_OK(tern_queue_pop(c->f.worker, c->queue, &popped, by_call));
        CU_ASSERT(c->f.size > 2 || popped == item);
    }
}

static void use_map(containers *c) {
    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t key = key_of(c, i);
        char value[LARGE], found[LARGE];
        size_t bytes = i % 2 == 0 ? sizeof value : 8, got = 0;
        memset(value, (int)i, sizeof value);
        EXPECT_OK(tern_map_insert(c->f.worker, c->map, &key, 8, "old", 3, by_call, NULL));
        EXPECT_OK(tern_map_insert(c->f.worker, c->map, &key, 8, value, bytes, by_call, NULL));
        EXPECT_OK(tern_map_find(c->f.worker, c->map, &key, 8, by_call, found, sizeof found, &got));
        CU_ASSERT(got == bytes && memcmp(found, value, bytes) == 0);
        if (i % 3 == 0)
            EXPECT_OK(tern_map_erase(c->f.worker, c->map, &key, 8, by_call));
    }
}

/* As a program would that has service threads and no MPI_THREAD_MULTIPLE: with the lock. */
static void wait_in_mpi(const fixture *f) {
    MPI_Request request;
    int over = 0;
    tern_mpi_lock();
    MPI_Ibarrier(f->comm, &request);
    tern_mpi_unlock();
    while (!over) {
        usleep(500);
        tern_mpi_lock();
        MPI_Test(&request, &over, MPI_STATUS_IGNORE);
        tern_mpi_unlock();
    }
}

/* Rank 0 waits in MPI until the others have used everything. */
static void served_in_mpi(void) {
    containers c;
    if (!set_up(&c, 1))
        return;
    if (c.f.rank > 0) {
        use_table(&c, c.values);
        use_table(&c, c.call_only);
        use_batches(&c);
        use_queue(&c);
        use_map(&c);
    }
    wait_in_mpi(&c.f);
    CU_ASSERT(c.f.rank > 0 || here == 0);
    unsigned ran = elsewhere;
    tern_mpi_lock();
    MPI_Allreduce(MPI_IN_PLACE, &ran, 1, MPI_UNSIGNED, MPI_SUM, c.f.comm);
    tern_mpi_unlock();
    CU_ASSERT(c.f.size < 2 || ran > 0);
    tear_down(&c);
}

/* All ranks use everything at once, by all paths, beside two service threads each. */
static void all_at_once(void) {
    containers c;
    if (!set_up(&c, 2))
        return;
    for (int i = 0; i < fixture_times(&c.f, 40); i++) {
        uint64_t key = below(&(uint64_t){fixture_seed(&c.f, (uint64_t)i)}, 8), value[2] = {key, 1};
        size_t got = 0;
        tern_flags path = fixture_path((uint64_t)i);
        tern_status status = tern_hashtable_insert(c.f.worker, c.values, &key, value, path, NULL);
        EXPECT_OK(status);
        EXPECT_OK(tern_hashtable_modify(c.f.worker, c.values, &key, &add_safely_modifier,
                                        &(tern_modify_options){.absent = TERN_ABSENT_INSERT}, rw,
                                        NULL));
        EXPECT_OK(tern_hashtable_find(c.f.worker, c.values, &key, path, value));
        CU_ASSERT(value[0] == key && value[1] >= 1);
        EXPECT_OK(tern_hashtable_add(c.f.worker, c.counters, &key, 1, path, NULL));
        EXPECT_OK(tern_map_insert(c.f.worker, c.map, &key, 8, &key, 8, path, NULL));
        EXPECT_OK(tern_map_find(c.f.worker, c.map, &key, 8, path, value, 16, &got));
        CU_ASSERT(got == 8 && value[0] == key);
    }
    use_table(&c, c.call_only);
    use_batches(&c);
    use_map(&c);
    EXPECT_OK(tern_barrier(c.f.worker));
    tear_down(&c);
}

/* A modifier that is not said to be safe runs in the owner's application, so it waits for it. */
static void modifiers_at_home(void) {
    containers c;
    if (!set_up(&c, 1))
        return;
    for (uint64_t i = 0; i < KEYS; i++)
        EXPECT_OK(tern_hashtable_modify(c.f.worker, c.values, &i, &add_at_home_modifier,
                                        &(tern_modify_options){.absent = TERN_ABSENT_INSERT}, rw,
                                        NULL));
    EXPECT_OK(tern_barrier(c.f.worker));
    CU_ASSERT_EQUAL(elsewhere, 0);
    CU_ASSERT(here > 0);
    tear_down(&c);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"served_in_mpi", served_in_mpi},
        {"all_at_once", all_at_once},
        {"modifiers_at_home", modifiers_at_home},
    };
    return tern_test_main(argc, argv, "container_service", tests, sizeof tests / sizeof tests[0]);
}
