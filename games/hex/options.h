#ifndef TERN_GAMES_HEX_OPTIONS_H
#define TERN_GAMES_HEX_OPTIONS_H

/* The command line of tern-hex. */

#include <stdbool.h>
#include <stdint.h>

#include "tern/mcts.h"

typedef struct options {
    uint32_t size;
    bool swap;
    int person; /* the player at the terminal; -1: none, a program speaks HTP */
    tern_search_limits limits;
    tern_search_options search;
} options;

/* Returns -1, or the status to exit with. Only the rank that speaks prints. */
int options_read(int argc, char **argv, bool speak, options *o);

#endif
