#include "solver.h"

typedef struct search {
    const naive_hex *board;
    int player;
    bool seen[NAIVE_SIZE_MAX][NAIVE_SIZE_MAX];
} search;

static bool reaches(search *s, int row, int column) {
    static const int around[6][2] = {{0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, -1}, {-1, 1}};
    int size = s->board->size;
    if (row < 0 || column < 0 || row >= size || column >= size || s->seen[row][column] ||
        s->board->cell[row][column] != s->player + 1)
        return false;
    s->seen[row][column] = true;
    if ((s->player == 0 ? row : column) == size - 1)
        return true;
    for (int i = 0; i < 6; i++)
        if (reaches(s, row + around[i][0], column + around[i][1]))
            return true;
    return false;
}

bool naive_hex_connects(const naive_hex *b, int player) {
    search s = {.board = b, .player = player};
    for (int i = 0; i < b->size; i++)
        if (reaches(&s, player == 0 ? 0 : i, player == 0 ? i : 0))
            return true;
    return false;
}
