// tern-test: transports

/* Hash table: keys that come, go and come back, by insert, insert_new, erase and compare_swap,
 * against a model and against each other. */

#include "table_tools.h"

static tern_hashtable *make(fixture *f, size_t value_bytes, uint64_t capacity) {
    tern_hashtable *table = NULL;
    tern_hashtable_options options = {.key_bytes = 8,
                                      .value_bytes = value_bytes,
                                      .counter = value_bytes == 0,
                                      .capacity = capacity};
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

static tern_hashtable *make_set(fixture *f, uint64_t capacity) {
    tern_hashtable *table = NULL;
    tern_hashtable_options options = {.key_bytes = 8, .capacity = capacity};
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

static void end(fixture *f, tern_hashtable *table) {
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
}

static void arguments_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const tern_flags reads = TERN_READ_ONLY;
    const tern_flags rma = TERN_BY_RMA;
    tern_worker *w = f.worker;
    tern_hashtable *values = make(&f, 8, 10), *counters = make(&f, 0, 10);
    uint64_t key = 1, before = 77;
    int existed = 77;
    for (tern_flags via = TERN_BY_RMA; via <= TERN_BY_CALL; via *= 2) {
        EXPECT(TERN_ERR_ARGUMENT,
               tern_hashtable_insert_new(w, values, &key, &key, reads | via, &existed));
        EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_erase(w, values, &key, reads | via));
        EXPECT_DETAIL("TERN_READ_ONLY");
        EXPECT(TERN_ERR_ARGUMENT,
               tern_hashtable_compare_swap(w, counters, &key, 0, 1, reads | via, &before));
    }
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_insert_new(w, values, &key, NULL, rma, NULL));
    EXPECT_DETAIL("value is NULL");
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_insert_new(w, counters, &key, &key, rma, NULL));
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_compare_swap(w, values, &key, 0, 1, rma, &before));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_erase(w, values, NULL, rma));
    const uint64_t limit = UINT64_C(1) << 61;
    EXPECT(TERN_ERR_RANGE, tern_hashtable_compare_swap(w, counters, &key, limit, 1, rma, &before));
    EXPECT_DETAIL("2305843009213693952");
    EXPECT(TERN_ERR_RANGE, tern_hashtable_compare_swap(w, counters, &key, 1, ~limit, rma, &before));
    EXPECT(TERN_ERR_NOT_FOUND,
           tern_hashtable_compare_swap(w, counters, &key, 1 - limit, limit - 1, rma, &before));
    CU_ASSERT_EQUAL(before, 77);
    CU_ASSERT_EQUAL(existed, 77);
    CU_ASSERT_EQUAL(total_keys(&f, values) + total_keys(&f, counters), 0);
    end(&f, values);
    end(&f, counters);
    fixture_close(&f);
}

enum { EACH = 12 };

/* A value of the given size, of version 0 for a key that is not there. */
static void one_change(fixture *f, tern_hashtable *table, size_t bytes, uint64_t *random,
                       uint64_t *versions, uint64_t *newest) {
    uint64_t k = below(random, EACH), key = k * f->size + f->rank;
    const tern_flags via = bytes > 1024 ? TERN_BY_RMA : any_via(random),
                     flags = any_writer(random) | via;
    static unsigned char value[VALUE_MAX];
    int existed = 77;
    switch (below(random, 4)) {
    case 0:
        make_value(value, bytes, key, ++*newest);
        EXPECT_OK(tern_hashtable_insert(f->worker, table, &key, value, flags, &existed));
        CU_ASSERT_EQUAL(existed, versions[k] != 0);
        versions[k] = *newest;
        break;
    case 1:
        make_value(value, bytes, key, ++*newest);
        EXPECT_OK(tern_hashtable_insert_new(f->worker, table, &key, value, flags, &existed));
        CU_ASSERT_EQUAL(existed, versions[k] != 0);
        versions[k] = versions[k] != 0 ? versions[k] : *newest;
        break;
    case 2:
        EXPECT(versions[k] != 0 ? TERN_OK : TERN_ERR_NOT_FOUND,
               tern_hashtable_erase(f->worker, table, &key, flags));
        versions[k] = 0;
        break;
    default:
        /* What was written in a phase is there for the other phases only behind its end. */
        EXPECT_OK(tern_flush_all(f->worker));
        EXPECT(versions[k] != 0 ? TERN_OK : TERN_ERR_NOT_FOUND,
               tern_hashtable_find(f->worker, table, &key, via, value));
        if (versions[k] != 0)
            CU_ASSERT(is_value(value, bytes, key, versions[k]));
    }
}

/* Each rank changes keys of its own, which lie between those of the others. */
static void values_follow_a_model(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    static const size_t sizes[] = {0, 8, 3000};
    for (size_t s = 0; s < 3; s++) {
        tern_hashtable *table =
            sizes[s] > 0 ? make(&f, sizes[s], EACH * f.size) : make_set(&f, EACH * f.size);
        uint64_t random = fixture_seed(&f, sizes[s]), versions[EACH] = {0}, newest = 0, mine = 0;
        for (int i = fixture_times(&f, 400); i > 0; i--)
            one_change(&f, table, sizes[s], &random, versions, &newest);
        for (int k = 0; k < EACH; k++)
            mine += versions[k] != 0;
        uint64_t all[64], sum = 0;
        fixture_share(&f, &mine, sizeof mine, all);
        for (uint32_t r = 0; r < f.size; r++)
            sum += all[r];
        CU_ASSERT_EQUAL(total_keys(&f, table), sum);
        for (uint64_t k = 0; k < EACH; k++) {
            static unsigned char value[VALUE_MAX];
            uint64_t key = k * f.size + f.rank;
            EXPECT(versions[k] != 0 ? TERN_OK : TERN_ERR_NOT_FOUND,
                   tern_hashtable_find(f.worker, table, &key, TERN_READ_ONLY | TERN_BY_RMA, value));
        }
        end(&f, table);
    }
    fixture_close(&f);
}

static void counters_follow_a_model(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make(&f, 0, EACH * f.size);
    uint64_t random = fixture_seed(&f, 7), count[EACH] = {0};
    bool there[EACH] = {false};
    for (int i = fixture_times(&f, 800); i > 0; i--) {
        uint64_t k = below(&random, EACH), key = k * f.size + f.rank, before = 77;
        uint64_t delta = below(&random, 3) - 1, wanted = count[k] + below(&random, 2);
        const tern_flags flags = any_writer(&random) | any_via(&random);
        switch (below(&random, 5)) {
        case 0:
            EXPECT_OK(tern_hashtable_add(f.worker, table, &key, delta, flags, &before));
            CU_ASSERT_EQUAL(before, there[k] ? count[k] : 0);
            count[k] = (there[k] ? count[k] : 0) + delta;
            there[k] = true;
            break;
        case 1:
            EXPECT_OK(tern_hashtable_add_many(f.worker, table, &key, 1, delta, flags, NULL));
            count[k] = (there[k] ? count[k] : 0) + delta;
            there[k] = true;
            break;
        case 2:
            EXPECT(there[k] ? TERN_OK : TERN_ERR_NOT_FOUND,
                   tern_hashtable_compare_swap(f.worker, table, &key, wanted, 100 + delta, flags,
                                               &before));
            CU_ASSERT_EQUAL(before, there[k] ? count[k] : 77);
            if (there[k] && wanted == count[k])
                count[k] = 100 + delta;
            break;
        case 3:
            EXPECT(there[k] ? TERN_OK : TERN_ERR_NOT_FOUND,
                   tern_hashtable_erase(f.worker, table, &key, flags));
            there[k] = false;
            break;
        default:
            EXPECT_OK(tern_flush_all(f.worker));
            EXPECT(there[k] ? TERN_OK : TERN_ERR_NOT_FOUND,
                   tern_hashtable_find(f.worker, table, &key, flags & TERN_WAYS, &before));
            CU_ASSERT_EQUAL(before, there[k] ? count[k] : 77);
        }
    }
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t k = 0; k < EACH; k++) {
        uint64_t key = k * f.size + f.rank, now = 77;
        EXPECT(there[k] ? TERN_OK : TERN_ERR_NOT_FOUND,
               tern_hashtable_find(f.worker, table, &key, TERN_READ_ONLY | TERN_BY_RMA, &now));
        CU_ASSERT_EQUAL(now, there[k] ? count[k] : 77);
    }
    end(&f, table);
    fixture_close(&f);
}

/* Counters wrap around at 62 bits, and an add that large does an erased one no harm. */
static void counters_at_their_limits(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make(&f, 0, 10 * f.size);
    const uint64_t top = (UINT64_C(1) << 61) - 1;
    uint64_t key = f.rank, before = 77;
    const tern_flags rma = TERN_BY_RMA, call = TERN_BY_CALL;
    EXPECT_OK(tern_hashtable_add(f.worker, table, &key, top, rma, &before));
    EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 1, call, &before));
    CU_ASSERT_EQUAL(before, top);
    EXPECT_OK(tern_hashtable_find(f.worker, table, &key, rma, &before));
    CU_ASSERT_EQUAL(before, ~top);
    EXPECT_OK(tern_hashtable_erase(f.worker, table, &key, rma));
    EXPECT_OK(tern_hashtable_add(f.worker, table, &key, UINT64_MAX, rma, &before));
    CU_ASSERT_EQUAL(before, 0);
    EXPECT_OK(tern_hashtable_compare_swap(f.worker, table, &key, UINT64_MAX, ~top, call, &before));
    CU_ASSERT_EQUAL(before, UINT64_MAX);
    EXPECT_OK(tern_hashtable_add(f.worker, table, &key, UINT64_MAX, rma, &before));
    EXPECT_OK(tern_hashtable_find(f.worker, table, &key, call, &before));
    CU_ASSERT_EQUAL(before, top);
    end(&f, table);
    fixture_close(&f);
}

/* Keys that come and go do not use up the table. */
static void erased_keys_come_back(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 8 };
    tern_hashtable *table = make(&f, 16, KEYS);
    for (uint64_t version = 1; version < (fixture_all_near(&f) ? 60 : 6); version++) {
        for (uint64_t key = f.rank; key < KEYS; key += f.size) {
            uint64_t value[2];
            int existed = 77;
            make_value(value, 16, key, version);
            EXPECT_OK(tern_hashtable_insert(f.worker, table, &key, value,
                                            version % 2 ? TERN_BY_RMA : TERN_BY_CALL, &existed));
            CU_ASSERT_EQUAL(existed, 0);
            EXPECT_OK(tern_hashtable_erase(f.worker, table, &key,
                                           version % 3 ? TERN_BY_RMA : TERN_BY_CALL));
        }
    }
    CU_ASSERT_EQUAL(total_keys(&f, table), 0);
    end(&f, table);
    fixture_close(&f);
}

/* All ranks insert_new and erase a few keys: of each key, successes of the one kind and of the
 * other take turns. */
static void inserts_and_erases_take_turns(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 3 };
    static const size_t sizes[] = {0, 200};
    for (size_t s = 0; s < 2; s++) {
        size_t bytes = sizes[s];
        tern_hashtable *table = bytes > 0 ? make(&f, bytes, KEYS) : make_set(&f, KEYS);
        uint64_t random = fixture_seed(&f, 20 + s), count[2 * KEYS] = {0}, all[64][2 * KEYS];
        unsigned char value[200];
        uint64_t torn = 0;
        EXPECT_OK(tern_barrier(f.worker));
        for (int i = fixture_times(&f, 500); i > 0; i--) {
            uint64_t key = below(&random, KEYS);
            int existed = 77;
            tern_status status;
            switch (below(&random, 3)) {
            case 0:
                make_value(value, bytes, key, (uint64_t)i);
                EXPECT_OK(tern_hashtable_insert_new(f.worker, table, &key, value, any_via(&random),
                                                    &existed));
                count[key] += existed == 0;
                break;
            case 1:
                status = tern_hashtable_erase(f.worker, table, &key, any_via(&random));
                CU_ASSERT(status == TERN_OK || status == TERN_ERR_NOT_FOUND);
                count[KEYS + key] += status == TERN_OK;
                break;
            default:
                status = tern_hashtable_find(f.worker, table, &key, any_via(&random), value);
                CU_ASSERT(status == TERN_OK || status == TERN_ERR_NOT_FOUND);
                uint64_t version = 0;
                memcpy(&version, value, bytes < 8 ? 0 : 8);
                torn += status == TERN_OK && !is_value(value, bytes, key, version);
            }
        }
        CU_ASSERT_EQUAL(torn, 0);
        fixture_share(&f, count, sizeof count, all);
        for (uint64_t key = 0; key < KEYS; key++) {
            uint64_t inserted = 0, erased = 0;
            for (uint32_t r = 0; r < f.size; r++) {
                inserted += all[r][key];
                erased += all[r][KEYS + key];
            }
            tern_status status = tern_hashtable_find(f.worker, table, &key, TERN_BY_RMA, value);
            CU_ASSERT_EQUAL(inserted - erased, status == TERN_OK);
        }
        end(&f, table);
    }
    fixture_close(&f);
}

/* Every life of a counter begins with one add that finds 0, and ends with one erase. */
static void counters_live_and_die(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 2 };
    tern_hashtable *table = make(&f, 0, KEYS);
    uint64_t random = fixture_seed(&f, 30), count[2 * KEYS] = {0}, all[64][2 * KEYS];
    EXPECT_OK(tern_barrier(f.worker));
    for (int i = fixture_times(&f, 1200); i > 0; i--) {
        uint64_t key = below(&random, KEYS), before = 77;
        tern_status status;
        switch (below(&random, 4)) {
        case 0:
            status = tern_hashtable_erase(f.worker, table, &key, any_via(&random));
            CU_ASSERT(status == TERN_OK || status == TERN_ERR_NOT_FOUND);
            count[KEYS + key] += status == TERN_OK;
            break;
        case 1:
            status =
                tern_hashtable_compare_swap(f.worker, table, &key, 5, 6, any_via(&random), &before);
            CU_ASSERT(status == TERN_ERR_NOT_FOUND || (before > 0 && status == TERN_OK));
            break;
        default:
            EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 1, any_via(&random), &before));
            count[key] += before == 0;
        }
    }
    fixture_share(&f, count, sizeof count, all);
    for (uint64_t key = 0; key < KEYS; key++) {
        uint64_t begun = 0, ended = 0, now = 0;
        for (uint32_t r = 0; r < f.size; r++) {
            begun += all[r][key];
            ended += all[r][KEYS + key];
        }
        tern_status status = tern_hashtable_find(f.worker, table, &key, TERN_BY_RMA, &now);
        CU_ASSERT_EQUAL(begun - ended, status == TERN_OK);
        CU_ASSERT(status != TERN_OK || now > 0);
    }
    end(&f, table);
    fixture_close(&f);
}

/* Ranks count by compare_swap what they read before: nothing is lost. */
static void compare_swap_loses_nothing(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make(&f, 0, 4);
    uint64_t random = fixture_seed(&f, 40), key = 9, mine = 0, all[64], sum = 0, count = 77;
    if (f.rank == 0)
        EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 0, TERN_BY_RMA, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t expected = 0;
    for (int i = fixture_times(&f, 1000); i > 0; i--) {
        uint64_t before = 77;
        EXPECT_OK(tern_hashtable_compare_swap(f.worker, table, &key, expected, expected + 1,
                                              any_via(&random), &before));
        mine += before == expected;
        expected = before == expected ? expected + 1 : before;
    }
    fixture_share(&f, &mine, sizeof mine, all);
    for (uint32_t r = 0; r < f.size; r++)
        sum += all[r];
    EXPECT_OK(tern_hashtable_find(f.worker, table, &key, TERN_BY_RMA, &count));
    CU_ASSERT_EQUAL(count, sum);
    end(&f, table);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"arguments_are_checked", arguments_are_checked},
        {"values_follow_a_model", values_follow_a_model},
        {"counters_follow_a_model", counters_follow_a_model},
        {"counters_at_their_limits", counters_at_their_limits},
        {"erased_keys_come_back", erased_keys_come_back},
        {"inserts_and_erases_take_turns", inserts_and_erases_take_turns},
        {"counters_live_and_die", counters_live_and_die},
        {"compare_swap_loses_nothing", compare_swap_loses_nothing},
    };
    return tern_test_main(argc, argv, "hashtable_change", tests, sizeof tests / sizeof tests[0]);
}
