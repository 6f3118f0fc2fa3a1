/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "advice.h"

#include "bench.h"

advice_figure advice_figure_of(const char *name, const double *ns, size_t pairs) {
    advice_figure figure = {.ns = bench_median(ns, pairs)};
    snprintf(figure.name, sizeof figure.name, "%s", name);
    if (figure.ns > 0)
        figure.spread = bench_spread(ns, pairs) / figure.ns;
    return figure;
}

bool advice_doubts(const advice_figure *figure, char *text, size_t room) {
    /* Written so that a time that is no number is doubted, too. */
    if (!(figure->ns >= ADVICE_NS_LEAST)) {
        snprintf(text, room, "%s: %.1f ns was read; only a time above 0.0 ns can be", figure->name,
                 figure->ns);
    } else if (!(figure->spread <= ADVICE_SPREAD_MOST)) {
        snprintf(text, room,
                 "%s: %.1f ns with a spread of %.0f %% was read; at most %.0f %% is allowed",
                 figure->name, figure->ns, 100 * figure->spread, 100 * ADVICE_SPREAD_MOST);
    } else {
        return false;
    }
    return true;
}
