// tern-test: ranks survivors least=2

/* A rank dies at some time in a game: while a search begins, runs, or plays a move. */

#include <pthread.h>

#include "survivors.h"

#include "games.h"
#include "tern/mcts.h"

static const tern_search_limits short_one = {.rollouts = 200};
static const tic_tac_toe_state empty;

static void *die_in_thread(void *unused) {
    die_later();
    return unused;
}

/* Plays a few moves of a game. */
static tern_status play_some(fixture *f, tern_search *search) {
    tern_search_result result;
    tern_search_statistics statistics;
    tern_status status = tern_search_reset(f->worker, search, &empty);
    for (int ply = 0; ply < 3 && status == TERN_OK; ply++) {
        status = tern_search_run(f->worker, search, &short_one, &result);
        if (status == TERN_OK)
            status = tern_search_advance(f->worker, search, result.best);
        if (status == TERN_OK)
            status = tern_search_get_statistics(f->worker, search, &statistics);
    }
    return status;
}

static void a_rank_dies_in_a_game(void) {
    fixture f;
    const uint32_t victim = (uint32_t)tern_test_size() - 1;
    if (!survivors_open(&f, victim))
        return;
    const tern_search_options options = {.memory = (size_t)16 << 20, .simulations = 1};
    tern_search *search = NULL;
    tern_search_result result;
    EXPECT_OK(tern_search_create(f.worker, &tic_tac_toe, &options, &search));
    EXPECT_OK(play_some(&f, search));
    pthread_t thread;
    if (f.rank == victim)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, die_in_thread, NULL), 0);
    tern_status status = TERN_OK;
    while (status == TERN_OK)
        status = play_some(&f, search);
    (void)TOLD(victim, status);
    EXPECT(TERN_ERR_PEER, tern_search_reset(f.worker, search, &empty));
    EXPECT(TERN_ERR_PEER, tern_search_advance(f.worker, search, 0));
    EXPECT(TERN_ERR_PEER, tern_search_run(f.worker, search, &short_one, &result));
    meet_survivors(&f); /* other survivors may still call this rank */
    EXPECT(TERN_ERR_PEER, tern_search_destroy(f.worker, search));
    survivors_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_rank_dies_in_a_game", a_rank_dies_in_a_game},
    };
    return tern_test_main(argc, argv, "mcts_moves_faults", tests, 1);
}
