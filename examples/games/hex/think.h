#ifndef TERN_EXAMPLES_GAMES_HEX_THINK_H
#define TERN_EXAMPLES_GAMES_HEX_THINK_H

/* Thinks about a move in short runs of the search, so that people can see the progress. */

#include "examples/games/hex/engine.h"
#include "examples/games/hex/record.h"

/* Shows progress. done is the part of the time or of the rollouts that has passed, 0 to 1. */
typedef void (*hex_progress)(const hex_record *record, const tern_search_result *so_far,
                             double done);

/* Thinks about the move of the player to move, in a game that is not over. limits are for this
 * move; a clock replaces the limit of time. show may be NULL. [out] result: it has the rollouts and
 * seconds of all runs together, and a move unless there was no memory for any. Returns false if the
 * engine has failed. */
bool hex_think(hex_engine *engine, const hex_record *record, const tern_search_limits *limits,
               hex_progress show, tern_search_result *result);

#endif
