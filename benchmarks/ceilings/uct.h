/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * uct.c: Monte-Carlo tree search by one thread that has the tree to itself: a search that shares
 * nothing. The data that a scan for the best move reads is kept up to date at the few moves that a
 * rollout passes, so the scan needs neither division nor square root.
 */

#ifndef TERN_BENCHMARKS_CEILINGS_UCT_H
#define TERN_BENCHMARKS_CEILINGS_UCT_H

#include <stdbool.h>

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

/*
 * uct_shared.c: Monte-Carlo tree search by threads of one process that share one tree: a search
 * that sends nothing, and in which nobody owns a node. No thread waits for another. Counts are
 * atomic. A visit is counted on the way down and its points on the way back, so that other threads
 * count it as lost meanwhile (virtual loss). Each thread has memory of its own for the nodes that
 * it adds.
 */

typedef struct ceiling_uct_shared ceiling_uct_shared;

/* Opens a tree for so many rollouts of game, which must stay valid, by at most so many threads.
 * simulations: games played from each leaf; exploration: the constant of UCB. NULL: no memory. */
ceiling_uct_shared *ceiling_uct_shared_open(const tern_game *game, uint64_t rollouts,
                                            uint32_t threads, uint32_t simulations,
                                            double exploration);
void ceiling_uct_shared_close(ceiling_uct_shared *tree);

/* One thread calls it while no other thread uses the tree. Empties the tree, puts state at its
 * root, and prepares so many rollouts, at most as many as the tree is for. */
void ceiling_uct_shared_reset(ceiling_uct_shared *tree, const void *state, uint64_t seed,
                              uint64_t rollouts);

/* Each thread calls it with its number: does rollouts until all have been started. */
void ceiling_uct_shared_run(ceiling_uct_shared *tree, uint32_t thread);

/* While no thread uses the tree: returns the number of rollouts of the most visited move. */
uint64_t ceiling_uct_shared_most(const ceiling_uct_shared *tree);

/* While no thread uses the tree: returns the number of nodes that rollouts passed since the reset,
 * including leaves. */
uint64_t ceiling_uct_shared_visits(const ceiling_uct_shared *tree);

/* While no thread uses the tree: checks that so many rollouts passed the root, that each visit of a
 * node except its first went on to one of its children, and that the points of the children add up,
 * except what one leaf can win. [out] nodes: number of nodes. */
bool ceiling_uct_shared_check(const ceiling_uct_shared *tree, uint64_t rollouts, uint64_t *nodes);

#endif
