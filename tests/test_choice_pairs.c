// tern-test: unit

/*
 * What two ranks choose, each of which is the other's target, where what a way takes depends on the
 * way that the other goes.
 */

#include "choice_tools.h"

/* Two ranks, each of which is the other's target: what a way takes, and how much more where the
 * other rank goes by the other way. */
typedef struct pair {
    tern_choice choice[2];
    tern_via last[2];
    double now[2], ahead; /* ticks; the second rank's clock is so much ahead */
    uint64_t random;
} pair;

/* Operations of both, count in all; who is behind goes on. Some by RMA take rare ticks more.
 * Returns how many of the later half went by RMA. */
static uint64_t play_pair(pair *p, const double *together, const double *alone, double rare,
                          uint64_t count) {
    uint64_t by_rma = 0;
    for (uint64_t i = 0; i < count; i++) {
        const size_t rank = p->now[0] <= p->now[1] ? 0 : 1;
        const tern_pick pick = take_at(&p->choice[rank], p->now[rank] + (rank == 1 ? p->ahead : 0));
        const bool differs = pick.via != p->last[1 - rank];
        const way taken = {(differs ? alone : together)[pick.via], 1000,
                           pick.via == TERN_VIA_RMA ? rare : 0, 300};
        const double ticks = cost_of(&taken, &p->random);
        p->last[rank] = pick.via;
        learn_one(&pick, ticks);
        if (pick.via == TERN_VIA_CALL)
            tern_choice_join(&p->choice[1 - rank],
                             (uint64_t)(p->now[rank] + (rank == 0 ? p->ahead : 0)));
        p->now[rank] += ticks;
        by_rma += i >= count / 2 && pick.via == TERN_VIA_RMA;
    }
    return by_rma;
}

static void begin_pair(pair *p, const double *prior, tern_via first, uint64_t seed) {
    *p = (pair){.last = {first, first}, .now = {0, 7000}, .random = seed};
    for (size_t rank = 0; rank < 2; rank++)
        tern_choice_begin(&p->choice[rank], prior);
}

/* Where a way takes less only if the other rank goes by it too, both find that out, since their
 * trials begin together; also where that way was much dearer before,
 * and where a trial alone costs so much that it is rare. */
static void ranks_try_together(void) {
    enum { MANY = 200000, MOST = MANY / 2 * 8 / 10, GAMES = 20 };
    static const double rma[2] = {3000, 9000}, call[2] = {9000, 3000};
    static const double dear_rma[2] = {25000, 5500}, better_rma[2] = {2300, 5500},
                        alone_rma[2] = {8000, 5500}, lone_rma[2] = {40000, 5500};
    static const double dear_call[2] = {8000, 40000}, better_call[2] = {8000, 7000},
                        alone_call[2] = {8000, 80000};
    for (uint64_t game = 0; game < 2 * (uint64_t)GAMES; game++) {
        const uint64_t before = game % 2, seed = tern_test_seed() + game / 2;
        pair p;
        begin_pair(&p, call, TERN_VIA_CALL, seed);
        if (before == 1)
            CU_ASSERT(play_pair(&p, dear_rma, dear_rma, 0, MANY) < MANY / 20);
        CU_ASSERT(play_pair(&p, better_rma, alone_rma, 6000, MANY) > MOST);
        begin_pair(&p, call, TERN_VIA_CALL, seed + before * GAMES);
        CU_ASSERT(play_pair(&p, better_rma, lone_rma, 6000, MANY) > MOST);
        begin_pair(&p, rma, TERN_VIA_RMA, seed);
        if (before == 1)
            CU_ASSERT(play_pair(&p, dear_call, dear_call, 6000, MANY) > MOST);
        CU_ASSERT(play_pair(&p, better_call, alone_call, 6000, MANY) < MANY / 2 - MOST);
    }
}

/* Ranks whose clocks differ begin at other times, but who is called joins the caller's trial: not
 * for every call of one that has settled there, where trials lose. */
static void who_is_called_joins(void) {
    enum { MANY = 200000, FEW = MANY / 10, GAMES = 6, STEP = (1 << 20) / (GAMES + 1) };
    static const double rma[2] = {3000, 9000}, better[2] = {8000, 7000}, alone[2] = {8000, 80000};
    int found = 0;
    for (int i = 1; i <= GAMES; i++) {
        pair p;
        begin_pair(&p, rma, TERN_VIA_RMA, tern_test_seed() + 5);
        p.ahead = i * STEP;
        found += play_pair(&p, better, alone, 6000, MANY) < FEW;
    }
    CU_ASSERT(found > GAMES / 2);

    tern_choice choice;
    double now = 0, lost = 0;
    tern_choice_begin(&choice, rma);
    for (uint64_t i = 0; i < MANY; i++) {
        tern_choice_join(&choice, (uint64_t)now);
        const tern_pick pick = take_at(&choice, now);
        const double ticks = pick.via == TERN_VIA_CALL ? 20000 : 3000;
        learn_one(&pick, ticks);
        lost += ticks - 3000;
        now += ticks;
    }
    CU_ASSERT(lost < 0.05 * now);
}

/* Who was called a while ago does not begin for that: the caller's trial is over. */
static void an_old_call_is_no_trial(void) {
    enum { PERIOD = 1 << 20 };
    for (uint64_t later = 0; later < 255; later++) {
        tern_choice choice;
        uint64_t now = PERIOD / 2;
        tern_choice_begin(&choice, (const double[2]){3000, 9000});
        choice.first = false;
        for (int i = 0; i < 8; i++) {
            const tern_pick pick = tern_choice_timed(&choice, now, false);
            CU_ASSERT_EQUAL(pick.via, TERN_VIA_RMA);
            tern_choice_learn(&pick, 3000, 1);
        }
        choice.rest = 5;
        tern_choice_join(&choice, now);
        now += later * PERIOD;
        CU_ASSERT_EQUAL(choice.left, 0);
        const tern_via via = later < 2 ? TERN_VIA_CALL : TERN_VIA_RMA;
        CU_ASSERT_EQUAL(tern_choice_timed(&choice, now, false).via, via);
    }
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"ranks_try_together", ranks_try_together},
        {"who_is_called_joins", who_is_called_joins},
        {"an_old_call_is_no_trial", an_old_call_is_no_trial},
    };
    return tern_test_main(argc, argv, "choice_pairs", tests, sizeof tests / sizeof *tests);
}
