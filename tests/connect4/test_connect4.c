/* Connect Four: its rules against a plain implementation, and positions in which one move wins, or
 * in which only one move does not lose at once. */

#include "fixture.h"

#include "examples/games/connect4/connect4.h"
#include "tern/mcts.h"

enum { COLUMNS = CONNECT4_COLUMNS, ROWS = CONNECT4_ROWS };

/* A plain board: the stone in each cell, or '.' for none. */
typedef struct board {
    char cell[COLUMNS][ROWS];
} board;

static bool four_from(const board *b, int column, int row, int right, int up) {
    for (int i = 0; i < 4; i++) {
        int c = column + i * right, r = row + i * up;
        if (c < 0 || c >= COLUMNS || r < 0 || r >= ROWS || b->cell[c][r] != b->cell[column][row])
            return false;
    }
    return b->cell[column][row] != '.';
}

static tern_game_result judge(const board *b, int stones) {
    for (int c = 0; c < COLUMNS; c++)
        for (int r = 0; r < ROWS; r++)
            if (four_from(b, c, r, 1, 0) || four_from(b, c, r, 0, 1) || four_from(b, c, r, 1, 1) ||
                four_from(b, c, r, 1, -1))
                return b->cell[c][r] == 'x' ? TERN_GAME_WON : TERN_GAME_LOST;
    return stones == COLUMNS * ROWS ? TERN_GAME_DRAWN : TERN_GAME_OPEN;
}

static bool drop(board *b, uint32_t column, char stone) {
    for (int r = 0; r < ROWS; r++)
        if (b->cell[column][r] == '.') {
            b->cell[column][r] = stone;
            return true;
        }
    return false;
}

static void rules_are_the_plain_ones(void) {
    uint64_t random = tern_test_seed(), wrong = 0;
    for (int game = 0; game < 300; game++) {
        connect4_state s = {{0, 0}};
        board b;
        memset(&b, '.', sizeof b);
        for (int stones = 0;; stones++) {
            uint32_t moves[COLUMNS], count = connect4.moves(&s, moves, NULL), open = 0;
            tern_game_result result = judge(&b, stones);
            wrong += connect4.result(&s, NULL) != result;
            if (result != TERN_GAME_OPEN || wrong > 0)
                break;
            for (int c = 0; c < COLUMNS; c++)
                open += b.cell[c][ROWS - 1] == '.';
            wrong += count != open || connect4.player(&s, NULL) != stones % 2;
            uint32_t move = moves[below(&random, count)];
            wrong += !drop(&b, move, stones % 2 == 0 ? 'x' : 'o');
            connect4.play(&s, move, NULL);
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void random_games_are_fair(void) {
    connect4_state s = {{0, 0}};
    tern_random random = tern_random_seeded(tern_test_seed(), 0);
    uint32_t sum = connect4.rollouts(&s, 20000, &random, NULL);
    /* Long runs gave 0.556 of the points to the player who begins. 0.02 is six standard
     * deviations. */
    CU_ASSERT_DOUBLE_EQUAL(sum / 40000.0, 0.556, 0.02);
    CU_ASSERT(connect4_play(&s, "010101"));
    CU_ASSERT(connect4.hash(&s, NULL) != connect4.hash(&(connect4_state){{0, 0}}, NULL));
    CU_ASSERT(connect4_play(&s, "0"));
    CU_ASSERT_EQUAL(connect4.result(&s, NULL), TERN_GAME_WON);
    CU_ASSERT_FALSE(connect4_play(&s, "1"));
    s = (connect4_state){{0, 0}};
    CU_ASSERT_FALSE(connect4_play(&s, "7"));
    CU_ASSERT_FALSE(connect4_play(&s, "0000000"));
}

/* Returns how many moves win at once. [out] move: the last of them. */
static uint32_t wins(const connect4_state *s, uint32_t *move) {
    uint32_t moves[COLUMNS], count = connect4.moves(s, moves, NULL), found = 0;
    for (uint32_t i = 0; i < count; i++) {
        connect4_state next = *s;
        connect4.play(&next, moves[i], NULL);
        tern_game_result result = connect4.result(&next, NULL);
        if (result == TERN_GAME_WON || result == TERN_GAME_LOST) {
            *move = moves[i];
            found++;
        }
    }
    return found;
}

/* Returns a position after some random moves in which exactly one move wins. */
static connect4_state draw_a_win(uint64_t *random, uint32_t *best) {
    for (;;) {
        connect4_state s = {{0, 0}};
        for (uint64_t left = 6 + below(random, 20); left > 0; left--) {
            uint32_t moves[COLUMNS], count = connect4.moves(&s, moves, NULL);
            connect4.play(&s, moves[below(random, count)], NULL);
            if (connect4.result(&s, NULL) != TERN_GAME_OPEN)
                break;
        }
        if (connect4.result(&s, NULL) == TERN_GAME_OPEN && wins(&s, best) == 1)
            return s;
    }
}

static void expect_best(fixture *f, tern_search *search, const connect4_state *s, uint32_t best) {
    const tern_search_limits limits = {.rollouts = 2000};
    tern_search_result result;
    EXPECT_OK(tern_search_reset(f->worker, search, s));
    EXPECT_OK(tern_search_run(f->worker, search, &limits, &result));
    CU_ASSERT_EQUAL(result.best, best);
    CU_ASSERT_EQUAL(result.line[0], best);
}

static void wins_and_blocks_are_found(void) {
    /* The opponent has three in a row: vertical; horizontal, open at the right or at the left;
     * vertical on top of another stone. */
    static const struct {
        const char *played;
        uint32_t best;
    } blocks[] = {{"31323", 3}, {"00112", 3}, {"66554", 3}, {"5005050", 0}};
    fixture f;
    uint64_t random = tern_test_seed();
    if (!fixture_open(&f, NULL))
        return;
    const tern_search_options options = {.memory = (size_t)64 << 20, .under_way = 4 * f.size};
    tern_search *search = NULL;
    EXPECT_OK(tern_search_create(f.worker, &connect4, &options, &search));
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        connect4_state s = {{0, 0}};
        CU_ASSERT(connect4_play(&s, blocks[i].played));
        expect_best(&f, search, &s, blocks[i].best);
    }
    for (int i = 0; i < 6; i++) {
        uint32_t best = 0;
        connect4_state s = draw_a_win(&random, &best);
        expect_best(&f, search, &s, best);
    }
    EXPECT_OK(tern_search_destroy(f.worker, search));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"rules_are_the_plain_ones", rules_are_the_plain_ones},
        {"random_games_are_fair", random_games_are_fair},
        {"wins_and_blocks_are_found", wins_and_blocks_are_found},
    };
    return tern_test_main(argc, argv, "connect4", tests, 3);
}
