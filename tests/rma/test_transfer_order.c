// tern-test: transports

/* What orders transfers: fence and barrier. */

#include "fixture.h"

#include <sched.h>
#include <stdlib.h>

/* A flag word that others put into; progress, because p2p puts land in it. */
static uint64_t await(fixture *f, const volatile uint64_t *flag, uint64_t wanted) {
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) < wanted) {
        tern_progress(f->worker);
        sched_yield();
    }
    return *flag;
}

/* Data, a fence, then the flag: a rank that sees the flag sees the data. */
static void fence_orders_puts(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { WORDS = 700, LINE = 8 };
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, (2 * LINE + WORDS) * 8, TERN_DOMAIN_GLOBAL, all);
    const volatile uint64_t *here = tern_local(f.context, all[f.rank]);
    tern_ptr next = all[(f.rank + 1) % f.size], previous = all[(f.rank + f.size - 1) % f.size];
    uint64_t wrong = 0, data[WORDS];
    int rounds = fixture_times(&f, 1500);
    for (uint64_t round = 1; round <= (uint64_t)rounds; round++) {
        for (size_t i = 0; i < WORDS; i++)
            data[i] = round * 1000 + i;
        size_t count = 1 + round * 31 % WORDS;
        EXPECT_OK(tern_put(f.worker, tern_ptr_add(next, 2 * LINE * 8), data, count * 8));
        EXPECT_OK(tern_fence(f.worker, next.rank));
        EXPECT_OK(tern_put(f.worker, next, &round, 8));
        await(&f, &here[0], round);
        for (size_t i = 0; i < count; i++)
            wrong += here[2 * LINE + i] != round * 1000 + i;
        /* The previous rank may write its next data. */
        EXPECT_OK(tern_put(f.worker, tern_ptr_add(previous, LINE * 8), &round, 8));
        await(&f, &here[LINE], round);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    fixture_free_all(&f, all);
    free(all);
    fixture_close(&f);
}

/* The same with an atomic for the flag. */
static void fence_orders_put_and_atomic(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { WORDS = 100, LINE = 8 };
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, (LINE + WORDS) * 8, TERN_DOMAIN_GLOBAL, all);
    const uint64_t *here = tern_local(f.context, all[f.rank]);
    tern_ptr next = all[(f.rank + 1) % f.size], mine = all[f.rank];
    uint64_t wrong = 0, data[WORDS];
    int rounds = fixture_times(&f, 1000);
    for (uint64_t round = 1; round <= (uint64_t)rounds; round++) {
        for (size_t i = 0; i < WORDS; i++)
            data[i] = round + i;
        EXPECT_OK(tern_put(f.worker, tern_ptr_add(next, LINE * 8), data, sizeof data));
        EXPECT_OK(tern_fence(f.worker, next.rank));
        EXPECT_OK(tern_atomic_fetch_add(f.worker, next, 1, NULL));
        for (uint64_t seen = 0; seen < round;) {
            EXPECT_OK(tern_atomic_load(f.worker, mine, &seen));
            tern_progress(f.worker);
            sched_yield();
        }
        for (size_t i = 0; i < WORDS; i++)
            wrong += __atomic_load_n(&here[LINE + i], __ATOMIC_RELAXED) != round + i;
        EXPECT_OK(tern_barrier(f.worker));
    }
    CU_ASSERT_EQUAL(wrong, 0);
    fixture_free_all(&f, all);
    free(all);
    fixture_close(&f);
}

/* Puts before a barrier are there for everybody after it, without a flush. */
static void barrier_completes_and_waits(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    uint64_t *seen = calloc(f.size, sizeof *seen);
    fixture_alloc_all(&f, f.size * 8, TERN_DOMAIN_GLOBAL, all);
    const volatile uint64_t *here = tern_local(f.context, all[f.rank]);
    uint64_t random = fixture_seed(&f, 8), wrong = 0;
    int rounds = fixture_times(&f, 2000);
    for (uint64_t round = 1; round <= (uint64_t)rounds; round++) {
        for (uint64_t i = below(&random, 5); i > 0; i--)
            sched_yield();
        for (uint32_t r = 0; r < f.size; r++)
            EXPECT_OK(tern_put(f.worker, tern_ptr_add(all[r], f.rank * 8), &round, 8));
        EXPECT_OK(tern_barrier(f.worker));
        for (uint32_t r = 0; r < f.size; r++)
            wrong += here[r] != round;
        uint32_t other = (uint32_t)below(&random, f.size);
        EXPECT_OK(tern_get(f.worker, seen, all[other], f.size * 8));
        for (uint32_t r = 0; r < f.size; r++)
            wrong += seen[r] != round;
        /* Nobody is in the next round before all have looked. */
        EXPECT_OK(tern_barrier(f.worker));
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free(seen);
    fixture_free_all(&f, all);
    free(all);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"fence_orders_puts", fence_orders_puts},
        {"fence_orders_put_and_atomic", fence_orders_put_and_atomic},
        {"barrier_completes_and_waits", barrier_completes_and_waits},
    };
    return tern_test_main(argc, argv, "transfer_order", tests, sizeof tests / sizeof tests[0]);
}
