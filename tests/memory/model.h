/*
 * What the models of this folder share. A model is a small program of two or three threads that
 * makes the same atomic accesses, with the same orders, as the functions that it names. Relacy runs
 * it through the executions that the C11 memory model allows. A model has mutants: each weakens one
 * order to relaxed, removes one fence, or makes one other change that a defect would be. The model
 * must hold and each of its mutants must fail, so that no check can pass in vain.
 *
 * Not covered: Relacy has no load that reads a store which comes later in time, none of its failing
 * compare-and-swaps reads an old value, and a model ends after few operations.
 */

#ifndef TERN_MEMORY_MODEL_H
#define TERN_MEMORY_MODEL_H

/* Before Relacy, which makes macros of malloc, new and others. */
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <ostream>

#include <relacy/relacy.hpp>

typedef rl::atomic<int> word;
typedef rl::var<int> plain; /* an access that another one is not ordered with is a failure */

static const rl::memory_order relaxed = rl::mo_relaxed, acquire = rl::mo_acquire,
                              release = rl::mo_release, acq_rel = rl::mo_acq_rel,
                              seq_cst = rl::mo_seq_cst;

/* The mutant that runs; NULL: the code as it is. */
static const char *mutant;

static inline bool is(const char *name) { return mutant != NULL && std::strcmp(mutant, name) == 0; }

/* The order of an access: relaxed in the mutant of that name. */
static inline rl::memory_order but(const char *name, rl::memory_order order) {
    return is(name) ? relaxed : order;
}

/* A fence, which the mutant of that name lacks. */
#define FENCE(name, order)                                                                         \
    do                                                                                             \
        if (!is(name))                                                                             \
            rl::atomic_thread_fence(order, $);                                                     \
    while (0)

#define LOAD(object, order) (object).load(order, $)
#define STORE(object, value, order) (object).store(value, order, $)
#define ADD(object, value, order) (object).fetch_add(value, order, $)
#define OR(object, value, order) (object).fetch_or(value, order, $)
#define SWAP(object, value, order) (object).exchange(value, order, $)
#define READ(object) ((object)($))
#define WRITE(object, value) ((object)($) = (value))

/* Stores desired if the word holds expected; returns what it held. */
static inline int cas(word &object, int expected, int desired, rl::memory_order order) {
    object.compare_exchange_strong(expected, desired, order, $);
    return expected;
}

/* How a model is run through: every execution there is, all with few switches between threads, or
 * so many that are drawn. */
enum { EVERY = 0, FEW_SWITCHES = 1 };

struct run {
    const char *name;
    unsigned how; /* EVERY, FEW_SWITCHES, or how many */
    std::initializer_list<const char *> mutants;
};

static bool full_form; /* --full: ten times as many, and one switch more */

/* How a run ends. Anything but an assertion or a race, such as a thread that never ends, is a fault
 * of the model itself. */
enum outcome { HOLDS, FAILS, IS_WRONG };

template <class suite> static outcome explore(unsigned how) {
    std::ostream nowhere(NULL);
    rl::test_params parameters;
    parameters.output_stream = parameters.progress_stream = &nowhere;
    parameters.search_type = how == EVERY          ? rl::sched_full
                             : how == FEW_SWITCHES ? rl::sched_bound
                                                   : rl::sched_random;
    parameters.iteration_count = how * (full_form ? 10 : 1);
    parameters.context_bound = full_form ? 4 : 3;
    if (rl::simulate<suite>(parameters))
        return HOLDS;
    if (parameters.test_result == rl::test_result_user_assert_failed ||
        parameters.test_result == rl::test_result_data_race)
        return FAILS;
    std::printf("%s\n", rl::test_result_str(parameters.test_result));
    return IS_WRONG;
}

/* Whether the model holds and every mutant of it fails. */
template <class suite> static bool check(const run &r) {
    bool good = true;
    mutant = NULL;
    if (explore<suite>(r.how) != HOLDS) {
        std::printf("%s: FAILED: it does not hold\n", r.name);
        good = false;
    }
    for (const char *name : r.mutants) {
        mutant = name;
        if (explore<suite>(r.how) == FAILS)
            continue;
        std::printf("%s: FAILED: the model does not see this defect: %s\n", r.name, name);
        good = false;
    }
    if (good)
        std::printf("%s: holds; %zu mutants fail\n", r.name, r.mutants.size());
    std::fflush(stdout);
    return good;
}

static inline void read_options(int argc, char **argv) {
    full_form = argc > 1 && std::strcmp(argv[1], "--full") == 0;
}

#endif
