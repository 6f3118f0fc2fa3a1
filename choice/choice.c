#include "choice/choice.h"

#include "choice/ticks.h"
#include "src/error.h"

/*
 * Learning what each way costs. The chosen way is timed now and then, every time where operations
 * take so long that timing does not matter. The other way is tried now and then, by some operations
 * in succession: the first, which finds nothing prepared (a ring not looked at, cold code), says
 * little of the others. A trial goes on while its operations together take less than the chosen way
 * would, which costs nothing; what one has cost more is paid back before the next. Trials that keep
 * losing become rarer still, until the cost of the chosen way has changed. A trial that takes much
 * less than is known of its way may show another load, or lack what is rare and dear: it counts for
 * more than the share of its operations, but does not settle it alone. One that has won goes on
 * until it has lost what it won, and its way's mean is over fewer operations meanwhile.
 *
 * A mean is over the latest operations timed, up to LATEST: over fewer, a way that takes turns
 * between quick and slow would be left whenever some slow ones come together. One operation that
 * was interrupted must not settle anything, and where one in fifty waits for a time slice that must
 * count: so an outlier counts, up to OUTLIER times the mean, and the next operation is timed too.
 *
 * Over a network that needs the target's help, what a rank's operations take depends on how the
 * other's go: where both call, RMA takes longer than where neither does. Ranks that try it one at a
 * time would so stay with calls even where RMA by all takes less. So the trials of all ranks of a
 * host begin together, at multiples of PERIOD of their common clock, rarer ones at rounder ones,
 * so that these meet too; and they go on long enough for all to have looked at the clock, and for
 * small differences to show. Clocks of several hosts differ, and trials by ranks of one are not
 * always due at once; so a rank that is called, maybe for a trial, joins with one of its own, if
 * that is half paid for.
 */
#define OUTLIER 256.0F
#define SURPRISE 4.0F      /* times the mean: look again at once */
#define CHARGE 0.14F       /* of a call's time its target spends too, unseen by the caller, but */
#define CHARGE_MOST 900.0F /* ticks at most: a handler and its answer take no more */
#define MARGIN 1.05F       /* a way is left for one that is so much cheaper */
#define DEAR 2.0F          /* times the mean is dear */
#define CHANGE 1.5F        /* times: the load is another one */
#define AHEAD 2.0F         /* times: a clear lead, which a load that slows its way down takes not */
#define TRIAL_SHARE 0.02F  /* of the time is what trials may lose */
#define FIRST_SHARE 0.25F  /* the first trial opens a ring, a change may be chance: look soon */
#define TIMING 24000.0F    /* ticks of other operations between two that are timed */
#define PERIOD (1U << 20)  /* ticks, some 0.4 ms: trials begin at multiples of it, */
#define ROUNDEST 16U       /* rare ones at multiples of so many, */
#define BEGINNING 48000U   /* until then, since a rank looks at the clock every TIMING, */
#define TOGETHER 144000U   /* and go on until then where ways differ little */

enum {
    GAP_MAX = 64,   /* operations between two that are timed, */
    LEAD_MAX = 4,   /* and so many times more if the other way takes so many times as long */
    TRIAL_MIN = 16, /* operations between two trials, at least */
    LOSSES_MAX = 3, /* doublings of the time between trials */
    /* Between two rounds of progress of an own choice: ns, and operations at most, after which it
     * is seen that the caller has begun to compute between them. Where calls come from near alone,
     * these are trials as a rule, and seldom; so long one may have to wait. */
    FAR_ROUND_NS = 4000,
    NEAR_ROUND_NS = 200000,
    ROUND_MOST = 255,
    LINE = 64,
    TRIAL = 4, /* operations of a trial, at least; the first is not taken for what others cost */
    LONG = 32, /* of one that loses little, where others' ways matter: few tell by chance */
    KNOWN = 2, /* operations timed until a mean is a measurement */
    DEAR_MOST = 3, /* dear operations in succession; one more is no chance */
    DOUBT = 16,    /* operations of a trial that count as much as what they contradict */
    FEW = 8,       /* a mean is over the latest so many at least, */
    WINS = 32,     /* over these while its way is on trial and wins, */
    LATEST = 200   /* and at most */
};

static float less(float a, float b) { return a < b ? a : b; }
static float more(float a, float b) { return a > b ? a : b; }

static tern_via other_than(uint8_t via) {
    return via == TERN_VIA_RMA ? TERN_VIA_CALL : TERN_VIA_RMA;
}

/* Operations whose time is to timing, or to trials, what is set apart for these. The further ahead
 * the chosen way is, the less a change of it matters; but trials that begin together are not to be
 * missed. */
static void plan(tern_choice *c) {
    float chosen = c->mean[c->via] + 1, lead = less(c->mean[other_than(c->via)] / chosen, LEAD_MAX);
    float gap = less(TIMING / chosen, GAP_MAX) * (c->near && lead > 1 ? lead : 1);
    c->gap = (uint8_t)less(gap, UINT8_MAX);
    c->left = c->via == TERN_VIA_RMA ? c->gap : 0;
    c->calls = (uint8_t)(c->gap - c->left);
}

static int32_t whole(float number) { return (int32_t)more(-2e9F, less(number, 2e9F)); }

/* Operations that pay for a trial. [in] excess: ticks that it has cost more, or will. */
static int32_t pay_back(const tern_choice *c, float excess, float share) {
    const float each = share * (c->mean[c->via] + 1);
    const int32_t operations = whole(excess / each * (float)(1U << c->losses));
    return operations < TRIAL_MIN ? TRIAL_MIN : operations;
}

void tern_choice_begin(tern_choice *choice, const double *costs) {
    *choice = (tern_choice){.mean = {(float)costs[0], (float)costs[1]}, .first = true};
    choice->via = costs[TERN_VIA_CALL] < costs[TERN_VIA_RMA] ? TERN_VIA_CALL : TERN_VIA_RMA;
    choice->then = choice->mean[choice->via];
    choice->rest =
        pay_back(choice, choice->mean[other_than(choice->via)] - choice->then, TRIAL_SHARE);
}

static void count_down(tern_choice *c, uint64_t operations) {
    const bool left = c->rest > 0 && operations < (uint64_t)c->rest;
    c->rest = left ? c->rest - (int32_t)operations : 0;
}

/* An own choice attends to others by the clock, which it reads once a round: a caller that computes
 * between its operations does so at nearly every one, and one that does not at few. */
static void plan_round(tern_choice *c) {
    const uint64_t now = tern_ticks();
    const float passed = (float)(c->gap + 1);
    const float each = (float)((uint32_t)now - (uint32_t)c->rest) / passed;
    c->rest = (int32_t)now;
    /* Two in quick succession do not say that others, far and slow, will not come in between. */
    c->left = c->gap = (uint8_t)less(less(c->then / (each + 1), 2 * passed), ROUND_MOST);
}

/* The longer ago the last trial was, the rounder the period's number has to be, so that ranks which
 * rarely try do so in the same periods. */
static bool is_mark(const tern_choice *c, uint64_t period) {
    const uint16_t since = (uint16_t)(period - c->ended);
    uint32_t round = 1U << c->losses;
    while (round < ROUNDEST && 2 * round <= since)
        round *= 2;
    return period % round == 0;
}

/* Trials begin at any time where what others do does not matter, since the target is near or
 * nothing is known yet; and where no operation may be seen in time, so long they take or so many go
 * together. */
static bool may_begin(const tern_choice *c, uint64_t now, bool many) {
    const uint64_t phase = now % PERIOD;
    return many || c->near || c->first || c->joins ||
           ((phase < BEGINNING || (float)phase < 2 * c->mean[c->via]) && is_mark(c, now / PERIOD));
}

tern_pick tern_choice_timed(tern_choice *choice, uint64_t now, bool many) {
    if (choice->tried == 0)
        count_down(choice, choice->gap);
    choice->gap = 0;
    choice->joins = choice->joins && (uint8_t)(now / PERIOD - choice->joined) <= 1;
    const bool due = (choice->rest == 0 || choice->joins) && choice->seen[choice->via] >= KNOWN;
    const bool trial = choice->tried > 0 || (due && may_begin(choice, now, many));
    choice->joins = false;
    return (tern_pick){trial ? other_than(choice->via) : (tern_via)choice->via, choice, now};
}

void tern_choice_join(tern_choice *choice, uint64_t now) {
    if (choice->near || choice->fixed || choice->via == TERN_VIA_CALL || choice->tried > 0)
        return;
    const float dearer = choice->mean[TERN_VIA_CALL] - choice->mean[TERN_VIA_RMA];
    if (choice->rest > pay_back(choice, TRIAL * dearer, TRIAL_SHARE) / 2)
        return;
    choice->joins = true;
    choice->joined = (uint8_t)(now / PERIOD);
    choice->gap = (uint8_t)(choice->gap - choice->left);
    choice->left = 0;
}

static tern_pick take_fixed(tern_choice *choice) {
    if (choice->own)
        plan_round(choice);
    else if (choice->via == TERN_VIA_RMA)
        choice->left = UINT32_MAX;
    /* By call, what is the caller's own is done in place, with a round of progress. */
    return (tern_pick){choice->own ? TERN_VIA_CALL : (tern_via)choice->via, NULL, 0};
}

tern_pick tern_choice_sample(tern_choice *choice) {
    if (choice->fixed)
        return take_fixed(choice);
    if (choice->calls > 0) {
        choice->calls--;
        return (tern_pick){TERN_VIA_CALL, NULL, 0};
    }
    return tern_choice_timed(choice, tern_ticks(), false);
}

tern_pick tern_choice_sample_many(tern_choice *choice) {
    choice->calls = 0;
    choice->gap = 0; /* what is picked together is counted when it is over */
    return tern_choice_timed(choice, tern_ticks(), true);
}

/* [in] latest: the mean is over no more operations. */
static void learn_mean(tern_choice *c, tern_via via, float ticks, uint8_t latest) {
    float *mean = &c->mean[via], measured = less(ticks, OUTLIER * (*mean + 1));
    uint8_t *seen = &c->seen[via];
    if (*seen < LATEST)
        ++*seen;
    if (*seen > KNOWN)
        *mean += (measured - *mean) / less(*seen > FEW ? *seen : FEW, latest);
    else if (*seen == KNOWN)
        *mean = measured;
}

/* Where targets begin to compute both ways become dearer, and each, left for what the other's mean
 * over many remembers, would be returned to for the same reason. Some dear operations in succession
 * are no chance: what is known of both ways is old, and counts as few. */
static void notice_load(tern_choice *c, float ticks) {
    if (ticks < DEAR * c->mean[c->via]) {
        c->dear = 0;
    } else if (c->dear < DEAR_MOST) {
        c->dear++;
    } else {
        c->dear = 0;
        for (int via = 0; via < 2; via++)
            c->seen[via] = c->seen[via] < FEW ? c->seen[via] : FEW;
    }
}

/* Who changes to and fro does so ever more rarely. */
static void lose(tern_choice *c) {
    if (c->losses < LOSSES_MAX)
        c->losses++;
}

/* Where the chosen way has become dearer, it may have been one operation that was interrupted: the
 * way's mean stays as that left it until the way is timed again, and would keep it away from the
 * cheaper way for fifty times as long. So it looks back soon, as after the first trial. */
static void change_over(tern_choice *c, float count, bool trial) {
    c->via = (uint8_t)other_than(c->via);
    c->dear = 0;
    lose(c);
    c->then = c->mean[c->via];
    c->tried = 0;
    c->first = false;
    c->rest = pay_back(c, count * (c->mean[other_than(c->via)] - c->then),
                       trial ? TRIAL_SHARE : FIRST_SHARE);
}

static bool dearer(const tern_choice *c, float margin) {
    return c->mean[c->via] > margin * c->mean[other_than(c->via)];
}

/* One operation is enough of a trial. */
static bool is_hopeless(const tern_choice *c, float ticks) {
    return ticks >= OUTLIER * (c->mean[c->via] + 1);
}

/* A trial of so many operations, which took so many ticks more than by the chosen way. */
static bool is_over(const tern_choice *c, float operations, float excess, uint64_t end) {
    const float chosen = c->mean[c->via];
    if (operations < TRIAL)
        return excess > SURPRISE * chosen;
    return c->near || excess > (AHEAD - 1) * operations * chosen ||
           (end % PERIOD >= TOGETHER && operations >= LONG);
}

/* While a trial goes on, rest is the ticks that it has cost more since it last won, of which
 * operations that take less pay for those that take more, and then the same of the first. That is
 * paid for but not judged by: it may have waited for what was not prepared, or for others to begin.
 * Once a trial has won, then is what it has gained, below 0, and it goes on until that is lost; no
 * more of it counts than WINS operations by the chosen way take, so that one stop ends a trial. */
static void after_trial(tern_choice *c, const tern_pick *pick, float ticks, float count) {
    const float chosen = c->mean[c->via], excess = count * (ticks - chosen);
    const bool first = c->tried == 0 && count == 1;
    const uint64_t end = count > 1 ? TOGETHER : pick->start + (uint64_t)ticks;
    if (c->tried == 0) {
        c->then = first ? more(excess, 0) : 0;
        c->rest = 0;
    }
    if (!first)
        c->rest = whole((float)c->rest + excess);
    c->tried = (uint16_t)less((float)c->tried + count, UINT16_MAX);
    if (!is_hopeless(c, ticks) && !is_over(c, c->tried, (float)c->rest, end))
        return;
    const float cost = (float)c->rest, tried = c->tried;
    const float each = count > 1 ? ticks : chosen + cost / tried; /* a batch is a mean already */
    if (!first && c->seen[pick->via] >= KNOWN && CHANGE * each < c->mean[pick->via])
        c->mean[pick->via] += tried / (tried + DOUBT) * (each - c->mean[pick->via]);
    const float gained = more(less(c->then, 0) + cost, -WINS * chosen);
    c->tried = gained < 0; /* it has won and goes on, or has lost */
    c->ended = (uint16_t)(end / PERIOD);
    c->rest = c->tried ? 0 : pay_back(c, cost + c->then, c->first ? FIRST_SHARE : TRIAL_SHARE);
    c->then = c->tried ? gained : chosen;
    if (!c->tried && !c->first)
        lose(c);
    c->first = c->seen[pick->via] < KNOWN;
}

/* Both ways may have changed with the load, if the chosen one has; one that became dearer and is
 * still far ahead is left at that, since the other has hardly become cheaper. A way that takes more
 * than the model says of the other, which was never tried, makes that the next. */
static void notice_change(tern_choice *c, float count, uint64_t now) {
    const tern_via other = other_than(c->via);
    const float chosen = c->mean[c->via];
    if (c->seen[other] == 0 && c->seen[c->via] >= KNOWN && dearer(c, MARGIN))
        c->rest = 0;
    if (chosen < CHANGE * c->then && c->then < CHANGE * chosen)
        return;
    const bool ahead =
        chosen > c->then && c->seen[other] >= KNOWN && c->mean[other] > AHEAD * chosen;
    c->then = chosen;
    if (ahead)
        return;
    c->losses /= 2;
    c->ended = (uint16_t)(now / PERIOD);
    const int32_t soon = pay_back(c, count * (c->mean[other] - chosen), TRIAL_SHARE);
    c->rest = c->rest < soon ? c->rest : soon;
}

void tern_choice_learn(const tern_pick *pick, uint64_t ticks, uint64_t count) {
    tern_choice *choice = pick->choice;
    const tern_via via = pick->via;
    if ((int64_t)ticks < 0 || count == 0)
        return;
    float together = (float)count, each = (float)ticks / together, before = choice->mean[via];
    if (via == TERN_VIA_CALL && !choice->served)
        each += less(CHARGE * each, CHARGE_MOST);
    const bool trial = via != (tern_via)choice->via, wins = choice->tried > 0 && choice->then < 0;
    if (!trial)
        notice_load(choice, each);
    if (!trial || choice->tried > 0 || count > 1 || is_hopeless(choice, each))
        learn_mean(choice, via, each, count > 1 ? FEW : trial && wins ? WINS : LATEST);
    if (trial) {
        after_trial(choice, pick, each, together);
    } else {
        count_down(choice, count);
        notice_change(choice, together, pick->start);
    }
    /* After a trial the margin is none: who wins every trial must not go on trying for ever. */
    if (choice->seen[other_than(choice->via)] >= KNOWN && dearer(choice, trial ? 1 : MARGIN))
        change_over(choice, together, trial);
    plan(choice);
    /* A trial that has won goes on, and so does a look at what was unusual, unless even so it took
     * less than the other way. */
    if (choice->tried > 0 ||
        (each > SURPRISE * before && each > choice->mean[other_than(choice->via)]))
        choice->left = choice->gap = choice->calls = 0;
}

/* rank is one of the context's: there is nothing that can fail. */
static tern_transport transport_to(const tern_context *context, uint32_t rank) {
    tern_transport transport = TERN_SHM;
    tern_ignore(tern_context_transport(context, rank, &transport));
    return transport;
}

static bool is_near(const tern_context *context, uint32_t rank) {
    return transport_to(context, rank) == TERN_SHM;
}

/* What the model says of a kind of operations on target, in ticks. */
static void prior(const tern_context *context, uint32_t target, const tern_kind *kind, double rate,
                  double *costs) {
    tern_costs own, there;
    tern_costs_guess(TERN_SHM, &own);
    tern_costs_guess(transport_to(context, target), &there);
    for (tern_via via = TERN_VIA_RMA; via <= TERN_VIA_CALL; via++) {
        tern_ignore(tern_model_predict(kind->operation, TERN_PROMISE_READ_WRITE, via, &there, &own,
                                       &costs[via]));
        costs[via] *= rate;
    }
}

static bool any_far(const tern_context *context) {
    for (uint32_t rank = 0; rank < context->size; rank++)
        if (!is_near(context, rank))
            return true;
    return false;
}

tern_status tern_chooser_make(tern_chooser *chooser, const tern_context *context, uint32_t first,
                              uint32_t targets, const tern_kind *kinds, uint32_t count) {
    /* Workers do not share lines. */
    const size_t line = LINE / sizeof(tern_choice), used = (size_t)targets * count;
    const size_t row = (used + line - 1) / line * line,
                 bytes = context->workers * row * sizeof(tern_choice);
    tern_choice *choice = aligned_alloc(LINE, bytes);
    if (choice == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for the choices of %u workers and %u ranks",
                         context->workers, targets);
    *chooser = (tern_chooser){choice, row, targets};
    double rate = tern_ticks_per_ns(), costs[2];
    const bool far = any_far(context);
    for (size_t i = 0; i < context->workers * row; i++) {
        if (i % row >= used)
            continue;
        uint32_t target = first + (uint32_t)(i % row % targets);
        const tern_kind *kind = &kinds[i % row / targets];
        prior(context, target, kind, rate, costs);
        tern_choice_begin(&choice[i], costs);
        choice[i].near = is_near(context, target);
        choice[i].served = transport_to(context, target) == TERN_P2P;
        choice[i].own = target == context->rank && kind->rma;
        if (choice[i].own)
            choice[i].then = (float)((far ? FAR_ROUND_NS : NEAR_ROUND_NS) * rate);
        choice[i].fixed = choice[i].own || !kind->rma || !kind->call;
        if (choice[i].fixed)
            choice[i].via = kind->rma ? TERN_VIA_RMA : TERN_VIA_CALL;
    }
    return TERN_OK;
}

void tern_pick_end(const tern_pick *pick, uint64_t count) {
    tern_choice_learn(pick, tern_ticks() - pick->start, count);
}

tern_pick tern_chooser_take_many(const tern_chooser *chooser, const tern_worker *worker,
                                 uint32_t target, uint32_t kind) {
    tern_choice *choice = tern_chooser_at(chooser, worker, target, kind);
    if (choice->fixed || !tern_chooser_waits(worker) || !tern_reply_room(worker))
        return (tern_pick){choice->fixed ? (tern_via)choice->via : TERN_VIA_RMA, NULL, 0};
    return tern_choice_sample_many(choice);
}
