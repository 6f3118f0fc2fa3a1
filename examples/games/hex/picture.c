#include "examples/games/hex/notation.h"

static const char *const paint[2] = {"\033[1;31m", "\033[1;34m"};
static const char plain[] = "\033[0m";

static void mark(FILE *out, bool colours, int player, const char *text) {
    if (colours && player >= 0)
        fprintf(out, "%s%s%s", paint[player], text, plain);
    else
        fputs(text, out);
}

static void letters(const hex_record *r, uint32_t indent, bool colours, FILE *out) {
    fprintf(out, "%*s", (int)indent, "");
    for (uint32_t column = 0; column < r->geometry.size; column++) {
        char text[] = {' ', (char)('a' + column), 0};
        mark(out, colours, 0, text);
    }
    fputc('\n', out);
}

/* Returns the cell of the last move, as it is on the board, or the number of cells before the
 * first. */
static uint32_t last_cell(const hex_record *r) {
    uint32_t cells = hex_cells(&r->geometry), cell = 0;
    if (r->count == 0 || r->move[r->count - 1] < cells)
        return r->count == 0 ? cells : r->move[r->count - 1];
    while (hex_stone(&r->geometry, &r->board, cell) < 0)
        cell++;
    return cell;
}

void hex_picture_draw(const hex_record *record, bool colours, FILE *out) {
    const hex_geometry *g = &record->geometry;
    static const char *const stone[] = {".", "X", "O"};
    uint32_t last = last_cell(record);
    letters(record, 2, colours, out);
    for (uint32_t row = 0; row < g->size; row++) {
        char number[16];
        snprintf(number, sizeof number, "%2u", row + 1);
        fprintf(out, "%*s", (int)row, "");
        mark(out, colours, 1, number);
        for (uint32_t cell = row * g->size; cell < (row + 1) * g->size; cell++) {
            int player = hex_stone(g, &record->board, cell);
            bool behind_last = cell > row * g->size && cell - 1 == last;
            fputc(cell == last ? '(' : behind_last ? ')' : ' ', out);
            mark(out, colours, player, stone[player + 1]);
        }
        fputs(last == (row + 1) * g->size - 1 ? ")\n" : "\n", out);
    }
    letters(record, g->size + 2, colours, out);
}

void hex_picture_line(const hex_record *record, const tern_search_result *result, FILE *out) {
    char text[HEX_NAME];
    for (size_t i = 0; i < result->line_length; i++)
        fprintf(out, "%s%s", i == 0 ? "" : " ",
                hex_move_name(&record->geometry, result->line[i], text));
}
