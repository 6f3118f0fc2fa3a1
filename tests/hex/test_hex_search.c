/* The search agrees with the solver on small boards of Hex: it finds a winning move if there is
 * one, and knows who is winning. */

#include <stdio.h>

#include "known.h"
#include "search_tools.h"

#include "examples/games/hex/game.h"

static tern_search *open_search(fixture *f, const hex_geometry *g, uint32_t workers,
                                tern_search_placement placement) {
    const tern_search_options options = {.seed = tern_test_seed(),
                                         .exploration = 0.7,
                                         .simulations = 2,
                                         .under_way = 8 * workers * (uint32_t)tern_test_size(),
                                         .memory = (size_t)128 << 20,
                                         .placement = placement};
    tern_game game = hex_game(g);
    tern_search *search = NULL;
    CU_ASSERT_TRUE_FATAL(search_open(f, workers, 0));
    CU_ASSERT_TRUE_FATAL(EXPECT_OK(tern_search_create(f->worker, &game, &options, &search)));
    return search;
}

static void close_search(fixture *f, tern_search *search) {
    EXPECT_OK(tern_search_destroy(f->worker, search));
    fixture_close(f);
}

static hex_board board_of(const hex_geometry *g, const hex_position *p) {
    hex_board b = hex_board_empty();
    for (uint32_t cell = 0; cell < hex_cells(g); cell++)
        for (uint32_t player = 0; player < 2; player++)
            if ((p->stones[player] >> cell & 1) != 0)
                hex_put(g, &b, player, cell);
    hex_turn(g, &b, p->mover);
    return b;
}

/* Returns whether the search agrees with winning, the bits of the moves that win. */
static bool agrees(const tern_search_result *result, uint64_t winning) {
    return (result->score > 0.5) == (winning != 0) &&
           (winning == 0 || (winning >> result->best & 1) != 0);
}

/* The search agrees within 20 runs of so many rollouts, and still agrees after the next run. How
 * soon it does depends on the rollouts under way at once, and so on the scheduling of the ranks. */
static void finds(fixture *f, tern_search *search, const hex_geometry *g, const hex_position *p,
                  uint64_t rollouts, uint64_t winning) {
    enum { TIMES = 20 };
    const tern_search_limits limits = {.rollouts = rollouts};
    hex_board b = board_of(g, p);
    tern_search_result result = {0};
    int in_a_row = 0;
    EXPECT_OK(tern_search_reset(f->worker, search, &b));
    for (int i = 0; i < TIMES && in_a_row < 2; i++) {
        if (!EXPECT_OK(search_run(f, search, &limits, &result)))
            return;
        in_a_row = agrees(&result, winning) ? in_a_row + 1 : 0;
    }
    CU_ASSERT_EQUAL(in_a_row, 2);
}

/* White's answers to some openings. */
static void replies(uint32_t size, uint64_t openings, uint32_t workers,
                    tern_search_placement placement, uint64_t rollouts) {
    fixture f;
    hex_geometry g = hex_geometry_of(size, false);
    tern_search *search = open_search(&f, &g, workers, placement);
    hex_solver *solver = hex_solver_open(size, 1 << 16);
    CU_ASSERT_PTR_NOT_NULL_FATAL(solver);
    for (uint64_t left = openings; left != 0; left &= left - 1) {
        hex_position p = {{left & -left, 0}, 1};
        finds(&f, search, &g, &p, rollouts, hex_solver_winning_moves(solver, p));
    }
    hex_solver_close(solver);
    close_search(&f, search);
}

/* Returns the openings to test: without those that are another one turned by 180 degrees. With
 * several ranks, which may share processors, it returns only some. */
static uint64_t openings_of(uint32_t size, uint64_t some) {
    if (tern_test_full())
        return (UINT64_C(1) << size * size) - 1;
    return tern_test_size() > 1 ? some : (UINT64_C(2) << (size * size - 1) / 2) - 1;
}

static void replies_on_3x3(void) {
    replies(3, openings_of(3, 0x1f), 1, TERN_PLACE_RANDOM, 2500);
    replies(3, openings_of(3, 0x5), 2, TERN_PLACE_RANDOM, 2500);
    replies(3, openings_of(3, 0x5), 1, TERN_PLACE_HASH, 2500);
}

static void replies_on_4x4(void) { replies(4, openings_of(4, 0x8), 1, TERN_PLACE_RANDOM, 10000); }

static void plays_known(const known_position *k, uint64_t rollouts) {
    fixture f;
    uint64_t winning;
    hex_geometry g = hex_geometry_of(k->size, false);
    hex_position p = known_read(k, &winning);
    tern_search *search = open_search(&f, &g, 1, TERN_PLACE_RANDOM);
    finds(&f, search, &g, &p, rollouts, winning);
    close_search(&f, search);
}

static void openings(void) {
    for (int i = 0; i < KNOWN_OPENINGS; i++)
        if (known_openings[i].size < 4 || tern_test_size() == 1 || tern_test_full())
            plays_known(&known_openings[i], known_openings[i].size < 4 ? 2000 : 10000);
}

static void bridges_and_ladders(void) {
    for (int i = 0; i < KNOWN_POSITIONS; i++)
        plays_known(&known_positions[i], 1500);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"openings", openings},
        {"replies_on_3x3", replies_on_3x3},
        {"replies_on_4x4", replies_on_4x4},
        {"bridges_and_ladders", bridges_and_ladders},
    };
    return tern_test_main(argc, argv, "hex_search", tests, sizeof tests / sizeof *tests);
}
