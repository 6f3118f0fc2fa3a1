#ifndef TERN_MCTS_SCAN_H
#define TERN_MCTS_SCAN_H

/*
 * Which move has the largest share + wide * seldom, by vectors: at the root every rollout asks, and
 * only the process that has it can answer. Vectors are a GNU extension, of gcc and clang alike, for
 * every processor.
 *
 * Others may store values meanwhile. Those are relaxed, and any of the last few will do; but C has
 * no atomic loads of vectors, so these are plain ones, in which each aligned float is whole on
 * every machine that has vectors of them.
 */

#include "mcts/slab.h"

enum { TERN_MCTS_WIDTH = 4, TERN_MCTS_HALVES = TERN_MCTS_LANES / TERN_MCTS_WIDTH };
typedef float tern_mcts_floats __attribute__((vector_size(4 * TERN_MCTS_WIDTH), may_alias));
typedef int32_t tern_mcts_ints __attribute__((vector_size(4 * TERN_MCTS_WIDTH)));

/* The first one of the largest; 0 if all are 0, as those that were not drawn yet are. */
__attribute__((no_sanitize("thread"))) static inline uint32_t
tern_mcts_scan(const tern_mcts_values *values, uint32_t count, float wide) {
    tern_mcts_floats most[TERN_MCTS_HALVES] = {{0}};
    tern_mcts_ints best[TERN_MCTS_HALVES] = {{0}}, at = {0, 1, 2, 3};
    for (uint32_t i = 0; i < count; i += TERN_MCTS_LANES, values++) {
        const tern_mcts_floats *share = (const void *)values->share;
        const tern_mcts_floats *seldom = (const void *)values->seldom;
        for (int half = 0; half < TERN_MCTS_HALVES; half++, at += TERN_MCTS_WIDTH) {
            tern_mcts_floats value = share[half] + wide * seldom[half];
            tern_mcts_ints more = value > most[half];
            most[half] = (tern_mcts_floats)((more & (tern_mcts_ints)value) |
                                            (~more & (tern_mcts_ints)most[half]));
            best[half] = (more & at) | (~more & best[half]);
        }
    }
    float largest = most[0][0];
    uint32_t first = (uint32_t)best[0][0];
    for (int half = 0; half < TERN_MCTS_HALVES; half++)
        for (int lane = 0; lane < TERN_MCTS_WIDTH; lane++) {
            float value = most[half][lane];
            uint32_t index = (uint32_t)best[half][lane];
            if (value > largest || (value == largest && index < first)) {
                largest = value;
                first = index;
            }
        }
    return first;
}

#endif
