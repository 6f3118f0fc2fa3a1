#ifndef TERN_EXAMPLES_GAMES_HEX_MAIN_H
#define TERN_EXAMPLES_GAMES_HEX_MAIN_H

/* The parts of the program tern-hex: its command line, and its two ways to play. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "examples/games/hex/engine.h"
#include "examples/games/hex/record.h"
#include "tern/mcts.h"

/* options.c: the command line of tern-hex. */

typedef struct options {
    uint32_t size;
    bool swap;
    int person; /* the player at the terminal; -1: none, and a program speaks HTP */
    tern_search_limits limits;
    tern_search_options search;
} options;

/* Returns -1, or the exit status with which the program should end. It prints only if speak is
 * set. */
int options_read(int argc, char **argv, bool speak, options *o);

/* terminal.c: a game between a person at the terminal and the engine. */

typedef struct hex_terminal {
    hex_record record;
    hex_engine *engine;
    tern_search_limits limits; /* for one move of the engine */
    uint32_t person;           /* the player at the terminal */
    bool colours;
    bool progress; /* show progress while the engine thinks */
} hex_terminal;

/* Reads moves from standard input until the game is over or the person leaves. Returns false if the
 * engine has failed. */
bool hex_terminal_play(hex_terminal *terminal);

/*
 * htp.c: HTP, the dialect of the Go Text Protocol that drives programs for Hex. A line has an
 * optional number, a command and its arguments. The answer is "=" or "?", the number, and text, and
 * ends with an empty line. notation.h describes how positions are written.
 */

typedef struct hex_htp {
    hex_record record;
    hex_engine *engine;
    tern_search_limits limits; /* for one move, if there is no clock */
    tern_search_result result; /* of the last thinking; valid if thought is set */
    bool thought;              /* the result is about the current position */
    bool failed;               /* the engine is of no more use */
} hex_htp;

/* Answers a line, and changes it. Returns false if the command was quit. */
bool hex_htp_answer(hex_htp *htp, char *line, FILE *out);

#endif
