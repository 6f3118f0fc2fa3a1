// tern-test: transports

/* Tree search: its counts add up with all options, it finds known best moves, chooses as the
 * sequential reference does, and keeps to its limits. */

#include <unistd.h>

#include "rma/memory/state.h"
#include "search_tools.h"
#include "games.h"

static const tic_tac_toe_state empty;

/* Runs and checks a search. A second run adds to the first; then some moves are played. */
static void run_and_advance(fixture *f, const tern_game *game, const void *start,
                            const tern_search_options *options, uint64_t rollouts) {
    tern_search *search = NULL;
    tern_search_result result;
    const tern_search_limits limits = {.rollouts = rollouts};
    if (!EXPECT_OK(tern_search_create(f->worker, game, options, &search)))
        return;
    EXPECT_OK(tern_search_reset(f->worker, search, start));
    if (!EXPECT_OK(search_run(f, search, &limits, &result)))
        return;
    CU_ASSERT_EQUAL(result.rollouts, rollouts);
    search_check(f, search, &result, rollouts - 1);
    EXPECT_OK(search_run(f, search, &limits, &result));
    search_check(f, search, &result, 2 * rollouts - 1);
    for (int ply = 0; ply < 3 && result.line_length > 1; ply++) {
        tern_search_statistics before, after;
        EXPECT_OK(tern_search_get_statistics(f->worker, search, &before));
        EXPECT_OK(tern_search_advance(f->worker, search, result.best));
        EXPECT_OK(tern_search_get_statistics(f->worker, search, &after));
        CU_ASSERT(after.nodes < before.nodes && after.nodes > 0);
        EXPECT_OK(tern_mcts_check(f->worker, search));
        if (!EXPECT_OK(search_run(f, search, &limits, &result)))
            return;
        EXPECT_OK(tern_mcts_check(f->worker, search));
    }
    EXPECT_OK(tern_search_destroy(f->worker, search));
}

/* Four runs cover each way to publish, to place nodes and to call at least once; more runs mix
 * them. */
static void books_balance(void) {
    uint64_t random = tern_test_seed();
    for (int i = 0; i < (tern_test_full() ? 24 : 4); i++) {
        fixture f;
        if (!search_open(&f, 1 + (uint32_t)i % 2, i / 2 % 2 == 0 ? 4096 : 0))
            return;
        const nim_state piles = {{3, 4, 5}, 0};
        const tern_search_options options = {.seed = random,
                                             .simulations = 1 + (uint32_t)below(&random, 3),
                                             .under_way = 8 + (uint32_t)below(&random, 200),
                                             .round = 200 + below(&random, 500),
                                             .memory = (size_t)64 << 20,
                                             .placement = (tern_search_placement)(i % 4 == 3),
                                             .calls_only = (i + i / 12) % 2,
                                             .publish = (tern_publish)((i + i / 4) % 3)};
        uint64_t rollouts = (uint64_t)fixture_times(&f, 300);
        run_and_advance(&f, &tic_tac_toe, &empty, &options, rollouts);
        if (options.placement == TERN_PLACE_RANDOM)
            run_and_advance(&f, &nim, &piles, &options, rollouts);
        fixture_close(&f);
    }
}

/* Paper 000, 2.1 and 5.3: owners are drawn with equal chances, 16 simulations for each leaf, rounds
 * of 4096 rollouts for each worker. */
static void defaults_are_the_papers(void) {
    fixture f;
    if (!search_open(&f, 1, 0))
        return;
    const nim_state piles = {{7, 6, 5}, 0};
    const tern_search_options options = {.seed = tern_test_seed(), .memory = (size_t)64 << 20};
    tern_search *search = search_create(&f, &nim, &options, &piles);
    const tern_search_limits limits = {.rollouts = 4096 * (uint64_t)f.size + 1};
    tern_search_result result;
    tern_search_statistics statistics;
    EXPECT_OK(search_run(&f, search, &limits, &result));
    search_check(&f, search, &result, limits.rollouts - 1);
    EXPECT_OK(tern_search_get_statistics(f.worker, search, &statistics));
    const tern_mcts_worker *w = &search->worker[0];
    CU_ASSERT_EQUAL(w->round, 2);
    CU_ASSERT_EQUAL(search->options.simulations, 16);
    const double share = 1.0 / f.size, made = (double)statistics.created;
    const double spread = sqrt(made * share * (1 - share));
    CU_ASSERT(made > 300);
    CU_ASSERT_DOUBLE_EQUAL((double)w->statistics.created, made * share, 6 * spread + 1);
    EXPECT_OK(tern_search_destroy(f.worker, search));
    fixture_close(&f);
}

/* Many more rollouts at a time than rings can hold: messages are kept, and none is lost. */
static void full_rings_lose_nothing(void) {
    fixture f;
    const nim_state piles = {{7, 6, 5}, 0};
    if (!search_open(&f, 1, 4096))
        return;
    const tern_search_options options = {
        .seed = 1, .simulations = 1, .under_way = 2000, .memory = (size_t)64 << 20};
    const tern_search_limits limits = {.rollouts = 4000};
    tern_search_result result;
    tern_search_statistics statistics;
    tern_search *search = search_create(&f, &nim, &options, &piles);
    /* How full the rings get depends on the scheduling, so the test tries several times. */
    for (uint64_t i = 1; i <= 6; i++) {
        EXPECT_OK(search_run(&f, search, &limits, &result));
        search_check(&f, search, &result, i * limits.rollouts - 1);
        EXPECT_OK(tern_search_get_statistics(f.worker, search, &statistics));
        if (f.size == 1 || statistics.kept > 0)
            break;
    }
    CU_ASSERT((statistics.kept > 0) == (f.size > 1));
    CU_ASSERT((statistics.deferred > 0) == (f.size > 1));
    EXPECT_OK(tern_search_destroy(f.worker, search));
    fixture_close(&f);
}

/* Returns whether the reference finds the best move with so many rollouts, for each of four
 * seeds. */
static bool is_easy(const tern_game *game, const void *state, uint32_t rollouts, uint64_t seed) {
    uint32_t moves[MOVES_MOST], count = game->moves(state, moves, NULL);
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t visits[MOVES_MOST];
        uint32_t best = 0;
        uct_search(game, state, &(uct_options){rollouts, 16, 1.4, 1}, seed + i, visits);
        for (uint32_t k = 1; k < count; k++)
            if (visits[k] > visits[best])
                best = k;
        if (!game_is_best(game, state, moves[best]))
            return false;
    }
    return true;
}

/* Returns whether the position has more than three moves, of which exactly one wins. */
static bool has_one_win(const tern_game *game, const void *state) {
    uint32_t moves[MOVES_MOST], count = game->moves(state, moves, NULL), good = 0;
    tern_game_result won = game->player(state, NULL) == 0 ? TERN_GAME_WON : TERN_GAME_LOST;
    for (uint32_t i = 0; i < count; i++)
        good += game_is_best(game, state, moves[i]);
    return good == 1 && count > 3 && game_solve(game, state) == won;
}

/* In positions with one winning move that the reference finds, the search finds it too. */
static void finds_the_best(fixture *f, const tern_game *game, const void *start, int plies,
                           uint64_t seed) {
    enum { ROLLOUTS = 800 };
    const int positions = fixture_all_direct(f) ? 2 : 1;
    const tern_search_options options = {
        .seed = seed, .under_way = 2 * f->size, .memory = (size_t)16 << 20};
    const tern_search_limits limits = {.rollouts = ROLLOUTS};
    tern_search *search = NULL;
    tern_search_result result;
    EXPECT_OK(tern_search_create(f->worker, game, &options, &search));
    int tried = 0;
    for (int drawn = 0; drawn < 200 && tried < positions; drawn++) {
        char state[8];
        if (!game_random_state(game, start, plies + tried, &seed, state) ||
            !has_one_win(game, state) || !is_easy(game, state, ROLLOUTS / 2, seed))
            continue;
        tried++;
        EXPECT_OK(tern_search_reset(f->worker, search, state));
        EXPECT_OK(search_run(f, search, &limits, &result));
        CU_ASSERT(game_is_best(game, state, result.best));
        CU_ASSERT(result.score >= 0 && result.score <= 1);
        CU_ASSERT_EQUAL(result.best, result.moves[0].move);
        CU_ASSERT_EQUAL(result.best, result.line[0]);
    }
    CU_ASSERT(tried > 0);
    EXPECT_OK(tern_search_destroy(f->worker, search));
}

static void known_wins_are_found(void) {
    fixture f;
    const nim_state piles = {{2, 3, 3}, 1};
    if (!search_open(&f, 1, 0))
        return;
    finds_the_best(&f, &tic_tac_toe, &empty, 4, tern_test_seed() + 1);
    finds_the_best(&f, &nim, &piles, 1, tern_test_seed() + 2);
    fixture_close(&f);
}

/* Parameters of a comparison of searches with the reference. */
typedef struct comparison {
    uint32_t under_way; /* total over all workers; 0: the default */
    uint32_t rollouts;
    uint32_t reference_under_way;
    int calls_only;
} comparison;

enum { POSITIONS = 8, REFERENCES = 10, VISIT_SIMULATIONS = 2, RANK_MOST = 71 };

/* Computes each run's mean total variation distance from all other runs; the search's own run is
 * the last. Returns how many runs of the reference have a smaller distance. */
static uint32_t rank_of_search(const tic_tac_toe_state *state, const uint64_t *own,
                               const uct_options *o, uint64_t seed) {
    uint64_t run[REFERENCES + 1][MOVES_MOST];
    uint32_t moves[MOVES_MOST], count = tic_tac_toe.moves(state, moves, NULL), rank = 0;
    double apart[REFERENCES + 1] = {0};
    memcpy(run[REFERENCES], own, sizeof run[0]);
    for (uint64_t i = 0; i < REFERENCES; i++)
        uct_search(&tic_tac_toe, state, o, seed + i, run[i]);
    for (int i = 0; i <= REFERENCES; i++)
        for (int k = 0; k <= REFERENCES; k++)
            apart[i] += uct_distance(run[i], run[k], count);
    for (int i = 0; i < REFERENCES; i++)
        rank += apart[i] < apart[REFERENCES];
    return rank;
}

/* Makes a search of its own from state, and stores the visits of the moves. */
static void search_once(fixture *f, const tern_search_options *options, uint64_t rollouts,
                        const tic_tac_toe_state *state, uint64_t *visits) {
    const tern_search_limits limits = {.rollouts = rollouts};
    tern_search_result result;
    tern_search *search = search_create(f, &tic_tac_toe, options, state);
    EXPECT_OK(search_run(f, search, &limits, &result));
    search_visits(&tic_tac_toe, state, &result, visits);
    EXPECT_OK(tern_search_destroy(f->worker, search));
}

/* The statistic is the sum of these ranks over random positions. If the search behaves like one
 * more run of the reference, each rank is 0 to 10 with equal chances, whatever the distances are,
 * and the sum exceeds 71 once in 17,000 times. The processes take turns in computing ranks. */
static void compare(fixture *f, const comparison *c) {
    uint64_t random = tern_test_seed() + 2, sum = 0;
    const tern_search_options options = {.seed = random,
                                         .exploration = 1,
                                         .simulations = VISIT_SIMULATIONS,
                                         .under_way = c->under_way,
                                         .memory = (size_t)16 << 20,
                                         .calls_only = c->calls_only};
    const uct_options reference = {c->rollouts, VISIT_SIMULATIONS, 1, c->reference_under_way};
    for (uint32_t i = 0; i < POSITIONS; i++) {
        tic_tac_toe_state state;
        uint64_t visits[MOVES_MOST];
        while (!game_random_state(&tic_tac_toe, &empty, (int)i % 4, &random, &state))
            ;
        search_once(f, &options, c->rollouts, &state, visits);
        if (i % f->size == f->rank)
            sum += rank_of_search(&state, visits, &reference, random);
    }
    EXPECT_OK(tern_team_allreduce(f->worker, NULL, TERN_UINT64, TERN_REDUCE_SUM, &sum, 1));
    CU_ASSERT(sum <= RANK_MOST);
}

static void visits_are_those_of_the_reference(void) {
    fixture f;
    if (!search_open(&f, 1, 0))
        return;
    compare(&f, &(comparison){.under_way = f.size == 1 ? 1 : 2 * f.size,
                              .rollouts = 600,
                              .reference_under_way = 1});
    fixture_close(&f);
}

/* Opens a context if the ranks share memory and there is a core for each worker. A worker that
 * loses its core for a time slice holds back its rollouts, and what the others search meanwhile is
 * a different search. */
static bool open_with_cores(fixture *f, uint32_t workers) {
    if (!search_open(f, workers, 0))
        return false;
    if (fixture_all_direct(f) && (long)f->size * (long)workers <= sysconf(_SC_NPROCESSORS_ONLN))
        return true;
    tern_test_skip("where ranks share memory, on a core for each worker");
    fixture_close(f);
    return false;
}

/* By default 16 rollouts are under way for each worker, and count as lost until they are back. That
 * moves visits: with 150 times as many rollouts, some 1.3 % of the visits are elsewhere than in a
 * sequential search, beyond the difference between two sequential searches. This is too much for
 * the statistic. A sequential search with as many rollouts under way moves visits in the same way.
 * Compared with that search, the sum, whose mean is 40 by chance, has a mean of 40 for two workers
 * of a process and of 45 for two ranks. */
static void visits_are_so_with_more_under_way(void) {
    const uint32_t workers = tern_test_size() == 1 ? 2 : 1;
    fixture f;
    if (!open_with_cores(&f, workers))
        return;
    const uint32_t under_way = 16 * workers * f.size;
    compare(&f, &(comparison){.rollouts = 150 * under_way, .reference_under_way = under_way});
    fixture_close(&f);
}

static void visits_are_so_by_threads(void) {
    for (int calls_only = 0; calls_only < 2; calls_only++) {
        fixture f;
        if (!open_with_cores(&f, 2))
            return;
        compare(&f, &(comparison){.under_way = 2 * 2 * f.size,
                                  .rollouts = 600,
                                  .reference_under_way = 1,
                                  .calls_only = calls_only});
        fixture_close(&f);
    }
}

static void one_worker_repeats_itself(void) {
    fixture f;
    if (tern_test_size() > 1) {
        tern_test_skip("with one worker only");
        return;
    }
    if (!search_open(&f, 1, 4096))
        return;
    for (int hash = 0; hash < 2; hash++) {
        const tern_search_options options = {.seed = 7,
                                             .under_way = 20,
                                             .memory = (size_t)16 << 20,
                                             .placement = (tern_search_placement)hash};
        const tern_search_limits limits = {.rollouts = 2000};
        uint64_t visits[3][MOVES_MOST];
        tern_search *search = NULL;
        tern_search_result result;
        EXPECT_OK(tern_search_create(f.worker, &tic_tac_toe, &options, &search));
        for (int i = 0; i < 2; i++) {
            EXPECT_OK(tern_search_reset(f.worker, search, &empty));
            EXPECT_OK(search_run(&f, search, &limits, &result));
            search_visits(&tic_tac_toe, &empty, &result, visits[i]);
        }
        CU_ASSERT_EQUAL(memcmp(visits[0], visits[1], 9 * sizeof visits[0][0]), 0);
        EXPECT_OK(search_run(&f, search, &limits, &result));
        search_visits(&tic_tac_toe, &empty, &result, visits[2]);
        CU_ASSERT_NOT_EQUAL(memcmp(visits[1], visits[2], 9 * sizeof visits[0][0]), 0);
        EXPECT_OK(tern_search_destroy(f.worker, search));
    }
    fixture_close(&f);
}

/* With memory for few nodes the search goes on, and its counts add up. Playing a move frees
 * memory. */
static void memory_is_kept_to(void) {
    fixture f;
    if (!search_open(&f, 1, 0))
        return;
    for (int hash = 0; hash < 2; hash++) {
        tern_search_options options = {.memory = 20000, .placement = (tern_search_placement)hash};
        const tern_search_limits limits = {.rollouts = (uint64_t)fixture_times(&f, 1000) + 600},
                                 some = {.rollouts = (uint64_t)fixture_times(&f, 1600)};
        tern_search_result result;
        tern_search_statistics full, after;
        tern_search *search = search_create(&f, &tic_tac_toe, &options, &empty);
        EXPECT_OK(search_run(&f, search, &limits, &result));
        EXPECT_OK(search_run(&f, search, &limits, &result));
        search_check(&f, search, &result, 2 * limits.rollouts - 1);
        EXPECT_OK(tern_search_get_statistics(f.worker, search, &full));
        CU_ASSERT(full.refused > 0);
        CU_ASSERT(full.nodes >= f.size && full.nodes <= f.size * options.memory / 128);
        CU_ASSERT_EQUAL(full.rollouts, 2 * limits.rollouts);
        for (int ply = 0; ply < 3; ply++) {
            EXPECT_OK(tern_search_advance(f.worker, search, result.best));
            EXPECT_OK(search_run(&f, search, &some, &result));
            EXPECT_OK(tern_mcts_check(f.worker, search));
        }
        EXPECT_OK(tern_search_get_statistics(f.worker, search, &after));
        CU_ASSERT(after.created > full.created);
        EXPECT_OK(tern_search_destroy(f.worker, search));
    }
    fixture_close(&f);
}

/* With memory for some 30 nodes a rank, the tree does not reach the end of the game. Then each node
 * was simulated once, and each further simulation was for a node that was refused or had no memory
 * for edges. */
static void what_is_refused_is_counted(void) {
    fixture f;
    if (!search_open(&f, 1, 0))
        return;
    const tern_search_options options = {.memory = 5000, .simulations = 1};
    const tern_search_limits limits = {.rollouts = 400};
    tern_search_result result;
    tern_search_statistics statistics;
    tern_search *search = search_create(&f, &tic_tac_toe, &options, &empty);
    EXPECT_OK(search_run(&f, search, &limits, &result));
    EXPECT_OK(tern_search_get_statistics(f.worker, search, &statistics));
    CU_ASSERT(statistics.refused > 0);
    CU_ASSERT_EQUAL(statistics.completions, statistics.created + statistics.refused);
    EXPECT_OK(tern_search_destroy(f.worker, search));
    fixture_close(&f);
}

/* After a move, the root has the visits that the move had. A move that was never tried begins an
 * empty tree. A move that ends the game can be played, but then no run can begin. */
static void moves_are_played(void) {
    fixture f;
    if (!search_open(&f, 1, 0))
        return;
    const tern_search_options options = {.memory = (size_t)16 << 20};
    const tern_search_limits limits = {.rollouts = 500}, one = {.rollouts = 1};
    tern_search *search = NULL;
    tern_search_result result;
    tern_search_statistics statistics;
    EXPECT_OK(tern_search_create(f.worker, &tic_tac_toe, &options, &search));
    EXPECT(TERN_ERR_STATE, search_run(&f, search, &limits, &result));
    EXPECT_DETAIL("tern_search_reset");
    EXPECT(TERN_ERR_STATE, tern_search_advance(f.worker, search, 0));
    EXPECT_OK(tern_search_reset(f.worker, search, &empty));
    EXPECT(TERN_ERR_ARGUMENT, tern_search_advance(f.worker, search, 9));
    EXPECT_DETAIL("not one of the 9 moves");
    EXPECT_OK(search_run(&f, search, &limits, &result));
    uint64_t visits = result.moves[0].visits;
    EXPECT_OK(tern_search_advance(f.worker, search, result.best));
    EXPECT_OK(search_run(&f, search, &one, &result));
    search_check(&f, search, &result, visits);
    CU_ASSERT_EQUAL(result.rollouts, 1);

    EXPECT_OK(tern_search_reset(f.worker, search, &empty));
    EXPECT_OK(tern_search_advance(f.worker, search, 0));
    EXPECT_OK(tern_search_get_statistics(f.worker, search, &statistics));
    CU_ASSERT_EQUAL(statistics.nodes, 1);
    for (uint32_t i = 0; i < 4; i++)
        EXPECT_OK(tern_search_advance(f.worker, search, (uint32_t[]){3, 1, 4, 2}[i]));
    EXPECT(TERN_ERR_STATE, search_run(&f, search, &one, &result));
    EXPECT_DETAIL("over");
    EXPECT(TERN_ERR_ARGUMENT, tern_search_advance(f.worker, search, 5));
    EXPECT_OK(tern_search_destroy(f.worker, search));
    fixture_close(&f);
}

static struct {
    const tern_worker *worker;
    uint32_t played, corked;
} slow;

/* The first simulation is not known to be long, so calls may still be corked. */
static uint32_t slow_rollouts(const void *state, uint32_t count, tern_random *random,
                              void *argument) {
    (void)state, (void)random, (void)argument;
    slow.corked += slow.played++ > 0 && tern_rma_worker_of(slow.worker)->corked;
    for (double end = MPI_Wtime() + 1e-4; MPI_Wtime() < end;)
        ;
    return count;
}

static void calls_do_not_wait_for_long_simulations(void) {
    fixture f;
    if (!search_open(&f, 1, 0))
        return;
    slow.worker = f.worker;
    slow.played = slow.corked = 0;
    tern_game game = tic_tac_toe;
    game.rollouts = slow_rollouts;
    const tern_search_options options = {.memory = (size_t)16 << 20};
    const tern_search_limits limits = {.rollouts = 100};
    tern_search_result result;
    tern_search *search = search_create(&f, &game, &options, &empty);
    EXPECT_OK(search_run(&f, search, &limits, &result));
    CU_ASSERT(slow.played > 0);
    CU_ASSERT_EQUAL(slow.corked, fixture_all_direct(&f) ? slow.played - 1 : 0);
    EXPECT_OK(tern_search_destroy(f.worker, search));
    fixture_close(&f);
}

/* States that are reached in several ways share one node: the game has at most 5,478 states. */
static void states_are_shared(void) {
    fixture f;
    if (!search_open(&f, 1, 0))
        return;
    const tern_search_options options = {
        .memory = (size_t)16 << 20, .simulations = 1, .placement = TERN_PLACE_HASH};
    const tern_search_limits limits = {.rollouts = (uint64_t)fixture_times(&f, 20000)};
    tern_search_result result;
    tern_search_statistics statistics;
    tern_search *search = search_create(&f, &tic_tac_toe, &options, &empty);
    EXPECT_OK(search_run(&f, search, &limits, &result));
    search_check(&f, search, &result, limits.rollouts - 1);
    EXPECT_OK(tern_search_get_statistics(f.worker, search, &statistics));
    CU_ASSERT(statistics.shared > 0);
    CU_ASSERT(statistics.nodes <= 5478);
    CU_ASSERT_EQUAL(statistics.completions, limits.rollouts);
    CU_ASSERT(statistics.depth_most <= 9);
    CU_ASSERT(statistics.visits > statistics.completions);
    EXPECT_OK(tern_search_destroy(f.worker, search));
    fixture_close(&f);
}

static void time_is_kept_to(void) {
    fixture f;
    if (!search_open(&f, 1, 0))
        return;
    const tern_search_options options = {.memory = (size_t)16 << 20};
    const tern_search_limits limits = {.seconds = 0.1};
    tern_search_result result;
    tern_search *search = search_create(&f, &tic_tac_toe, &options, &empty);
    EXPECT_OK(search_run(&f, search, &limits, &result));
    CU_ASSERT(result.rollouts > 0);
    CU_ASSERT(result.seconds >= 0.1);
    search_check(&f, search, &result, result.rollouts - 1);
    /* The time is over before the run begins. */
    const tern_search_limits none = {.rollouts = 1000, .seconds = 1e-9};
    uint64_t before = result.rollouts;
    EXPECT_OK(search_run(&f, search, &none, &result));
    CU_ASSERT_EQUAL(result.rollouts, 0);
    search_check(&f, search, &result, before - 1);
    EXPECT_OK(tern_search_destroy(f.worker, search));
    fixture_close(&f);
}

static void nonsense_is_refused(void) {
    fixture f;
    if (!search_open(&f, 1, 4096))
        return;
    tern_search *search = NULL;
    tern_game game = tic_tac_toe;
    tern_search_options options = {0};
#define REFUSED(status, part)                                                                      \
    EXPECT(status, tern_search_create(f.worker, &game, &options, &search));                        \
    EXPECT_DETAIL(part);                                                                           \
    CU_ASSERT_PTR_NULL(search);                                                                    \
    game = tic_tac_toe;                                                                            \
    options = (tern_search_options){0}
    game.play = NULL;
    REFUSED(TERN_ERR_ARGUMENT, "has no play");
    game.state_bytes = 0;
    REFUSED(TERN_ERR_ARGUMENT, "state_bytes");
    game.state_bytes = TERN_GAME_STATE_MAX + 1;
    REFUSED(TERN_ERR_ARGUMENT, "state_bytes");
    game.state_bytes = TERN_GAME_STATE_MAX;
    REFUSED(TERN_ERR_UNSUPPORTED, "TERN_RING_SIZE");
    game.moves_max = 0;
    REFUSED(TERN_ERR_ARGUMENT, "moves_max");
    game.hash = NULL;
    options.placement = TERN_PLACE_HASH;
    REFUSED(TERN_ERR_ARGUMENT, "no hash");
    options.memory = 100;
    REFUSED(TERN_ERR_ARGUMENT, "memory is 100");
    options.simulations = 65536;
    REFUSED(TERN_ERR_ARGUMENT, "simulations");
    if (f.size > 1) {
        options.seed = f.rank;
        REFUSED(TERN_ERR_MISMATCH, "tern_search_create");
    }
    EXPECT_OK(tern_search_create(f.worker, &tic_tac_toe, &options, &search));
    if (f.size > 1) {
        tic_tac_toe_state state = {{(uint16_t)(1u << f.rank), 0}};
        EXPECT(TERN_ERR_MISMATCH, tern_search_reset(f.worker, search, &state));
        EXPECT_DETAIL("the state of tern_search_reset");
    }
    EXPECT_OK(tern_search_reset(f.worker, search, &empty));
    tern_search_result result;
    EXPECT(TERN_ERR_ARGUMENT, search_run(&f, search, &(tern_search_limits){0}, &result));
    EXPECT_DETAIL("no limit");
    EXPECT(TERN_ERR_ARGUMENT,
           search_run(&f, search, &(tern_search_limits){.seconds = -1}, &result));
    EXPECT_OK(tern_search_destroy(f.worker, search));
    EXPECT_OK(tern_search_destroy(f.worker, NULL));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"nonsense_is_refused", nonsense_is_refused},
        {"books_balance", books_balance},
        {"defaults_are_the_papers", defaults_are_the_papers},
        {"full_rings_lose_nothing", full_rings_lose_nothing},
        {"known_wins_are_found", known_wins_are_found},
        {"visits_are_those_of_the_reference", visits_are_those_of_the_reference},
        {"visits_are_so_with_more_under_way", visits_are_so_with_more_under_way},
        {"visits_are_so_by_threads", visits_are_so_by_threads},
        {"one_worker_repeats_itself", one_worker_repeats_itself},
        {"memory_is_kept_to", memory_is_kept_to},
        {"what_is_refused_is_counted", what_is_refused_is_counted},
        {"moves_are_played", moves_are_played},
        {"calls_do_not_wait", calls_do_not_wait_for_long_simulations},
        {"states_are_shared", states_are_shared},
        {"time_is_kept_to", time_is_kept_to},
    };
    return tern_test_main(argc, argv, "mcts", tests, sizeof tests / sizeof *tests);
}
