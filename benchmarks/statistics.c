/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "bench.h"

#include <stdlib.h>

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The q-quantile, interpolated linearly between the two nearest values. */
double bench_quantile(const double *values, size_t count, double q) {
    double sorted[BENCH_PAIRS_MAX];
    if (count == 0)
        return 0;
    if (count > BENCH_PAIRS_MAX)
        count = BENCH_PAIRS_MAX;
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    double at = q * (double)(count - 1);
    size_t below = (size_t)at;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

double bench_mean(const double *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return count > 0 ? sum / (double)count : 0;
}

/* The least value that is above the share q of all. */
static double above_share(const double *sorted, size_t count, double q) {
    const size_t at = (size_t)(q * (double)count);
    return sorted[at < count ? at : count - 1];
}

bench_tail bench_tail_of(double *ns, size_t count, uint64_t each) {
    if (count == 0)
        return (bench_tail){.samples = 0};
    qsort(ns, count, sizeof *ns, ascending);
    return (bench_tail){.samples = count,
                        .each = each,
                        .p50 = above_share(ns, count, 0.5),
                        .p99 = above_share(ns, count, 0.99),
                        .p999 = above_share(ns, count, 0.999),
                        .most = ns[count - 1]};
}
