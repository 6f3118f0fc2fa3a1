// tern-test: ranks survivors least=3

/* As test_hashtable_create_faults.c, of a queue whose host is rank 0. */

#include "last_barrier.h"

enum { ITEMS = 100 };

/* One rank alone: once a rank is dead nobody is to be waited for. */
static void push_and_pop(fixture *f, tern_queue *queue) {
    uint64_t wrong = 0;
    for (uint64_t i = 0, item = 0; i < 3 * ITEMS; i++) {
        const tern_flags push = fixture_path(i % 2), pop = fixture_path(i / 2 % 2);
        EXPECT_OK(tern_queue_push(f->worker, queue, &i, push));
        if (i >= ITEMS / 2)
            EXPECT_OK(tern_queue_pop(f->worker, queue, &item, pop));
        wrong += i >= ITEMS / 2 && item != i - ITEMS / 2;
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void a_rank_dies_in_the_last_barrier(void) {
    fixture f;
    if (!open_for_two_survivors(&f))
        return;
    const tern_queue_options options = {.item_bytes = 8, .capacity = ITEMS};
    tern_queue *queue = NULL;
    count_meetings(&f);
    EXPECT_OK(tern_queue_create(f.worker, &options, &queue));
    const int meetings = last_barrier.met;
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    queue = NULL;
    const size_t before = in_use(&f);
    last_barrier.in = meetings;
    tern_status status = tern_queue_create(f.worker, &options, &queue);
    EXPECT(f.rank == 0 ? TERN_ERR_PEER : TERN_OK, status);
    CU_ASSERT((f.rank == 0) == (in_use(&f) > before));
    let_rank_0_return(&f);
    if (f.rank == 1)
        push_and_pop(&f, queue);
    fixture_meet_living(&f);
    if (queue != NULL)
        EXPECT(TERN_ERR_PEER, tern_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_rank_dies_in_the_last_barrier", a_rank_dies_in_the_last_barrier},
    };
    return tern_test_main(argc, argv, "queue_create_faults", tests, 1);
}
