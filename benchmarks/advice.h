/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The figures that advice rests on. Advice from a figure that cannot be is worse than none, so
 * tern-bench advise checks each figure before it says anything.
 */

#ifndef TERN_BENCHMARKS_ADVICE_H
#define TERN_BENCHMARKS_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

/* A time as it was measured. */
typedef struct advice_figure {
    char name[96];
    double ns;     /* the median over the pairs of blocks */
    double spread; /* the interquartile range over the median */
} advice_figure;

enum { ADVICE_PAIRS_LEAST = 3 /* fewer show no spread */ };
#define ADVICE_NS_LEAST 0.05 /* a smaller time is printed as 0.0 ns */
#define ADVICE_SPREAD_MOST 0.5

/* A figure of ns, of which there are so many pairs. */
advice_figure advice_figure_of(const char *name, const double *ns, size_t pairs);

/* Whether the figure cannot be, or says too little. [out] text: what was read and what is
 * allowed. */
bool advice_doubts(const advice_figure *figure, char *text, size_t room);

#endif
