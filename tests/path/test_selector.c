// tern-test: unit

/*
 * What the selector of TERN_AUTO decides (path/selector.h), on costs and times that are made
 * up: nothing here reads a clock.
 */

#include "path/selector.h"

#include <string.h>

#include "harness.h"

enum { MS = 1000000 };

/* A network where a get takes 2 us, everything else 3, and a call 5. */
static const tern_costs network = {
    .get = 2000, .put = 3000, .flush = 3000, .cas = 3000, .fetch = 3000, .hot = 3000, .call = 5000};
static const tern_costs own = {.get = 50, .put = 50, .cas = 50, .fetch = 50, .hot = 50};

static tern_path_costs measured_at(uint64_t now, const tern_costs *costs) {
    tern_path_costs c = {.costs = *costs, .measured = now};
    tern_path_decide(&c, &own, true);
    return c;
}

static bool by_call(const tern_path_costs *c, tern_path_kind kind) {
    return (c->by_call >> kind & 1) != 0;
}

static void the_cheaper_way_comes_first(void) {
    CU_ASSERT_EQUAL(tern_path_choose(TERN_AUTO, (tern_sums){100, 99}), TERN_BY_CALL);
    CU_ASSERT_EQUAL(tern_path_choose(TERN_AUTO, (tern_sums){99, 100}), TERN_BY_RMA);
    CU_ASSERT_EQUAL(tern_path_choose(TERN_AUTO, (tern_sums){100, 100}), TERN_BY_RMA);
}

/* The selector leaves a path only for one that takes three quarters of its time or less. */
static void a_change_needs_a_lead(void) {
    CU_ASSERT_EQUAL(tern_path_choose(TERN_BY_RMA, (tern_sums){100, 76}), TERN_BY_RMA);
    CU_ASSERT_EQUAL(tern_path_choose(TERN_BY_RMA, (tern_sums){100, 74}), TERN_BY_CALL);
    CU_ASSERT_EQUAL(tern_path_choose(TERN_BY_CALL, (tern_sums){76, 100}), TERN_BY_CALL);
    CU_ASSERT_EQUAL(tern_path_choose(TERN_BY_CALL, (tern_sums){74, 100}), TERN_BY_RMA);
    tern_path_costs c = measured_at(1, &network);
    CU_ASSERT(!by_call(&c, TERN_PATH_FIND));
    c.costs.get = 3000; /* twice, for a bucket of another key; a call takes 5,400 */
    tern_path_decide(&c, &own, false);
    CU_ASSERT(!by_call(&c, TERN_PATH_FIND));
    c.costs.get = 4000;
    tern_path_decide(&c, &own, false);
    CU_ASSERT(by_call(&c, TERN_PATH_FIND));
    c.costs.get = 2500;
    tern_path_decide(&c, &own, false);
    CU_ASSERT(by_call(&c, TERN_PATH_FIND));
    c.costs.get = 1500;
    tern_path_decide(&c, &own, false);
    CU_ASSERT(!by_call(&c, TERN_PATH_FIND));
}

/* One get beats a call there; whatever takes several round trips, and batches, do not. */
static void each_kind_has_its_path(void) {
    const tern_path_costs remote = measured_at(1, &network);
    CU_ASSERT(!by_call(&remote, TERN_PATH_FIND));
    CU_ASSERT(by_call(&remote, TERN_PATH_INSERT));
    CU_ASSERT(by_call(&remote, TERN_PATH_PUSH));
    CU_ASSERT(by_call(&remote, TERN_PATH_POP));
    CU_ASSERT(by_call(&remote, TERN_PATH_FIND_MANY));
    CU_ASSERT(by_call(&remote, TERN_PATH_INSERT_MANY));
    CU_ASSERT(by_call(&remote, TERN_PATH_ADD_MANY));
    CU_ASSERT_EQUAL(remote.open, remote.by_call);
    tern_costs shared;
    tern_costs_guess(TERN_SHM, &shared);
    const tern_path_costs direct = measured_at(1, &shared);
    for (tern_path_kind kind = 0; kind < TERN_PATH_FIND_MANY; kind++)
        CU_ASSERT(!by_call(&direct, kind));
}

static unsigned bits(tern_flags flags) { return (unsigned)__builtin_popcount(flags); }

/* Each word of 8 bits, with each promise that may be excluded. */
static void flags_are_checked(void) {
    static const tern_flags excluded[] = {TERN_READ_WRITE, TERN_WRITE_ONLY, TERN_READ_ONLY,
                                          TERN_LOCAL};
    for (size_t i = 0; i < sizeof excluded / sizeof *excluded; i++)
        for (tern_flags flags = 0; flags < 256; flags++) {
            const tern_flags promise = flags & (TERN_WRITE_ONLY | TERN_READ_ONLY | TERN_LOCAL),
                             path = flags & (TERN_BY_RMA | TERN_BY_CALL);
            const bool right = (promise | path) == flags && bits(promise) <= 1 && bits(path) <= 1 &&
                               (promise == 0 || promise != excluded[i]);
            CU_ASSERT_EQUAL(tern_flags_check(flags, excluded[i], "f"),
                            right ? TERN_OK : TERN_ERR_ARGUMENT);
        }
}

/* The model knows paths, and no TERN_LOCAL. */
static void predictions_need_a_path(void) {
    double ns = -1;
    const tern_flags wrong[] = {TERN_AUTO, TERN_READ_ONLY, TERN_LOCAL | TERN_BY_RMA,
                                TERN_BY_RMA | TERN_BY_CALL};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CU_ASSERT_EQUAL(tern_model_predict(TERN_MODEL_FIND, wrong[i], &network, &own, &ns),
                        TERN_ERR_ARGUMENT);
    CU_ASSERT_EQUAL(ns, -1);
    CU_ASSERT_EQUAL(
        tern_model_predict(TERN_MODEL_FIND, TERN_READ_ONLY | TERN_BY_RMA, &network, &own, &ns),
        TERN_OK);
    CU_ASSERT(ns > 0);
}

/* What the sums are made of: the paper's, one bucket of another key, and what serving costs the
 * processor. */
static void sums_are_the_models(void) {
    double rma, call;
    tern_costs there = network, here = own;
    there.passed = here.passed = 1;
    CU_ASSERT_EQUAL(tern_model_predict(TERN_MODEL_INSERT, TERN_BY_RMA, &there, &here, &rma),
                    TERN_OK);
    CU_ASSERT_EQUAL(tern_model_predict(TERN_MODEL_INSERT, TERN_BY_CALL, &there, &here, &call),
                    TERN_OK);
    const tern_sums sums = tern_path_sums(TERN_PATH_INSERT, &network, &own);
    CU_ASSERT_EQUAL(sums.rma, rma);
    CU_ASSERT_EQUAL(sums.call, call + 300);
    tern_costs even = network;
    even.get = network.call / 2 + 150;
    CU_ASSERT_EQUAL(tern_path_choose(TERN_AUTO, tern_path_sums(TERN_PATH_FIND, &even, &own)),
                    TERN_BY_RMA);
    even.get = network.call / 2 + 250;
    CU_ASSERT_EQUAL(tern_path_choose(TERN_AUTO, tern_path_sums(TERN_PATH_FIND, &even, &own)),
                    TERN_BY_CALL);
}

/* Calls that take so long, until the class is inattentive; 0: it is not, after many. */
static int calls_until_late(tern_path_costs *c, double took, uint64_t now) {
    for (int calls = 1; calls <= 1000; calls++)
        if (tern_path_late(c, 5000, took, now))
            return calls;
    return 0;
}

static void calls_on_time_are_not_late(void) {
    tern_path_costs c = measured_at(MS, &network);
    CU_ASSERT_EQUAL(calls_until_late(&c, 5000, 2 * MS), 0);
    CU_ASSERT_EQUAL(calls_until_late(&c, 9000, 2 * MS), 0);
    CU_ASSERT_EQUAL(c.until, 0);
    CU_ASSERT_EQUAL(c.costs.call, network.call);
}

/* One that waited for a time slice says nothing; all of them do. */
static void one_slow_call_is_none(void) {
    tern_path_costs c = measured_at(MS, &network);
    for (int i = 0; i < 50; i++) {
        CU_ASSERT(!tern_path_late(&c, 5000, 10.0 * MS, 2 * MS));
        for (int k = 0; k < 30; k++)
            CU_ASSERT(!tern_path_late(&c, 5000, 5000, 2 * MS));
    }
    const int calls = calls_until_late(&c, 20000, 2 * MS);
    CU_ASSERT(calls > 1 && calls < 10);
}

/* Then calls cost what they were seen to, pushes go by RMA, and stay to be looked at again. */
static void an_inattentive_class_is_left(void) {
    tern_path_costs c = measured_at(MS, &network);
    CU_ASSERT(by_call(&c, TERN_PATH_PUSH));
    CU_ASSERT(calls_until_late(&c, 25000, 2 * MS) > 0);
    CU_ASSERT(c.costs.call > 10000 && c.costs.call < 30000);
    CU_ASSERT_EQUAL(c.until, 2 * MS + 10 * MS);
    CU_ASSERT_EQUAL(calls_until_late(&c, 500000, 2 * MS), 0); /* it is already */
    const uint32_t before = c.open;
    tern_path_decide(&c, &own, false);
    CU_ASSERT(!by_call(&c, TERN_PATH_PUSH));
    CU_ASSERT_EQUAL(c.open, before);
}

/* Measured again, and late again at once: twice as long, up to a limit. Late after a good time: as
 * at first. */
static void pauses_double(void) {
    tern_path_costs c = measured_at(MS, &network);
    uint64_t now = 2 * MS, wanted = 10 * MS;
    for (int i = 0; i < 12; i++) {
        c.until = 0;
        CU_ASSERT(calls_until_late(&c, 50000, now) > 0);
        CU_ASSERT_EQUAL(c.until - now, wanted);
        wanted = wanted < 1280 * (uint64_t)MS ? 2 * wanted : wanted;
        now = c.until;
        c.costs = network;
        c.measured = now;
        now += MS;
    }
    CU_ASSERT_EQUAL(wanted, 1280 * (uint64_t)MS);
    c.until = 0;
    now = c.measured + c.pause + 1;
    CU_ASSERT(calls_until_late(&c, 50000, now) > 0);
    CU_ASSERT_EQUAL(c.until - now, 10 * MS);
}

/* The same costs and calls in the same order leave the same state, bit by bit. */
static void decisions_repeat(void) {
    uint64_t random = tern_test_seed();
    tern_path_costs a, b;
    memset(&a, 0, sizeof a);
    a.costs = network;
    b = a;
    for (int i = 0; i < 1000; i++) {
        const double took = (double)(tern_test_random(&random) % 40000);
        const bool late = tern_path_late(&a, 5000, took, (uint64_t)i * MS);
        CU_ASSERT_EQUAL(late, tern_path_late(&b, 5000, took, (uint64_t)i * MS));
        tern_path_decide(&a, &own, i == 0);
        tern_path_decide(&b, &own, i == 0);
        CU_ASSERT_EQUAL(memcmp(&a, &b, sizeof a), 0);
        a.until = b.until = i % 10 == 0 ? 0 : a.until;
    }
}

/* A selector holds what it needs in itself, for classes alone: nothing that grows with ranks. */
static void nothing_is_kept_by_rank(void) {
    CU_ASSERT(sizeof(tern_selector) <= 512);
    CU_ASSERT_EQUAL(sizeof(tern_selector),
                    TERN_PATH_CLASSES * sizeof(tern_path_costs) + 2 * sizeof(uint64_t));
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"the_cheaper_way_comes_first", the_cheaper_way_comes_first},
        {"a_change_needs_a_lead", a_change_needs_a_lead},
        {"each_kind_has_its_path", each_kind_has_its_path},
        {"flags_are_checked", flags_are_checked},
        {"predictions_need_a_path", predictions_need_a_path},
        {"sums_are_the_models", sums_are_the_models},
        {"calls_on_time_are_not_late", calls_on_time_are_not_late},
        {"one_slow_call_is_none", one_slow_call_is_none},
        {"an_inattentive_class_is_left", an_inattentive_class_is_left},
        {"pauses_double", pauses_double},
        {"decisions_repeat", decisions_repeat},
        {"nothing_is_kept_by_rank", nothing_is_kept_by_rank}};
    return tern_test_main(argc, argv, "selector", tests, sizeof tests / sizeof *tests);
}
