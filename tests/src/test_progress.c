// tern-test: ranks

/*
 * Progress hooks: run in every round, bounded in number, removed by what they were added with.
 * Loops around calls that do not wait: they leave the processor to other ranks.
 */

#include "fixture.h"

static void hook_runs(tern_worker *worker, int *count) {
    int before = *count;
    for (int i = 0; i < 3; i++)
        tern_progress(worker);
    CU_ASSERT_EQUAL(*count, before + 3);
}

static size_t count_up(tern_worker *worker, void *argument) {
    CU_ASSERT_PTR_NOT_NULL(worker);
    /* Never re-entered. */
    CU_ASSERT_EQUAL(tern_progress(worker), 0);
    ++*(int *)argument;
    return 1;
}

static void progress_hooks(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    int counts[TERN_PROGRESS_HOOKS + 1] = {0}, added = 0;
    EXPECT_OK(tern_progress_hook_add(f.context, count_up, &counts[0]));
    hook_runs(f.worker, &counts[0]);
    CU_ASSERT(tern_progress(f.worker) >= 1);
    EXPECT(TERN_ERR_NOT_FOUND, tern_progress_hook_remove(f.context, count_up, &counts[1]));
    EXPECT(TERN_ERR_ARGUMENT, tern_progress_hook_add(f.context, NULL, NULL));
    for (int i = 1; i <= TERN_PROGRESS_HOOKS; i++)
        added += tern_progress_hook_add(f.context, count_up, &counts[i]) == TERN_OK;
    CU_ASSERT(added < TERN_PROGRESS_HOOKS);
    EXPECT(TERN_ERR_FULL,
           tern_progress_hook_add(f.context, count_up, &counts[TERN_PROGRESS_HOOKS]));
    for (int i = 1; i <= added; i++)
        hook_runs(f.worker, &counts[i]);
    for (int i = 0; i <= added; i++)
        EXPECT_OK(tern_progress_hook_remove(f.context, count_up, &counts[i]));
    int before = counts[0];
    tern_progress(f.worker);
    CU_ASSERT_EQUAL(counts[0], before);
    fixture_close(&f);
}

/* What programs loop around. */

static tern_queue *queue;
static tern_request request;

static void by_progress(tern_worker *worker) { tern_progress(worker); }

static void by_probe(tern_worker *worker) {
    tern_event event;
    EXPECT(TERN_ERR_EMPTY, tern_probe(worker, TERN_PROBE_ANY, &event));
}

static void ignore(tern_worker *worker, const tern_event *event, const void *cid, void *argument) {
    (void)worker;
    (void)event;
    (void)cid;
    (void)argument;
}

static void by_probe_each(tern_worker *worker) {
    size_t handled = 1;
    EXPECT_OK(tern_probe_each(worker, TERN_PROBE_ANY, ignore, NULL, 1, &handled));
    CU_ASSERT_EQUAL(handled, 0);
}

static void by_descriptor_test(tern_worker *worker) {
    tern_descriptor descriptor;
    EXPECT(TERN_ERR_EMPTY,
           tern_descriptor_test(worker, TERN_ANY_WORKER, TERN_POSTED_ANY, 1, &descriptor));
}

static void by_request_test(tern_worker *worker) {
    int done = 1;
    EXPECT_OK(tern_test(worker, &request, &done));
    CU_ASSERT_EQUAL(done, 0);
}

static void by_try_pop(tern_worker *worker) {
    uint64_t item;
    EXPECT(TERN_ERR_EMPTY, tern_queue_try_pop(worker, queue, &item, TERN_BY_RMA));
}

static uint64_t yields(const tern_worker *worker) {
    tern_stats stats;
    tern_stats_get(worker, &stats);
    return stats.yields;
}

static bool answers;

static tern_status answer_late(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    return answers ? TERN_OK : TERN_ERR_AGAIN;
}
TERN_FUNCTION(answer_late)

/* Looks that find nothing give the processor up, but only now and then. */
static void vain_looks_yield(void) {
    static void (*const looks[])(tern_worker *) = {
        by_progress, by_probe, by_probe_each, by_descriptor_test, by_request_test, by_try_pop};
    enum { LOOKS = 4000, MOST = LOOKS / 100, LEAST = 4 };
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_queue_options options = {.item_bytes = 8, .capacity = 4};
    EXPECT_OK(tern_queue_create(f.worker, &options, &queue));
    answers = false;
    tern_worker_id self = tern_worker_self(f.worker);
    EXPECT_OK(tern_call_start(f.worker, self, &answer_late_function, NULL, 0, NULL, 0, &request));
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        EXPECT_OK(tern_barrier(f.worker));
        uint64_t before = yields(f.worker);
        for (int k = 0; k < LOOKS; k++)
            looks[i](f.worker);
        CU_ASSERT(yields(f.worker) - before >= LEAST);
        CU_ASSERT(yields(f.worker) - before <= MOST);
    }
    answers = true;
    EXPECT_OK(tern_wait(f.worker, &request));
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

/* However often something is found, the processor is kept. */
static void looks_that_find_do_not_yield(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t before = yields(f.worker), cid = 1;
    tern_event event;
    for (int i = 0; i < 2000; i++) {
        EXPECT_OK(tern_put_notify(f.worker, tern_worker_self(f.worker), TERN_NULL, NULL, 0,
                                  &(tern_notify_options){.cid = &cid,
                                                         .cid_bytes = sizeof cid,
                                                         .flags = TERN_NOTIFY_NO_LOCAL}));
        EXPECT_OK(tern_probe(f.worker, TERN_PROBE_REMOTE, &event));
        tern_ignore(tern_probe(f.worker, TERN_PROBE_REMOTE, &event));
    }
    CU_ASSERT_EQUAL(yields(f.worker), before);
    fixture_close(&f);
}

/* Ranks that loop around probes, more than there may be cores, get their turns. */
static void ranks_take_turns_at_probing(void) {
    enum { ROUNDS = 500 };
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_worker_id next = {(f.rank + 1) % f.size, 0};
    uint64_t cid = 1;
    tern_event event;
    for (int i = 0; i < ROUNDS; i++) {
        if (f.rank == 0)
            EXPECT_OK(tern_put_notify(f.worker, next, TERN_NULL, NULL, 0,
                                      &(tern_notify_options){.cid = &cid,
                                                             .cid_bytes = sizeof cid,
                                                             .flags = TERN_NOTIFY_NO_LOCAL}));
        while (tern_probe(f.worker, TERN_PROBE_REMOTE, &event) == TERN_ERR_EMPTY)
            ;
        if (f.rank != 0)
            EXPECT_OK(tern_put_notify(f.worker, next, TERN_NULL, NULL, 0,
                                      &(tern_notify_options){.cid = &cid,
                                                             .cid_bytes = sizeof cid,
                                                             .flags = TERN_NOTIFY_NO_LOCAL}));
    }
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"progress_hooks", progress_hooks},
        {"vain_looks_yield", vain_looks_yield},
        {"looks_that_find_do_not_yield", looks_that_find_do_not_yield},
        {"ranks_take_turns_at_probing", ranks_take_turns_at_probing},
    };
    return tern_test_main(argc, argv, "progress", tests, sizeof tests / sizeof tests[0]);
}
