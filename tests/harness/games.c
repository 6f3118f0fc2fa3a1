#include "games.h"

#include <string.h>

#include "harness.h"

static uint32_t taken(const tic_tac_toe_state *s) { return s->cells[0] | s->cells[1]; }

static uint32_t tic_moves(const void *state, uint32_t *moves, void *argument) {
    uint32_t count = 0;
    (void)argument;
    for (uint32_t cell = 0; cell < 9; cell++)
        if (!(taken(state) >> cell & 1))
            moves[count++] = cell;
    return count;
}

static int tic_player(const void *state, void *argument) {
    (void)argument;
    return __builtin_popcount(taken(state)) % 2;
}

static void tic_play(void *state, uint32_t move, void *argument) {
    tic_tac_toe_state *s = state;
    int player = tic_player(s, argument);
    s->cells[player] = (uint16_t)(s->cells[player] | 1u << move);
}

static bool has_line(uint32_t cells) {
    static const uint32_t lines[] = {0007, 0070, 0700, 0111, 0222, 0444, 0421, 0124};
    for (int i = 0; i < 8; i++)
        if ((cells & lines[i]) == lines[i])
            return true;
    return false;
}

static tern_game_result tic_result(const void *state, void *argument) {
    const tic_tac_toe_state *s = state;
    (void)argument;
    if (has_line(s->cells[0]))
        return TERN_GAME_WON;
    if (has_line(s->cells[1]))
        return TERN_GAME_LOST;
    return taken(s) == 0777 ? TERN_GAME_DRAWN : TERN_GAME_OPEN;
}

static uint64_t tic_hash(const void *state, void *argument) {
    const tic_tac_toe_state *s = state;
    (void)argument;
    return tern_random_mix((uint64_t)s->cells[0] << 16 | s->cells[1]);
}

const tern_game tic_tac_toe = {.name = "tic-tac-toe",
                               .state_bytes = sizeof(tic_tac_toe_state),
                               .moves_max = 9,
                               .moves = tic_moves,
                               .play = tic_play,
                               .player = tic_player,
                               .result = tic_result,
                               .hash = tic_hash};

static uint32_t nim_moves(const void *state, uint32_t *moves, void *argument) {
    const nim_state *s = state;
    uint32_t count = 0;
    (void)argument;
    for (uint32_t pile = 0; pile < NIM_PILES; pile++)
        for (uint32_t stones = 1; stones <= s->pile[pile]; stones++)
            moves[count++] = 8 * pile + stones;
    return count;
}

static int nim_player(const void *state, void *argument) {
    (void)argument;
    return ((const nim_state *)state)->player;
}

static void nim_play(void *state, uint32_t move, void *argument) {
    nim_state *s = state;
    (void)argument;
    s->pile[move / 8] = (uint8_t)(s->pile[move / 8] - move % 8);
    s->player = !s->player;
}

static tern_game_result nim_result(const void *state, void *argument) {
    const nim_state *s = state;
    (void)argument;
    for (int pile = 0; pile < NIM_PILES; pile++)
        if (s->pile[pile] > 0)
            return TERN_GAME_OPEN;
    return s->player == 0 ? TERN_GAME_LOST : TERN_GAME_WON;
}

const tern_game nim = {.name = "nim",
                       .state_bytes = sizeof(nim_state),
                       .moves_max = 7 * NIM_PILES,
                       .moves = nim_moves,
                       .play = nim_play,
                       .player = nim_player,
                       .result = nim_result};

enum { STATE_MOST = 8, MOVES_MOST = 32 };

tern_game_result game_solve(const tern_game *game, const void *state) {
    tern_game_result result = game->result(state, NULL);
    if (result != TERN_GAME_OPEN)
        return result;
    uint32_t moves[MOVES_MOST], count = game->moves(state, moves, NULL);
    bool first = game->player(state, NULL) == 0;
    tern_game_result best = first ? TERN_GAME_LOST : TERN_GAME_WON;
    for (uint32_t i = 0; i < count; i++) {
        char next[STATE_MOST];
        memcpy(next, state, game->state_bytes);
        game->play(next, moves[i], NULL);
        result = game_solve(game, next);
        if (first ? result > best : result < best)
            best = result;
    }
    return best;
}

bool game_is_best(const tern_game *game, const void *state, uint32_t move) {
    char next[STATE_MOST];
    memcpy(next, state, game->state_bytes);
    game->play(next, move, NULL);
    return game_solve(game, next) == game_solve(game, state);
}

bool game_random_state(const tern_game *game, const void *start, int plies, uint64_t *random,
                       void *state) {
    memcpy(state, start, game->state_bytes);
    for (int i = 0; i < plies && game->result(state, NULL) == TERN_GAME_OPEN; i++) {
        uint32_t moves[MOVES_MOST], count = game->moves(state, moves, NULL);
        game->play(state, moves[tern_test_random(random) % count], NULL);
    }
    return game->result(state, NULL) == TERN_GAME_OPEN;
}
