/* What the suites of the baselines share: costs by the worker's counters, and histories. */

#ifndef TERN_TESTS_BASELINE_TOOLS_H
#define TERN_TESTS_BASELINE_TOOLS_H

#include "histories/record.h"

typedef struct cost {
    uint64_t gets, puts, atomics, flushes, calls;
} cost;

static inline tern_stats costs_begin(const fixture *f) {
    tern_stats before;
    tern_stats_get(f->worker, &before);
    return before;
}

/* Whether each of so many operations since before has cost what is wanted. */
static inline bool costs_are(const fixture *f, const tern_stats *before, uint64_t operations,
                             cost wanted, const char *what) {
    tern_stats after;
    tern_stats_get(f->worker, &after);
    const uint64_t got[] = {after.gets - before->gets, after.puts - before->puts,
                            after.atomics - before->atomics, after.flushes - before->flushes,
                            after.calls_sent - before->calls_sent};
    const uint64_t each[] = {wanted.gets, wanted.puts, wanted.atomics, wanted.flushes,
                             wanted.calls};
    bool same = true;
    for (int i = 0; i < 5; i++)
        same = same && got[i] == operations * each[i];
    if (!same)
        fprintf(stderr,
                "%s: %llu operations cost %llu gets, %llu puts, %llu atomics, %llu flushes, %llu "
                "calls\n",
                what, (unsigned long long)operations, (unsigned long long)got[0],
                (unsigned long long)got[1], (unsigned long long)got[2], (unsigned long long)got[3],
                (unsigned long long)got[4]);
    return same;
}

/* A rank that shares no memory with rank 0, or none. */
static inline uint32_t costs_remote_rank(const fixture *f, tern_transport *transport) {
    for (uint32_t r = 0; r < f->size; r++)
        if (tern_context_transport(f->context, r, transport) == TERN_OK && *transport != TERN_SHM)
            return r;
    return UINT32_MAX;
}

static inline tern_flags baseline_any_path(uint64_t *random) {
    return fixture_path(below(random, 2));
}

/* Operations of each rank in a part of a history: enough for some disorder, few enough to be
 * judged. */
static inline int history_share(const fixture *f) {
    const int each = 24 / (int)f->size;
    return each > 3 ? each : 3;
}

/* What came of all batches of histories so far. Zeroed at first. */
typedef struct history_tally {
    history_outcome all;
    uint64_t end; /* when no further batch begins; the clock of rank 0 */
} history_tally;

/* Whether another batch follows: for the time that a test has, and while nothing is wrong. The same
 * on every rank. */
static inline bool history_goes_on(history_tally *tally, const history_outcome *outcome) {
    if (tally->end == 0)
        tally->end = outcome->clock + (uint64_t)(1e9 * tern_test_seconds(0.3));
    tally->all.judged += outcome->judged;
    tally->all.wrong += outcome->wrong;
    tally->all.undecided += outcome->undecided;
    return tally->all.wrong == 0 && outcome->judged > 0 && outcome->clock < tally->end;
}

static inline void history_expect(const history_tally *tally) {
    CU_ASSERT(tally->all.judged > 0);
    CU_ASSERT_EQUAL(tally->all.wrong, 0);
    CU_ASSERT(10 * tally->all.undecided <= tally->all.judged);
}

#endif
