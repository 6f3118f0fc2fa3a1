#ifndef TERN_EXAMPLES_GAMES_HEX_TERMINAL_H
#define TERN_EXAMPLES_GAMES_HEX_TERMINAL_H

/* A game between a person at the terminal and the engine. */

#include "examples/games/hex/engine.h"
#include "examples/games/hex/record.h"

typedef struct hex_terminal {
    hex_record record;
    hex_engine *engine;
    tern_search_limits limits; /* for one move of the engine */
    uint32_t person;           /* the player who is at the terminal */
    bool colours;
    bool progress; /* show progress while the engine thinks */
} hex_terminal;

/* Reads moves from standard input until the game is over or the person leaves. Returns false if the
 * engine has failed. */
bool hex_terminal_play(hex_terminal *terminal);

#endif
