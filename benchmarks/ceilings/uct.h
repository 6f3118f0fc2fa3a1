/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * uct.c: Monte-Carlo tree search by one thread, which has the tree to itself: what a search does
 * that shares nothing. What a scan for the best move reads is kept up to date at the few moves that
 * a rollout passes, so that it takes neither division nor root.
 */

#ifndef TERN_BENCHMARKS_CEILINGS_UCT_H
#define TERN_BENCHMARKS_CEILINGS_UCT_H

#include "tern/game.h"

typedef struct ceiling_uct ceiling_uct;

/* A tree for so many rollouts of game, which must stay; games played from each leaf, and the
 * constant of UCB. NULL: no memory. */
ceiling_uct *ceiling_uct_open(const tern_game *game, uint64_t rollouts, uint32_t simulations,
                              double exploration);
void ceiling_uct_close(ceiling_uct *tree);

/* Searches anew from state, at most as many rollouts as the tree is for. Returns how many of them
 * the most visited move has. */
uint64_t ceiling_uct_run(ceiling_uct *tree, const void *state, uint64_t seed, uint64_t rollouts);

/* Nodes that the last search's rollouts came by, leaves included. */
uint64_t ceiling_uct_visits(const ceiling_uct *tree);

#endif
