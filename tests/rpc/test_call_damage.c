// tern-test: ranks least=2
/*
 * Calls whose record or answer was written over in shared memory: the caller is told by
 * TERN_ERR_CORRUPT, and the text names the rank whose segment is damaged. A target that is only
 * slow is waited for.
 */

#include "call_tools.h"
#include "hostile.h"
#include "rma/reply/answer.h"
#include "rma/reply/owner_service.h"
#include "rma/memory/state.h"
#include "rpc/call/await.h"
#include "tern/lock.h"

static fixture f;
static tern_locks *locks;

static tern_status answer(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments, (void)bytes;
    const uint64_t number = 17;
    memcpy(call->result, &number, sizeof number);
    call->result_bytes = sizeof number;
    return TERN_OK;
}
TERN_FUNCTION(answer)

static tern_status ask(void) {
    uint64_t number = 0;
    tern_status status =
        tern_call_return(f.worker, to(1), &answer_function, NULL, 0, &number, sizeof number, NULL);
    CU_ASSERT(status != TERN_OK || number == 17);
    return status;
}

static bool open_scene_of(size_t workers) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.workers = workers;
    config.segment_size = (size_t)1 << 20;
    config.ring_size = 4096;
    config.ring_growth = 1;
    if (!fixture_open(&f, &config))
        return false;
    tern_log_set_level(TERN_LOG_NONE);
    if (f.rank == 0)
        EXPECT_OK(ask());
    return EXPECT_OK(tern_barrier(f.worker));
}

static bool open_scene(void) { return open_scene_of(1); }

static void close_scene(void) {
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

static tern_out *ring(void) { return tern_rma_worker_of(f.worker)->out[f.context->workers]; }

static void start(tern_request *request) {
    static uint64_t number;
    *request = (tern_request){0};
    EXPECT_OK(tern_call_start(f.worker, to(1), &answer_function, NULL, 0, &number, sizeof number,
                              request));
    tern_ring_publish_all(f.worker);
}

static void expect_damage(uint32_t owner, tern_status status) {
    char text[40];
    snprintf(text, sizeof text, "into rank %u's segment", owner);
    EXPECT(TERN_ERR_CORRUPT, status);
    EXPECT_DETAIL(text);
}

static void expect_lost(tern_request *request, uint32_t owner) {
    expect_damage(owner, tern_wait(f.worker, request));
}

/* By rank 0, while no other rank makes progress. */
static void while_none_progresses(void (*act)(void)) {
    if (f.rank == 0)
        act();
    meet_without_progress();
}

static void refuse(void) {
    EXPECT_OK(
        inject_record(f.worker, ring(), tern_record_header(TERN_RECORD_CALL, 9999, 8), NULL, 8));
    tern_ring_publish(f.worker, ring());
    expect_damage(1, ask());
    expect_damage(1, ask());
}

/* The target makes progress, and closes the ring. */
static void a_record_that_is_refused(void) {
    if (!open_scene())
        return;
    if (f.rank == 0)
        refuse();
    close_scene();
}

/* The target has met something where no record was yet. The origin writes its record there later,
 * and finds nothing wrong. */
static void a_place_that_is_refused(void) {
    if (!open_scene())
        return;
    tern_stats stats = {0};
    if (f.rank == 0)
        atomic_store(tern_out_word(ring(), ring()->lane.write), 200);
    while (f.rank == 1 && stats.records_malformed == 0) {
        tern_progress(f.worker);
        tern_stats_get(f.worker, &stats);
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0)
        expect_damage(1, ask());
    close_scene();
}

static void overwrite_header(uint64_t value) {
    const uint64_t at = ring()->lane.write;
    tern_request request;
    start(&request);
    atomic_store(tern_out_word(ring(), at), value);
    expect_lost(&request, 1);
}

static void zero_header(void) { overwrite_header(0); }
static void large_header(void) {
    overwrite_header(tern_record_header(TERN_RECORD_CALL_RETURN, 0, UINT32_MAX));
}
static void short_header(void) {
    overwrite_header(tern_record_header(TERN_RECORD_CALL_RETURN, 0, 0));
}

static void test_zero_header(void) {
    const uint64_t at = ring()->lane.write;
    tern_request request;
    start(&request);
    int done = 0;
    atomic_store(tern_out_word(ring(), at), 0);
    for (double end = MPI_Wtime() + TERN_TEST_PATIENCE; !done && MPI_Wtime() < end;)
        EXPECT_OK(tern_test(f.worker, &request, &done));
    CU_ASSERT(done);
    expect_lost(&request, 1);
}

/* Both are told, though every second glance is that of the same one. */
static void test_two(void) {
    const uint64_t at = ring()->lane.write;
    tern_request requests[2];
    start(&requests[0]);
    start(&requests[1]);
    int done[2] = {0, 0};
    atomic_store(tern_out_word(ring(), at), 0);
    for (double end = MPI_Wtime() + TERN_TEST_PATIENCE; !(done[0] && done[1]) && MPI_Wtime() < end;)
        for (int i = 0; i < 2; i++)
            EXPECT_OK(tern_test(f.worker, &requests[i], &done[i]));
    CU_ASSERT(done[0] && done[1]);
    expect_lost(&requests[0], 1);
    expect_lost(&requests[1], 1);
}

static size_t always_something(tern_worker *worker, void *argument) {
    (void)worker, (void)argument;
    return 1;
}

/* A wait whose polls always find something looks, too. */
static void zero_header_of_the_busy(void) {
    EXPECT_OK(tern_progress_hook_add(f.context, always_something, NULL));
    overwrite_header(0);
    EXPECT_OK(tern_progress_hook_remove(f.context, always_something, NULL));
}

static void zero_header_before(uint64_t at) {
    static tern_request abandoned;
    start(&abandoned);
    atomic_store(tern_out_word(ring(), at), 0);
}

static void ask_owner_for_memory(void) {
    tern_ptr p;
    zero_header_before(ring()->lane.write);
    expect_damage(1, tern_alloc_on(f.worker, 1, TERN_NUMA_ANY, 64, 0, TERN_DOMAIN_GLOBAL, &p));
}

static void acquire_lock(void) {
    zero_header_before(ring()->lane.write);
    expect_damage(1, tern_lock_acquire(f.worker, locks, 1));
}

static void fill_ring(void) {
    const uint64_t at = ring()->lane.write;
    const char arguments[100] = {0};
    tern_status status;
    while ((status = tern_call_try(f.worker, to(1), &answer_function, arguments,
                                   sizeof arguments)) == TERN_OK)
        continue;
    CU_ASSERT_EQUAL(status, TERN_ERR_AGAIN);
    atomic_store(tern_out_word(ring(), at), 0);
    expect_damage(1, tern_call(f.worker, to(1), &answer_function, arguments, sizeof arguments));
}

static void consumed_is_wrong(void) {
    tern_request request;
    start(&request);
    atomic_store(&ring()->header->consumed, UINT64_MAX / 3);
    expect_lost(&request, 1);
}

static void a_record_that_is_written_over(void) {
    static void (*const acts[])(void) = {
        zero_header, large_header, short_header,      test_zero_header,
        test_two,    fill_ring,    consumed_is_wrong, zero_header_of_the_busy};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (!open_scene())
            return;
        while_none_progresses(acts[i]);
        close_scene();
    }
}

static tern_request lost;

/* Words of a record that has a right header: its kind, and where the answer goes. */
static void another_kind(void) {
    _Atomic uint64_t *word = tern_out_word(ring(), ring()->lane.write);
    start(&lost);
    atomic_fetch_xor(word, TERN_RECORD_CALL ^ TERN_RECORD_CALL_RETURN);
}
static void another_cell(void) {
    _Atomic uint64_t *word = tern_out_word(ring(), ring()->lane.write + 8);
    start(&lost);
    atomic_fetch_xor(word, 8);
}
static void no_cell(void) {
    _Atomic uint64_t *word = tern_out_word(ring(), ring()->lane.write + 8);
    start(&lost);
    atomic_fetch_xor(word, UINT64_C(1) << 30);
}

/* The target executes what it has got, and answers elsewhere or not at all. */
static void a_record_that_asks_for_nothing(void) {
    static void (*const acts[])(void) = {another_kind, another_cell, no_cell};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (!open_scene())
            return;
        while_none_progresses(acts[i]);
        if (f.rank == 0) {
            expect_lost(&lost, 1);
            EXPECT_OK(ask());
        }
        close_scene();
    }
}

/* A worker's number is not its rank. */
static void a_record_before_a_request_for_memory(void) {
    if (!open_scene_of(2))
        return;
    while_none_progresses(ask_owner_for_memory);
    close_scene();
}

static void a_record_before_a_lock_is_acquired(void) {
    if (!open_scene())
        return;
    if (EXPECT_OK(tern_locks_create(f.worker, 2, &locks))) {
        while_none_progresses(acquire_lock);
        EXPECT(TERN_ERR_STATE, tern_locks_destroy(f.worker, locks));
    }
    close_scene();
}

static tern_answer answer_of(const tern_request *request) {
    tern_answer answer;
    memcpy(&answer, request->own, sizeof answer);
    return answer;
}

static tern_cell *cell_of(const tern_request *request) {
    const tern_return_address back = {.cell = answer_of(request).cell};
    return (tern_cell *)(uintptr_t)tern_reply_cell(f.worker, &back);
}

static void overwrite_sequence(void) {
    tern_request request;
    start(&request);
    atomic_store(&cell_of(&request)->sequence, UINT64_MAX / 5);
    expect_lost(&request, 0);
}

static void overwrite_length(void) {
    tern_request request;
    start(&request);
    tern_cell *cell = cell_of(&request);
    cell->bytes = UINT32_MAX;
    atomic_store(&cell->sequence, answer_of(&request).sequence);
    expect_lost(&request, 0);
}

/* The answer still comes, to a cell that is used no more; later calls get theirs. */
static void an_answer_that_is_written_over(void) {
    static void (*const acts[])(void) = {overwrite_sequence, overwrite_length};
    if (!open_scene())
        return;
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        while_none_progresses(acts[i]);
        for (int calls = 0; f.rank == 0 && calls < 2 * TERN_CALL_REQUESTS; calls++)
            EXPECT_OK(ask());
        EXPECT_OK(tern_barrier(f.worker));
    }
    close_scene();
}

/* As rma/reply/owner_service.c sends it. */
typedef struct request {
    tern_return_address back;
    tern_memory_request memory;
    uint64_t offset, place, bytes;
} request;

static tern_status ask_for_memory(uint64_t alignment, uint64_t *offset) {
    request r = {.memory = {.bytes = 64, .alignment = alignment, .numa = TERN_NUMA_ANY}};
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = tern_reply_expect(f.worker, &r.back);
    if (status != TERN_OK)
        return status;
    status = inject_record(f.worker, ring(), tern_record_header(TERN_RECORD_SERVICE, 0, sizeof r),
                           &r, sizeof r);
    tern_ring_publish(f.worker, ring());
    while (status == TERN_OK && !tern_reply_arrived(f.worker, &r.back))
        status = tern_answer_round(f.worker, &wait, tern_progress_round(f.worker), 1,
                                   f.context->workers, &r.back);
    const tern_cell *cell = tern_reply_cell(f.worker, &r.back);
    if (status == TERN_OK)
        status = (tern_status)cell->status;
    memcpy(offset, cell->payload, sizeof *offset);
    tern_reply_release(f.worker, &r.back);
    return status;
}

/* The owner's books of its heap rely on it. */
static void a_request_for_memory_that_no_rank_makes(void) {
    static const uint64_t wrong[] = {0, 1, 32, 65, 96, 4u << 20, UINT64_C(1) << 63, UINT64_MAX};
    uint64_t offset;
    if (!open_scene())
        return;
    if (f.rank == 0) {
        EXPECT(TERN_OK, ask_for_memory(64, &offset));
        EXPECT_OK(tern_service_free(f.worker, 1, offset));
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
            EXPECT(TERN_ERR_CORRUPT, ask_for_memory(wrong[i], &offset));
        EXPECT_OK(ask());
    }
    close_scene();
}

static void wait_long(void) {
    tern_request requests[8];
    int done = 0;
    for (size_t i = 0; i < 8; i++)
        start(&requests[i]);
    for (double end = MPI_Wtime() + 0.1; MPI_Wtime() < end;) {
        EXPECT_OK(tern_test(f.worker, &requests[7], &done));
        CU_ASSERT_FALSE(done);
    }
}

static void a_slow_target_is_waited_for(void) {
    if (!open_scene())
        return;
    while_none_progresses(wait_long);
    if (f.rank == 0)
        EXPECT_OK(ask());
    close_scene();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_record_that_is_refused", a_record_that_is_refused},
        {"a_place_that_is_refused", a_place_that_is_refused},
        {"a_record_that_is_written_over", a_record_that_is_written_over},
        {"a_record_that_asks_for_nothing", a_record_that_asks_for_nothing},
        {"a_record_before_a_request_for_memory", a_record_before_a_request_for_memory},
        {"a_record_before_a_lock_is_acquired", a_record_before_a_lock_is_acquired},
        {"an_answer_that_is_written_over", an_answer_that_is_written_over},
        {"a_request_for_memory_that_no_rank_makes", a_request_for_memory_that_no_rank_makes},
        {"a_slow_target_is_waited_for", a_slow_target_is_waited_for},
    };
    return tern_test_main(argc, argv, "call_damage", tests, sizeof tests / sizeof *tests);
}
