// tern-test: transports least=2

/* Rank 0 waits in a collective while the last rank, which has not come to it, waits for the answer
 * to a call: to a worker of rank 0 that no thread has adopted, or to its service thread. The
 * collective's own progress serves the call, or both would wait for ever. */

#include <unistd.h>

#include "fixture.h"

static fixture f;

static tern_status echo(tern_call_info *call, const void *arguments, size_t bytes) {
    memcpy(call->result, arguments, bytes);
    call->result_bytes = bytes;
    return TERN_OK;
}
TERN_FUNCTION(echo)

static bool open_with(size_t workers, size_t service_threads) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)4 << 20;
    config.workers = workers;
    config.service_threads = service_threads;
    return fixture_open(&f, &config);
}

/* The others are in their next collective when the last rank calls. */
static void call_late(tern_worker_id target) {
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank != f.size - 1)
        return;
    usleep(200000);
    const uint64_t sent = 5;
    uint64_t back = 0;
    size_t got = 0;
    EXPECT_OK(tern_call_return(f.worker, target, &echo_function, &sent, sizeof sent, &back,
                               sizeof back, &got));
    CU_ASSERT_EQUAL(back, sent);
}

static const tern_worker_id unadopted = {0, 1};

static void destroy_with_a_service_thread(void) {
    if (!open_with(1, 1))
        return;
    call_late(tern_context_service(f.context, 0));
    fixture_close(&f);
}

static void destroy_with_a_worker_of_nobody(void) {
    if (!open_with(2, 0))
        return;
    call_late(unadopted);
    fixture_close(&f);
}

static void barrier(void) {
    if (!open_with(2, 0))
        return;
    call_late(unadopted);
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

static void quiesce(void) {
    if (!open_with(2, 1))
        return;
    call_late(unadopted);
    EXPECT_OK(tern_quiesce(f.worker));
    call_late(tern_context_service(f.context, 0));
    EXPECT_OK(tern_quiesce(f.worker));
    fixture_close(&f);
}

/* A collective of MPI's, which has no meeting in shared memory either. */
static void creation_of_a_table(void) {
    const tern_hashtable_options options = {.key_bytes = 8, .value_bytes = 8, .capacity = 64};
    tern_hashtable *table = NULL;
    if (!open_with(2, 0))
        return;
    call_late(unadopted);
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &table));
    call_late(unadopted);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"destroy_with_a_service_thread", destroy_with_a_service_thread},
        {"destroy_with_a_worker_of_nobody", destroy_with_a_worker_of_nobody},
        {"barrier", barrier},
        {"quiesce", quiesce},
        {"creation_of_a_table", creation_of_a_table},
    };
    return tern_test_main(argc, argv, "late_calls", tests, sizeof tests / sizeof tests[0]);
}
