// tern-test: unit

/*
 * What TERN_VIA_AUTO chooses, without any communication: operations whose costs are made up, what
 * they take by the choice beside what they would have taken by the better way; and the model.
 */

#include "harness.h"
#include "choice/ticks.h"
#include "choice_tools.h"

#include <stdio.h>
#include <string.h>

enum {
    OPERATIONS = 200000,
    TIMED = 100, /* ticks that timing takes */
    COLD = 32    /* operations by RMA only, after which a call is cold */
};

typedef struct load {
    way way[2];
} load;

/* Ticks that a call takes more which comes after a while: played with while it is set. */
static double cold_call;

typedef struct outcome {
    double took, best, fixed[2];
    uint64_t by[2];
} outcome;

static double mean_of(const way *w) { return w->ticks + w->noise / 2 + w->rare * w->often / 1e3; }

/* count operations of each load in succession. */
static outcome play(const double *prior, const load *loads, size_t phases, uint64_t count,
                    uint64_t random) {
    tern_choice choice;
    outcome o = {0};
    uint64_t quiet = 0;
    tern_choice_begin(&choice, prior);
    for (size_t phase = 0; phase < phases; phase++) {
        double rma = mean_of(&loads[phase].way[0]), call = mean_of(&loads[phase].way[1]);
        o.best += (double)count * (rma < call ? rma : call);
        o.fixed[0] += (double)count * rma;
        o.fixed[1] += (double)count * call;
        for (uint64_t i = 0; i < count; i++) {
            tern_pick pick = take_at(&choice, o.took);
            const way *taken = &loads[phase].way[pick.via];
            double ticks = cost_of(taken, &random) +
                           (quiet > COLD && pick.via == TERN_VIA_CALL ? cold_call : 0);
            quiet = pick.via == TERN_VIA_CALL ? 0 : quiet + 1;
            o.took += ticks;
            o.by[pick.via]++;
            learn_one(&pick, ticks);
            o.took += pick.choice != NULL ? TIMED : 0;
        }
    }
    return o;
}

static void within(const outcome *o, double times, const char *what) {
    bool is = o->took <= times * o->best;
    if (!is)
        fprintf(stderr, "%s: %.0f ticks, the best is %.0f: %.3f times\n", what, o->took, o->best,
                o->took / o->best);
    CU_ASSERT(is);
}

/* The better way is found whatever the model said, and nearly all goes by it. */
static void finds_the_better(void) {
    static const double priors[][2] = {{200, 1000}, {1000, 200}, {500, 500}, {20000, 10}};
    static const load loads[] = {
        {{{200, 40, 0, 0}, {1000, 500, 0, 0}}},   {{{200, 40, 0, 0}, {900000, 500, 0, 0}}},
        {{{9000, 900, 0, 0}, {3000, 300, 0, 0}}}, {{{3000, 300, 0, 0}, {90000, 80000, 0, 0}}},
        {{{1000, 500, 0, 0}, {1100, 500, 0, 0}}},
    };
    for (size_t p = 0; p < sizeof priors / sizeof *priors; p++)
        for (size_t l = 0; l < sizeof loads / sizeof *loads; l++) {
            outcome o = play(priors[p], &loads[l], 1, OPERATIONS, tern_test_seed() + 5);
            within(&o, 1.1, "one load");
            tern_via better = mean_of(&loads[l].way[0]) < mean_of(&loads[l].way[1]) ? TERN_VIA_RMA
                                                                                    : TERN_VIA_CALL;
            if (l < 4)
                CU_ASSERT(o.by[better] > OPERATIONS * 9 / 10);
            CU_ASSERT(o.by[better] < OPERATIONS); /* it went on looking */
        }
}

/* Whoever is interrupted, by either way, soon goes on by the better one. */
static void interruptions_settle_nothing(void) {
    static const double prior[2] = {4000, 2000};
    static const load loads[] = {
        {{{80000, 90000, 2.6e6, 0.5}, {4000, 83000, 2.6e6, 0.5}}},
        {{{3900, 2600, 2e6, 0.2}, {2300, 2600, 2e6, 0.2}}},
        {{{2000, 2000, 1e6, 0.2}, {3000, 3000, 1e6, 0.2}}},
    };
    for (size_t l = 0; l < sizeof loads / sizeof *loads; l++) {
        outcome o = play(prior, &loads[l], 1, 5 * OPERATIONS, tern_test_seed() + 5);
        within(&o, 1.1, "interruptions");
        CU_ASSERT(o.by[l < 2 ? TERN_VIA_CALL : TERN_VIA_RMA] > 4 * OPERATIONS);
    }
}

/* Near memory by RMA and by call: nearly nothing is spent on timing and trials. */
static void far_ahead_costs_little(void) {
    const double prior[2] = {80, 800};
    tern_choice choice;
    tern_choice_begin(&choice, prior);
    choice.near = true;
    uint64_t timed = 0, calls = 0;
    for (double i = 0, now = 0; i < OPERATIONS; i++) {
        tern_pick pick = take_at(&choice, now);
        const double ticks = pick.via == TERN_VIA_CALL ? 800 : 80;
        timed += pick.choice != NULL;
        calls += pick.via == TERN_VIA_CALL;
        learn_one(&pick, ticks);
        now += ticks;
    }
    CU_ASSERT(timed > OPERATIONS / 400 && timed < OPERATIONS / 200);
    CU_ASSERT(calls > OPERATIONS / 8000 && calls < OPERATIONS / 2000);
}

/* What the chooser's settled says and does beside its take, on the same choice. */
static void settled_is_the_quick_half(void) {
    tern_worker worker = {.index = 0};
    tern_choice choice;
    const tern_chooser chooser = {&choice, 1, 1};
    tern_choice_begin(&choice, (const double[2]){80, 800});
    CU_ASSERT(!tern_chooser_settled(&chooser, &worker, 0, 0)); /* the first is timed */
    choice.left = 2;
    CU_ASSERT(tern_chooser_settled(&chooser, &worker, 0, 0));
    CU_ASSERT(tern_chooser_settled(&chooser, &worker, 0, 0));
    CU_ASSERT(!tern_chooser_settled(&chooser, &worker, 0, 0));
    CU_ASSERT_EQUAL(choice.left, 0);
    tern_choice_begin(&choice, (const double[2]){800, 80});
    const tern_pick first = tern_choice_sample(&choice);
    CU_ASSERT_EQUAL(first.via, TERN_VIA_CALL);
    learn_one(&first, 80);
    CU_ASSERT_EQUAL(choice.left, 0); /* calls are not the quick half's */
    CU_ASSERT_EQUAL(choice.calls, choice.gap);
    CU_ASSERT(choice.calls > 0);
    for (uint32_t calls = choice.calls; calls > 0; calls--) {
        CU_ASSERT(!tern_chooser_settled(&chooser, &worker, 0, 0));
        CU_ASSERT_EQUAL(choice.calls, calls);
        tern_pick pick = tern_choice_take(&choice);
        CU_ASSERT(pick.via == TERN_VIA_CALL && pick.choice == NULL);
    }
    CU_ASSERT(tern_choice_take(&choice).choice == &choice);
}

/* What is the caller's own: rounds of progress by the clock, and after the most in any case, with
 * so many more until it is known that nothing slow comes in between. */
static void rounds_by_the_clock(void) {
    enum { MOST = 256, MANY = 26000, UNTIL = 8 };
    const struct {
        float ticks;
        uint64_t least, most;
    } cases[] = {{0, MANY, MANY}, {1e9F, MANY / MOST, UNTIL + MANY / MOST}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tern_choice choice = {.fixed = 1, .own = 1, .then = cases[i].ticks};
        uint64_t rounds = 0;
        choice.rest = (int32_t)tern_ticks();
        for (uint64_t n = 0; n < MANY; n++) {
            tern_pick pick = tern_choice_take(&choice);
            CU_ASSERT(pick.choice == NULL);
            rounds += pick.via == TERN_VIA_CALL;
        }
        CU_ASSERT(rounds >= cases[i].least && rounds <= cases[i].most + 1);
    }
}

/* Pairs of own operations among slow ones: that the second comes at once keeps no round away. */
static void rounds_among_slow_ones(void) {
    enum { PAIRS = 2000, BETWEEN = 20000 }; /* ticks */
    tern_choice choice = {.fixed = 1, .own = 1, .then = 10000};
    uint64_t rounds = 0;
    choice.rest = (int32_t)tern_ticks();
    for (uint64_t n = 0; n < 2 * PAIRS; n++) {
        rounds += tern_choice_take(&choice).via == TERN_VIA_CALL;
        for (const uint64_t now = tern_ticks(); n % 2 == 1 && tern_ticks() - now < BETWEEN;)
            ;
    }
    CU_ASSERT(rounds > PAIRS / 2);
}

/* Half-way the other way becomes the better one: less is lost than by either alone. */
static void follows_a_change(void) {
    static const double prior[2] = {5000, 10000};
    static const load changes[][2] = {
        {{{{5000, 500, 0, 0}, {40000, 30000, 0, 0}}}, {{{5000, 500, 0, 0}, {2000, 300, 0, 0}}}},
        {{{{5000, 500, 0, 0}, {2000, 300, 0, 0}}}, {{{5000, 500, 0, 0}, {40000, 30000, 0, 0}}}},
        {{{{8000, 500, 0, 0}, {2000, 300, 0, 0}}}, {{{200, 50, 0, 0}, {2000, 300, 0, 0}}}},
        {{{{200, 50, 0, 0}, {2000, 300, 0, 0}}}, {{{9000, 50, 0, 0}, {2000, 300, 0, 0}}}},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        outcome o = play(prior, changes[i], 2, OPERATIONS, tern_test_seed() + 5);
        within(&o, 1.1, "a change");
        CU_ASSERT(o.took < o.fixed[0] && o.took < o.fixed[1]);
        CU_ASSERT(o.by[0] > OPERATIONS / 2 && o.by[1] > OPERATIONS / 2);
    }
}

/* What takes turns between quick and slow is not left for a steady way that takes more in the mean.
 */
static void turns_settle_nothing(void) {
    static const double prior[2] = {3400, 9000};
    static const load turns = {{{3400, 200, 4000, 400}, {5600, 400, 0, 0}}};
    outcome o = play(prior, &turns, 1, OPERATIONS, tern_test_seed() + 5);
    CU_ASSERT(o.by[TERN_VIA_RMA] > OPERATIONS * 95 / 100);
    within(&o, 1.05, "quick and slow in turns");
}

/* The first operation of a trial finds nothing prepared: it says little of those that would follow.
 * The loads before it let the choice know and leave the other way. */
static void first_of_a_trial_is_cold(void) {
    static const double prior[2] = {3300, 9000};
    static const load loads[] = {{{{3300, 300, 0, 0}, {4800, 300, 0, 0}}},
                                 {{{7500, 300, 0, 0}, {4800, 300, 0, 0}}}};
    cold_call = 40000;
    outcome o = play(prior, loads, 2, OPERATIONS, tern_test_seed() + 5);
    cold_call = 0;
    CU_ASSERT(o.by[TERN_VIA_CALL] > OPERATIONS * 9 / 10);
    within(&o, 1.05, "a cold other way");
}

/* A way that was dear for long, and often timed, is soon known to be cheap, though seldom tried. */
static void forgets_what_is_over(void) {
    enum { SOON = 20000 };
    static const double prior[2] = {3300, 5000};
    static const load loads[] = {{{{30000, 20000, 0, 0}, {60000, 300, 0, 0}}},
                                 {{{30000, 20000, 0, 0}, {5000, 300, 0, 0}}},
                                 {{{3400, 200, 4000, 400}, {5800, 300, 0, 0}}}};
    outcome o = play(prior, loads, 3, SOON, tern_test_seed() + 5);
    CU_ASSERT(o.by[TERN_VIA_RMA] > SOON + SOON / 2 && o.by[TERN_VIA_CALL] > SOON / 2);
}

/* A trial that goes on since it wins is believed, though what was known of its way is not far from
 * it, and goes on after operations that were slow. */
static void believes_who_wins(void) {
    enum { LONG = 50000, SOON = 20000 };
    static const double prior[2] = {4500, 5500};
    static const load loads[] = {{{{4500, 300, 0, 0}, {5000, 300, 0, 0}}},
                                 {{{4500, 300, 0, 0}, {3400, 300, 8000, 25}}}};
    uint64_t by_call = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        uint64_t random = tern_test_seed() + seed;
        tern_choice choice;
        tern_choice_begin(&choice, prior);
        double now = 0;
        for (uint64_t i = 0; i < LONG + SOON; i++) {
            const tern_pick pick = take_at(&choice, now);
            const double ticks = cost_of(&loads[i >= LONG].way[pick.via], &random);
            learn_one(&pick, ticks);
            now += ticks;
            by_call += i >= LONG && pick.via == TERN_VIA_CALL;
        }
    }
    CU_ASSERT(by_call > SOON * 10 * 8 / 10);
}

/* Where targets begin to compute both ways become dearer at once, by ten times: the one that was
 * taken is known to be by its latest operations, and not left for what the other took before. */
static void both_become_dearer(void) {
    enum { TURNS = 20, COMPUTING = 500, ATTENDING = 14000 };
    static const load computing = {{{42000, 20000, 0, 0}, {23000, 20000, 0, 0}}},
                      attending = {{{3300, 500, 3000, 20}, {3000, 500, 3000, 20}}};
    uint64_t random = tern_test_seed() + 5;
    tern_choice choice;
    tern_choice_begin(&choice, (const double[2]){3000, 4000});
    double now = 0, took = 0;
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < ATTENDING + COMPUTING; i++) {
            const tern_pick pick = take_at(&choice, now);
            const load *l = i < ATTENDING ? &attending : &computing;
            const double ticks = cost_of(&l->way[pick.via], &random);
            learn_one(&pick, ticks);
            now += ticks;
            took += i >= ATTENDING ? ticks : 0;
        }
    CU_ASSERT(took < 1.1 * TURNS * COMPUTING * mean_of(&computing.way[1]));
}

/* Of what a call takes, some is taken of its target too; where RMA is served by the target as well,
 * that tells nothing for either. */
static void charges_calls(void) {
    enum { OPERATIONS = 50000 };
    static const double prior[2] = {3000, 2750};
    static const load close = {{{3000, 300, 0, 0}, {2750, 300, 0, 0}}};
    for (int served = 0; served < 2; served++) {
        uint64_t random = tern_test_seed() + 5, by_call = 0;
        tern_choice choice;
        tern_choice_begin(&choice, prior);
        choice.served = served;
        double now = 0;
        for (int i = 0; i < OPERATIONS; i++) {
            const tern_pick pick = take_at(&choice, now);
            const double ticks = cost_of(&close.way[pick.via], &random);
            learn_one(&pick, ticks);
            now += ticks;
            by_call += pick.via == TERN_VIA_CALL;
        }
        CU_ASSERT(served ? by_call > OPERATIONS * 9 / 10 : by_call < OPERATIONS / 10);
    }
}

/* Means count, not what is usual; but one interruption settles nothing. */
static void judges_by_means(void) {
    const uint64_t seed = tern_test_seed() + 5;
    static const double prior[2] = {5000, 1000};
    static const load slices = {{{5000, 500, 0, 0}, {1000, 100, 1e6, 20}}};
    outcome o = play(prior, &slices, 1, OPERATIONS, seed);
    CU_ASSERT(o.by[TERN_VIA_RMA] > OPERATIONS / 2);
    within(&o, 1.2, "one in fifty waits long");
    static const load interrupted = {{{250, 50, 1e7, 0.02}, {1000, 100, 1e7, 0.02}}};
    o = play(prior, &interrupted, 1, OPERATIONS, seed);
    CU_ASSERT(o.by[TERN_VIA_RMA] > OPERATIONS * 9 / 10);
}

/* The first call opens a ring; a target that is away for long is not asked again soon. */
static void pays_back(void) {
    const double prior[2] = {200, 1000};
    tern_choice choice;
    tern_choice_begin(&choice, prior);
    uint64_t calls = 0;
    for (double i = 0, now = 0; i < OPERATIONS; i++) {
        tern_pick pick = take_at(&choice, now);
        const double ticks = pick.via == TERN_VIA_CALL ? 1e8 : 200;
        calls += pick.via == TERN_VIA_CALL;
        learn_one(&pick, ticks);
        now += ticks;
    }
    CU_ASSERT(calls == 1);
}

/* A trial that its first operations show to be dear ends with them. */
static void a_dear_trial_is_short(void) {
    const double prior[2] = {2000, 4000};
    tern_choice choice;
    tern_choice_begin(&choice, prior);
    uint64_t calls = 0, trials = 0, run = 0;
    for (double i = 0, now = 0; i < OPERATIONS; i++) {
        const tern_pick pick = take_at(&choice, now);
        const double ticks = pick.via == TERN_VIA_CALL ? 50000 : 2000;
        run = pick.via == TERN_VIA_CALL ? run + 1 : 0;
        trials += run == 1;
        calls += run > 0;
        learn_one(&pick, ticks);
        now += ticks;
    }
    CU_ASSERT(trials > 10 && calls <= 2 * trials);
}

/* Many operations that go together count as many. */
static void batches_count(void) {
    enum { TOGETHER = 1000, BATCHES = 20000 };
    const double prior[2] = {80, 1000};
    tern_choice choice;
    tern_choice_begin(&choice, prior);
    uint64_t calls = 0;
    for (uint64_t i = 0; i < BATCHES; i++) {
        tern_pick pick = tern_choice_sample_many(&choice);
        calls += pick.via == TERN_VIA_CALL;
        tern_choice_learn(&pick, TOGETHER * (pick.via == TERN_VIA_CALL ? 800 : 80), TOGETHER);
    }
    CU_ASSERT(calls > 1 && calls < BATCHES / 200);
}

/* Batches by a way that was known to be dear win by much: means stay times, and it is found. */
static void batches_win(void) {
    enum { TOGETHER = 1000, DEAR = 3000, SOON = 300 };
    tern_choice choice;
    tern_choice_begin(&choice, (const double[2]){300, 400});
    uint64_t calls = 0;
    for (uint64_t i = 0; i < DEAR + SOON; i++) {
        const tern_pick pick = tern_choice_timed(&choice, i * TOGETHER * 300, true);
        const uint64_t call = i < DEAR ? 500 : 90;
        calls += i >= DEAR && pick.via == TERN_VIA_CALL;
        tern_choice_learn(&pick, TOGETHER * (pick.via == TERN_VIA_CALL ? call : 300), TOGETHER);
        CU_ASSERT(choice.mean[TERN_VIA_RMA] >= 250 && choice.mean[TERN_VIA_CALL] >= 90);
    }
    CU_ASSERT(calls > SOON / 2);
}

/* A batch may take longer than the time in which trials begin: it is tried at any. */
static void batches_do_not_wait(void) {
    enum { TOGETHER = 1000, BATCHES = 1000, LATE = 1 << 19 };
    tern_choice choice;
    tern_choice_begin(&choice, (const double[2]){80, 90});
    uint64_t calls = 0;
    for (uint64_t i = 0; i < BATCHES; i++) {
        const tern_pick pick = tern_choice_timed(&choice, LATE, true);
        calls += pick.via == TERN_VIA_CALL;
        tern_choice_learn(&pick, TOGETHER * (pick.via == TERN_VIA_CALL ? 90 : 80), TOGETHER);
    }
    CU_ASSERT(calls > 2 && calls < BATCHES / 5);
}

/* A batch is a mean of many already: few of them show that the load has changed. */
static void batches_show_a_change(void) {
    enum { TOGETHER = 1000, BATCHES = 1000, SOON = 20 };
    const double prior[2] = {80, 300};
    tern_choice choice;
    tern_choice_begin(&choice, prior);
    uint64_t calls = 0;
    for (uint64_t i = 0; i < BATCHES + SOON; i++) {
        tern_pick pick = tern_choice_sample_many(&choice);
        const uint64_t rma = i < BATCHES ? 80 : 800;
        calls += i >= BATCHES && pick.via == TERN_VIA_CALL;
        tern_choice_learn(&pick, TOGETHER * (pick.via == TERN_VIA_CALL ? 300 : rma), TOGETHER);
    }
    CU_ASSERT(calls > SOON / 2);
}

static void nonsense_is_ignored(void) {
    const double prior[2] = {200, 1000};
    tern_choice choice, before;
    tern_choice_begin(&choice, prior);
    before = choice;
    const tern_pick rma = {TERN_VIA_RMA, &choice, 0}, call = {TERN_VIA_CALL, &choice, 0};
    tern_choice_learn(&rma, UINT64_MAX - 5, 1);
    tern_choice_learn(&rma, 5, 0);
    CU_ASSERT_EQUAL(memcmp(&choice, &before, sizeof choice), 0);
    CU_ASSERT_EQUAL(sizeof choice, 32);
    tern_choice_learn(&call, UINT64_MAX >> 1, UINT64_MAX);
    tern_choice_learn(&call, UINT64_MAX >> 1, 1);
    CU_ASSERT(choice.via == TERN_VIA_RMA && choice.rest > OPERATIONS);
}

static double predict(tern_model_operation operation, tern_promise promise, tern_via via,
                      const tern_costs *there, const tern_costs *own) {
    double ns = -1;
    CU_ASSERT_EQUAL(tern_model_predict(operation, promise, via, there, own, &ns), TERN_OK);
    return ns;
}

static void the_model_adds_up(void) {
    const tern_costs there = {1, 10, 100, 1000, 10000, 100000, 1000000, 0};
    const tern_costs own = {2, 20, 200, 2000, 20000, 200000, 2000000, 0};
    const tern_promise rw = TERN_PROMISE_READ_WRITE, wo = TERN_PROMISE_WRITE_ONLY,
                       ro = TERN_PROMISE_READ_ONLY;
    const tern_via rma = TERN_VIA_RMA, call = TERN_VIA_CALL;
    CU_ASSERT_EQUAL(predict(TERN_MODEL_INSERT, rw, rma, &there, &own), 1110);
    CU_ASSERT_EQUAL(predict(TERN_MODEL_INSERT, wo, rma, &there, &own), 1010);
    CU_ASSERT_EQUAL(predict(TERN_MODEL_UPDATE, wo, rma, &there, &own), 2011);
    CU_ASSERT_EQUAL(predict(TERN_MODEL_FIND, ro, rma, &there, &own), 1);
    CU_ASSERT_EQUAL(predict(TERN_MODEL_MISS, rw, rma, &there, &own), 10001);
    CU_ASSERT_EQUAL(predict(TERN_MODEL_FIND, rw, call, &there, &own), 1000002);
    CU_ASSERT_EQUAL(predict(TERN_MODEL_CLASSIC_INSERT, rw, rma, &there, &own), 11010);
    CU_ASSERT_EQUAL(predict(TERN_MODEL_CLASSIC_FIND, rw, rma, &there, &own), 20001);
    CU_ASSERT_EQUAL(predict(TERN_MODEL_PUSH, wo, rma, &there, &own), 100010);
    CU_ASSERT_EQUAL(predict(TERN_MODEL_CLASSIC_PUSH, rw, rma, &there, &own), 200010);
    CU_ASSERT_EQUAL(predict(TERN_MODEL_POP, rw, call, &there, &own), 1200022);
    tern_costs loaded = there;
    loaded.passed = 0.5;
    CU_ASSERT_EQUAL(predict(TERN_MODEL_INSERT, rw, rma, &loaded, &own), 1610);
    CU_ASSERT_EQUAL(predict(TERN_MODEL_UPDATE, rw, rma, &loaded, &own), 2011.5);
    CU_ASSERT_EQUAL(predict(TERN_MODEL_CLASSIC_FIND, rw, rma, &loaded, &own), 30001.5);
    CU_ASSERT_EQUAL(predict(TERN_MODEL_POP, rw, rma, &loaded, &own), 100011);
    CU_ASSERT_EQUAL(predict(TERN_MODEL_FIND, rw, call, &there, &loaded), 1000001.5);
    tern_costs waiting;
    tern_costs_computing(&there, TERN_RMA, 8, &waiting);
    CU_ASSERT(waiting.call == 1000004 && waiting.get == 1 && waiting.hot == 100000);
    tern_costs_computing(&there, TERN_P2P, 8, &waiting);
    CU_ASSERT(waiting.call == 1000004 && waiting.get == 5 && waiting.put == 10);
    CU_ASSERT(waiting.flush == 104 && waiting.cas == 1004 && waiting.fetch == 10004);
    double ns = 7;
    CU_ASSERT_EQUAL(tern_model_predict(TERN_MODEL_OPERATIONS, rw, rma, &there, &own, &ns),
                    TERN_ERR_ARGUMENT);
    CU_ASSERT_EQUAL(tern_model_predict(TERN_MODEL_FIND, (tern_promise)3, rma, &there, &own, &ns),
                    TERN_ERR_ARGUMENT);
    CU_ASSERT_EQUAL(tern_model_predict(TERN_MODEL_FIND, rw, TERN_VIA_AUTO, &there, &own, &ns),
                    TERN_ERR_ARGUMENT);
    CU_ASSERT(strstr(tern_error_detail(), "via 2") != NULL);
    CU_ASSERT_EQUAL(tern_model_predict(TERN_MODEL_FIND, rw, rma, NULL, &own, &ns),
                    TERN_ERR_ARGUMENT);
    CU_ASSERT_EQUAL(tern_model_predict(TERN_MODEL_FIND, rw, rma, &there, &own, NULL),
                    TERN_ERR_ARGUMENT);
    CU_ASSERT_EQUAL(ns, 7);
}

/* Guesses say what is known of every machine: near memory by RMA, many round trips by call. */
static void guesses_choose(void) {
    tern_costs near, p2p;
    tern_costs_guess(TERN_SHM, &near);
    tern_costs_guess(TERN_P2P, &p2p);
    const tern_promise rw = TERN_PROMISE_READ_WRITE;
    for (tern_model_operation o = 0; o < TERN_MODEL_OPERATIONS; o++)
        CU_ASSERT(predict(o, rw, TERN_VIA_RMA, &near, &near) <
                  predict(o, rw, TERN_VIA_CALL, &near, &near));
    CU_ASSERT(predict(TERN_MODEL_UPDATE, rw, TERN_VIA_CALL, &p2p, &near) <
              predict(TERN_MODEL_UPDATE, rw, TERN_VIA_RMA, &p2p, &near));
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"finds_the_better", finds_the_better},
        {"follows_a_change", follows_a_change},
        {"interruptions_settle_nothing", interruptions_settle_nothing},
        {"far_ahead_costs_little", far_ahead_costs_little},
        {"settled_is_the_quick_half", settled_is_the_quick_half},
        {"rounds_by_the_clock", rounds_by_the_clock},
        {"rounds_among_slow_ones", rounds_among_slow_ones},
        {"turns_settle_nothing", turns_settle_nothing},
        {"first_of_a_trial_is_cold", first_of_a_trial_is_cold},
        {"forgets_what_is_over", forgets_what_is_over},
        {"believes_who_wins", believes_who_wins},
        {"both_become_dearer", both_become_dearer},
        {"charges_calls", charges_calls},
        {"judges_by_means", judges_by_means},
        {"pays_back", pays_back},
        {"a_dear_trial_is_short", a_dear_trial_is_short},
        {"batches_count", batches_count},
        {"batches_win", batches_win},
        {"batches_do_not_wait", batches_do_not_wait},
        {"batches_show_a_change", batches_show_a_change},
        {"nonsense_is_ignored", nonsense_is_ignored},
        {"the_model_adds_up", the_model_adds_up},
        {"guesses_choose", guesses_choose}};
    return tern_test_main(argc, argv, "choice", tests, sizeof tests / sizeof *tests);
}
