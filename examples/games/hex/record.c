#include "examples/games/hex/record.h"

#include <stddef.h>

void hex_record_clear(hex_record *r) {
    r->board = hex_board_empty();
    r->count = 0;
    r->clock = r->full > 0;
    r->left[0] = r->left[1] = r->full;
}

void hex_record_resize(hex_record *r, uint32_t size, bool swap) {
    r->geometry = hex_geometry_of(size, swap);
    hex_record_clear(r);
}

int hex_record_winner(const hex_record *r) {
    for (uint32_t player = 0; player < 2; player++)
        if (hex_connects(&r->geometry, &r->board, player))
            return (int)player;
    return -1;
}

const char *hex_record_objection(const hex_record *r, uint32_t player, uint32_t move) {
    if (hex_record_winner(r) >= 0)
        return "the game is over";
    if (move == hex_cells(&r->geometry)) {
        if (!r->geometry.swap)
            return "the game is played without taking over";
        return r->count == 1 && r->player[0] != player
                   ? NULL
                   : "only the second player's first move may take over";
    }
    return hex_stone(&r->geometry, &r->board, move) >= 0 ? "the cell is not empty" : NULL;
}

static void play(hex_record *r, uint32_t player, uint32_t move) {
    hex_turn(&r->geometry, &r->board, player);
    hex_play(&r->geometry, &r->board, move);
}

void hex_record_play(hex_record *r, uint32_t player, uint32_t move) {
    play(r, player, move);
    r->move[r->count] = move;
    r->player[r->count] = (uint8_t)player;
    r->count++;
}

bool hex_record_undo(hex_record *r) {
    if (r->count == 0)
        return false;
    r->count--;
    r->board = hex_board_empty();
    for (uint32_t i = 0; i < r->count; i++)
        play(r, r->player[i], r->move[i]);
    return true;
}

double hex_record_seconds(const hex_record *r, uint32_t player, double usual) {
    if (!r->clock)
        return usual;
    /* Games end with about half of the board full. So each player still has about a quarter of the
     * free cells to play, and never fewer than three moves are assumed. */
    uint32_t cells = hex_cells(&r->geometry),
             moves = r->board.plies < cells ? (cells - r->board.plies) / 4 + 3 : 3;
    double share = r->left[player] / moves;
    return share > 0.01 ? share : 0.01;
}
