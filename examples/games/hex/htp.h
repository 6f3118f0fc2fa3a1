#ifndef TERN_EXAMPLES_GAMES_HEX_HTP_H
#define TERN_EXAMPLES_GAMES_HEX_HTP_H

/*
 * HTP, the dialect of the Go Text Protocol that drives programs for Hex. A line has an optional
 * number, a command and its arguments. The answer is "=" or "?", the number, and text, and ends
 * with an empty line. notation.h describes how positions are written.
 */

#include <stdio.h>

#include "examples/games/hex/engine.h"
#include "examples/games/hex/record.h"

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
