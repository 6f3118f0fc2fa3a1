#ifndef TERN_MCTS_RESULT_H
#define TERN_MCTS_RESULT_H

/* What a search has found out. */

#include "mcts/search.h"

/* The most that a principal variation has. */
enum { TERN_MCTS_LINE = 128 };

/* By the leaders, at a quiet point: fills search->result on every rank. */
tern_status tern_mcts_result(tern_mcts_worker *w);

#endif
