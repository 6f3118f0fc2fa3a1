// tern-test: transports least=2

/*
 * The end of a phase: each call tells in which phase its caller is, and runs on a rank in the same
 * one. Now and then a rank is slow inside a round of progress, when the others may have left; its
 * second worker, which no thread has, comes after that.
 */

#include "base/process.h"
#include "fixture.h"
#include "src/context.h"

static uint64_t phase; /* this rank's */
static uint64_t ran, early, late;
static bool slow;

static tern_status note_phase(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t theirs = 0;
    (void)call;
    memcpy(&theirs, arguments, bytes < sizeof theirs ? bytes : sizeof theirs);
    ran++;
    early += theirs > phase;
    late += theirs < phase;
    return TERN_OK;
}
TERN_FUNCTION(note_phase)

/* A hook. So long may the others be through with what this rank is in. On a loaded machine one
 * yield is long enough. */
static size_t dawdle(tern_worker *worker, void *argument) {
    enum { SLOW_NS = 300000 };
    (void)argument;
    if (slow && tern_worker_self(worker).index == 0)
        for (const uint64_t began = tern_now(); tern_now() - began < SLOW_NS;)
            sched_yield();
    return 0;
}

static bool phase_open(fixture *f) {
    tern_config config;
    phase = ran = early = late = 0;
    slow = false;
    return EXPECT_OK(tern_config_init(&config)) && (config.segment_size = (size_t)16 << 20) > 0 &&
           (config.workers = 2) > 0 && fixture_open(f, &config);
}

static void phase_calls(fixture *f, bool by_message) {
    for (uint32_t i = 0; i < 2 * f->size; i++) {
        tern_worker_id to = {i / 2, i % 2};
        to = by_message ? tern_by_message(to) : to;
        EXPECT_OK(tern_call(f->worker, to, &note_phase_function, &phase, sizeof phase));
    }
}

/* By rings and by messages in turn. */
static void phases_are_apart(void) {
    const uint64_t phases = tern_test_full() ? 1000 : 24;
    fixture f;
    if (!phase_open(&f))
        return;
    EXPECT_OK(tern_progress_hook_add(f.context, dawdle, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t i = 0; i < phases; i++) {
        phase_calls(&f, i % 2 == 1);
        slow = i % f.size == f.rank;
        EXPECT_OK(tern_phase(f.worker));
        slow = false;
        CU_ASSERT_EQUAL(ran, 2 * (uint64_t)f.size);
        ran = 0;
        phase++;
    }
    CU_ASSERT_EQUAL(early, 0);
    CU_ASSERT_EQUAL(late, 0);
    EXPECT_OK(tern_progress_hook_remove(f.context, dawdle, NULL));
    fixture_close(&f);
}

/* What docs/scaling.md says. */
static void it_costs_two_meetings(void) {
    fixture f;
    if (!phase_open(&f))
        return;
    EXPECT_OK(tern_phase(f.worker));
    const uint64_t before = atomic_load(&f.context->meetings);
    EXPECT_OK(tern_quiesce(f.worker));
    const uint64_t between = atomic_load(&f.context->meetings);
    EXPECT_OK(tern_phase(f.worker));
    CU_ASSERT_EQUAL(atomic_load(&f.context->meetings) - between, between - before + 2);
    fixture_close(&f);
}

static tern_status end_phase(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    (void)bytes;
    EXPECT(TERN_ERR_STATE, tern_phase(call->worker));
    return TERN_OK;
}
TERN_FUNCTION(end_phase)

static void errors(void) {
    fixture f;
    EXPECT(TERN_ERR_ARGUMENT, tern_phase(NULL));
    if (!phase_open(&f))
        return;
    EXPECT_OK(tern_call(f.worker, tern_worker_self(f.worker), &end_phase_function, NULL, 0));
    EXPECT_OK(tern_phase(f.worker));
    EXPECT(TERN_ERR_MISMATCH, f.rank == 0 ? tern_phase(f.worker) : tern_barrier(f.worker));
    EXPECT_DETAIL("tern_phase");
    EXPECT_DETAIL("tern_barrier");
    EXPECT_OK(tern_phase(f.worker));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"phases are apart", phases_are_apart},
                                           {"it costs two meetings", it_costs_two_meetings},
                                           {"errors", errors}};
    return tern_test_main(argc, argv, "phase", tests, 3);
}
