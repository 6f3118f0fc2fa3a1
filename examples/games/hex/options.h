#ifndef TERN_EXAMPLES_GAMES_HEX_OPTIONS_H
#define TERN_EXAMPLES_GAMES_HEX_OPTIONS_H

/* The command line of tern-hex. */

#include <stdbool.h>
#include <stdint.h>

#include "tern/mcts.h"

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

#endif
