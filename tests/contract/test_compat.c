// tern-test: unit

/* A program that was written for tern 0.2, with the names of tables that have others now. */

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

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"modifiers_have_their_old_names", modifiers_have_their_old_names},
        {"a_buffer_has_its_old_limit", a_buffer_has_its_old_limit},
    };
    return tern_test_main(argc, argv, "compat", tests, sizeof tests / sizeof tests[0]);
}
