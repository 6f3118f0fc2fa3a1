/*
 * What the suites of the choice share: operations whose costs are made up, at times that are made
 * up.
 */

#ifndef TERN_TESTS_CHOICE_TOOLS_H
#define TERN_TESTS_CHOICE_TOOLS_H

#include "harness.h"
#include "choice/choice.h"

/* What a way costs: ticks, some more at random, now and then much more. */
typedef struct way {
    double ticks, noise;
    double rare, often; /* ticks more, in so many of a thousand operations */
} way;

static inline double cost_of(const way *w, uint64_t *random) {
    double at = (double)(tern_test_random(random) % 1000000) / 1e6;
    bool rare = (double)(tern_test_random(random) % 1000000) < 1e3 * w->often;
    return w->ticks + w->noise * at + (rare ? w->rare : 0);
}

/* tern_choice_take at a time that is made up. */
static inline tern_pick take_at(tern_choice *choice, double now) {
    if (choice->left > 0 || choice->calls > 0)
        return tern_choice_take(choice);
    return tern_choice_timed(choice, (uint64_t)now, false);
}

static inline void learn_one(const tern_pick *pick, double ticks) {
    if (pick->choice != NULL)
        tern_choice_learn(pick, (uint64_t)ticks, 1);
}

#endif
