// tern-test: ranks survivors least=2

/* A rank dies during a search: the other ranks get TERN_ERR_PEER and can destroy the search. */

#include <pthread.h>

#include "survivors.h"

#include "games.h"
#include "tern/mcts.h"

static void *die_in_thread(void *unused) {
    die_later();
    return unused;
}

static void a_rank_dies_in_a_search(uint32_t victim, tern_search_placement placement) {
    fixture f;
    if (!survivors_open(&f, victim))
        return;
    const nim_state piles = {{7, 6, 5}, 0};
    const tern_search_options options = {.memory = (size_t)64 << 20, .placement = placement};
    const tern_search_limits short_one = {.rollouts = 200}, long_one = {.seconds = 60};
    const tic_tac_toe_state empty = {{0, 0}};
    const bool hash = placement == TERN_PLACE_HASH;
    tern_search *search = NULL;
    tern_search_result result;
    tern_search_statistics statistics;
    EXPECT_OK(tern_search_create(f.worker, hash ? &tic_tac_toe : &nim, &options, &search));
    EXPECT_OK(tern_search_reset(f.worker, search, hash ? (const void *)&empty : &piles));
    EXPECT_OK(tern_search_run(f.worker, search, &short_one, &result));
    pthread_t thread;
    if (f.rank == victim)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, die_in_thread, NULL), 0);
    (void)TOLD(victim, tern_search_run(f.worker, search, &long_one, &result));
    EXPECT(TERN_ERR_PEER, tern_search_run(f.worker, search, &short_one, &result));
    EXPECT(TERN_ERR_PEER, tern_search_advance(f.worker, search, result.best));
    EXPECT(TERN_ERR_PEER, tern_search_get_statistics(f.worker, search, &statistics));
    meet_survivors(&f); /* other survivors may still call this rank */
    EXPECT(TERN_ERR_PEER, tern_search_destroy(f.worker, search));
    survivors_close(&f);
}

static void the_last_rank_dies(void) {
    a_rank_dies_in_a_search((uint32_t)tern_test_size() - 1, TERN_PLACE_RANDOM);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"the_last_rank_dies", the_last_rank_dies},
    };
    return tern_test_main(argc, argv, "mcts_faults", tests, 1);
}
