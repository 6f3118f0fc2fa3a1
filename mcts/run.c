#include <string.h>

#include "mcts/search.h"

/* A run consists of rounds, until a limit is reached. Worker 0 of each process is its leader. The
 * other workers learn from the leader how the run begins, and wait while it talks to the other
 * leaders. */

static tern_status search_check(tern_worker *worker, const tern_search *s,
                                const tern_search_limits *limits,
                                const tern_search_result *result) {
    if (worker == NULL || s == NULL || limits == NULL || result == NULL)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_search_run: worker, search, limits or result is NULL");
    if (!tern_mcts_owns(s, worker))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_search_run: worker and search are of different contexts");
    return TERN_OK;
}

static tern_status check_limits(const tern_search *s, const tern_search_limits *limits) {
    if (s->root == 0)
        return tern_fail(TERN_ERR_STATE,
                         "tern_search_run: the search has no state; call tern_search_reset first");
    if (s->game.result(s->root_state, s->game.argument) != TERN_GAME_OPEN)
        return tern_fail(
            TERN_ERR_STATE,
            "tern_search_run: the game is over in this state; call tern_search_reset with another");
    if (!(limits->seconds >= 0) || limits->seconds > 1e9)
        return tern_fail(TERN_ERR_ARGUMENT, "seconds is %g; allowed are 0 to 1e9", limits->seconds);
    if (limits->rollouts == 0 && limits->seconds == 0)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_search_run: no limit; give rollouts or seconds");
    return TERN_OK;
}

/* For the leaders: checks and agrees on the limits. */
static tern_status search_begin(tern_mcts_worker *w, const tern_search_limits *limits) {
    tern_search *s = w->search;
    tern_status status = check_limits(s, limits);
    status = tern_agree(w->worker, status, "tern_search_run");
    if (status == TERN_OK)
        status = tern_same(w->worker, limits, sizeof *limits, "the limits of tern_search_run");
    s->limits = *limits;
    s->result_rollouts = 0;
    return status;
}

/* For the leaders: begins a run, once all workers of the process know how the run before began. */
static tern_status search_lead(tern_mcts_worker *w, const tern_search_limits *limits) {
    tern_search *s = w->search;
    tern_status status = tern_mcts_await(w, &s->heard, (w->run - 1) * (s->workers - 1));
    if (status != TERN_OK)
        return status;
    s->begun = search_begin(w, limits);
    if (s->begun != TERN_OK)
        strncpy(s->begun_why, tern_error_detail(), sizeof s->begun_why - 1);
    s->began = tern_now();
    s->until = s->begun == TERN_OK && limits->seconds > 0
                   ? s->began + (uint64_t)(limits->seconds * 1e9)
                   : 0;
    /* R1: tern_mcts_await */
    atomic_store_explicit(&s->run, w->run, memory_order_release);
    return s->begun;
}

/* For the other workers: waits for the leader to begin the run. */
static tern_status search_hear(tern_mcts_worker *w) {
    tern_search *s = w->search;
    tern_status status = tern_mcts_await(w, &s->run, w->run);
    if (status == TERN_OK && s->begun != TERN_OK)
        status = tern_fail(s->begun, "%s", s->begun_why);
    /* R8: tern_mcts_await */
    atomic_fetch_add_explicit(&s->heard, 1, memory_order_release);
    return status;
}

static void set_policy(tern_mcts_worker *w) {
    const tern_search *s = w->search;
    if (w->policy_set || s->options.publish == TERN_PUBLISH_WRITE)
        return;
    w->policy_set = true;
    /* No worker works on calls while their sender gathers them. So a worker gathers at most half of
     * its share of the tokens, at about 64 bytes for each. The paper's 4 KiB would hold all of
     * them, and the workers would take turns. */
    size_t gather = (size_t)32 * s->options.under_way / s->all + 1,
           most = tern_context_config(s->context)->publish_bytes;
    gather = gather < most ? gather : most;
    for (uint32_t t = 0; t < s->all; t++) {
        tern_worker_id id = {t / s->workers, t % s->workers};
        tern_status status = tern_call_policy(w->worker, id, s->options.publish, gather);
        if (status != TERN_OK)
            tern_mcts_fail(w->search, status);
    }
}

static tern_mcts_round plan_of(const tern_search *s) {
    const tern_search_limits *l = &s->limits;
    const uint64_t round = s->options.round;
    tern_mcts_round plan = {.rollouts = round < UINT32_MAX ? round : UINT32_MAX};
    if (l->rollouts != 0 && l->rollouts - s->result_rollouts <= plan.rollouts) {
        plan.rollouts = l->rollouts - s->result_rollouts;
        plan.last = true;
    }
    return plan;
}

static tern_status all_rounds(tern_mcts_worker *w) {
    tern_search *s = w->search;
    bool plans = w->index == 0 && tern_mcts_has_root(s);
    tern_status status = TERN_OK;
    for (bool last = false; !last && status == TERN_OK;) {
        tern_mcts_round plan = {0, false};
        if (plans)
            plan = plan_of(s);
        status = tern_mcts_round_run(w, ++w->round, plans ? &plan : NULL);
        /* R9: tern_mcts_await; behind the word that ends a round */
        last = atomic_load_explicit(&s->last, memory_order_relaxed) == w->round;
    }
    return status;
}

static tern_status rounds_and_result(tern_mcts_worker *w) {
    tern_search *s = w->search;
    uint64_t began = tern_now();
    tern_status status = all_rounds(w);
    w->statistics.run_ns += tern_now() - began;
    if (w->index != 0)
        return status == TERN_OK ? tern_mcts_await(w, &s->finished, w->run) : status;
    if (status == TERN_OK) {
        s->result.seconds = (double)(tern_now() - s->began) * 1e-9;
        status = tern_mcts_result(w);
        if (status != TERN_OK)
            tern_mcts_fail(s, status);
    }
    /* R1: tern_mcts_await */
    atomic_store_explicit(&s->finished, w->run, memory_order_release);
    return status;
}

static tern_status search_run(tern_mcts_worker *w, const tern_search_limits *limits) {
    w->run++;
    tern_status status = w->index == 0 ? search_lead(w, limits) : search_hear(w);
    if (status != TERN_OK)
        return status;
    set_policy(w);
    return rounds_and_result(w);
}

tern_status tern_search_run(tern_worker *worker, tern_search *search,
                            const tern_search_limits *limits, tern_search_result *result) {
    tern_status status = search_check(worker, search, limits, result);
    if (status == TERN_OK)
        status = tern_collective_begin(worker, "tern_search_run");
    if (status != TERN_OK)
        return status;
    tern_mcts_worker *w = &search->worker[tern_worker_self(worker).index];
    w->worker = worker;
    status = search_run(w, limits);
    if (status == TERN_OK)
        *result = search->result;
    tern_collective_end(worker);
    return status;
}
