#include "examples/games/hex/notation.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const hex_player_name[2] = {"black", "white"};

const char *hex_move_name(const hex_geometry *g, uint32_t move, char name[HEX_NAME]) {
    if (move == hex_cells(g))
        snprintf(name, HEX_NAME, "swap-pieces");
    else
        snprintf(name, HEX_NAME, "%c%u", (char)('a' + move % g->size), move / g->size + 1);
    return name;
}

bool hex_move_parse(const hex_geometry *g, const char *text, uint32_t *move) {
    if (strcasecmp(text, "swap-pieces") == 0 || strcasecmp(text, "swap") == 0) {
        *move = hex_cells(g);
        return true;
    }
    if (!isalpha((unsigned char)text[0]) || !isdigit((unsigned char)text[1]))
        return false;
    char *end;
    uint32_t column = (uint32_t)(tolower((unsigned char)text[0]) - 'a');
    unsigned long row = strtoul(text + 1, &end, 10);
    if (*end != 0 || column >= g->size || row < 1 || row > g->size)
        return false;
    *move = (uint32_t)(row - 1) * g->size + column;
    return true;
}

bool hex_number_parse(const char *text, double least, double most, double *value) {
    char *end;
    *value = strtod(text, &end);
    /* strtod also accepts hexadecimal numbers, infinity and NaN; this test excludes them. */
    return end != text && *end == 0 && strspn(text, "+-.0123456789Ee") == strlen(text) &&
           *value >= least && *value <= most;
}

int hex_player_parse(const char *text) {
    static const char *const names[2][3] = {{"black", "b", "red"}, {"white", "w", "blue"}};
    for (int player = 0; player < 2; player++)
        for (int i = 0; i < 3; i++)
            if (strcasecmp(text, names[player][i]) == 0)
                return player;
    return -1;
}
