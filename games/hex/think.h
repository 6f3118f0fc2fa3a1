#ifndef TERN_GAMES_HEX_THINK_H
#define TERN_GAMES_HEX_THINK_H

/* Thinking about a move in short runs of the search, so that people see how it goes. */

#include "games/hex/engine.h"
#include "games/hex/record.h"

/* What is shown now and then. done: how much of the time, or of the rollouts, is over, 0 to 1. */
typedef void (*hex_progress)(const hex_record *record, const tern_search_result *so_far,
                             double done);

/* Thinks about the move of the player whose turn it is, in a game that is not over. limits: of a
 * move, but for the time of a game with a clock. show: may be NULL. [out] result: rollouts and
 * seconds of all runs together; it has a move
 * unless there was no memory for any. Returns false if the engine has failed. */
bool hex_think(hex_engine *engine, const hex_record *record, const tern_search_limits *limits,
               hex_progress show, tern_search_result *result);

#endif
