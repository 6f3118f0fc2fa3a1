#include "examples/games/hex/board.h"

#include "tern/game.h"

static void set(hex_bits *bits, uint32_t at) { bits->word[at / 64] |= UINT64_C(1) << (at % 64); }

static void clear(hex_bits *bits, uint32_t at) {
    bits->word[at / 64] &= ~(UINT64_C(1) << (at % 64));
}

hex_geometry hex_geometry_of(uint32_t size, bool swap) {
    uint32_t width = size + 2, last = size + 1;
    int w = (int)width;
    hex_geometry g = {.size = size,
                      .width = width,
                      .words = (width * width + 63) / 64,
                      .swap = swap,
                      .step = {1, 1 - w, -w, -1, w - 1, w}};
    for (uint32_t row = 0; row < width; row++)
        for (uint32_t column = 0; column < width; column++) {
            uint32_t at = row * width + column;
            bool black = (row == 0 || row == last) && column != last;
            if (row % last == 0 || column % last == 0)
                set(&g.border[black ? 0 : 1], at);
            else
                set(&g.cells, at);
            if (column == last || row == last)
                set(&g.goal, at);
        }
    return g;
}

hex_board hex_board_empty(void) {
    hex_board b = {0};
    return b;
}

int hex_stone(const hex_geometry *g, const hex_board *b, uint32_t cell) {
    uint32_t at = hex_at(g, cell);
    return hex_bit(&b->stones[0], at) ? 0 : hex_bit(&b->stones[1], at) ? 1 : -1;
}

/* A key combines numbers for: each player's stone on each bit; the player to move (MOVER); and a
 * first stone that may be taken over (SWAPPABLE). */
enum { MOVER = 2 * 64 * HEX_WORDS, SWAPPABLE };

static uint64_t part_of_key(uint32_t what) {
    return tern_random_mix((what + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

bool hex_may_swap(const hex_geometry *g, const hex_board *b) {
    if (!g->swap || b->plies != 1)
        return false;
    for (uint32_t i = 0; i < g->words; i++)
        if (b->stones[b->player].word[i] != 0)
            return false;
    return true;
}

void hex_turn(const hex_geometry *g, hex_board *b, uint32_t player) {
    bool could_swap = hex_may_swap(g, b);
    if (b->player != player)
        b->key ^= part_of_key(MOVER);
    b->player = player;
    if (could_swap != hex_may_swap(g, b))
        b->key ^= part_of_key(SWAPPABLE);
}

void hex_put(const hex_geometry *g, hex_board *b, uint32_t player, uint32_t cell) {
    uint32_t at = hex_at(g, cell);
    if (hex_may_swap(g, b))
        b->key ^= part_of_key(SWAPPABLE);
    set(&b->stones[player], at);
    b->plies++;
    b->key ^= part_of_key(2 * at + player);
    if (hex_may_swap(g, b))
        b->key ^= part_of_key(SWAPPABLE);
    hex_turn(g, b, 1 - player);
}

static void take_over(const hex_geometry *g, hex_board *b) {
    uint32_t first = 1 - b->player, cell = 0;
    while (hex_stone(g, b, cell) < 0)
        cell++;
    clear(&b->stones[first], hex_at(g, cell));
    b->key ^= part_of_key(2 * hex_at(g, cell) + first);
    hex_put(g, b, b->player, cell % g->size * g->size + cell / g->size);
}

void hex_play(const hex_geometry *g, hex_board *b, uint32_t move) {
    if (move == hex_cells(g))
        take_over(g, b);
    else
        hex_put(g, b, b->player, move);
}

bool hex_connects(const hex_geometry *g, const hex_board *b, uint32_t player) {
    hex_walk walk = hex_walk_begin(g);
    for (;;) {
        bool own = hex_bit(&b->stones[player], walk.at) || hex_bit(&g->border[player], walk.at);
        bool black = player == 0 ? own : !own;
        if (hex_bit(&g->goal, walk.at))
            return own;
        hex_walk_on(g, &walk, black);
    }
}
