// tern-test: ranks
/*
 * What calls name an object by: a live one of the right kind is found, and nothing else, whatever a
 * message says.
 */

#include "hostile.h"
#include "queue/queue.h"
#include "hashtable/batch/run.h"
#include "src/collective/callee.h"
#include "tern/call.h"
#include "tern/map.h"

static void rows_hold_several(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { COUNT = 5 };
    tern_callee callee[COUNT];
    memset(callee, 0, sizeof callee);
    int object[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) /* all in one row */
        tern_callee_add(f.context, &callee[i], TERN_CALLEE_QUEUE, 7 + i * TERN_CALLEE_ROWS,
                        &object[i]);
    for (uint64_t i = 0; i < COUNT; i++) {
        const uint64_t nonce = 7 + i * TERN_CALLEE_ROWS;
        CU_ASSERT_PTR_EQUAL(tern_callee_find(f.context, TERN_CALLEE_QUEUE, nonce), &object[i]);
        CU_ASSERT_PTR_NULL(tern_callee_find(f.context, TERN_CALLEE_TABLE, nonce));
        CU_ASSERT_PTR_NULL(tern_callee_find(f.context, TERN_CALLEE_QUEUE, nonce + 1));
    }
    static const uint64_t order[COUNT] = {2, 0, 4, 1, 3};
    for (uint64_t i = 0; i < COUNT; i++) {
        tern_callee_remove(f.context, &callee[order[i]]);
        for (uint64_t k = 0; k < COUNT; k++) {
            bool gone = false;
            for (uint64_t j = 0; j <= i; j++)
                gone = gone || order[j] == k;
            CU_ASSERT_PTR_EQUAL(
                tern_callee_find(f.context, TERN_CALLEE_QUEUE, 7 + k * TERN_CALLEE_ROWS),
                gone ? NULL : &object[k]);
        }
    }
    tern_callee_remove(f.context, &callee[0]); /* once more is fine */
    fixture_close(&f);
}

/* The handlers of a hash table, called with the nonce of a queue, and the other way round. */
static void kinds_are_told_apart(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const tern_hashtable_options wanted = {.key_bytes = 8, .value_bytes = 8, .capacity = 100};
    const tern_queue_options options = {.capacity = 8, .item_bytes = 8};
    tern_hashtable *table = NULL;
    tern_queue *queue = NULL;
    if (!EXPECT_OK(tern_hashtable_create(f.worker, &wanted, &table)) ||
        !EXPECT_OK(tern_queue_create(f.worker, &options, &queue)))
        return;
    const tern_function one = function_of(f.context, "tern_hashtable_on_ops"),
                        pop = function_of(f.context, "tern_queue_on_op");
    const uint64_t nonces[] = {queue->nonce, table->nonce};
    struct {
        uint64_t nonce, key;
    } message;
    for (int i = 0; i < 2; i++) {
        uint64_t result[2];
        message.nonce = nonces[i];
        message.key = UINT64_C(1) << 32 | TERN_PATH_POP; /* of a queue: one item, no promise */
        EXPECT(TERN_ERR_STATE,
               tern_call_return(f.worker, (tern_worker_id){0, 0}, i == 0 ? &one : &pop, &message,
                                sizeof message, result, sizeof result, NULL));
    }
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* This program is linked with the static library, and does no operation on its containers: other
 * programs of the job may. */
static void what_is_created_can_be_served(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const tern_map_options options = {.capacity = 8};
    tern_map *map = NULL;
    if (!EXPECT_OK(tern_map_create(f.worker, &options, &map)))
        return;
    static const char *const handlers[] = {"tern_hashtable_on_ops", "tern_map_on_op",
                                           "tern_map_on_free", "tern_queue_on_op"};
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        (void)function_of(f.context, handlers[i]);
    EXPECT_OK(tern_map_destroy(f.worker, map));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"rows_hold_several", rows_hold_several},
        {"kinds_are_told_apart", kinds_are_told_apart},
        {"what_is_created_can_be_served", what_is_created_can_be_served}};
    return tern_test_main(argc, argv, "callee", tests, sizeof tests / sizeof *tests);
}
