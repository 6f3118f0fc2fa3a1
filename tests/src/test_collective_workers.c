// tern-test: transports least=2

/* Collectives by several workers of a rank: a worker that waits until another one's function has
 * ended tells those that wait for it what it is about to do. */

#include <pthread.h>

#include "fixture.h"
#include "src/context.h"

typedef struct second {
    fixture *f;
    tern_worker *worker;
    tern_status first, then; /* what its barriers gave */
} second;

/* Comes to its barrier behind the first worker, which is in a meeting. */
static void *come_second(void *argument) {
    second *s = argument;
    while (atomic_load(&s->f->context->meets) != s->f->worker)
        sched_yield();
    s->first = tern_barrier(s->worker);
    s->then = tern_barrier(s->worker);
    return NULL;
}

/* The first worker of rank 0 waits for the other ranks, its second one for the first, and the other
 * ranks, in a collective over notifications, for the second. */
static void a_circle_through_a_claim(void) {
    fixture f;
    tern_config config;
    second s = {.f = &f};
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)4 << 20;
    config.workers = 2;
    if (!fixture_open(&f, &config) || !EXPECT_OK(tern_worker_adopt(f.context, 1, &s.worker)))
        return;
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0) {
        pthread_t thread;
        CU_ASSERT_FATAL(pthread_create(&thread, NULL, come_second, &s) == 0);
        EXPECT(TERN_ERR_MISMATCH, tern_barrier(f.worker));
        EXPECT_DETAIL("tern_barrier");
        EXPECT_DETAIL("tern_notify_barrier");
        pthread_join(thread, NULL);
        /* It has not been in the collective over notifications that failed. */
        CU_ASSERT_EQUAL(s.first, TERN_ERR_MISMATCH);
        CU_ASSERT_EQUAL(s.then, TERN_OK);
    } else {
        EXPECT(TERN_ERR_MISMATCH, tern_notify_barrier(s.worker));
        EXPECT_DETAIL("tern_barrier");
        EXPECT_DETAIL("tern_notify_barrier");
        EXPECT_OK(tern_barrier(s.worker));
    }
    EXPECT_OK(tern_notify_barrier(s.worker));
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_worker_release(s.worker));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a circle through a claim", a_circle_through_a_claim}};
    return tern_test_main(argc, argv, "collective_workers", tests, 1);
}
