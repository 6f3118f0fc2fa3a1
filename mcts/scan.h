#ifndef TERN_MCTS_SCAN_H
#define TERN_MCTS_SCAN_H

/*
 * Finds the move with the largest share + wide * seldom, by vectors, because every rollout asks for
 * it at the root, and only the process that has the root can answer. Vectors are a GNU extension of
 * gcc and clang for every processor.
 *
 * Other threads may store values meanwhile, by relaxed stores, and any recent value will do. C has
 * no atomic loads of vectors, so these loads are plain. On every machine with vectors of floats,
 * each aligned float in such a load is read as a whole.
 */

#include "mcts/slab.h"

enum { TERN_MCTS_WIDTH = 4, TERN_MCTS_HALVES = TERN_MCTS_LANES / TERN_MCTS_WIDTH };
typedef float tern_mcts_floats __attribute__((vector_size(4 * TERN_MCTS_WIDTH), may_alias));
typedef int32_t tern_mcts_ints __attribute__((vector_size(4 * TERN_MCTS_WIDTH)));

/* Returns the first of the moves with the largest value, or 0 if all values are 0, as they are for
 * moves that have not been drawn. */
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
