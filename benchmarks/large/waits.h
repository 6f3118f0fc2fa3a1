/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Counts of times, by which quantiles are known to 7 percent however many there are. */

#ifndef TERN_BENCHMARKS_LARGE_WAITS_H
#define TERN_BENCHMARKS_LARGE_WAITS_H

#include <stdint.h>

enum { LARGE_STEPS = 16 /* of an octave */, LARGE_OCTAVES = 40 };

typedef struct large_waits {
    uint64_t count[LARGE_OCTAVES * LARGE_STEPS];
    uint64_t all;
    double longest; /* ns */
} large_waits;

/* ns above 0: the octave, and the step in it from the bits behind the first. */
static inline void large_wait_count(large_waits *w, double ns) {
    uint64_t n = ns < LARGE_STEPS ? LARGE_STEPS : (uint64_t)ns;
    unsigned octave = 63u - (unsigned)__builtin_clzll(n);
    unsigned at = octave * LARGE_STEPS + (unsigned)((n >> (octave - 4)) % LARGE_STEPS);
    w->count[at < LARGE_OCTAVES * LARGE_STEPS ? at : LARGE_OCTAVES * LARGE_STEPS - 1]++;
    w->all++;
    w->longest = ns > w->longest ? ns : w->longest;
}

static inline void large_waits_add(large_waits *to, const large_waits *from) {
    for (unsigned i = 0; i < LARGE_OCTAVES * LARGE_STEPS; i++)
        to->count[i] += from->count[i];
    to->all += from->all;
    to->longest = from->longest > to->longest ? from->longest : to->longest;
}

/* The time that a share q of them does not exceed. */
static inline double large_wait_quantile(const large_waits *w, double q) {
    uint64_t below = 0, wanted = (uint64_t)(q * (double)w->all);
    for (unsigned at = 0; at < LARGE_OCTAVES * LARGE_STEPS; at++) {
        below += w->count[at];
        if (below > wanted)
            return (double)(((uint64_t)LARGE_STEPS + at % LARGE_STEPS + 1) << (at / LARGE_STEPS)) /
                   LARGE_STEPS;
    }
    return w->longest;
}

#endif
