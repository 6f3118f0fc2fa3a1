// tern-test: ranks survivors least=2

/* A rank dies at a random moment while all ranks are in collectives of long vectors: each survivor
 * has what a collective that succeeded gives, or is told of the death. */

#include "survivors.h"

#include <stdlib.h>

enum { COUNT_MAX = 1 << 17 };

static uint64_t rounds_left; /* of the victim's progress */

static size_t die_in_round(tern_worker *worker, void *argument) {
    (void)worker, (void)argument;
    if (rounds_left-- == 0)
        tern_test_kill(tern_test_rank());
    return 0;
}

static size_t count_of_others(const uint64_t *values, size_t count, uint64_t expected) {
    size_t others = 0;
    for (size_t i = 0; i < count; i++)
        others += values[i] != expected;
    return others;
}

/* Until one fails; its status. */
static tern_status call_until_told(const fixture *f, uint64_t *values, uint64_t random) {
    while (still_patient()) {
        const uint32_t root = (uint32_t)below(&random, f->size);
        const bool broadcasts = below(&random, 2) == 0;
        const size_t count = (size_t)below(&random, COUNT_MAX);
        const uint64_t turn = below(&random, 1000);
        for (size_t i = 0; i < count; i++)
            values[i] = broadcasts && f->rank != root ? 0 : turn;
        const tern_status status =
            broadcasts
                ? tern_notify_broadcast(f->worker, root, values, count * 8)
                : tern_notify_allreduce(f->worker, TERN_UINT64, TERN_REDUCE_SUM, values, count);
        if (status != TERN_OK)
            return status;
        CU_ASSERT_EQUAL(count_of_others(values, count, broadcasts ? turn : turn * f->size), 0);
    }
    return TERN_OK;
}

static void all_are_told(void) {
    const uint32_t victim = (uint32_t)tern_test_size() - 1;
    uint64_t random = tern_test_seed();
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    uint64_t *values = malloc(COUNT_MAX * sizeof *values);
    rounds_left = 1 + below(&random, UINT64_C(1) << (4 + below(&random, 12)));
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == victim)
        EXPECT_OK(tern_progress_hook_add(f.context, die_in_round, NULL));
    start_clock();
    const tern_status status = call_until_told(&f, values, random);
    (void)TOLD(victim, status);
    EXPECT(TERN_ERR_PEER, tern_notify_broadcast(f.worker, 0, values, COUNT_MAX * 8));
    EXPECT(TERN_ERR_PEER,
           tern_notify_allreduce(f.worker, TERN_UINT64, TERN_REDUCE_SUM, values, COUNT_MAX));
    fixture_meet_living(&f);
    free(values);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"all_are_told", all_are_told}};
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "collective_sizes_faults", tests, 1);
}
