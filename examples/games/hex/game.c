#include "examples/games/hex/game.h"

static uint32_t moves(const void *state, uint32_t *out, void *argument) {
    const hex_geometry *g = argument;
    const hex_board *b = state;
    uint32_t count = 0;
    if (b->plies > 0 && hex_connects(g, b, 1 - b->player))
        return 0;
    for (uint32_t cell = 0; cell < hex_cells(g); cell++)
        if (hex_stone(g, b, cell) < 0)
            out[count++] = cell;
    if (hex_may_swap(g, b))
        out[count++] = hex_cells(g);
    return count;
}

static void play(void *state, uint32_t move, void *argument) { hex_play(argument, state, move); }

static int player(const void *state, void *argument) {
    (void)argument;
    return (int)((const hex_board *)state)->player;
}

/* Only the player who moved last can have connected their sides by that move. */
static tern_game_result result(const void *state, void *argument) {
    const hex_board *b = state;
    if (b->plies == 0 || !hex_connects(argument, b, 1 - b->player))
        return TERN_GAME_OPEN;
    return b->player == 1 ? TERN_GAME_WON : TERN_GAME_LOST;
}

static uint32_t rollouts(const void *state, uint32_t count, tern_random *random, void *argument) {
    return TERN_GAME_WON * hex_rollouts(argument, state, count, random);
}

static uint64_t hash(const void *state, void *argument) {
    (void)argument;
    return ((const hex_board *)state)->key;
}

tern_game hex_game(const hex_geometry *geometry) {
    return (tern_game){.name = "Hex",
                       .state_bytes = sizeof(hex_board),
                       .moves_max = hex_cells(geometry),
                       .moves = moves,
                       .play = play,
                       .player = player,
                       .result = result,
                       .rollouts = rollouts,
                       .hash = hash,
                       .argument = (void *)(uintptr_t)geometry};
}
