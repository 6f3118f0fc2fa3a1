// tern-test: transports

/* Buffered inserts and adds, for tables and for maps: nothing is lost, done twice or out of order;
 * refusals are counted. */

#include "map_tools.h"
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
            EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 1, any_path(&random), NULL));
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

/* A key that finds no room is counted, told once, and not there; the other keys are. */
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

static void arguments_for_maps_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_worker *w = f.worker;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 10});
    tern_map_buffer *buffer = NULL;
    static char large[TERN_MAP_KEY_MAX + 1];
    uint64_t refused = 77, count = 77;
    EXPECT(TERN_ERR_ARGUMENT, tern_map_buffer_create(NULL, map, 0, &buffer));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_buffer_create(w, NULL, 0, &buffer));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_buffer_create(w, map, 0, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_buffer_create(w, map, 513, &buffer));
    EXPECT_DETAIL("513");
    CU_ASSERT_PTR_NULL(buffer);
    EXPECT_OK(tern_map_buffer_create(w, map, 512, &buffer));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_buffer_insert(w, NULL, "a", 1, "b", 1));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_buffer_insert(NULL, buffer, "a", 1, "b", 1));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_buffer_insert(w, buffer, NULL, 1, "b", 1));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_buffer_insert(w, buffer, "a", 1, NULL, 1));
    EXPECT(TERN_ERR_RANGE, tern_map_buffer_insert(w, buffer, large, sizeof large, "b", 1));
    EXPECT(TERN_ERR_RANGE,
           tern_map_buffer_insert(w, buffer, "a", 1, large, (size_t)TERN_MAP_VALUE_MAX + 1));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_buffer_add(w, buffer, NULL, 1, 1));
    EXPECT(TERN_ERR_RANGE, tern_map_buffer_add(w, buffer, large, sizeof large, 1));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_buffer_flush(w, NULL, &refused));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_buffer_destroy(NULL, buffer, &refused));
    CU_ASSERT_EQUAL(refused, 77);
    EXPECT_OK(tern_map_buffer_destroy(w, NULL, &refused));
    EXPECT_OK(tern_map_buffer_flush(w, buffer, &refused));
    CU_ASSERT_EQUAL(refused, 0);
    EXPECT_OK(tern_map_buffer_destroy(w, buffer, NULL));
    EXPECT_OK(tern_map_size(w, map, &count));
    CU_ASSERT_EQUAL(count, 0);
    map_end(&f, map);
    fixture_close(&f);
}

enum { MAP_KEYS = 40, WORDS = 20 };

static unsigned char map_key[4 + MAP_KEY_ROOM], map_value[MAP_VALUE_ROOM], found[MAP_VALUE_ROOM];

static size_t map_key_of(uint32_t rank, uint64_t number) {
    memcpy(map_key, &rank, sizeof rank);
    return 4 + make_map_key(map_key + 4, number);
}

/* Words that all ranks count. The number of a long one lies in a block. */
static size_t word_of(char word[64], uint64_t number) {
    return (size_t)snprintf(word, 64, number % 2 ? "word %d" : "a word that is as long as %030d",
                            (int)number);
}

/* Keys of this rank's own, with values of all sizes, are replaced again and again, and the words
 * that all ranks have are counted, through buffers of several sizes. */
static void maps_match_a_model(void) {
    static const size_t sizes[] = {1, 3, 0};
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 1, .grow = 1});
    const size_t before = heap_at_first(&f);
    uint64_t random = fixture_seed(&f, 7), version[MAP_KEYS] = {0}, next = 1, wrong = 0;
    uint64_t sum[WORDS] = {0}, all[64 * WORDS], refused = 77;
    char word[64];
    for (int round = 0; round < 3; round++) {
        tern_map_buffer *buffer = NULL;
        EXPECT_OK(tern_map_buffer_create(f.worker, map, sizes[round], &buffer));
        for (int i = fixture_times(&f, 600); i > 0; i--) {
            const uint64_t own = below(&random, MAP_KEYS), common = below(&random, WORDS);
            const size_t bytes = make_map_value(map_value, own, next);
            version[own] = next++;
            wrong += tern_map_buffer_insert(f.worker, buffer, map_key, map_key_of(f.rank, own),
                                            map_value, bytes) != TERN_OK;
            wrong +=
                tern_map_buffer_add(f.worker, buffer, word, word_of(word, common), own) != TERN_OK;
            sum[common] += own;
            if (below(&random, 8) == 0) {
                EXPECT_OK(tern_map_add(f.worker, map, word, word_of(word, common), 1,
                                       any_path(&random), NULL));
                sum[common]++;
            }
            if (below(&random, 100) == 0)
                EXPECT_OK(tern_map_buffer_flush(f.worker, buffer, &refused));
        }
        EXPECT_OK(tern_map_buffer_destroy(f.worker, buffer, &refused));
        CU_ASSERT(refused == 0 && wrong == 0);
        for (uint64_t i = 0; i < MAP_KEYS; i++) {
            size_t bytes = 0;
            tern_status status = tern_map_find(f.worker, map, map_key, map_key_of(f.rank, i),
                                               any_path(&random), found, sizeof found, &bytes);
            wrong += version[i] == 0
                         ? status != TERN_ERR_NOT_FOUND
                         : status != TERN_OK || !is_map_value(found, bytes, i, version[i]);
        }
        CU_ASSERT_EQUAL(wrong, 0);
    }
    fixture_share(&f, sum, sizeof sum, all);
    for (uint64_t i = f.rank; i < WORDS; i += f.size) {
        uint64_t wanted = 0, number = 0;
        for (uint32_t r = 0; r < f.size; r++)
            wanted += all[r * WORDS + i];
        tern_status status = tern_map_find(f.worker, map, word, word_of(word, i), TERN_BY_CALL,
                                           &number, sizeof number, NULL);
        CU_ASSERT((status == TERN_OK || status == TERN_ERR_NOT_FOUND) && number == wanted);
    }
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

/* A full map refuses keys, and a number cannot be added to any value; each is told once. */
static void refusals_of_maps_are_told_once(void) {
    enum { KEYS = 300 };
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 10});
    tern_map_buffer *buffer = NULL;
    EXPECT_OK(tern_map_buffer_create(f.worker, map, 16, &buffer));
    if (f.rank == 0) {
        uint64_t refused = 0, again = 77, present = 0, key = 0;
        for (key = 0; key < KEYS; key++)
            EXPECT_OK(tern_map_buffer_insert(f.worker, buffer, &key, 8, "four", 4));
        EXPECT(TERN_ERR_FULL, tern_map_buffer_flush(f.worker, buffer, &refused));
        EXPECT_DETAIL("of 300 buffered keys");
        EXPECT_OK(tern_map_buffer_flush(f.worker, buffer, &again));
        for (key = 0; key < KEYS; key++)
            present +=
                tern_map_find(f.worker, map, &key, 8, TERN_BY_CALL, found, 4, NULL) == TERN_OK;
        CU_ASSERT(refused > 0 && present > 0 && present + refused == KEYS && again == 0);
        for (key = 0; key < KEYS; key++)
            if (tern_map_find(f.worker, map, &key, 8, TERN_BY_CALL, found, 4, NULL) == TERN_OK)
                EXPECT_OK(tern_map_buffer_add(f.worker, buffer, &key, 8, 1));
        EXPECT(TERN_ERR_RANGE, tern_map_buffer_flush(f.worker, buffer, &refused));
        EXPECT_DETAIL("4 bytes");
        EXPECT_OK(tern_map_buffer_flush(f.worker, buffer, &again));
    }
    EXPECT_OK(tern_map_buffer_destroy(f.worker, buffer, NULL));
    map_end(&f, map);
    fixture_close(&f);
}

/* Calls of the program's own are all that can be under way: nothing is lost meanwhile. */
static void all_calls_are_under_way_beside_a_map(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 1000});
    tern_map_buffer *buffer = NULL;
    EXPECT_OK(tern_map_buffer_create(f.worker, map, 2, &buffer));
    tern_request held[TERN_CALL_REQUESTS] = {0};
    const uint32_t other = (f.rank + 1) % f.size;
    uint64_t keys[3], next = 1000 * f.rank;
    for (int i = 0; i < 3; keys[i++] = next++)
        while (tern_map_owner(map, &next, 8) != other)
            next++;
    start_all_calls(&f, other, held);
    for (int i = 0; i < 2; i++)
        EXPECT_OK(tern_map_buffer_insert(f.worker, buffer, &keys[i], 8, &keys[i], 8));
    if (f.size > 1) {
        EXPECT(TERN_ERR_AGAIN, tern_map_buffer_insert(f.worker, buffer, &keys[2], 8, found, 20000));
        EXPECT(TERN_ERR_AGAIN, tern_map_buffer_insert(f.worker, buffer, &keys[2], 8, &keys[2], 8));
        EXPECT(TERN_ERR_AGAIN, tern_map_buffer_flush(f.worker, buffer, NULL));
        EXPECT(TERN_ERR_AGAIN, tern_map_buffer_destroy(f.worker, buffer, NULL));
    }
    wait_for_all_calls(&f, held);
    EXPECT_OK(tern_map_buffer_insert(f.worker, buffer, &keys[2], 8, &keys[2], 8));
    EXPECT_OK(tern_map_buffer_destroy(f.worker, buffer, NULL));
    for (int i = 0; i < 3; i++) {
        uint64_t number = 0;
        EXPECT_OK(tern_map_find(f.worker, map, &keys[i], 8, TERN_BY_CALL, &number, 8, NULL));
        CU_ASSERT_EQUAL(number, keys[i]);
    }
    map_end(&f, map);
    fixture_close(&f);
}

static struct {
    tern_map_buffer *buffer;
    tern_status insert, add, flush, destroy;
} handled_map;

static tern_status use_map_buffer_in_handler(tern_call_info *call, const void *arguments,
                                             size_t bytes) {
    tern_map_buffer *buffer = handled_map.buffer;
    (void)arguments, (void)bytes;
    handled_map.insert = tern_map_buffer_insert(call->worker, buffer, "a", 1, "b", 1);
    handled_map.add = tern_map_buffer_add(call->worker, buffer, "a", 1, 1);
    handled_map.flush = tern_map_buffer_flush(call->worker, buffer, NULL);
    handled_map.destroy = tern_map_buffer_destroy(call->worker, buffer, NULL);
    return TERN_OK;
}
TERN_FUNCTION(use_map_buffer_in_handler)

static void of_a_map_in_a_handler(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    uint64_t count = 77;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 10});
    EXPECT_OK(tern_map_buffer_create(f.worker, map, 0, &handled_map.buffer));
    EXPECT_OK(tern_call_return(f.worker, (tern_worker_id){f.rank, 0},
                               &use_map_buffer_in_handler_function, NULL, 0, NULL, 0, NULL));
    CU_ASSERT_EQUAL(handled_map.insert, TERN_ERR_STATE);
    CU_ASSERT_EQUAL(handled_map.add, TERN_ERR_STATE);
    CU_ASSERT_EQUAL(handled_map.flush, TERN_ERR_STATE);
    CU_ASSERT_EQUAL(handled_map.destroy, TERN_ERR_STATE);
    EXPECT_OK(tern_map_buffer_destroy(f.worker, handled_map.buffer, NULL));
    EXPECT_OK(tern_map_size(f.worker, map, &count));
    CU_ASSERT_EQUAL(count, 0);
    map_end(&f, map);
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
        {"arguments_for_maps_are_checked", arguments_for_maps_are_checked},
        {"maps_match_a_model", maps_match_a_model},
        {"refusals_of_maps_are_told_once", refusals_of_maps_are_told_once},
        {"all_calls_are_under_way_beside_a_map", all_calls_are_under_way_beside_a_map},
        {"of_a_map_in_a_handler", of_a_map_in_a_handler},
    };
    return tern_test_main(argc, argv, "hashtable_buffer", tests, sizeof tests / sizeof tests[0]);
}
