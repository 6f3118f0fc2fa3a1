// tern-test: unit

/* A program that was written for tern 0.2, with names of tables, counters and options that are
 * others now, and with arguments that are fields of options now. */

#include <string.h>

#include "table_tools.h"
#include "tern/compat.h"

static tern_status add_number(tern_modify_info *info, void *value) {
    uint64_t number = 0, sum = 0;
    memcpy(&number, info->argument, sizeof number);
    memcpy(&sum, value, sizeof sum);
    sum += number;
    memcpy(value, &sum, sizeof sum);
    memcpy(info->result, &sum, sizeof sum);
    info->result_bytes = sizeof sum;
    return TERN_OK;
}
TERN_MODIFIER(add_number)

static tern_status fill_result(struct tern_modify_info *info, void *value) {
    (void)value;
    memset(info->result, 0x5a, TERN_MODIFY_RESULT_MAX);
    info->result_bytes = TERN_MODIFY_RESULT_MAX;
    return TERN_OK;
}
TERN_MODIFIER_ANY_THREAD(fill_result)

static tern_hashtable *make(fixture *f) {
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(
        f->worker, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 2000},
        &table));
    return table;
}

static void modifiers_have_their_old_names(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make(&f);
    const tern_modifier *modifier = &add_number_modifier;
    tern_modify_function function = add_number;
    CU_ASSERT_PTR_EQUAL(modifier->function, function);
    uint64_t key = 7, sum = 0;
    int existed = 1;
    for (uint64_t i = 1; i <= 3; i++)
        EXPECT_OK(tern_hashtable_modify(f.worker, table, &key, modifier, &i, sizeof i,
                                        TERN_ABSENT_INSERT, 0, &sum, sizeof sum, NULL, &existed));
    CU_ASSERT_EQUAL(sum, 6);
    CU_ASSERT_EQUAL(existed, 1);
    static unsigned char room[TERN_MODIFY_RESULT_MAX];
    size_t bytes = 0;
    EXPECT_OK(tern_hashtable_modify(f.worker, table, &key, &fill_result_modifier, NULL, 0,
                                    TERN_ABSENT_FAIL, 0, room, sizeof room, &bytes, NULL));
    CU_ASSERT_EQUAL(bytes, sizeof room);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

static void a_buffer_has_its_old_limit(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make(&f);
    tern_hashtable_buffer *buffer = NULL;
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_buffer_create(f.worker, table, TERN_BUFFER_KEYS + 1, &buffer));
    EXPECT_OK(tern_hashtable_buffer_create(f.worker, table, TERN_BUFFER_KEYS, &buffer));
    for (uint64_t key = 0; key < TERN_BUFFER_KEYS + 1; key++)
        EXPECT_OK(tern_hashtable_buffer_insert(f.worker, buffer, &key, &key));
    uint64_t refused = 1;
    EXPECT_OK(tern_hashtable_buffer_destroy(f.worker, buffer, &refused));
    CU_ASSERT_EQUAL(refused, 0);
    CU_ASSERT_EQUAL(total_keys(&f, table), TERN_BUFFER_KEYS + 1);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* Each old name of a counter or an option is that of the right field. */
static void counters_and_options_have_their_old_names(void) {
    const tern_stats stats = {.connections_evicted = 1,
                              .frames_sent = 2,
                              .frames_torn = 3,
                              .message_channels = 4,
                              .doorbells_rung = 5};
    CU_ASSERT_EQUAL(stats.ways_left, 1);
    CU_ASSERT_EQUAL(stats.batches_sent, 2);
    CU_ASSERT_EQUAL(stats.batches_torn, 3);
    CU_ASSERT_EQUAL(stats.rings_loose, 4);
    CU_ASSERT_EQUAL(stats.bells_rung, 5);
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    EXPECT_OK(tern_config_set(&config, "TERN_PACKED_MAX_REMOTE", "77"));
    CU_ASSERT_EQUAL(config.packed_max_far, 77);
    CU_ASSERT_EQUAL(TERN_MESSAGE_WINDOW, TERN_MESSAGE_CREDIT_BYTES);
    CU_ASSERT_EQUAL(TERN_WAYS, TERN_BY_RMA | TERN_BY_CALL);
    const tern_buffer_way way = TERN_BUFFER_INSIDE;
    const tern_call_options options = {.transfer = way};
    CU_ASSERT_EQUAL(options.transfer, TERN_BUFFER_INSIDE);
}

static tern_status count(tern_map_modify_info *info) {
    uint64_t number = 0;
    memcpy(&number, info->value, info->value_bytes);
    number += *(const uint64_t *)info->argument;
    const tern_status status = tern_map_resize(info, sizeof number);
    if (status != TERN_OK)
        return status;
    memcpy(info->value, &number, sizeof number);
    memcpy(info->result, &number, sizeof number);
    info->result_bytes = sizeof number;
    return TERN_OK;
}
TERN_MAP_MODIFIER(count)

static void a_map_is_modified_by_many_arguments(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_map *map = NULL;
    EXPECT_OK(tern_map_create(f.worker, &(tern_map_options){.capacity = 100}, &map));
    uint64_t sum = 0;
    size_t bytes = 0;
    int existed = 7;
    for (uint64_t i = 1; i <= 3; i++) {
        EXPECT_OK(tern_map_modify(f.worker, map, "key", 3, &count_modifier, &i, sizeof i,
                                  TERN_ABSENT_INSERT, 0, &sum, sizeof sum, &bytes, &existed));
        CU_ASSERT_EQUAL(bytes, sizeof sum);
        CU_ASSERT_EQUAL(existed, i > 1);
    }
    CU_ASSERT_EQUAL(sum, 6);
    EXPECT(TERN_ERR_NOT_FOUND, tern_map_modify(f.worker, map, "other", 5, &count_modifier, &sum, 8,
                                               TERN_ABSENT_FAIL, 0, NULL, 0, NULL, NULL));
    EXPECT_OK(tern_map_destroy(f.worker, map));
    fixture_close(&f);
}

static void notified_transfers_take_many_arguments(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const tern_worker_id self = tern_worker_self(f.worker);
    tern_ptr place = TERN_NULL;
    EXPECT_OK(tern_alloc(f.worker, 8, 0, TERN_DOMAIN_GLOBAL, &place));
    uint64_t sent = 11, got = 0;
    tern_event event;
    EXPECT_OK(tern_put_notify(f.worker, self, place, &sent, 8, 21, "put", 3, 0));
    EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_LOCAL, &event));
    CU_ASSERT_EQUAL(event.local_cid, 21);
    EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_REMOTE, &event));
    CU_ASSERT(event.cid_bytes == 3 && memcmp(event.cid, "put", 3) == 0);
    EXPECT_OK(tern_get_notify(f.worker, self, &got, place, 8, 22, "get", 3, TERN_NOTIFY_NO_REMOTE));
    EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_ANY, &event));
    CU_ASSERT(event.kind == TERN_EVENT_LOCAL && event.local_cid == 22 && event.is_get == 1);
    CU_ASSERT_EQUAL(got, sent);
    EXPECT_OK(tern_free(f.worker, place));
    fixture_close(&f);
}

static uint64_t called;

static tern_status be_called(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    CU_ASSERT_EQUAL(bytes, sizeof called);
    memcpy(&called, arguments, sizeof called);
    return TERN_OK;
}
TERN_FUNCTION(be_called)

static void collectives_have_their_old_names(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    uint64_t number = 5;
    EXPECT_OK(tern_notify_barrier(f.worker));
    EXPECT_OK(tern_notify_broadcast(f.worker, 0, &number, sizeof number));
    EXPECT_OK(tern_spread(f.worker, 0, &number, sizeof number));
    EXPECT_OK(tern_notify_allreduce(f.worker, TERN_UINT64, TERN_REDUCE_SUM, &number, 1));
    CU_ASSERT_EQUAL(number, 5);
    EXPECT_OK(tern_mpi_barrier(f.worker, f.comm));
    EXPECT(TERN_ERR_ARGUMENT, tern_mpi_barrier(NULL, f.comm));
    EXPECT_OK(tern_broadcast(f.worker, &be_called_function, &number, sizeof number, NULL));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(called, 5);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"modifiers_have_their_old_names", modifiers_have_their_old_names},
        {"a_buffer_has_its_old_limit", a_buffer_has_its_old_limit},
        {"a_map_is_modified_by_many_arguments", a_map_is_modified_by_many_arguments},
        {"notified_transfers_take_many_arguments", notified_transfers_take_many_arguments},
        {"collectives_have_their_old_names", collectives_have_their_old_names},
        {"counters_and_options_have_their_old_names", counters_and_options_have_their_old_names},
    };
    return tern_test_main(argc, argv, "compat", tests, sizeof tests / sizeof tests[0]);
}
