// tern-test: transports

/* Buffered inserts and adds: nothing is lost, done twice or out of order; refusals are counted. */

#include "nothing.h"
#include "table_tools.h"

static void arguments_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *values = NULL, *counters = NULL, *large = NULL;
    tern_worker *w = f.worker;
    tern_hashtable_buffer *v = NULL, *c = NULL, *none = NULL;
    EXPECT_OK(tern_hashtable_create(
        w, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 10}, &values));
    EXPECT_OK(tern_hashtable_create(
        w, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = 10}, &counters));
    EXPECT_OK(tern_hashtable_create(
        w, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 65536, .capacity = 10},
        &large));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_buffer_create(NULL, values, 0, &none));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_buffer_create(w, NULL, 0, &none));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_buffer_create(w, values, 0, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_buffer_create(w, values, 513, &none));
    EXPECT_DETAIL("513");
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_buffer_create(w, large, 0, &none));
    EXPECT_DETAIL("TERN_RING_SIZE");
    CU_ASSERT_PTR_NULL(none);
    EXPECT_OK(tern_hashtable_buffer_create(w, values, 512, &v));
    EXPECT_OK(tern_hashtable_buffer_create(w, counters, 1, &c));
    uint64_t key = 1, refused = 77;
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_buffer_insert(w, NULL, &key, &key));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_buffer_insert(NULL, v, &key, &key));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_buffer_insert(w, v, NULL, &key));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_buffer_insert(w, v, &key, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_buffer_add(w, c, NULL, 1));
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_buffer_insert(w, c, &key, &key));
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_buffer_add(w, v, &key, 1));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_buffer_flush(w, NULL, &refused));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_buffer_destroy(NULL, v, &refused));
    CU_ASSERT_EQUAL(refused, 77);
    EXPECT_OK(tern_hashtable_buffer_destroy(w, NULL, &refused));
    EXPECT_OK(tern_hashtable_buffer_flush(w, v, &refused));
    CU_ASSERT_EQUAL(refused, 0);
    EXPECT_OK(tern_hashtable_buffer_destroy(w, v, NULL));
    EXPECT_OK(tern_hashtable_buffer_destroy(w, c, NULL));
    CU_ASSERT_EQUAL(total_keys(&f, values) + total_keys(&f, counters), 0);
    EXPECT_OK(tern_hashtable_destroy(w, values));
    EXPECT_OK(tern_hashtable_destroy(w, counters));
    EXPECT_OK(tern_hashtable_destroy(w, large));
    fixture_close(&f);
}

/* Each rank overwrites its own keys again and again, through buffers of several sizes; at the end
 * the last value of each is there. */
static void inserts_keep_their_order(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { EACH = 50, VALUE = 20 };
    static const size_t sizes[] = {1, 3, 0};
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker,
        &(tern_hashtable_options){.key_bytes = 12, .value_bytes = VALUE, .capacity = EACH * f.size},
        &table));
    uint64_t random = fixture_seed(&f, 5), version[EACH] = {0}, all[64 * EACH], refused;
    unsigned char key[12], value[VALUE];
    for (int round = 0; round < 3; round++) {
        tern_hashtable_buffer *buffer = NULL;
        EXPECT_OK(tern_hashtable_buffer_create(f.worker, table, sizes[round], &buffer));
        for (int i = fixture_times(&f, 4000); i > 0; i--) {
            uint64_t own = below(&random, EACH);
            make_key(key, 12, f.rank * EACH + own);
            make_value(value, VALUE, f.rank * EACH + own, ++version[own]);
            EXPECT_OK(tern_hashtable_buffer_insert(f.worker, buffer, key, value));
            if (below(&random, 200) == 0)
                EXPECT_OK(tern_hashtable_buffer_flush(f.worker, buffer, &refused));
        }
        EXPECT_OK(tern_hashtable_buffer_destroy(f.worker, buffer, &refused));
        CU_ASSERT_EQUAL(refused, 0);
        fixture_share(&f, version, sizeof version, all);
        for (uint64_t i = 0; i < EACH; i++) {
            uint64_t number = (f.rank + 1) % f.size * EACH + i;
            make_key(key, 12, number);
            tern_status status =
                tern_hashtable_find(f.worker, table, key, TERN_READ_ONLY | TERN_BY_RMA, value);
            CU_ASSERT_EQUAL(status, all[number] > 0 ? TERN_OK : TERN_ERR_NOT_FOUND);
            CU_ASSERT(status != TERN_OK || is_value(value, VALUE, number, all[number]));
        }
        EXPECT_OK(tern_barrier(f.worker));
    }
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* All ranks write and count the same keys, so that buckets are met that others are writing. */
static void adds_are_counted_once(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 9 };
    tern_hashtable *table = NULL;
    tern_hashtable_buffer *buffer = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = KEYS},
        &table));
    EXPECT_OK(tern_hashtable_buffer_create(f.worker, table, 20, &buffer));
    uint64_t random = fixture_seed(&f, 6), sum[KEYS] = {0}, all[64 * KEYS];
    for (int i = fixture_times(&f, 8000); i > 0; i--) {
        uint64_t key = below(&random, KEYS), delta = below(&random, 100);
        EXPECT_OK(tern_hashtable_buffer_add(f.worker, buffer, &key, delta));
        bool directly_too = below(&random, 4) == 0;
        if (directly_too)
            EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 1, any_via(&random), NULL));
        sum[key] += delta + directly_too;
    }
    EXPECT_OK(tern_hashtable_buffer_destroy(f.worker, buffer, NULL));
    fixture_share(&f, sum, sizeof sum, all);
    for (uint64_t key = 0; key < KEYS; key++) {
        uint64_t wanted = 0, count = 0;
        bool there = false;
        for (uint32_t r = 0; r < f.size; r++)
            wanted += all[r * KEYS + key];
        there = tern_hashtable_find(f.worker, table, &key, TERN_READ_ONLY | TERN_BY_RMA, &count) ==
                TERN_OK;
        CU_ASSERT(there || wanted == 0);
        CU_ASSERT_EQUAL(count, wanted);
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* What finds no room is counted, told once, and not there; the rest is. */
static void refusals_are_told_once(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 150 };
    tern_hashtable *table = NULL;
    tern_hashtable_buffer *buffer = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 10},
        &table));
    EXPECT_OK(tern_hashtable_buffer_create(f.worker, table, 16, &buffer));
    uint64_t refused = 0, again = 77;
    if (f.rank == 0) {
        for (uint64_t key = 0; key < KEYS; key++)
            EXPECT_OK(tern_hashtable_buffer_insert(f.worker, buffer, &key, &key));
        EXPECT(TERN_ERR_FULL, tern_hashtable_buffer_flush(f.worker, buffer, &refused));
        EXPECT_DETAIL("capacity");
        CU_ASSERT(refused > 0 && refused <= KEYS - 10);
        EXPECT_OK(tern_hashtable_buffer_flush(f.worker, buffer, &again));
        CU_ASSERT_EQUAL(again, 0);
        uint64_t present = 0;
        for (uint64_t key = 0; key < KEYS; key++) {
            uint64_t value = 1000;
            present += tern_hashtable_find(f.worker, table, &key, TERN_BY_CALL, &value) == TERN_OK;
            CU_ASSERT(value == key || value == 1000);
        }
        CU_ASSERT_EQUAL(present, KEYS - refused);
    }
    uint64_t total = total_keys(&f, table);
    CU_ASSERT(f.rank > 0 || total == KEYS - refused);
    EXPECT_OK(tern_hashtable_buffer_destroy(f.worker, buffer, NULL));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* Calls of the program's own are all that can be under way: nothing is lost meanwhile. */
static void all_calls_are_under_way(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = NULL;
    tern_hashtable_buffer *buffer = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 1000},
        &table));
    EXPECT_OK(tern_hashtable_buffer_create(f.worker, table, 2, &buffer));
    tern_request held[TERN_CALL_REQUESTS] = {0};
    uint32_t other = (f.rank + 1) % f.size;
    uint64_t keys[3], taken = 0;
    for (uint64_t i = 0, next = 1000 * f.rank; i < 3; i++, next = keys[i - 1] + 1)
        keys[i] = number_owned_by(table, other, next);
    start_all_calls(&f, other, held);
    for (; taken < 2; taken++)
        EXPECT_OK(tern_hashtable_buffer_insert(f.worker, buffer, &keys[taken], &keys[taken]));
    if (f.size > 1) {
        EXPECT(TERN_ERR_AGAIN, tern_hashtable_buffer_insert(f.worker, buffer, &keys[2], &keys[2]));
        EXPECT(TERN_ERR_AGAIN, tern_hashtable_buffer_flush(f.worker, buffer, NULL));
        EXPECT(TERN_ERR_AGAIN, tern_hashtable_buffer_destroy(f.worker, buffer, NULL));
    }
    wait_for_all_calls(&f, held);
    EXPECT_OK(tern_hashtable_buffer_insert(f.worker, buffer, &keys[2], &keys[2]));
    EXPECT_OK(tern_hashtable_buffer_destroy(f.worker, buffer, NULL));
    for (int i = 0; i < 3; i++) {
        uint64_t value = 0;
        EXPECT_OK(tern_hashtable_find(f.worker, table, &keys[i], TERN_BY_CALL, &value));
        CU_ASSERT_EQUAL(value, keys[i]);
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

static struct {
    tern_hashtable_buffer *buffer;
    tern_status insert, flush, destroy;
} handled;

static tern_status use_buffer_in_handler(tern_call_info *call, const void *arguments,
                                         size_t bytes) {
    uint64_t key = 1;
    (void)arguments, (void)bytes;
    handled.insert = tern_hashtable_buffer_insert(call->worker, handled.buffer, &key, &key);
    handled.flush = tern_hashtable_buffer_flush(call->worker, handled.buffer, NULL);
    handled.destroy = tern_hashtable_buffer_destroy(call->worker, handled.buffer, NULL);
    return TERN_OK;
}
TERN_FUNCTION(use_buffer_in_handler)

static void in_a_handler(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 10},
        &table));
    EXPECT_OK(tern_hashtable_buffer_create(f.worker, table, 0, &handled.buffer));
    EXPECT_OK(tern_call_return(f.worker, (tern_worker_id){f.rank, 0},
                               &use_buffer_in_handler_function, NULL, 0, NULL, 0, NULL));
    CU_ASSERT_EQUAL(handled.insert, TERN_ERR_STATE);
    CU_ASSERT_EQUAL(handled.flush, TERN_ERR_STATE);
    CU_ASSERT_EQUAL(handled.destroy, TERN_ERR_STATE);
    EXPECT_OK(tern_hashtable_buffer_destroy(f.worker, handled.buffer, NULL));
    CU_ASSERT_EQUAL(total_keys(&f, table), 0);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"arguments_are_checked", arguments_are_checked},
        {"inserts_keep_their_order", inserts_keep_their_order},
        {"adds_are_counted_once", adds_are_counted_once},
        {"refusals_are_told_once", refusals_are_told_once},
        {"all_calls_are_under_way", all_calls_are_under_way},
        {"in_a_handler", in_a_handler},
    };
    return tern_test_main(argc, argv, "hashtable_buffer", tests, sizeof tests / sizeof tests[0]);
}
