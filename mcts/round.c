#include "mcts/search.h"

#include <string.h>

#include "base/process.h"
#include "mcts/work.h"

/*
 * A round: the process that owns the root starts rollouts, and all workers work until all rollouts
 * are back at the root. Each rollout is one token, so only the root's process counts them: each
 * rollout that it has started is either under way or back. When all are back, no worker has a
 * token, but answers to creations may still be on their way. The workers then send the messages
 * that they have kept, and a quiescence (tern_quiesce) ends the round.
 */

#define DEAD_RANK "rank %u has died; destroy the context or end the program"

typedef struct over_message {
    tern_mcts_head head;
    uint64_t round;
    uint64_t last;
    uint32_t status; /* the sender's failure, which ends the search on the other ranks too; or
                        TERN_OK */
    uint32_t dead;   /* with TERN_ERR_PEER: the rank that is dead, as far as the sender knows */
} over_message;

static tern_status tern_mcts_on_over(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_search *s = tern_mcts_search_of(call, arguments, bytes, sizeof(over_message));
    if (s == NULL)
        return tern_mcts_stray();
    over_message m;
    tern_read_once(&m, arguments, sizeof m);
    if (m.status != TERN_OK) {
        tern_status status = m.status < TERN_STATUS_COUNT ? (tern_status)m.status : TERN_ERR_STATE;
        bool death = status == TERN_ERR_PEER && m.dead < s->size;
        if (death && s->dead == TERN_NO_RANK)
            s->dead = m.dead;
        tern_mcts_fail(s, death ? tern_fail(TERN_ERR_PEER, DEAD_RANK, m.dead)
                                : tern_fail(status, "the search failed on rank %u: %s",
                                            call->origin.rank, tern_strerror(status)));
        return TERN_OK;
    }
    if (m.last != 0)
        /* R1: round_work, all_rounds; last is read behind over */
        atomic_store_explicit(&s->last, m.round, memory_order_relaxed);
    atomic_store_explicit(&s->over, m.round, memory_order_release);
    return TERN_OK;
}
TERN_FUNCTION(tern_mcts_on_over)

bool tern_mcts_has_root(const tern_search *s) { return tern_mcts_local(s, s->root) != NULL; }

/* Tells the leader of a rank that the search has failed. The leader may be dead, or may have
 * returned and take no more calls, so this function gives up after one second. */
static tern_status round_tell_failure(const tern_mcts_worker *w, uint32_t rank,
                                      const over_message *m) {
    uint64_t end = tern_now() + 1000000000;
    tern_worker_id leader = {rank, 0};
    for (;;) {
        tern_status status =
            tern_call_try(w->worker, leader, &tern_mcts_on_over_function, m, sizeof *m);
        if (status != TERN_ERR_AGAIN || tern_now() > end)
            return status;
        (void)tern_progress(w->worker);
    }
}

/* Tells the leaders of all ranks that a round is over, or that the search has failed. */
static void round_tell(const tern_mcts_worker *w, uint64_t round, bool last, tern_status why) {
    const tern_search *s = w->search;
    /* A death that this rank learned of from another rank is passed on too, because that rank may
     * not have told all others yet. */
    uint32_t dead = why != TERN_OK ? tern_context_dead(s->context) : TERN_NO_RANK;
    dead = dead == TERN_NO_RANK ? s->dead : dead;
    for (uint32_t rank = 0; rank < s->size; rank++) {
        over_message m = {tern_mcts_head_to(s), round, last, why, dead};
        tern_worker_id leader = {rank, 0};
        tern_status status =
            why == TERN_OK ? tern_call(w->worker, leader, &tern_mcts_on_over_function, &m, sizeof m)
                           : round_tell_failure(w, rank, &m);
        if (status != TERN_OK && why == TERN_OK)
            tern_mcts_fail(w->search, status);
    }
    tern_ignore(tern_call_flush_all(w->worker));
}

void tern_mcts_fail(tern_search *s, tern_status status) {
    /* R6: tern_mcts_fail; the first thread writes the text */
    if (atomic_exchange(&s->failing, true))
        return;
    strncpy(s->why, tern_error_detail(), sizeof s->why - 1);
    /* R1: tern_mcts_failure */
    atomic_store_explicit(&s->failed, status, memory_order_release);
}

tern_status tern_mcts_failure(tern_search *s) {
    /* R1: tern_mcts_fail */
    tern_status status = atomic_load_explicit(&s->failed, memory_order_acquire);
    return status != TERN_OK ? tern_fail(status, "%s", s->why) : TERN_OK;
}

static bool round_has_failed(const tern_search *s) {
    /* R4 */
    return atomic_load_explicit(&s->failed, memory_order_relaxed) != TERN_OK;
}

/* Ends one iteration of a wait; busy says whether it found something to do. */
static void round_rest(tern_mcts_worker *w, tern_await *wait, bool busy) {
    tern_status status = tern_await_round(w->worker, wait, busy);
    if (status != TERN_OK)
        tern_mcts_fail(w->search, status);
}

tern_status tern_mcts_await(tern_mcts_worker *w, atomic_uint_fast64_t *word, uint64_t value) {
    tern_await wait = TERN_AWAIT_START;
    /* R1: tern_mcts_round_run, search_lead, search_hear, rounds_and_result */
    while (atomic_load_explicit(word, memory_order_acquire) < value && !round_has_failed(w->search))
        round_rest(w, &wait, tern_progress(w->worker) > 0);
    return tern_mcts_failure(w->search);
}

static bool is_late(const tern_search *s) { return s->until != 0 && tern_now() >= s->until; }

/* Subtracts the rollouts that came back from the count. Starts new ones, as many as may be under
 * way, unless the time is over. */
static bool round_start(tern_mcts_worker *w) {
    tern_search *s = w->search;
    const uint64_t back = w->back, most = s->options.under_way;
    /* R8: round_watch */
    uint64_t tokens = atomic_load_explicit(&s->tokens, memory_order_relaxed), some;
    do {
        uint64_t under_way = tokens % TERN_MCTS_START - back, left = tokens / TERN_MCTS_START;
        some = under_way < most ? most - under_way : 0;
        some = some < left ? some : left;
        if (some > 0 && is_late(s))
            some = 0;
        if (some == 0 && back == 0)
            return false;
        /* R8: round_watch, round_start */
    } while (!atomic_compare_exchange_weak_explicit(&s->tokens, &tokens,
                                                    tokens - back - some * TERN_MCTS_START + some,
                                                    memory_order_acq_rel, memory_order_relaxed));
    w->back = 0;
    for (uint64_t i = 0; i < some; i++)
        tern_mcts_go(w, s->root, 0, 0, 0);
    return some > 0;
}

/* For the leader that has the root: when all started rollouts are back, tells the others and
 * returns true. due: number of rollouts of this round. */
static bool round_watch(const tern_mcts_worker *w, uint64_t number, const tern_mcts_round *plan,
                        uint64_t *due) {
    tern_search *s = w->search;
    bool late = is_late(s);
    if (late)
        /* R8: round_start */
        *due -= atomic_fetch_and_explicit(&s->tokens, TERN_MCTS_START - 1, memory_order_acquire) /
                TERN_MCTS_START;
    /* R8: round_start */
    if (atomic_load_explicit(&s->tokens, memory_order_acquire) != 0)
        return false;
    s->result_rollouts += *due;
    round_tell(w, number, plan->last || late, TERN_OK);
    return true;
}

/* Works on several records, because a round of progress costs as much as a small part of a
 * simulation and should not be paid for each record. The function stops after TERN_MCTS_SHORT_NS,
 * because other workers wait for this one meanwhile. With a single worker there is no burst: the
 * clock would keep runs from being repeatable. */
static bool work_a_while(tern_mcts_worker *w) {
    enum { BURST = 8 };
    uint64_t began = tern_now();
    if (!tern_mcts_work(w))
        return false;
    for (int i = 1; i < BURST && w->search->all > 1; i++)
        if (tern_now() - began >= TERN_MCTS_SHORT_NS || !tern_mcts_work(w))
            break;
    return true;
}

/* Notes that the worker has run out of work or has work again. *since: the time since when it has
 * no work, or 0 while it has work. */
static void round_turn(tern_mcts_worker *w, uint64_t *since) {
    uint64_t now = tern_now();
    if (*since != 0)
        w->statistics.idle_ns += now - *since;
    *since = *since == 0 ? now : 0;
    /* R4 */
    atomic_store_explicit(&w->idle, *since != 0, memory_order_relaxed);
}

/* Receives calls of other ranks. A round of progress receives one message of a remote rank.
 * Answering several messages together takes fewer messages. */
static bool take_in(tern_mcts_worker *w) {
    const int most = w->search->remote ? 8 : 1;
    int rounds = 0;
    while (rounds < most && tern_progress(w->worker) > 0)
        rounds++;
    return rounds > 0;
}

static void round_work(tern_mcts_worker *w, uint64_t number, const tern_mcts_round *plan) {
    tern_search *s = w->search;
    bool root = tern_mcts_has_root(s);
    uint64_t due = plan != NULL ? plan->rollouts : 0, idle_since = 0;
    bool told = plan == NULL;
    tern_await wait = TERN_AWAIT_START;
    /* R1: tern_mcts_on_over */
    while (atomic_load_explicit(&s->over, memory_order_acquire) < number && !round_has_failed(s)) {
        tern_call_cork(w->worker);
        bool busy = take_in(w);
        busy = tern_mcts_send_kept(w) || busy;
        busy = (root && round_start(w)) || busy;
        busy = work_a_while(w) || busy;
        tern_call_uncork(w->worker);
        told = told || round_watch(w, number, plan, &due);
        if (busy != (idle_since == 0))
            round_turn(w, &idle_since);
        round_rest(w, &wait, busy);
    }
    if (idle_since != 0)
        round_turn(w, &idle_since);
}

/* Sends the messages that are left when the round is over: answers that no token waits for. */
static void send_rest(tern_mcts_worker *w) {
    tern_await wait = TERN_AWAIT_START;
    while (w->kept.first != NULL && !round_has_failed(w->search)) {
        bool busy = tern_progress(w->worker) > 0;
        round_rest(w, &wait, tern_mcts_send_kept(w) || busy);
    }
    tern_ignore(tern_call_flush_all(w->worker));
}

tern_status tern_mcts_round_run(tern_mcts_worker *w, uint64_t number, const tern_mcts_round *plan) {
    tern_search *s = w->search;
    if (plan != NULL)
        /* R1: round_start */
        atomic_store_explicit(&s->tokens, plan->rollouts * TERN_MCTS_START, memory_order_release);
    round_work(w, number, plan);
    send_rest(w);
    /* R8: tern_mcts_await */
    atomic_fetch_add_explicit(&s->stopped, 1, memory_order_release);
    if (w->index != 0)
        return tern_mcts_await(w, &s->quiet, number);
    tern_status status = tern_mcts_await(w, &s->stopped, number * s->workers);
    if (status == TERN_OK) {
        status = tern_quiesce(w->worker);
        if (status != TERN_OK)
            tern_mcts_fail(s, status);
    }
    if (status != TERN_OK)
        round_tell(w, number, true, status);
    /* R1: tern_mcts_await */
    atomic_store_explicit(&s->quiet, number, memory_order_release);
    return tern_mcts_failure(s);
}
