/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * uct_shared.c: Monte-Carlo tree search by threads that share one tree, in the memory of one
 * process: what a search does that is neither sent anywhere nor owned by anybody. No thread waits
 * for another. Counts are atomic; a visit counts on its way down and what it wins on its way back,
 * so that others take it for lost meanwhile (virtual loss). Each thread has memory of its own for
 * what it adds to the tree.
 */

#ifndef TERN_BENCHMARKS_CEILINGS_UCT_SHARED_H
#define TERN_BENCHMARKS_CEILINGS_UCT_SHARED_H

#include <stdbool.h>

#include "tern/game.h"

typedef struct ceiling_uct_shared ceiling_uct_shared;

/* A tree for so many rollouts of game, which must stay, by at most so many threads; games played
 * from each leaf, and the constant of UCB. NULL: no memory. */
ceiling_uct_shared *ceiling_uct_shared_open(const tern_game *game, uint64_t rollouts,
                                            uint32_t threads, uint32_t simulations,
                                            double exploration);
void ceiling_uct_shared_close(ceiling_uct_shared *tree);

/* By one thread, while no other is in the tree: it is empty, with state at its root, and waits for
 * so many rollouts, at most as many as it is for. */
void ceiling_uct_shared_reset(ceiling_uct_shared *tree, const void *state, uint64_t seed,
                              uint64_t rollouts);

/* By each thread, with its number: rollouts until none is left to be started. */
void ceiling_uct_shared_run(ceiling_uct_shared *tree, uint32_t thread);

/* While no thread is in the tree: how many rollouts the most visited move has. */
uint64_t ceiling_uct_shared_most(const ceiling_uct_shared *tree);

/* While no thread is in the tree: nodes that rollouts came by since the reset, leaves included. */
uint64_t ceiling_uct_shared_visits(const ceiling_uct_shared *tree);

/* While no thread is in the tree: whether so many rollouts came by the root, each visit of a node
 * but its first went on to one of its children, and so did all that was won but what one leaf can
 * win. [out] nodes: how many there are. */
bool ceiling_uct_shared_check(const ceiling_uct_shared *tree, uint64_t rollouts, uint64_t *nodes);

#endif
