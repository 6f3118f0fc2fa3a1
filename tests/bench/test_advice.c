/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Which figures tern-bench advise refuses, and what it says of them; what --tail makes of times. */

#include "harness.h"

#include <math.h>
#include <string.h>

#include "advice.h"
#include "bench.h"

enum { PAIRS = 5 };

/* Whether the figure of these times is refused with a text that has both words. */
static bool refused(const double *ns, size_t pairs, const char *read, const char *allowed) {
    char text[160] = "";
    const advice_figure figure = advice_figure_of("a put", ns, pairs);
    if (!advice_doubts(&figure, text, sizeof text))
        return false;
    return strncmp(text, "a put: ", 7) == 0 && strstr(text, read) != NULL &&
           strstr(text, allowed) != NULL;
}

static void steady_figures_are_taken(void) {
    const double steady[PAIRS] = {10, 11, 10, 12, 10}, wide[PAIRS] = {8, 8, 10, 12, 12};
    char text[160];
    const advice_figure figure = advice_figure_of("a put", steady, PAIRS),
                        widest = advice_figure_of("a put", wide, PAIRS);
    CU_ASSERT_DOUBLE_EQUAL(figure.ns, 10, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(figure.spread, 0.1, 1e-9);
    CU_ASSERT_FALSE(advice_doubts(&figure, text, sizeof text));
    CU_ASSERT_FALSE(advice_doubts(&widest, text, sizeof text)); /* 40 % */
}

static void no_time_is_refused(void) {
    const double none[PAIRS] = {0}, little[PAIRS] = {0.04, 0.04, 0.04, 0.04, 0.04},
                 unknown[PAIRS] = {NAN, NAN, NAN, NAN, NAN}, less[PAIRS] = {-1, -1, -1, -1, -1};
    CU_ASSERT_TRUE(refused(none, PAIRS, "0.0 ns was read", "above 0.0 ns"));
    CU_ASSERT_TRUE(refused(little, PAIRS, "0.0 ns was read", "above 0.0 ns"));
    CU_ASSERT_TRUE(refused(less, PAIRS, "-1.0 ns was read", "above 0.0 ns"));
    CU_ASSERT_TRUE(refused(unknown, PAIRS, "nan ns was read", "above 0.0 ns"));
    CU_ASSERT_TRUE(refused(none, 0, "0.0 ns was read", "above 0.0 ns"));
}

static void a_wide_spread_is_refused(void) {
    const double wide[PAIRS] = {4, 7, 10, 13, 16}; /* 60 % */
    CU_ASSERT_TRUE(refused(wide, PAIRS, "spread of 60 % was read", "at most 50 %"));
}

/* 1 to 2,000 in another order. */
static void a_tail_has_the_slowest(void) {
    enum { COUNT = 2000 };
    double ns[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        ns[i] = 1 + (double)(i * 7 % COUNT);
    const bench_tail tail = bench_tail_of(ns, COUNT, 64);
    CU_ASSERT(tail.samples == COUNT && tail.each == 64);
    CU_ASSERT(tail.p50 == 1001 && tail.p99 == 1981 && tail.p999 == 1999 && tail.most == 2000);
    double one = 5;
    const bench_tail single = bench_tail_of(&one, 1, 1);
    CU_ASSERT(single.p50 == 5 && single.p999 == 5 && single.most == 5);
    CU_ASSERT_EQUAL(bench_tail_of(NULL, 0, 1).samples, 0);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"steady_figures_are_taken", steady_figures_are_taken},
        {"no_time_is_refused", no_time_is_refused},
        {"a_wide_spread_is_refused", a_wide_spread_is_refused},
        {"a_tail_has_the_slowest", a_tail_has_the_slowest},
    };
    return tern_test_main(argc, argv, "advice", tests, sizeof tests / sizeof *tests);
}
