/* The tree that threads share: after a search every visit and every half point is where it should
 * be, and it finds what a thread by itself finds. */

#include <pthread.h>
#include <stdlib.h>

#include "harness.h"

#include "benchmarks/ceilings/uct.h"
#include "benchmarks/ceilings/uct_shared.h"
#include "games/hex/game.h"

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

static void check(uint32_t size, uint32_t threads, uint64_t rollouts) {
    hex_geometry geometry = hex_geometry_of(size, false);
    tern_game game = hex_game(&geometry);
    hex_board board = hex_board_empty();
    uint64_t nodes = 0;
    ceiling_uct_shared *tree =
        ceiling_uct_shared_open(&game, rollouts, threads, GAMES, exploration);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
    /* The second one in memory that the first has left. */
    for (uint64_t seed = 0; seed < 2; seed++) {
        ceiling_uct_shared_reset(tree, &board, tern_test_seed() + seed, rollouts);
        search(tree, threads);
        CU_ASSERT(ceiling_uct_shared_check(tree, rollouts, &nodes));
        CU_ASSERT(!ceiling_uct_shared_check(tree, rollouts + 1, &nodes));
        CU_ASSERT(nodes <= rollouts);
        CU_ASSERT(size == 1 || ceiling_uct_shared_visits(tree) >= 2 * rollouts - 1);
    }
    ceiling_uct_shared_close(tree);
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

/* On 3 x 3 cells the middle wins, and soon has nearly all visits. */
static void the_best_move_is_found(void) {
    enum { ROLLOUTS = 10000 };
    hex_geometry geometry = hex_geometry_of(3, false);
    tern_game game = hex_game(&geometry);
    hex_board board = hex_board_empty();
    ceiling_uct *alone = ceiling_uct_open(&game, ROLLOUTS, GAMES, exploration);
    ceiling_uct_shared *tree = ceiling_uct_shared_open(&game, ROLLOUTS, 2, GAMES, exploration);
    CU_ASSERT_FATAL(alone != NULL && tree != NULL);
    uint64_t most = ceiling_uct_run(alone, &board, tern_test_seed(), ROLLOUTS);
    CU_ASSERT(ceiling_uct_visits(alone) >= 2 * ROLLOUTS - 1);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        ceiling_uct_shared_reset(tree, &board, tern_test_seed(), ROLLOUTS);
        search(tree, threads);
        double difference = (double)ceiling_uct_shared_most(tree) - (double)most;
        CU_ASSERT(most > ROLLOUTS / 4);
        CU_ASSERT(difference < 0.1 * ROLLOUTS && difference > -0.1 * ROLLOUTS);
    }
    ceiling_uct_shared_close(tree);
    ceiling_uct_close(alone);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"counts_add_up", counts_add_up},
        {"the_best_move_is_found", the_best_move_is_found},
    };
    return tern_test_main(argc, argv, "uct_shared", tests, sizeof tests / sizeof *tests);
}
