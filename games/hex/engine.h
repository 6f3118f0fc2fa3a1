#ifndef TERN_GAMES_HEX_ENGINE_H
#define TERN_GAMES_HEX_ENGINE_H

/*
 * The player: tern's tree search on all workers of all ranks. Rank 0 gives orders, which all
 * workers carry out; the others wait for orders and sleep in between.
 */

#include "games/hex/record.h"
#include "tern/config.h"
#include "tern/mcts.h"

typedef struct hex_engine hex_engine;

/* Collective: makes a context, with a thread for each worker of config. Errors are printed. NULL:
 * there was one. */
hex_engine *hex_engine_start(const tern_config *config, const tern_search_options *options);

/* On ranks other than 0: carries out orders until hex_engine_stop is called on rank 0. Returns
 * false if an error ended it. */
bool hex_engine_serve(hex_engine *engine);

/* On rank 0: thinks about a game, which is not over, until one of the limits is reached. What
 * earlier thinking has found out about it is used. [out] result: until the next call. Returns false
 * if the engine has failed; tern_error_detail says why. */
bool hex_engine_think(hex_engine *engine, const hex_record *record,
                      const tern_search_limits *limits, tern_search_result *result);

/* On rank 0: statistics since the tree was begun. */
bool hex_engine_statistics(hex_engine *engine, tern_search_statistics *statistics);

/* On rank 0: ends the others' hex_engine_serve. */
void hex_engine_stop(hex_engine *engine);

/* Collective. */
void hex_engine_free(hex_engine *engine);

#endif
