// tern-test: transports

/*
 * TERN_VIA_AUTO: whatever is chosen, the containers hold what they should; what the options or the
 * place leave no choice is done in the way that is left; and each way is taken where it is cheaper.
 */

#include "hashtable/table.h"
#include "table_tools.h"

#include <stdlib.h>

static const tern_promise rw = TERN_PROMISE_READ_WRITE;
static const tern_via aut = TERN_VIA_AUTO;

static tern_hashtable *make_table(fixture *f, tern_hashtable_options options) {
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

static tern_queue *make_queue(fixture *f, size_t bytes, uint64_t capacity, int call_only) {
    tern_queue *queue = NULL;
    EXPECT_OK(tern_queue_create(
        f->worker,
        &(tern_queue_options){.item_bytes = bytes, .capacity = capacity, .call_only = call_only},
        &queue));
    return queue;
}

static uint64_t calls_sent(const fixture *f) {
    tern_stats stats;
    tern_stats_get(f->worker, &stats);
    return stats.calls_sent;
}

/* Every rank inserts, replaces and finds keys of its own; others find them afterwards. */
static void values_against_a_model(int call_only, size_t value_bytes) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const uint64_t keys = (uint64_t)fixture_times(&f, 200);
    tern_hashtable *table = make_table(&f, (tern_hashtable_options){.key_bytes = 8,
                                                                    .value_bytes = value_bytes,
                                                                    .capacity = keys * f.size,
                                                                    .call_only = call_only});
    uint64_t random = fixture_seed(&f, 1), *version = calloc(keys, sizeof *version);
    unsigned char value[2048];
    for (uint64_t i = 0; i < 6 * keys; i++) {
        uint64_t at = below(&random, keys), key = at * f.size + f.rank;
        int existed = -1;
        if (below(&random, 2) == 0) {
            make_value(value, value_bytes, key, version[at] + 1);
            EXPECT_OK(tern_hashtable_insert(f.worker, table, &key, value, rw, aut, &existed));
            CU_ASSERT_EQUAL(existed, version[at] > 0);
            version[at]++;
        } else {
            EXPECT(version[at] > 0 ? TERN_OK : TERN_ERR_NOT_FOUND,
                   tern_hashtable_find(f.worker, table, &key, rw, aut, value));
            if (version[at] > 0)
                CU_ASSERT(is_value(value, value_bytes, key, version[at]));
        }
    }
    uint64_t mine = 0, all[64], sum = 0;
    for (uint64_t at = 0; at < keys; at++)
        mine += version[at] > 0;
    fixture_share(&f, &mine, sizeof mine, all);
    for (uint32_t r = 0; r < f.size; r++)
        sum += all[r];
    CU_ASSERT_EQUAL(total_keys(&f, table), sum);
    free(version);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

static void values_either_way(void) { values_against_a_model(0, 8); }
static void values_by_call_alone(void) { values_against_a_model(1, 16); }
/* Found by RMA alone: no call returns so much. */
static void values_too_large_for_a_result(void) { values_against_a_model(0, 2048); }

/* Everybody counts the same keys, one by one and in batches. */
static void counters_lose_nothing(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 97, BATCH = 5000 };
    tern_hashtable *table =
        make_table(&f, (tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = KEYS});
    const uint64_t single = (uint64_t)fixture_times(&f, 2000);
    const size_t many = (size_t)fixture_times(&f, BATCH);
    uint64_t random = fixture_seed(&f, 2), *keys = calloc(BATCH * 10, sizeof *keys);
    for (uint64_t i = 0; i < single; i++) {
        uint64_t key = below(&random, KEYS);
        EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 1, rw, aut, NULL));
    }
    for (size_t i = 0; i < many; i++)
        keys[i] = below(&random, KEYS);
    size_t added = 0;
    EXPECT_OK(tern_hashtable_add_many(f.worker, table, keys, many, 2, rw, aut, &added));
    CU_ASSERT_EQUAL(added, many);
    EXPECT_OK(tern_hashtable_add_many(f.worker, table, keys, 0, 2, rw, aut, &added));
    CU_ASSERT_EQUAL(added, 0);
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t sum = 0, count;
    for (uint64_t key = 0; key < KEYS; key++)
        if (tern_hashtable_find(f.worker, table, &key, rw, aut, &count) == TERN_OK)
            sum += count;
    CU_ASSERT_EQUAL(sum, f.size * (single + 2 * many));
    free(keys);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* What finds no room is told, over all pieces of a batch. */
static void batches_tell_what_was_full(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 5000 };
    tern_hashtable *table =
        make_table(&f, (tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = 4});
    static uint64_t keys[KEYS];
    const size_t count = fixture_all_near(&f) ? KEYS : 200; /* each is looked for in a whole part */
    char told[32];
    snprintf(told, sizeof told, "of %zu keys", count);
    for (uint64_t i = 0; i < KEYS; i++)
        keys[i] = i;
    size_t added = 0;
    if (f.rank == 0) {
        EXPECT(TERN_ERR_FULL,
               tern_hashtable_add_many(f.worker, table, keys, count, 1, rw, aut, &added));
        EXPECT_DETAIL(told);
        CU_ASSERT(added >= 4 && added < count);
    }
    uint64_t total = total_keys(&f, table);
    if (f.rank == 0)
        CU_ASSERT_EQUAL(added, total);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* Every item out once, by whoever gets it. */
static void items_come_out_once(int call_only) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_queue *queue = make_queue(&f, 8, 16, call_only);
    const uint64_t mine = (uint64_t)fixture_times(&f, call_only ? 300 : 1000);
    uint64_t sums[2] = {0, 0}, all[2 * 64], pushed = 0, popped = 0;
    for (uint64_t waits = 0; popped < mine && waits < 100000000; waits++) {
        uint64_t item = f.rank * 1000003 + pushed;
        if (pushed < mine) {
            tern_status status = tern_queue_try_push(f.worker, queue, &item, rw, aut);
            CU_ASSERT(status == TERN_OK || status == TERN_ERR_FULL);
            pushed += status == TERN_OK;
            sums[0] += status == TERN_OK ? item * item : 0;
        }
        tern_status status = tern_queue_try_pop(f.worker, queue, &item, rw, aut);
        CU_ASSERT(status == TERN_OK || status == TERN_ERR_EMPTY);
        popped += status == TERN_OK;
        sums[1] += status == TERN_OK ? item * item : 0;
        if (status != TERN_OK)
            (void)tern_progress(f.worker);
    }
    CU_ASSERT_EQUAL(popped, mine);
    fixture_share(&f, sums, sizeof sums, all);
    uint64_t in = 0, out = 0;
    for (uint32_t r = 0; r < f.size; r++) {
        in += all[2 * r];
        out += all[2 * r + 1];
    }
    CU_ASSERT_EQUAL(in, out);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

static void items_either_way(void) { items_come_out_once(0); }
static void items_by_call_alone(void) { items_come_out_once(1); }

static tern_hashtable *of_handler;

static tern_status auto_handler(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)bytes;
    uint64_t key;
    memcpy(&key, arguments, sizeof key);
    tern_status status = tern_hashtable_insert(call->worker, of_handler, &key, &key, rw, aut, NULL);
    memcpy(call->result, &status, sizeof status);
    call->result_bytes = sizeof status;
    return status == TERN_ERR_AGAIN ? status : TERN_OK;
}
TERN_FUNCTION(auto_handler)

/* In a handler by RMA, on what the rank owns. With no future left by RMA too. */
static void without_calls(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    of_handler =
        make_table(&f, (tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 64});
    EXPECT_OK(tern_barrier(f.worker));
    uint32_t next = (f.rank + 1) % f.size;
    uint64_t key = number_owned_by(of_handler, next, f.rank * 1000), value = 0;
    tern_status inside = TERN_ERR_SYSTEM;
    size_t got;
    EXPECT_OK(tern_call_return(f.worker, (tern_worker_id){next, 0}, &auto_handler_function, &key,
                               sizeof key, &inside, sizeof inside, &got));
    CU_ASSERT_EQUAL(inside, TERN_OK);
    EXPECT_OK(tern_hashtable_find(f.worker, of_handler, &key, rw, aut, &value));
    CU_ASSERT_EQUAL(value, key);
    EXPECT_OK(tern_barrier(f.worker));
    static tern_future futures[TERN_FUTURES];
    for (int i = 0; i < TERN_FUTURES; i++)
        EXPECT_OK(tern_call_start(f.worker, (tern_worker_id){f.rank, 0}, &auto_handler_function,
                                  &key, sizeof key, &futures[i]));
    for (int i = 0; i < 100; i++)
        if (!EXPECT_OK(tern_hashtable_find(f.worker, of_handler, &key, rw, aut, &value)))
            break;
    for (int i = 0; i < TERN_FUTURES; i++)
        tern_ignore(tern_future_wait(f.worker, &futures[i], &inside, sizeof inside, &got));
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, of_handler));
    fixture_close(&f);
}

/* Near, RMA is far cheaper than a call to a rank that seldom makes progress: nearly all goes by
 * RMA. What this rank owns is found in place, with no call at all. */
static void the_cheaper_way_is_taken(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_queue *queue = make_queue(&f, 8, 64, 0);
    enum { TIMES = 3000 };
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t before = calls_sent(&f);
    if (f.rank == f.size - 1 && fixture_all_near(&f)) {
        for (uint64_t i = 0; i < TIMES; i++) {
            uint64_t item = i;
            EXPECT_OK(tern_queue_push(f.worker, queue, &item, rw, aut));
            EXPECT_OK(tern_queue_pop(f.worker, queue, &item, rw, aut));
            CU_ASSERT_EQUAL(item, i);
        }
        uint64_t calls = calls_sent(&f) - before;
        CU_ASSERT(f.rank == 0 ? calls == 0 : calls > 0 && calls < TIMES);
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

/* The last rank calls rank 0, which takes RMA: for that kind and that rank, rank 0 tries calls
 * soon, unless RMA there needs nobody's help. */
static void who_is_called_joins(uint32_t kind) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table =
        make_table(&f, (tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 100});
    const uint32_t last = f.size - 1;
    uint64_t key = 0;
    while (tern_hashtable_owner(table, &key) != 0)
        key++;
    for (uint32_t k = 0; k < TERN_KINDS; k++)
        for (uint32_t target = 0; target < f.size; target++) {
            tern_choice *choice = tern_chooser_at(&table->chooser, f.worker, target, k);
            const bool near = choice->near;
            tern_transport transport;
            EXPECT_OK(tern_context_transport(f.context, target, &transport));
            CU_ASSERT_EQUAL(near, transport == TERN_SHM);
            CU_ASSERT_EQUAL(choice->served, transport == TERN_P2P);
            tern_choice_begin(choice, (double[]){10000, 20000});
            choice->near = near;
        }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == last && last > 0) {
        uint64_t value = 1;
        if (kind == TERN_KIND_WRITE)
            EXPECT_OK(
                tern_hashtable_insert(f.worker, table, &key, &value, rw, TERN_VIA_CALL, NULL));
        else
            EXPECT(TERN_ERR_NOT_FOUND,
                   tern_hashtable_find(f.worker, table, &key, rw, TERN_VIA_CALL, &value));
    }
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t k = 0; k < TERN_KINDS && f.rank == 0; k++)
        for (uint32_t target = 1; target < f.size; target++) {
            const tern_choice *choice = tern_chooser_at(&table->chooser, f.worker, target, k);
            CU_ASSERT_EQUAL(choice->joins, k == kind && target == last && !choice->near);
        }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

static void who_is_called_to_find_joins(void) { who_is_called_joins(TERN_KIND_READ); }
static void who_is_called_to_insert_joins(void) { who_is_called_joins(TERN_KIND_WRITE); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"values_either_way", values_either_way},
        {"values_by_call_alone", values_by_call_alone},
        {"values_too_large_for_a_result", values_too_large_for_a_result},
        {"counters_lose_nothing", counters_lose_nothing},
        {"batches_tell_what_was_full", batches_tell_what_was_full},
        {"items_either_way", items_either_way},
        {"items_by_call_alone", items_by_call_alone},
        {"without_calls", without_calls},
        {"the_cheaper_way_is_taken", the_cheaper_way_is_taken},
        {"who_is_called_to_find_joins", who_is_called_to_find_joins},
        {"who_is_called_to_insert_joins", who_is_called_to_insert_joins}};
    return tern_test_main(argc, argv, "auto", tests, sizeof tests / sizeof *tests);
}
