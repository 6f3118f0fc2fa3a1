#ifndef TERN_EXAMPLES_GAMES_HEX_ENGINE_H
#define TERN_EXAMPLES_GAMES_HEX_ENGINE_H

/*
 * The player: tern's tree search on all workers of all ranks. Rank 0 gives orders that all workers
 * carry out. The other workers wait for orders, and sleep when none come.
 */

#include "examples/games/hex/record.h"
#include "tern/config.h"
#include "tern/mcts.h"

typedef struct hex_engine hex_engine;

/* Collective. Makes a context, with a thread for each worker of config. Prints errors, and returns
 * NULL if there was one. */
hex_engine *hex_engine_start(const tern_config *config, const tern_search_options *options);

/* For ranks other than 0: carries out orders until rank 0 calls hex_engine_stop. Returns false if
 * there was an error. */
bool hex_engine_serve(hex_engine *engine);

/* For rank 0: thinks about a game, which must not be over, until one of the limits is reached. It
 * uses what it has found out about the game before. [out] result: valid until the next call.
 * Returns false if the engine has failed; tern_error_detail then says why. */
bool hex_engine_think(hex_engine *engine, const hex_record *record,
                      const tern_search_limits *limits, tern_search_result *result);

/* For rank 0: statistics since the tree was begun. */
bool hex_engine_statistics(hex_engine *engine, tern_search_statistics *statistics);

/* For rank 0: ends hex_engine_serve on the other ranks. */
void hex_engine_stop(hex_engine *engine);

/* Collective. Frees the engine. */
void hex_engine_free(hex_engine *engine);

/* think.c: thinks about a move in short runs of the search, so that people can see the progress. */

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
