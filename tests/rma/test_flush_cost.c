// tern-test: transports
/*
 * What a flush of all ranks costs: one flush for each rank that was put to since the last one, and
 * none for others, however many ranks there are.
 */

#include "fixture.h"
#include "rma/memory/state.h"

enum { TURNS = 40 };

static uint64_t flushes_of(const tern_worker *worker) {
    tern_stats stats;
    tern_stats_get(worker, &stats);
    return stats.flushes;
}

static void touched_ranks_only(void) {
    fixture f;
    tern_ptr memory[64];
    if (!fixture_open(&f, NULL))
        return;
    fixture_alloc_all(&f, 64 * sizeof(uint64_t), TERN_DOMAIN_OWNER, memory);
    uint64_t state = fixture_seed(&f, 3);
    tern_rma_worker *mine = tern_rma_worker_of(f.worker);
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        uint64_t remote = 0, word = turn;
        for (uint32_t r = 0; r < f.size; r++) {
            if (tern_test_random(&state) % 2 == 0)
                continue;
            for (uint64_t puts = 1 + tern_test_random(&state) % 3; puts > 0; puts--)
                EXPECT_OK(tern_put(f.worker, tern_ptr_add(memory[r], 8 * (int64_t)f.rank), &word,
                                   sizeof word));
            remote += !tern_rank_is_direct(f.context, r);
        }
        CU_ASSERT_EQUAL(mine->dirty_count, remote);
        const uint64_t before = flushes_of(f.worker);
        EXPECT_OK(tern_flush_all(f.worker));
        CU_ASSERT_EQUAL(flushes_of(f.worker) - before, remote);
        CU_ASSERT_EQUAL(mine->dirty_count, 0);
        EXPECT_OK(tern_flush_all(f.worker));
        CU_ASSERT_EQUAL(flushes_of(f.worker) - before, remote);
    }
    /* The books by rank and the list agree, whatever order ranks are flushed in. */
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        const uint32_t r = (uint32_t)(tern_test_random(&state) % f.size);
        if (tern_test_random(&state) % 2 == 0)
            EXPECT_OK(tern_put(f.worker, tern_ptr_add(memory[r], 8 * (int64_t)f.rank), &turn,
                               sizeof turn));
        else
            EXPECT_OK(tern_flush(f.worker, r));
        uint32_t dirty = 0;
        for (uint32_t k = 0; k < f.size && mine->dirty != NULL; k++)
            dirty += mine->dirty[k].what != 0;
        CU_ASSERT_EQUAL(mine->dirty_count, dirty);
        for (uint32_t i = 0; i < mine->dirty_count; i++)
            CU_ASSERT_EQUAL(mine->dirty[mine->dirty_ranks[i]].at, i);
    }
    fixture_free_all(&f, memory);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"touched ranks only", touched_ranks_only}};
    return tern_test_main(argc, argv, "flush_cost", tests, 1);
}
