#ifndef TERN_GAMES_HEX_HTP_H
#define TERN_GAMES_HEX_HTP_H

/*
 * HTP, the dialect of the Go Text Protocol in which programs for Hex are driven: a line is an
 * optional number, a command and its arguments; the answer is "=" or "?", the number, and text, up
 * to an empty line. Positions are written as notation.h says.
 */

#include <stdio.h>

#include "games/hex/engine.h"
#include "games/hex/record.h"

typedef struct hex_htp {
    hex_record record;
    hex_engine *engine;
    tern_search_limits limits; /* of one move, without a clock */
    tern_search_result result; /* of the last thinking, if thought */
    bool thought;              /* about the position as it is */
    bool failed;               /* the engine is of no more use */
} hex_htp;

/* Answers a line, which is changed. Returns false when it was quit. */
bool hex_htp_answer(hex_htp *htp, char *line, FILE *out);

#endif
