// tern-test: transports

/* Searches by several workers of each process, which share its nodes or call each other. */

#include "search_tools.h"

static void search_by(uint32_t workers, const tern_search_options *options) {
    fixture f;
    const tic_tac_toe_state empty = {{0, 0}};
    if (!search_open(&f, workers, 4096))
        return;
    const tern_search_limits limits = {.rollouts = (uint64_t)fixture_times(&f, 2000) + 100};
    tern_search_result result;
    tern_search_statistics statistics;
    tern_search *search = search_create(&f, &tic_tac_toe, options, &empty);
    EXPECT_OK(search_run(&f, search, &limits, &result));
    search_check(&f, search, &result, limits.rollouts - 1);
    EXPECT_OK(tern_search_advance(f.worker, search, result.best));
    EXPECT_OK(search_run(&f, search, &limits, &result));
    EXPECT_OK(tern_mcts_check(f.worker, search));
    EXPECT_OK(tern_search_get_statistics(f.worker, search, &statistics));
    CU_ASSERT_EQUAL(statistics.rollouts, 2 * limits.rollouts);
    CU_ASSERT_EQUAL(statistics.completions, 2 * limits.rollouts);
    if (f.size == 1 && options->calls_only == 0 && options->placement == TERN_PLACE_RANDOM)
        CU_ASSERT_EQUAL(statistics.calls, 0);
    if (options->calls_only == 1)
        CU_ASSERT(statistics.calls > 0);
    EXPECT_OK(tern_search_destroy(f.worker, search));
    fixture_close(&f);
}

static void nodes_are_shared_by_threads(void) {
    search_by(2, &(tern_search_options){.memory = (size_t)16 << 20, .simulations = 1});
    search_by(3, &(tern_search_options){
                     .memory = (size_t)16 << 20, .simulations = 2, .under_way = 200, .round = 300});
}

static void memory_runs_out_under_threads(void) {
    search_by(2, &(tern_search_options){.memory = 40000, .simulations = 1});
}

static void nodes_are_touched_by_their_owners_only(void) {
    search_by(
        2, &(tern_search_options){.memory = (size_t)16 << 20, .simulations = 1, .calls_only = 1});
    search_by(2, &(tern_search_options){
                     .memory = (size_t)16 << 20, .simulations = 1, .placement = TERN_PLACE_HASH});
}

/* Workers also arrive at a round before its leader. */
static void short_rounds_follow_each_other(void) {
    fixture f;
    const tic_tac_toe_state empty = {{0, 0}};
    const tern_search_options options = {
        .memory = (size_t)16 << 20, .simulations = 1, .under_way = 2, .round = 4};
    if (!search_open(&f, 2, 4096))
        return;
    /* Between ranks a round is expensive. */
    const tern_search_limits limits = {.rollouts = f.size == 1 ? 60000 : 400};
    tern_search_result result;
    tern_search *search = search_create(&f, &tic_tac_toe, &options, &empty);
    EXPECT_OK(search_run(&f, search, &limits, &result));
    search_check(&f, search, &result, limits.rollouts - 1);
    EXPECT_OK(tern_search_destroy(f.worker, search));
    fixture_close(&f);
}

/* With this hash all nodes belong to worker 0 of rank 0. */
static uint64_t multiples(const void *state, void *argument) {
    return (tic_tac_toe.hash(state, argument) >> 8) * *(const uint32_t *)argument;
}

static _Atomic(tern_random *) players[2]; /* threads of this process that play, by their random
                                             numbers */

static uint32_t seen_rollouts(const void *state, uint32_t count, tern_random *random,
                              void *argument) {
    (void)state, (void)argument;
    tern_random *nobody = NULL;
    if (!atomic_compare_exchange_strong(&players[0], &nobody, random) && nobody != random)
        atomic_store(&players[1], random);
    return count;
}

/* An idle thread of the same process plays too; other processes do not. */
static void idle_threads_play(void) {
    fixture f;
    const tic_tac_toe_state empty = {{0, 0}};
    const tern_search_options options = {
        .memory = (size_t)16 << 20, .simulations = 1, .placement = TERN_PLACE_HASH};
    if (!search_open(&f, 2, 4096))
        return;
    tern_game game = tic_tac_toe;
    uint32_t all = 2 * f.size;
    game.argument = &all;
    game.hash = multiples;
    game.rollouts = seen_rollouts;
    players[0] = players[1] = NULL;
    const tern_search_limits limits = {.rollouts = 20000};
    tern_search_result result;
    tern_search *search = search_create(&f, &game, &options, &empty);
    EXPECT_OK(search_run(&f, search, &limits, &result));
    CU_ASSERT_EQUAL(players[0] != NULL, f.rank == 0);
    CU_ASSERT_EQUAL(players[1] != NULL, f.rank == 0);
    EXPECT_OK(tern_search_destroy(f.worker, search));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"nodes_are_shared_by_threads", nodes_are_shared_by_threads},
        {"memory_runs_out_under_threads", memory_runs_out_under_threads},
        {"nodes_are_touched_by_their_owners_only", nodes_are_touched_by_their_owners_only},
        {"short_rounds_follow_each_other", short_rounds_follow_each_other},
        {"idle_threads_play", idle_threads_play},
    };
    return tern_test_main(argc, argv, "mcts_threads", tests, sizeof tests / sizeof *tests);
}
