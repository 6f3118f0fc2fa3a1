#include "path/selector.h"

#include "rma/reply/reply.h"
#include "src/progress/wait.h"

#define LEAD 0.75       /* a new path must cost less than this share of the path in use */
#define LATE 1.0        /* mean lateness, in predicted costs, at which a class is inattentive */
#define LATE_MOST 4.0   /* the most lateness that one call counts, in predicted costs */
#define LATE_LATEST 8.0 /* number of recent calls that the mean lateness covers */

/* How long the selector does not measure an inattentive class: the first pause, and the longest. */
enum { PAUSE_NS = 10000000, PAUSE_MOST_NS = 1280000000 };

/* Handlers and hooks of progress must not wait for a call. */
static bool may_wait(const tern_worker *worker) {
    return !worker->in_handler && !worker->in_progress;
}

tern_flags tern_path_choose(tern_flags now, tern_sums sums) {
    const double rma = now == TERN_BY_RMA ? LEAD * sums.rma : sums.rma,
                 call = now == TERN_BY_CALL ? LEAD * sums.call : sums.call;
    return call < rma ? TERN_BY_CALL : TERN_BY_RMA;
}

/* Makes the class inattentive from now on. If its last pause has only just ended, this one is twice
 * as long. */
static void path_pause(tern_path_costs *costs, uint64_t now) {
    const bool again = costs->pause != 0 && now - costs->measured <= costs->pause;
    const uint64_t pause = again ? 2 * costs->pause : PAUSE_NS;
    costs->pause = pause < PAUSE_MOST_NS ? pause : PAUSE_MOST_NS;
    costs->until = now + costs->pause;
}

bool tern_path_late(tern_path_costs *costs, double expected, double took, uint64_t now) {
    const double most = LATE_MOST * expected, late = took - expected;
    costs->late += ((late < most ? late : most) - costs->late) / LATE_LATEST;
    if (costs->late <= LATE * expected || costs->until != 0)
        return false;
    path_pause(costs, now);
    costs->costs.call += costs->late;
    costs->late = 0;
    return true;
}

void tern_path_decide(tern_path_costs *costs, const tern_costs *own, bool first) {
    for (tern_path_kind kind = 0; kind < TERN_PATH_KINDS; kind++) {
        const uint32_t bit = UINT32_C(1) << kind;
        const tern_flags now = first                  ? TERN_AUTO
                               : costs->by_call & bit ? TERN_BY_CALL
                                                      : TERN_BY_RMA;
        costs->by_call &= ~bit;
        if (tern_path_choose(now, tern_path_sums(kind, &costs->costs, own)) == TERN_BY_CALL)
            costs->by_call |= bit;
    }
    costs->open = costs->until == 0 ? costs->by_call : costs->open | costs->by_call;
}

/* Computes worker->unsettled. An operation on the caller's own part is done in place, but if its
 * kind goes by call to other ranks, it has to make progress; so the kind stays unsettled there. */
static void selector_settle(tern_worker *worker) {
    const tern_selector *s = tern_selector_of(worker);
    const uint32_t local = s->of[TERN_PATH_CLASS_LOCAL].open,
                   remote = s->of[TERN_PATH_CLASS_REMOTE].open,
                   own =
                       s->of[TERN_PATH_CLASS_LOCAL].by_call | s->of[TERN_PATH_CLASS_REMOTE].by_call;
    worker->unsettled = own | local << TERN_PATH_KINDS | remote << 2 * TERN_PATH_KINDS;
}

void tern_selector_begin(tern_worker *worker, tern_selector *selector) {
    const uint32_t all = (UINT32_C(1) << TERN_PATH_KINDS) - 1;
    *selector = (tern_selector){0};
    selector->of[TERN_PATH_CLASS_REMOTE].open = all;
    selector->of[TERN_PATH_CLASS_LOCAL].open = tern_path_attends(worker->context) ? all : 0;
    worker->layer[TERN_LAYER_PATH] = selector;
    selector_settle(worker);
}

void tern_selector_look(tern_worker *worker, tern_path_class class,
                        const tern_path_target *target) {
    tern_selector *s = tern_selector_of(worker);
    tern_path_costs *own = &s->of[TERN_PATH_CLASS_OWN], *c = &s->of[class];
    const bool first = c->measured == 0;
    if (own->measured == 0)
        tern_measure_own(&own->costs);
    if (first) {
        tern_transport transport = TERN_SHM;
        tern_ignore(tern_context_transport(worker->context, target->worker.rank, &transport));
        tern_costs_guess(transport, &c->costs);
    }
    tern_measure_rma(worker, target, &c->costs);
    const bool answered = tern_measure_call(worker, target, &c->costs);
    c->measured = own->measured = tern_now();
    c->late = 0;
    c->until = 0;
    if (!answered)
        path_pause(c, c->measured);
    tern_path_decide(c, &own->costs, first);
    selector_settle(worker);
}

tern_flags tern_selector_path(tern_worker *worker, tern_path_kind kind, tern_path_class class,
                              tern_reason *reason) {
    const tern_path_costs *c = &tern_selector_of(worker)->of[class];
    *reason = TERN_REASON_COSTS;
    if ((worker->unsettled & tern_path_bit(class, kind)) == 0) {
        if (class == TERN_PATH_CLASS_LOCAL && !tern_path_attends(worker->context))
            *reason = TERN_REASON_MPI;
        return TERN_BY_RMA;
    }
    if (!may_wait(worker) || !tern_reply_room(worker)) {
        *reason = TERN_REASON_BUSY;
        return TERN_BY_RMA;
    }
    if (class == TERN_PATH_CLASS_OWN)
        return TERN_BY_CALL;
    if (c->measured == 0 || (c->until != 0 && tern_now() >= c->until))
        *reason = TERN_REASON_DUE;
    return c->by_call >> kind & 1 ? TERN_BY_CALL : TERN_BY_RMA;
}

double tern_selector_expects(const tern_worker *worker, tern_path_kind kind,
                             tern_path_class class) {
    const tern_selector *s = tern_selector_of(worker);
    return tern_path_sums(kind, &s->of[class].costs, &s->of[TERN_PATH_CLASS_OWN].costs).call;
}

/* After a death there is nothing to measure. A measurement may fail, or wait and recover from an
 * error. So the thread's record of failures, with the detail of the operation's own error, is saved
 * before it and restored after it. */
void tern_selector_record(tern_worker *worker, const tern_pick *pick, tern_status status) {
    if (status == TERN_ERR_PEER)
        return;
    tern_selector *s = tern_selector_of(worker);
    tern_path_costs *c = &s->of[pick->class];
    const uint64_t now = tern_now();
    if (!tern_path_late(c, pick->expected, (double)(now - pick->began), now))
        return;
    const tern_failures failure = tern_thread_failures;
    tern_measure_rma(worker, &pick->target, &c->costs);
    tern_thread_failures = failure;
    tern_path_decide(c, &s->of[TERN_PATH_CLASS_OWN].costs, false);
    selector_settle(worker);
}
