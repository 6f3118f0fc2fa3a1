/* The tree that threads share: after a search every visit and every half point is where it should
 * be, and it finds what a thread by itself finds. */

#include <pthread.h>
#include <stdlib.h>

#include "harness.h"

#include "benchmarks/ceilings/uct.h"
#include "examples/games/hex/game.h"

enum { THREADS_MOST = 4, GAMES = 16 };
static const double exploration = 1.4;

typedef struct part {
    ceiling_uct_shared *tree;
    uint32_t number;
    pthread_t thread;
} part;

static void *work(void *argument) {
    part *p = argument;
    ceiling_uct_shared_run(p->tree, p->number);
    return NULL;
}

/* The first of them is this one. */
static void search(ceiling_uct_shared *tree, uint32_t threads) {
    part parts[THREADS_MOST];
    for (uint32_t i = 0; i < threads; i++)
        parts[i] = (part){.tree = tree, .number = i};
    for (uint32_t i = 1; i < threads; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&parts[i].thread, NULL, work, &parts[i]), 0);
    (void)work(&parts[0]);
    for (uint32_t i = 1; i < threads; i++)
        pthread_join(parts[i].thread, NULL);
}

static void check_game(const tern_game *game, const void *state, uint32_t threads,
                       uint64_t rollouts) {
    uint64_t nodes = 0;
    ceiling_uct_shared *tree = ceiling_uct_shared_open(game, rollouts, threads, GAMES, exploration);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
    /* The second one in memory that the first has left. */
    for (uint64_t seed = 0; seed < 2; seed++) {
        ceiling_uct_shared_reset(tree, state, tern_test_seed() + seed, rollouts);
        search(tree, threads);
        CU_ASSERT(ceiling_uct_shared_check(tree, rollouts, &nodes));
        CU_ASSERT(!ceiling_uct_shared_check(tree, rollouts + 1, &nodes));
        CU_ASSERT(nodes <= rollouts);
        CU_ASSERT(game->moves_max == 1 || ceiling_uct_shared_visits(tree) >= 2 * rollouts - 1);
    }
    ceiling_uct_shared_close(tree);
}

static void check(uint32_t size, uint32_t threads, uint64_t rollouts) {
    hex_geometry geometry = hex_geometry_of(size, false);
    tern_game game = hex_game(&geometry);
    hex_board board = hex_board_empty();
    check_game(&game, &board, threads, rollouts);
}

static void counts_add_up(void) {
    const uint64_t rollouts = tern_test_full() ? 200000 : 3000;
    for (uint32_t threads = 1; threads <= THREADS_MOST; threads++) {
        check(1, threads, 1);
        check(2, threads, 100);
        check(3, threads, rollouts);
        check(11, threads, rollouts);
    }
}

/* Two moves, for ever, and chance decides each rollout. */
static uint32_t two_moves(const void *state, uint32_t *moves, void *argument) {
    (void)state;
    (void)argument;
    moves[0] = 0;
    moves[1] = 1;
    return 2;
}

static void go_on(void *state, uint32_t move, void *argument) {
    (void)move;
    (void)argument;
    ++*(uint64_t *)state;
}

static int in_turn(const void *state, void *argument) {
    (void)argument;
    return *(const uint64_t *)state % 2;
}

static tern_game_result never_over(const void *state, void *argument) {
    (void)state;
    (void)argument;
    return TERN_GAME_OPEN;
}

static uint32_t luck(const void *state, uint32_t count, tern_random *random, void *argument) {
    (void)state;
    (void)argument;
    return tern_random_below(random, 2 * count + 1);
}

/* The fewer moves, the more nodes are left: a tree has room for all of them. */
static void narrow_trees_fit(void) {
    static const uint64_t start = 0;
    const tern_game game = {.name = "for ever",
                            .state_bytes = sizeof start,
                            .moves_max = 2,
                            .moves = two_moves,
                            .play = go_on,
                            .player = in_turn,
                            .result = never_over,
                            .rollouts = luck};
    for (uint64_t rollouts = 1; rollouts <= 200; rollouts++) {
        check_game(&game, &start, 1 + (uint32_t)rollouts % THREADS_MOST, rollouts);
        ceiling_uct *alone = ceiling_uct_open(&game, rollouts, GAMES, exploration);
        CU_ASSERT_PTR_NOT_NULL_FATAL(alone);
        CU_ASSERT(ceiling_uct_run(alone, &start, rollouts, rollouts) < rollouts);
        CU_ASSERT(ceiling_uct_visits(alone) >= 2 * rollouts - 1);
        ceiling_uct_close(alone);
    }
}

/* On 3 x 3 cells the middle wins, and soon has nearly all visits. How many differs from search to
 * search by some per cent, and much less over SEARCHES of them. */
static void the_best_move_is_found(void) {
    enum { ROLLOUTS = 10000, SEARCHES = 12 };
    hex_geometry geometry = hex_geometry_of(3, false);
    tern_game game = hex_game(&geometry);
    hex_board board = hex_board_empty();
    ceiling_uct *alone = ceiling_uct_open(&game, ROLLOUTS, GAMES, exploration);
    ceiling_uct_shared *tree = ceiling_uct_shared_open(&game, ROLLOUTS, 2, GAMES, exploration);
    CU_ASSERT_FATAL(alone != NULL && tree != NULL);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        double difference = 0;
        for (uint64_t i = 0; i < SEARCHES; i++) {
            uint64_t most = ceiling_uct_run(alone, &board, tern_test_seed() + i, ROLLOUTS);
            CU_ASSERT(ceiling_uct_visits(alone) >= 2 * ROLLOUTS - 1);
            CU_ASSERT(most > ROLLOUTS / 4);
            ceiling_uct_shared_reset(tree, &board, tern_test_seed() + i, ROLLOUTS);
            search(tree, threads);
            difference += ((double)ceiling_uct_shared_most(tree) - (double)most) / SEARCHES;
        }
        CU_ASSERT(difference < 0.1 * ROLLOUTS && difference > -0.1 * ROLLOUTS);
    }
    ceiling_uct_shared_close(tree);
    ceiling_uct_close(alone);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"counts_add_up", counts_add_up},
        {"narrow_trees_fit", narrow_trees_fit},
        {"the_best_move_is_found", the_best_move_is_found},
    };
    return tern_test_main(argc, argv, "uct_shared", tests, sizeof tests / sizeof *tests);
}
