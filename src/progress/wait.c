#include "src/progress/wait.h"

#include <sched.h>

#include "src/peers/peers.h"
#include "src/profile/profile.h"
#include "src/progress/progress.h"

/* Chosen by measurement: a rank on another core answers within some hundred polls; after that it
 * probably needs this core. */
#define SPINS 200u
#define PAUSES 400u
#define ROUNDS_PER_LOOK                                                                            \
    32u /* rounds between two looks at the clock: a round may handle a message,                    \
           or yield within MPI */
#define LOOK_INTERVAL_NS 5000000u

_Thread_local const char *tern_waits_in = "a wait of tern";

void tern_worker_yield(tern_worker *worker) {
    if (worker->in_progress || worker->in_handler)
        return;
    worker->stats.yields++;
    const uint64_t now = tern_now();
    if (now - worker->looped >= LOOK_INTERVAL_NS) {
        worker->looped = now;
        tern_activity_report(worker->context, "a loop of tern_progress, _test or _probe", now);
    }
    sched_yield();
}

tern_status tern_glance(tern_worker *worker, uint32_t rank) {
    tern_peers *peers = &worker->context->peers;
    if (++worker->glances % ROUNDS_PER_LOOK == 0 &&
        tern_now() - worker->looked >= LOOK_INTERVAL_NS) {
        tern_peers_look(peers);
        worker->looked = tern_now();
        tern_watch(worker->context, rank, 0, worker->looked);
    }
    return tern_peer_is_dead(peers, rank) ? tern_peer_fail(rank) : TERN_OK;
}

/* Returns the dead rank whose death ends a wait for rank, or TERN_NOBODY. */
static uint32_t dead_for(const tern_context *context, uint32_t rank) {
    if (context == NULL || rank == TERN_NOBODY)
        return TERN_NOBODY;
    const uint32_t first = tern_peers_dead(&context->peers);
    if (rank == TERN_ANYBODY || first == TERN_NOBODY)
        return first;
    const bool dead = rank < context->size && tern_peer_is_dead(&context->peers, rank);
    return dead ? rank : TERN_NOBODY;
}

/* Ends a wait for rank, which is not known to be dead, if nothing it waits for can come. */
static tern_status look_further(tern_context *context, tern_wait_state *state, uint32_t rank,
                                uint64_t now) {
    const tern_status status = tern_stuck_look(context, state, rank, now);
    return status == TERN_OK ? tern_lost_look(context, state, rank, now) : status;
}

/* A known death ends a wait for that rank at once. In a wait for any rank, a live rank may still
 * bring what the caller waits for, so the wait goes on until it would give the processor up, 5 ms
 * at most. If the caller goes on in spite of the error, later rounds yield as in any wait. */
static tern_status wait_step(tern_context *context, tern_wait_state *state, uint32_t rank) {
    uint32_t round = state->rounds++;
    tern_error_clear_again();
    if (round >= PAUSES)
        sched_yield();
    else if (round >= SPINS)
        tern_relax();
    uint32_t dead = dead_for(context, rank);
    if (dead != TERN_NOBODY && (rank != TERN_ANYBODY || round + 1 >= PAUSES))
        return tern_peer_fail(dead);
    if (round == 0 && context != NULL && tern_stuck_before(&context->peers, rank))
        return tern_stuck_look(context, state, rank, tern_now());
    const bool looks = round % ROUNDS_PER_LOOK == ROUNDS_PER_LOOK - 1 || dead != TERN_NOBODY;
    if (!looks || context == NULL)
        return TERN_OK;
    (void)tern_contexts_serve(context);
    uint64_t now = tern_now();
    if (state->looked == 0)
        state->looked = now;
    if (state->began == 0)
        state->began = now;
    if (now - state->looked < LOOK_INTERVAL_NS)
        return TERN_OK;
    state->looked = now;
    if (rank != TERN_NOBODY) {
        tern_peers_look(&context->peers);
        tern_watch(context, rank, state->began, now);
    }
    tern_long_wait_look(context, state, rank, now);
    if (rank == TERN_NOBODY)
        return TERN_OK;
    dead = dead_for(context, rank);
    return dead != TERN_NOBODY ? tern_peer_fail(dead) : look_further(context, state, rank, now);
}

tern_status tern_wait_step(tern_context *context, tern_wait_state *state, uint32_t rank) {
    if (__builtin_expect(context == NULL || context->profiling == NULL, 1))
        return wait_step(context, state, rank);
    tern_profile_wait(context, state, rank);
    const tern_status status = wait_step(context, state, rank);
    tern_profile_waited(context, state);
    return status;
}

/* A death ends the wait only at the second look that finds it, since messages that the dead rank
 * has sent before may still be arriving. */
tern_status tern_wait_look(tern_context *context, tern_wait_state *state, uint32_t rank) {
    if (rank == TERN_NOBODY)
        return TERN_OK;
    (void)tern_contexts_serve(context);
    tern_peers_look(&context->peers);
    const uint64_t now = tern_now();
    state->looked = now;
    if (state->began == 0)
        state->began = now;
    tern_watch(context, rank, state->began, now);
    tern_long_wait_look(context, state, rank, now);
    const uint32_t dead = dead_for(context, rank);
    const bool known = state->doomed;
    state->doomed = dead != TERN_NOBODY;
    if (known && state->doomed)
        return tern_peer_fail(dead);
    return look_further(context, state, rank, now);
}

tern_status tern_await_round(tern_worker *worker, tern_await *wait, size_t found) {
    if (worker == NULL || wait == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_await_round: worker or wait is NULL");
    return tern_wait_round(worker->context, wait, found, TERN_ANYBODY);
}
