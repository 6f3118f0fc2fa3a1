// tern-test: ranks

/* Progress hooks: run in every round, bounded in number, removed by what they were added with. */

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

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"progress_hooks", progress_hooks},
    };
    return tern_test_main(argc, argv, "progress", tests, sizeof tests / sizeof tests[0]);
}
