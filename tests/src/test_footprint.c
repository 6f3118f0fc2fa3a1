// tern-test: ranks
/*
 * What a worker takes before it has met anybody: at most 64 KiB and 64 bytes per worker of the job,
 * the segment aside; there the boards have 64 bytes per worker. Computed for large jobs, measured
 * in this one (footprint.64 starts 64 ranks).
 */

#include <sys/mman.h>

#include "fixture.h"
#include "rma/notify/notify.h"
#include "rma/state.h"
#include "rpc/state.h"

enum { FIXED = 64 << 10, PER_WORKER = 64 };

/* Of src/, for each rank: the node it is on, the descriptor that watches it and whether it is dead.
 */
static size_t of_the_runtime(void) {
    const tern_context *context = NULL;
    return sizeof *context->node + sizeof *context->peers.watch + sizeof *context->peers.dead;
}

/* What does not grow with the job. */
static size_t fixed(void) {
    return sizeof(tern_context) + sizeof(tern_worker) + sizeof(tern_rma) + sizeof(tern_rma_worker) +
           sizeof(tern_notify) + sizeof(tern_rpc) + sizeof(tern_rpc_worker);
}

static void computed(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    const uint32_t jobs[] = {64, 1000, 10000};
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        tern_layout layout;
        tern_layout_compute(&config, jobs[i], &layout);
        tern_tables tables;
        tern_tables_compute(jobs[i], 1, layout.ring_count, &tables);
        size_t grows = tern_tables_touched(jobs[i]) + jobs[i] * of_the_runtime();
        CU_ASSERT(grows <= jobs[i] * (size_t)PER_WORKER);
        size_t cells = TERN_CALL_REQUESTS * sizeof(tern_cell) + TERN_PAGE + 4 * TERN_LINE;
        CU_ASSERT(layout.board_bytes <= cells + jobs[i] * (size_t)PER_WORKER);
    }
    CU_ASSERT(fixed() + 4 * TERN_PAGE <= FIXED);
}

static size_t resident(char *base, size_t bytes) {
    size_t pages = (bytes + TERN_PAGE - 1) / TERN_PAGE, count = 0;
    unsigned char *in = malloc(pages);
    CU_ASSERT_EQUAL_FATAL(mincore(base, bytes, in), 0);
    for (size_t i = 0; i < pages; i++)
        count += in[i] & 1;
    free(in);
    return count * TERN_PAGE;
}

static void measured(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_rma *rma = tern_rma_of(f.context);
    size_t most = FIXED + f.size * (size_t)PER_WORKER;
    size_t touched =
        resident(rma->table_base, rma->tables.bytes) + fixed() + f.size * of_the_runtime();
    CU_ASSERT(touched <= most);
    /* Nobody has a ring, and none has been touched. */
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT_EQUAL(stats.rings_opened, 0);
    CU_ASSERT_EQUAL(
        resident(rma->mine + rma->layout.arena, rma->layout.ring_count * rma->layout.ring_bytes),
        0);
    EXPECT_OK(tern_barrier(f.worker));
    /* It is no accident of counting: contact does touch them. */
    uint64_t word = 1;
    tern_worker_id next = {(f.rank + 1) % f.size, 0};
    EXPECT_OK(tern_put_notify(f.worker, next, TERN_NULL, NULL, 0, word, &word, 8, 0));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT(resident(rma->mine + rma->layout.arena,
                       rma->layout.ring_count * rma->layout.ring_bytes) > 0);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"computed", computed}, {"measured", measured}};
    return tern_test_main(argc, argv, "footprint", tests, sizeof tests / sizeof tests[0]);
}
