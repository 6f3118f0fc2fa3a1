// tern-test: transports

/*
 * Containers over an MPI whose puts arrive as late as the standard allows (late_puts.h): what an
 * operation leaves on its way must not keep anybody waiting for ever, whether it is its own worker,
 * which comes back by call, or others, who wait for each other's.
 */

#include "late_puts.h"
#include "table_tools.h"
#include "tern/agree.h"

static tern_hashtable *make_table(fixture *f, bool counter, uint64_t keys) {
    tern_hashtable_options options = {
        .key_bytes = 8, .value_bytes = counter ? 0 : 24, .counter = counter, .capacity = keys};
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

/* Adds 1 to the first byte. */
static tern_status late_bump(tern_hashtable_modify_info *info, void *value) {
    ++*(unsigned char *)value;
    return info->existed ? TERN_OK : TERN_ERR_NOT_FOUND;
}
TERN_HASHTABLE_MODIFIER(late_bump)

enum { WAYS = 7 };

/* What the worker does by call with a key that it has just inserted by RMA. */
static void come_back(fixture *f, tern_hashtable *table, int way, uint64_t key, const char *value) {
    tern_hashtable_buffer *buffer = NULL;
    int existed = 0;
    size_t stored = 0;
    const tern_flags writes = TERN_WRITE_ONLY;
    switch (way) {
    case 0:
        EXPECT_OK(
            tern_hashtable_insert(f->worker, table, &key, value, writes | TERN_BY_CALL, &existed));
        break;
    case 1:
        EXPECT_OK(tern_hashtable_insert_new(f->worker, table, &key, value, writes | TERN_BY_CALL,
                                            &existed));
        break;
    case 2:
        EXPECT_OK(tern_hashtable_erase(f->worker, table, &key, writes | TERN_BY_CALL));
        EXPECT_OK(tern_hashtable_insert(f->worker, table, &key, value, writes, &existed));
        existed = !existed;
        break;
    case 3:
        EXPECT_OK(tern_hashtable_modify(f->worker, table, &key, &late_bump_modifier, NULL, writes,
                                        &existed));
        break;
    case 4:
        EXPECT_OK(tern_hashtable_insert_many(f->worker, table, &key, value, 1,
                                             writes | TERN_BY_CALL, &stored));
        existed = stored == 1;
        break;
    case 5:
        EXPECT_OK(tern_hashtable_buffer_create(f->worker, table, 0, &buffer));
        EXPECT_OK(tern_hashtable_buffer_insert(f->worker, buffer, &key, value));
        existed = tern_hashtable_buffer_destroy(f->worker, buffer, NULL) == TERN_OK;
        break;
    default:
        EXPECT_OK(tern_hashtable_insert_many(f->worker, table, &key, value, 1, writes | TERN_BY_RMA,
                                             &stored));
        existed = stored == 1;
    }
    CU_ASSERT_EQUAL(existed, 1);
}

/* Keys of this rank alone. */
static void ones_own_by_call(void) {
    enum { EACH = 2 * WAYS };
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make_table(&f, false, (uint64_t)f.size * EACH);
    late_puts_begin(&f, false);
    for (uint64_t i = 0; i < EACH; i++) {
        char value[24];
        uint64_t key = f.rank * EACH + i;
        make_value(value, sizeof value, key, 5);
        EXPECT_OK(tern_hashtable_insert(f.worker, table, &key, value, TERN_WRITE_ONLY | TERN_BY_RMA,
                                        NULL));
        come_back(&f, table, (int)(i % WAYS), key, value);
    }
    (void)late_puts_end(&f);
    for (uint64_t key = 0; key < (uint64_t)f.size * EACH; key++) {
        char value[24];
        bool bumped = key % EACH % WAYS == 3;
        EXPECT_OK(tern_hashtable_find(f.worker, table, &key, TERN_READ_ONLY | TERN_BY_RMA, value));
        value[0] = (char)(value[0] - bumped);
        CU_ASSERT(is_value(value, sizeof value, key, 5));
    }
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* The same keys for all ranks, each in an order of its own, until a put of each rank was late. */
static void others_too(void) {
    enum { KEYS = 12 };
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const int rounds = fixture_times(&f, 200);
    uint64_t random = fixture_seed(&f, 3), kept = 0, without = 1; /* ranks without late puts */
    for (int round = 0; round < rounds || (without > 0 && round < 20 * rounds); round++) {
        tern_hashtable *table = make_table(&f, false, KEYS);
        late_puts_begin(&f, below(&random, 2));
        for (int i = 0; i < KEYS; i++) {
            char value[24];
            uint64_t key = below(&random, KEYS);
            make_value(value, sizeof value, key, f.rank);
            EXPECT_OK(tern_hashtable_insert(f.worker, table, &key, value,
                                            any_writer(&random) | any_path(&random), NULL));
        }
        kept += late_puts_end(&f);
        for (uint64_t key = 0; key < KEYS; key++) {
            char value[24];
            tern_status status = tern_hashtable_find(f.worker, table, &key,
                                                     TERN_READ_ONLY | any_path(&random), value);
            CU_ASSERT(status == TERN_ERR_NOT_FOUND ||
                      (status == TERN_OK &&
                       is_value(value, sizeof value, key, *(uint64_t *)(void *)value)));
        }
        EXPECT_OK(tern_hashtable_destroy(f.worker, table));
        without = kept == 0 && fixture_uses_rma(&f);
        EXPECT_OK(tern_sum(f.worker, &without, 1));
    }
    CU_ASSERT(kept > 0 || !fixture_uses_rma(&f));
    fixture_close(&f);
}

/* Each rank counts the same keys, by both paths. */
static void counters(void) {
    enum { KEYS = 16 };
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make_table(&f, true, KEYS);
    uint64_t random = fixture_seed(&f, 4);
    late_puts_begin(&f, false);
    for (uint64_t i = 0; i < 2 * KEYS; i++) {
        uint64_t key = (i + f.rank * 5) % KEYS;
        bool many = below(&random, 2);
        tern_flags path = i < KEYS ? TERN_BY_RMA : TERN_BY_CALL;
        EXPECT_OK(
            many
                ? tern_hashtable_add_many(f.worker, table, &key, 1, 1, TERN_WRITE_ONLY | path, NULL)
                : tern_hashtable_add(f.worker, table, &key, 1, TERN_WRITE_ONLY | path, NULL));
    }
    (void)late_puts_end(&f);
    for (uint64_t key = 0, count = 0; key < KEYS; key++) {
        EXPECT_OK(
            tern_hashtable_find(f.worker, table, &key, TERN_READ_ONLY | TERN_BY_CALL, &count));
        CU_ASSERT_EQUAL(count, 2 * f.size);
    }
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* Every rank fills a small queue and empties it, alone by turns and then with all others. */
static void through_a_queue(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    uint64_t random = fixture_seed(&f, 6);
    for (uint32_t host = 0; host < f.size; host++) {
        tern_queue_options options = {.host = host, .item_bytes = 16, .capacity = 2};
        tern_queue *queue = NULL;
        uint64_t item[2] = {1, 2}, left = 1;
        EXPECT_OK(tern_queue_create(f.worker, &options, &queue));
        late_puts_begin(&f, false);
        for (uint32_t turn = 0; turn < f.size; turn++) {
            for (int i = 0; turn == f.rank && i < 12; i++) {
                EXPECT_OK(tern_queue_try_push(f.worker, queue, item, any_path(&random)));
                EXPECT_OK(tern_queue_try_pop(f.worker, queue, item, any_path(&random)));
            }
            EXPECT_OK(tern_barrier(f.worker));
        }
        for (int i = 0; i < 12; i++) {
            EXPECT_OK(tern_queue_push(f.worker, queue, item, any_path(&random)));
            EXPECT_OK(tern_queue_pop(f.worker, queue, item, any_path(&random)));
        }
        (void)late_puts_end(&f);
        EXPECT_OK(tern_queue_size(f.worker, queue, &left));
        CU_ASSERT_EQUAL(left, 0);
        EXPECT_OK(tern_queue_destroy(f.worker, queue));
    }
    fixture_close(&f);
}

/* What a lock guards is put while it is held: the next holder finds it. */
static void under_a_lock(void) {
    enum { TIMES = 20 };
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_locks *locks = NULL;
    tern_ptr memory[64];
    uint64_t number = 0;
    fixture_alloc_all(&f, sizeof number, TERN_DOMAIN_GLOBAL, memory);
    EXPECT_OK(tern_locks_create(f.worker, 1, &locks));
    late_puts_begin(&f, false);
    for (int i = 0; i < TIMES; i++)
        for (uint32_t r = 0; r < f.size; r++) {
            EXPECT_OK(tern_lock_acquire(f.worker, locks, 0));
            EXPECT_OK(tern_get(f.worker, &number, memory[r], sizeof number));
            number++;
            EXPECT_OK(tern_put(f.worker, memory[r], &number, sizeof number));
            EXPECT_OK(tern_lock_release(f.worker, locks, 0));
        }
    (void)late_puts_end(&f);
    EXPECT_OK(tern_get(f.worker, &number, memory[f.rank], sizeof number));
    CU_ASSERT_EQUAL(number, TIMES * f.size);
    EXPECT_OK(tern_locks_destroy(f.worker, locks));
    fixture_free_all(&f, memory);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"ones_own_by_call", ones_own_by_call},
        {"others_too", others_too},
        {"counters", counters},
        {"through_a_queue", through_a_queue},
        {"under_a_lock", under_a_lock},
    };
    return tern_test_main(argc, argv, "late_puts", tests, sizeof tests / sizeof *tests);
}
