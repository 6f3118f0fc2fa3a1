// tern-test: ranks survivors least=3

/* The network loses an operation on a rank of which no rank has a pidfd, and which has died before
 * any wait for it lasted: the first error is the death. */

#include "distant.h"
#include "survivors.h"

static fixture f;
static tern_ptr words[64];

static bool open_context(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.transport = TERN_TRANSPORT_OFI;
    config.ranks_per_node = 1;
    config.peer_patience = 1;
    config.segment_size = (size_t)1 << 20;
    if (!fixture_open(&f, &config))
        return false;
    forget_pidfds(&f);
    fixture_alloc_all(&f, sizeof(uint64_t), TERN_DOMAIN_OWNER, words);
    EXPECT_OK(tern_barrier(f.worker));
    return true;
}

static tern_status put_and_flush(uint32_t rank) {
    const uint64_t word = 7;
    const tern_status status = tern_put(f.worker, words[rank], &word, sizeof word);
    return status == TERN_OK ? tern_flush(f.worker, rank) : status;
}

/* Even ranks find a put lost when they flush, and odd ones a get for which they wait. */
static void a_rank_that_has_gone(void) {
    uint64_t word = 0;
    if (!open_context())
        return;
    const uint32_t victim = f.size - 1;
    if (f.rank != victim)
        EXPECT_OK(put_and_flush(victim));
    tern_test_arrive();
    while (!tern_test_all_arrived())
        (void)tern_progress(f.worker);
    if (f.rank == victim)
        die_outside_mpi();
    while (!tern_test_dead((int)victim))
        (void)tern_progress(f.worker);
    usleep(300000); /* the network is to notice the death before tern does */
    start_clock();
    (void)TOLD(victim, f.rank % 2 == 0 ? put_and_flush(victim)
                                       : tern_get(f.worker, &word, words[victim], sizeof word));
    fixture_meet_living(&f);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_rank_that_has_gone", a_rank_that_has_gone}};
    return tern_test_main(argc, argv, "ofi_lost_faults", tests, sizeof tests / sizeof *tests);
}
