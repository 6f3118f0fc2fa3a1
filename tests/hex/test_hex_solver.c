/* Tests the solver of small boards against brute force and against known results, and compares the
 * winner by examples/games/hex with the winner by the solver. */

#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "known.h"
#include "solver.h"

#include "examples/games/hex/board.h"

enum { POSITIONS = 1 << 16 };

static naive_hex naive_of(uint32_t size, const hex_position *p) {
    naive_hex b;
    memset(&b, 0, sizeof b);
    b.size = (int)size;
    for (uint32_t cell = 0; cell < size * size; cell++)
        b.cell[cell / size][cell % size] = (p->stones[0] >> cell & 1) != 0   ? 1
                                           : (p->stones[1] >> cell & 1) != 0 ? 2
                                                                             : 0;
    return b;
}

/* Tries every move, however often a position is reached. */
static bool naive_wins(naive_hex *b, int mover) {
    if (naive_hex_connects(b, 1 - mover))
        return false;
    for (int row = 0; row < b->size; row++)
        for (int column = 0; column < b->size; column++) {
            if (b->cell[row][column] != 0)
                continue;
            b->cell[row][column] = mover + 1;
            bool wins = !naive_wins(b, 1 - mover);
            b->cell[row][column] = 0;
            if (wins)
                return true;
        }
    return false;
}

/* The position must not have a winner yet. */
static void agree(hex_solver *s, uint32_t size, hex_position p) {
    naive_hex b = naive_of(size, &p);
    uint64_t winning = hex_solver_winning_moves(s, p);
    bool wins = naive_wins(&b, (int)p.mover);
    CU_ASSERT_EQUAL(hex_solver_wins(s, p), wins);
    CU_ASSERT_EQUAL(winning != 0, wins);
    for (uint32_t cell = 0; cell < size * size; cell++) {
        int *at = &b.cell[cell / size][cell % size];
        if (*at != 0)
            continue;
        *at = (int)p.mover + 1;
        CU_ASSERT_EQUAL((winning >> cell & 1) != 0, !naive_wins(&b, 1 - (int)p.mover));
        *at = 0;
    }
}

static bool nobody_has_won(const hex_solver *s, const hex_position *p) {
    return !hex_solver_connects(s, p->stones[0], 0) && !hex_solver_connects(s, p->stones[1], 1);
}

/* All positions of 2x2 with either player to move, and up to 200 random ones of 3x3 (2,000 with
 * --full). */
static void solver_and_brute_force_agree(void) {
    uint64_t random = tern_test_seed() + 1;
    hex_solver *two = hex_solver_open(2, 256), *three = hex_solver_open(3, 1024);
    CU_ASSERT_PTR_NOT_NULL_FATAL(two);
    CU_ASSERT_PTR_NOT_NULL_FATAL(three);
    for (uint64_t black = 0; black < 16; black++)
        for (uint64_t white = 0; white < 16; white++)
            for (uint32_t mover = 0; mover < 2; mover++) {
                hex_position p = {{black, white}, mover};
                if ((black & white) == 0 && nobody_has_won(two, &p))
                    agree(two, 2, p);
            }
    for (int i = 0; i < (tern_test_full() ? 2000 : 200); i++) {
        hex_position p = {{0, 0}, (uint32_t)(tern_test_random(&random) % 2)};
        uint64_t stones = tern_test_random(&random) & 511, own = tern_test_random(&random);
        p.stones[0] = stones & own;
        p.stones[1] = stones & ~own;
        if (__builtin_popcountll(stones) >= 2 && nobody_has_won(three, &p))
            agree(three, 3, p);
    }
    hex_solver_close(two);
    hex_solver_close(three);
}

static uint64_t solve(const known_position *k, hex_position p) {
    hex_solver *s = hex_solver_open(k->size, POSITIONS);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    uint64_t winning = hex_solver_winning_moves(s, p);
    hex_solver_close(s);
    return winning;
}

static void openings_are_those_that_are_known(void) {
    static const int count[] = {1, 2, 5, 4};
    for (int i = 0; i < KNOWN_OPENINGS; i++) {
        uint64_t known;
        hex_position p = known_read(&known_openings[i], &known);
        CU_ASSERT_EQUAL(solve(&known_openings[i], p), known);
        CU_ASSERT_EQUAL(__builtin_popcountll(known), count[i]);
    }
}

static void positions_are_as_they_are_known(void) {
    for (int i = 0; i < KNOWN_POSITIONS; i++) {
        uint64_t known;
        hex_position p = known_read(&known_positions[i], &known);
        uint64_t winning = solve(&known_positions[i], p);
        if (winning != known)
            fprintf(stderr, "%s: 0x%llx\n", known_positions[i].name, (unsigned long long)winning);
        CU_ASSERT_EQUAL(winning, known);
    }
}

static void boards_have_a_limit(void) {
    hex_solver *largest = hex_solver_open(SOLVER_SIZE_MAX, 16);
    CU_ASSERT_PTR_NOT_NULL(largest);
    hex_solver_close(largest);
    CU_ASSERT_PTR_NULL(hex_solver_open(SOLVER_SIZE_MAX + 1, 16));
}

/* Every full board of up to 4x4, and boards that are not full. */
static void boards_are_won_by_the_same(void) {
    uint64_t random = tern_test_seed() + 2;
    for (uint32_t size = 1; size <= 4; size++) {
        hex_geometry g = hex_geometry_of(size, false);
        hex_solver *s = hex_solver_open(size, 16);
        CU_ASSERT_PTR_NOT_NULL_FATAL(s);
        bool same = true;
        for (uint32_t black = 0; black >> hex_cells(&g) == 0; black++) {
            uint64_t all = (UINT64_C(1) << hex_cells(&g)) - 1;
            uint64_t some = black % 4 == 0 ? tern_test_random(&random) : all;
            const uint64_t stones[2] = {black & some, ~(uint64_t)black & all & some};
            hex_board b = hex_board_empty();
            for (uint32_t cell = 0; cell < hex_cells(&g); cell++)
                for (uint32_t player = 0; player < 2; player++)
                    if ((stones[player] >> cell & 1) != 0)
                        hex_put(&g, &b, player, cell);
            for (uint32_t player = 0; player < 2; player++)
                same = same && hex_connects(&g, &b, player) ==
                                   hex_solver_connects(s, stones[player], player);
        }
        CU_ASSERT(same);
        hex_solver_close(s);
    }
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"solver_and_brute_force_agree", solver_and_brute_force_agree},
        {"openings_are_those_that_are_known", openings_are_those_that_are_known},
        {"positions_are_as_they_are_known", positions_are_as_they_are_known},
        {"boards_have_a_limit", boards_have_a_limit},
        {"boards_are_won_by_the_same", boards_are_won_by_the_same},
    };
    return tern_test_main(argc, argv, "hex_solver", tests, sizeof tests / sizeof *tests);
}
