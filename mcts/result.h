#ifndef TERN_MCTS_RESULT_H
#define TERN_MCTS_RESULT_H

/* The result of a run. */

#include "mcts/search.h"

/* Most moves of a principal variation. */
enum { TERN_MCTS_LINE = 128 };

/* Fills search->result on every rank. The leader of each rank calls it while nothing is under
 * way. */
tern_status tern_mcts_result(tern_mcts_worker *w);

#endif
