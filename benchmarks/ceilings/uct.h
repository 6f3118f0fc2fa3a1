/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * uct.c: Monte-Carlo tree search by one thread that has the tree to itself: a search that shares
 * nothing. The data that a scan for the best move reads is kept up to date at the few moves that a
 * rollout passes, so the scan needs neither division nor square root.
 */

#ifndef TERN_BENCHMARKS_CEILINGS_UCT_H
#define TERN_BENCHMARKS_CEILINGS_UCT_H

#include "tern/game.h"

typedef struct ceiling_uct ceiling_uct;

/* Opens a tree for so many rollouts of game, which must stay valid. simulations: games played from
 * each leaf; exploration: the constant of UCB. NULL: no memory. */
ceiling_uct *ceiling_uct_open(const tern_game *game, uint64_t rollouts, uint32_t simulations,
                              double exploration);
void ceiling_uct_close(ceiling_uct *tree);

/* Searches anew from state, with at most as many rollouts as the tree is for. Returns the number of
 * rollouts of the most visited move. */
uint64_t ceiling_uct_run(ceiling_uct *tree, const void *state, uint64_t seed, uint64_t rollouts);

/* Returns the number of nodes that the last search's rollouts passed, including leaves. */
uint64_t ceiling_uct_visits(const ceiling_uct *tree);

#endif
