// tern-test: transports

/*
 * TERN_AUTO: by each path the containers hold what they should; where options or places leave one
 * path, operations take it; measuring ends; and the path is the one that is explained.
 */

#include "hashtable/table/table.h"
#include "path/selector.h"
#include "queue/queue.h"
#include "table_tools.h"
#include "base/process.h"

#include <stdlib.h>

static const tern_flags aut = TERN_AUTO;

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
            EXPECT_OK(tern_hashtable_insert(f.worker, table, &key, value, aut, &existed));
            CU_ASSERT_EQUAL(existed, version[at] > 0);
            version[at]++;
        } else {
            EXPECT(version[at] > 0 ? TERN_OK : TERN_ERR_NOT_FOUND,
                   tern_hashtable_find(f.worker, table, &key, aut, value));
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

static void values_by_either_path(void) { values_against_a_model(0, 8); }
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
        EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 1, aut, NULL));
    }
    for (size_t i = 0; i < many; i++)
        keys[i] = below(&random, KEYS);
    size_t added = 0;
    EXPECT_OK(tern_hashtable_add_many(f.worker, table, keys, many, 2, aut, &added));
    CU_ASSERT_EQUAL(added, many);
    EXPECT_OK(tern_hashtable_add_many(f.worker, table, keys, 0, 2, aut, &added));
    CU_ASSERT_EQUAL(added, 0);
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t sum = 0, count;
    for (uint64_t key = 0; key < KEYS; key++)
        if (tern_hashtable_find(f.worker, table, &key, aut, &count) == TERN_OK)
            sum += count;
    CU_ASSERT_EQUAL(sum, f.size * (single + 2 * many));
    free(keys);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* Keys that find no room are told, over all bundles of a batch. */
static void batches_tell_what_was_full(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 5000 };
    tern_hashtable *table =
        make_table(&f, (tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = 4});
    static uint64_t keys[KEYS];
    const size_t count =
        fixture_all_direct(&f) ? KEYS : 200; /* each is looked for in a whole part */
    char told[32];
    snprintf(told, sizeof told, "of %zu keys", count);
    for (uint64_t i = 0; i < KEYS; i++)
        keys[i] = i;
    size_t added = 0;
    if (f.rank == 0) {
        EXPECT(TERN_ERR_FULL,
               tern_hashtable_add_many(f.worker, table, keys, count, 1, aut, &added));
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

/* Every item comes out once, at one rank. */
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
            tern_status status = tern_queue_try_push(f.worker, queue, &item, aut);
            CU_ASSERT(status == TERN_OK || status == TERN_ERR_FULL);
            pushed += status == TERN_OK;
            sums[0] += status == TERN_OK ? item * item : 0;
        }
        tern_status status = tern_queue_try_pop(f.worker, queue, &item, aut);
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

static void items_by_either_path(void) { items_come_out_once(0); }
static void items_by_call_alone(void) { items_come_out_once(1); }

static tern_hashtable *of_handler;

static tern_status auto_handler(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)bytes;
    uint64_t key;
    memcpy(&key, arguments, sizeof key);
    tern_status status = tern_hashtable_insert(call->worker, of_handler, &key, &key, aut, NULL);
    memcpy(call->result, &status, sizeof status);
    call->result_bytes = sizeof status;
    return status == TERN_ERR_AGAIN ? status : TERN_OK;
}
TERN_FUNCTION(auto_handler)

/* In a handler by RMA, on what the rank owns. With no request left by RMA too. */
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
    EXPECT_OK(tern_hashtable_find(f.worker, of_handler, &key, aut, &value));
    CU_ASSERT_EQUAL(value, key);
    EXPECT_OK(tern_barrier(f.worker));
    static tern_request requests[TERN_CALL_REQUESTS];
    for (int i = 0; i < TERN_CALL_REQUESTS; i++)
        EXPECT_OK(tern_call_start(f.worker, (tern_worker_id){f.rank, 0}, &auto_handler_function,
                                  &key, sizeof key, &inside, sizeof inside, &requests[i]));
    for (int i = 0; i < 100; i++)
        if (!EXPECT_OK(tern_hashtable_find(f.worker, of_handler, &key, aut, &value)))
            break;
    for (int i = 0; i < TERN_CALL_REQUESTS; i++)
        tern_ignore(tern_wait(f.worker, &requests[i]));
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, of_handler));
    fixture_close(&f);
}

/* A target that does not attend, since it waits in MPI, is not waited for to measure a call. One
 * that attends is measured, unless it shares a core with the caller: then it has not attended for
 * as long as the caller asked. */
static void measuring_a_call_ends(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_queue *queue = make_queue(&f, 8, 64, 0);
    tern_path_target target = tern_queue_question(f.worker, queue, TERN_PATH_POP, 0, "pop").target;
    tern_costs costs = {0};
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0 && f.size > 1) {
        MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD); /* it has left the barrier */
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (f.rank == 1) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CU_ASSERT(!tern_measure_call(f.worker, &target, &costs));
        CU_ASSERT(costs.call > 0);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t item = 0;
    if (f.rank == 0 && f.size > 1) {
        while (tern_queue_try_pop(f.worker, queue, &item, TERN_BY_RMA) == TERN_ERR_EMPTY)
            (void)tern_progress(f.worker);
    } else if (f.rank == 1) {
        bool measured = false;
        for (int i = 0; i < 400 && !measured; i++)
            measured = tern_measure_call(f.worker, &target, &costs);
        CU_ASSERT(measured ? costs.call > 0 : costs.call >= 100000);
        EXPECT_OK(tern_queue_push(f.worker, queue, &item, TERN_BY_RMA));
    }
    /* The caller itself always attends. */
    target.worker = (tern_worker_id){f.rank, 0};
    bool measured = false;
    for (int i = 0; i < 1000 && !measured; i++)
        measured = tern_measure_call(f.worker, &target, &costs);
    CU_ASSERT(measured);
    CU_ASSERT(costs.call > 0);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

/* The line of an explanation that begins so. */
static const char *line_of(const char *text, const char *name) {
    for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, name, strlen(name)) == 0)
            return at + strlen(name);
    }
    return "";
}

static bool begins(const char *text, const char *part) {
    return strncmp(text, part, strlen(part)) == 0;
}

/* The explanation says what happens: of an insert that measures nothing, calls are sent or not as
 * the text tells before and after it. No other rank may measure meanwhile: this one would answer
 * by calls of its own. */
static void explained_as_it_goes(fixture *f, tern_hashtable *table, uint32_t owner) {
    const tern_path_class class = tern_path_class_of(f->context, owner);
    const tern_path_costs *c = &tern_selector_of(f->worker)->of[class];
    char before[1024], after[1024];
    uint64_t key = number_owned_by(table, owner, f->rank * 1000), seen = 0;
    for (int i = 0; i < 1000 && seen < 10; i++) {
        EXPECT_OK(tern_hashtable_explain(f->worker, table, owner, before, sizeof before, NULL));
        const uint64_t sent = calls_sent(f), measured = c->measured;
        EXPECT_OK(tern_hashtable_insert(f->worker, table, &key, &key, aut, NULL));
        const bool called = calls_sent(f) > sent;
        EXPECT_OK(tern_hashtable_explain(f->worker, table, owner, after, sizeof after, NULL));
        const char *was = line_of(before, "insert: "), *is = line_of(after, "insert: ");
        if (measured != c->measured || strncmp(was, is, strlen("by RMA")) != 0)
            continue;
        seen++;
        CU_ASSERT(begins(was, called ? "by call" : "by RMA"));
        CU_ASSERT_EQUAL(c->measured != 0, strstr(after, "measured get ") != NULL);
    }
    CU_ASSERT_EQUAL(seen, 10);
}

/* Over shared memory calls are considered where service threads serve them. */
static void explanations_hold(size_t service_threads) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    config.service_threads = service_threads;
    if (!fixture_open(&f, &config))
        return;
    tern_hashtable *table =
        make_table(&f, (tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 100});
    char text[1024];
    size_t bytes = 0;
    for (uint32_t owner = 0; owner < f.size; owner++) {
        tern_transport transport;
        EXPECT_OK(tern_context_transport(f.context, owner, &transport));
        EXPECT_OK(tern_hashtable_explain(f.worker, table, owner, text, sizeof text, &bytes));
        CU_ASSERT_EQUAL(bytes, strlen(text));
        const char *wanted = owner == f.rank ? "in place"
                             : transport == TERN_SHM && service_threads == 0
                                 ? "by RMA, since a rank of the node"
                                 : "not decided";
        CU_ASSERT(begins(line_of(text, "find: "), wanted));
    }
    for (uint32_t turn = 0; turn < f.size && f.size > 1; turn++) {
        if (turn == f.rank)
            explained_as_it_goes(&f, table, (f.rank + 1) % f.size);
        EXPECT_OK(tern_quiesce(f.worker)); /* questions that a measurement gave up are answered */
    }
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

static void explanations_are_true(void) { explanations_hold(0); }

static void explanations_with_service(void) { explanations_hold(1); }

/* Of what options or sizes decide; what does not fit the caller's memory; and refusals. */
static void explanations_of_forced_paths(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *called =
        make_table(&f, (tern_hashtable_options){
                           .key_bytes = 8, .value_bytes = 8, .capacity = 100, .call_only = 1});
    tern_hashtable *large = make_table(
        &f, (tern_hashtable_options){.key_bytes = 8, .value_bytes = 2048, .capacity = 100});
    tern_queue *queue = make_queue(&f, 8, 16, 1);
    const uint32_t other = (f.rank + 1) % f.size;
    char text[1024], cut[16];
    size_t bytes = 0, cut_bytes = 0, no_bytes = 0;
    if (other != f.rank) {
        EXPECT_OK(tern_hashtable_explain(f.worker, called, other, text, sizeof text, &bytes));
        CU_ASSERT(begins(line_of(text, "find: "), "by call, since options"));
        EXPECT_OK(tern_hashtable_explain(f.worker, large, other, text, sizeof text, &bytes));
        CU_ASSERT(begins(line_of(text, "find: "), "by RMA, since options or sizes"));
    }
    memset(cut, 'x', sizeof cut);
    /* The text has measured times, which may change between two calls. */
    for (int i = 0; i < 100 && (i == 0 || cut_bytes != bytes || no_bytes != bytes); i++) {
        EXPECT_OK(tern_queue_explain(f.worker, queue, text, sizeof text, &bytes));
        CU_ASSERT_EQUAL(bytes, strlen(text));
        EXPECT_OK(tern_queue_explain(f.worker, queue, cut, 8, &cut_bytes));
        EXPECT_OK(tern_queue_explain(f.worker, queue, NULL, 0, &no_bytes));
    }
    CU_ASSERT(cut_bytes == bytes && no_bytes == bytes);
    CU_ASSERT(begins(text, "rank 0"));
    CU_ASSERT(begins(line_of(text, "push: "), f.rank == 0 ? "in place" : "by call, since options"));
    CU_ASSERT_EQUAL(strlen(cut), 7);
    CU_ASSERT(begins(text, cut));
    CU_ASSERT_EQUAL(cut[8], 'x');
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_explain(f.worker, queue, NULL, 1, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_explain(NULL, queue, text, sizeof text, NULL));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_explain(f.worker, large, f.size, text, sizeof text, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_explain(f.worker, NULL, 0, text, sizeof text, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    EXPECT_OK(tern_hashtable_destroy(f.worker, large));
    EXPECT_OK(tern_hashtable_destroy(f.worker, called));
    fixture_close(&f);
}

/* An operation that took long, and failed, has costs measured again; here that fails, too. */
static void late_failures_keep_their_detail(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const uint32_t next = (f.rank + 1) % f.size;
    const tern_pick late = {.flag = TERN_BY_CALL,
                            .class = tern_path_class_of(f.context, next),
                            .expected = 1,
                            .began = tern_now() - 1000000000,
                            .target = {{next, 0}, {next, 0, TERN_DOMAIN_GLOBAL, UINT64_MAX / 2}}};
    for (int i = 0; i < 20; i++) {
        const tern_status status = tern_barrier(NULL);
        EXPECT(TERN_ERR_ARGUMENT, status);
        tern_pick_done(f.worker, &late, status);
        EXPECT_DETAIL("tern_barrier");
    }
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"late_failures_keep_their_detail", late_failures_keep_their_detail},
        {"values_by_either_path", values_by_either_path},
        {"values_by_call_alone", values_by_call_alone},
        {"values_too_large_for_a_result", values_too_large_for_a_result},
        {"counters_lose_nothing", counters_lose_nothing},
        {"batches_tell_what_was_full", batches_tell_what_was_full},
        {"items_by_either_path", items_by_either_path},
        {"items_by_call_alone", items_by_call_alone},
        {"without_calls", without_calls},
        {"measuring_a_call_ends", measuring_a_call_ends},
        {"explanations_are_true", explanations_are_true},
        {"explanations_with_service", explanations_with_service},
        {"explanations_of_forced_paths", explanations_of_forced_paths}};
    return tern_test_main(argc, argv, "auto", tests, sizeof tests / sizeof *tests);
}
