/* examples/games/hex without a search: its rules against naive ones, and its random games against
 * their exact chances. */

#include <math.h>
#include <string.h>

#include "harness.h"
#include "solver.h"

#include "examples/games/hex/game.h"

typedef struct pair {
    hex_board board;
    naive_hex naive;
} pair;

static void begin(pair *p, const hex_geometry *g) {
    p->board = hex_board_empty();
    memset(&p->naive, 0, sizeof p->naive);
    p->naive.size = (int)g->size;
}

static void naive_swap(naive_hex *b) {
    for (int row = 0; row < b->size; row++)
        for (int column = 0; column < b->size; column++)
            if (b->cell[row][column] == 1) {
                b->cell[row][column] = 0;
                b->cell[column][row] = 2;
                return;
            }
}

/* Plays the same random move on both boards. */
static void go_on(pair *p, const hex_geometry *g, uint64_t *random) {
    tern_game game = hex_game(g);
    uint32_t moves[HEX_SIZE_MAX * HEX_SIZE_MAX];
    uint32_t count = game.moves(&p->board, moves, game.argument);
    uint32_t move = moves[tern_test_random(random) % count];
    int mover = game.player(&p->board, game.argument);
    game.play(&p->board, move, game.argument);
    if (move == hex_cells(g))
        naive_swap(&p->naive);
    else
        p->naive.cell[move / g->size][move % g->size] = mover + 1;
}

static bool boards_agree(const pair *p, const hex_geometry *g) {
    for (uint32_t cell = 0; cell < hex_cells(g); cell++)
        if (hex_stone(g, &p->board, cell) != p->naive.cell[cell / g->size][cell % g->size] - 1)
            return false;
    return true;
}

static tern_game_result naive_result(const naive_hex *b) {
    bool black = naive_hex_connects(b, 0), white = naive_hex_connects(b, 1);
    CU_ASSERT(!(black && white));
    return black ? TERN_GAME_WON : white ? TERN_GAME_LOST : TERN_GAME_OPEN;
}

/* Random games: the stones, the winner and the list of moves agree until the end. */
static void games_follow_the_rules(void) {
    uint64_t random = tern_test_seed() + 1;
    uint32_t moves[HEX_SIZE_MAX * HEX_SIZE_MAX];
    for (uint32_t size = 1; size <= HEX_SIZE_MAX; size++)
        for (int i = 0; i < 40; i++) {
            hex_geometry g = hex_geometry_of(size, i % 2 == 1);
            tern_game game = hex_game(&g);
            pair p;
            begin(&p, &g);
            tern_game_result result = TERN_GAME_OPEN;
            for (uint32_t plies = 0; result == TERN_GAME_OPEN; plies++) {
                uint32_t taken = plies;
                for (uint32_t cell = 0; cell < hex_cells(&g); cell++)
                    taken -= hex_stone(&g, &p.board, cell) >= 0;
                CU_ASSERT(taken <= 1); /* after a takeover */
                uint32_t count = game.moves(&p.board, moves, game.argument);
                CU_ASSERT_EQUAL(count, hex_cells(&g) - plies + taken + (g.swap && plies == 1));
                CU_ASSERT_EQUAL(game.player(&p.board, game.argument), (int)(plies % 2));
                go_on(&p, &g, &random);
                result = naive_result(&p.naive);
                CU_ASSERT_EQUAL(game.result(&p.board, game.argument), result);
            }
            CU_ASSERT(boards_agree(&p, &g));
            CU_ASSERT_EQUAL(game.moves(&p.board, moves, game.argument), 0);
        }
}

static void one_player_connects_on_a_full_board(void) {
    uint64_t random = tern_test_seed() + 2;
    for (uint32_t size = 1; size <= HEX_SIZE_MAX; size++) {
        hex_geometry g = hex_geometry_of(size, false);
        for (int i = 0; i < 100; i++) {
            pair p;
            begin(&p, &g);
            for (uint32_t cell = 0; cell < hex_cells(&g); cell++) {
                uint32_t player = tern_test_random(&random) % 2;
                hex_put(&g, &p.board, player, cell);
                p.naive.cell[cell / size][cell % size] = (int)player + 1;
            }
            bool black = hex_connects(&g, &p.board, 0);
            CU_ASSERT_EQUAL(black, naive_hex_connects(&p.naive, 0));
            CU_ASSERT_EQUAL(hex_connects(&g, &p.board, 1), !black);
        }
    }
}

/* A key does not depend on the order of the moves, and differs for other positions. */
static void keys_name_positions(void) {
    hex_geometry g = hex_geometry_of(4, true);
    hex_board a = hex_board_empty(), b = a, c = a;
    const uint32_t order[2][4] = {{3, 7, 9, 1}, {9, 1, 3, 7}};
    for (int i = 0; i < 4; i++) {
        hex_play(&g, &a, order[0][i]);
        hex_play(&g, &b, order[1][i]);
        CU_ASSERT_EQUAL(a.key == b.key, i == 3);
    }
    CU_ASSERT_EQUAL(memcmp(&a, &b, sizeof a), 0);
    /* After a takeover the mirrored stone is the other player's, and cannot be taken over again. */
    hex_play(&g, &c, 1);
    uint64_t before = c.key;
    hex_play(&g, &c, 16);
    CU_ASSERT_NOT_EQUAL(c.key, before);
    CU_ASSERT_EQUAL(hex_stone(&g, &c, 1), -1);
    CU_ASSERT_EQUAL(hex_stone(&g, &c, 4), 1);
    CU_ASSERT(!hex_may_swap(&g, &c));
    /* The same stones, put by hex_put, with the other player to move. */
    hex_board d = hex_board_empty();
    hex_put(&g, &d, 1, 4);
    CU_ASSERT_EQUAL(d.player, c.player);
    hex_put(&g, &d, 0, 0);
    hex_put(&g, &c, 0, 0);
    hex_put(&g, &c, 1, 2);
    hex_put(&g, &d, 1, 2);
    CU_ASSERT_EQUAL(c.key, d.key);
    /* No player can take over their own stone, even if it is their turn again. */
    hex_board e = hex_board_empty();
    hex_put(&g, &e, 0, 5);
    CU_ASSERT(hex_may_swap(&g, &e));
    before = e.key;
    hex_turn(&g, &e, 0);
    CU_ASSERT(!hex_may_swap(&g, &e));
    CU_ASSERT_NOT_EQUAL(e.key, before);
    hex_turn(&g, &e, 1);
    CU_ASSERT_EQUAL(e.key, before);
    hex_turn(&g, &e, 0);
    hex_put(&g, &e, 1, 6);
    hex_board h = hex_board_empty();
    hex_put(&g, &h, 0, 5);
    hex_put(&g, &h, 1, 6);
    CU_ASSERT_EQUAL(e.key, h.key);
}

/* Returns the chance of black when every move is drawn with the same chance. */
static double chance(const tern_game *game, const hex_board *b) {
    uint32_t moves[16];
    tern_game_result result = game->result(b, game->argument);
    if (result != TERN_GAME_OPEN)
        return result == TERN_GAME_WON;
    uint32_t count = game->moves(b, moves, game->argument);
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        hex_board next = *b;
        game->play(&next, moves[i], game->argument);
        sum += chance(game, &next);
    }
    return sum / count;
}

/* Within five standard deviations: a false alarm in two million. */
static void expect_share(double won, double games, double wanted) {
    double bound = 5 * sqrt(wanted * (1 - wanted) / games) + 1e-12;
    CU_ASSERT(fabs(won / games - wanted) <= bound);
}

static void random_games_have_their_odds(void) {
    enum { GAMES = 40000 };
    uint64_t random = tern_test_seed() + 3;
    tern_random generator = tern_random_seeded(tern_test_seed(), 3);
    for (uint32_t size = 1; size <= 4; size++)
        for (int i = 0; i < 24; i++) {
            hex_geometry g = hex_geometry_of(size, i % 2 == 1);
            tern_game game = hex_game(&g);
            pair p;
            begin(&p, &g);
            /* The time for the exact chance grows as the factorial of the number of empty cells. */
            uint32_t least = hex_cells(&g) > 7 ? hex_cells(&g) - 7 : 0;
            uint32_t plies = least + (uint32_t)i / 2 % 4;
            while (p.board.plies < plies && naive_result(&p.naive) == TERN_GAME_OPEN)
                go_on(&p, &g, &random);
            if (naive_result(&p.naive) != TERN_GAME_OPEN)
                continue;
            uint32_t sum = game.rollouts(&p.board, GAMES, &generator, game.argument);
            CU_ASSERT_EQUAL(sum % TERN_GAME_WON, 0);
            expect_share((double)sum / TERN_GAME_WON, GAMES, chance(&game, &p.board));
        }
}

static bool black_wins(const tern_game *game, hex_board b, uint64_t *random) {
    uint32_t moves[HEX_SIZE_MAX * HEX_SIZE_MAX], count;
    while ((count = game->moves(&b, moves, game->argument)) > 0)
        game->play(&b, moves[tern_test_random(random) % count], game->argument);
    return game->result(&b, game->argument) == TERN_GAME_WON;
}

/* For boards that are too large for exact chances: as many wins as in games played move by move. */
static void random_games_are_those_played_move_by_move(void) {
    enum { GAMES = 3000, SLOWLY = GAMES / 10 };
    uint64_t random = tern_test_seed() + 4;
    tern_random generator = tern_random_seeded(tern_test_seed(), 4);
    static const uint32_t sizes[] = {5, 6, 7, 9, 11, 13, 14, 15, 19};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        hex_geometry g = hex_geometry_of(sizes[i], false);
        tern_game game = hex_game(&g);
        pair p;
        begin(&p, &g);
        for (uint32_t plies = hex_cells(&g) / 8; plies > 0; plies--)
            go_on(&p, &g, &random);
        uint32_t slowly = 0, won = hex_rollouts(&g, &p.board, GAMES, &generator);
        for (int j = 0; j < SLOWLY; j++)
            slowly += black_wins(&game, p.board, &random);
        double a = (double)won / GAMES, b = (double)slowly / SLOWLY;
        CU_ASSERT(fabs(a - b) <= 5 * 0.5 * sqrt(11.0 / GAMES));
    }
}

/* On a board of one cell the player to move wins every game. The numbers of games include some that
 * do not fill all walks at once. */
static void any_number_of_games(void) {
    hex_geometry g = hex_geometry_of(1, false);
    hex_board b = hex_board_empty();
    tern_random generator = tern_random_seeded(tern_test_seed(), 5);
    for (uint32_t count = 0; count <= 20; count++)
        CU_ASSERT_EQUAL(hex_rollouts(&g, &b, count, &generator), count);
    b.player = 1;
    CU_ASSERT_EQUAL(hex_rollouts(&g, &b, 20, &generator), 0);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"games_follow_the_rules", games_follow_the_rules},
        {"one_player_connects_on_a_full_board", one_player_connects_on_a_full_board},
        {"keys_name_positions", keys_name_positions},
        {"random_games_have_their_odds", random_games_have_their_odds},
        {"random_games_are_those_played_move_by_move", random_games_are_those_played_move_by_move},
        {"any_number_of_games", any_number_of_games},
    };
    return tern_test_main(argc, argv, "hex_board", tests, sizeof tests / sizeof *tests);
}
