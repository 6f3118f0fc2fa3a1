#include "src/peers/lost.h"

#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "src/log.h"
#include "src/peers/listener.h"
#include "src/peers/watch.h"
#include "src/progress/wait.h"

/* A process that dies closes one connection after the other, so one to its listener proves that it
 * lives only when the connection has lasted this long. */
#define DYING_NS 100000000u

static uint64_t patience_of(const tern_context *context) {
    return (uint64_t)context->config.peer_patience * 1000000000u;
}

static bool has_died(const tern_peers *peers, uint32_t rank) {
    return rank == TERN_ANYBODY ? tern_peers_dead(peers) != TERN_NOBODY
                                : tern_peer_is_dead(peers, rank);
}

/* Whether rank lives, as far as can be known now. For TERN_ANYBODY: whether all ranks do. */
static bool seems_alive(tern_context *context, uint32_t rank, uint64_t now) {
    tern_peers_look(&context->peers);
    return tern_watches_ask(context, rank, now);
}

/* Asks rank whether it lives, until the answer is known or the patience is over. Returns whether it
 * has answered that it does. */
static bool ask(tern_context *context, uint32_t rank) {
    const struct timespec pause = {0, 1000000};
    const uint64_t began = tern_now(), patience = patience_of(context);
    const uint64_t longest = patience > DYING_NS ? patience : DYING_NS;
    uint64_t since = 0;
    for (uint64_t now = began; now - began <= longest; now = tern_now()) {
        if (!seems_alive(context, rank, now))
            since = 0;
        else if (since == 0)
            since = now;
        if (has_died(&context->peers, rank))
            return false;
        if (since != 0 && now - since >= DYING_NS)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

void tern_lost_note(const tern_context *context, uint32_t rank) {
    tern_peers *peers = (tern_peers *)(uintptr_t)&context->peers;
    if (peers->lost == NULL || rank >= peers->count || rank == context->rank ||
        tern_is_lost(peers, rank))
        return;
    /* R4 */
    atomic_fetch_or_explicit(&peers->lost[rank / 64], (uint64_t)1 << rank % 64,
                             memory_order_relaxed);
    atomic_store_explicit(&peers->any_lost, true, memory_order_relaxed);
    if (peers->listener != NULL)
        tern_listener_wake(peers->listener);
}

tern_status tern_lost_check(const tern_context *context, uint32_t rank) {
    if (!tern_is_lost(&context->peers, rank))
        return TERN_OK;
    return tern_fail(TERN_ERR_MPI,
                     "the connection of MPI to rank %u is lost, although the rank was alive then; "
                     "destroy the context and end the program, since MPI does not connect again",
                     rank);
}

tern_status tern_lost_fail(tern_context *context, uint32_t rank, int code, const char *call) {
    tern_peers *peers = &context->peers;
    char text[MPI_MAX_ERROR_STRING];
    if (!peers->known || (rank >= context->size && rank != TERN_ANYBODY) || rank == context->rank)
        return tern_fail_mpi(code, call);
    const bool known = rank != TERN_ANYBODY && tern_is_lost(peers, rank);
    const bool alive = !known && ask(context, rank);
    if (has_died(peers, rank))
        return tern_peer_fail(rank == TERN_ANYBODY ? tern_peers_dead(peers) : rank);
    if (rank == TERN_ANYBODY)
        return tern_fail_mpi(code, call);
    if (known)
        return tern_lost_check(context, rank);
    tern_lost_note(context, rank);
    tern_mpi_text(code, text);
    return tern_fail(TERN_ERR_MPI, "MPI does not reach rank %u, which %s; %s: %s", rank,
                     alive ? "is alive" : "has not said whether it is alive", call, text);
}

/* Returns the rank for which a wait for rank ends, or TERN_NOBODY. */
static uint32_t lost_for(const tern_context *context, uint32_t rank) {
    const tern_peers *peers = &context->peers;
    if (rank < context->size)
        return tern_is_lost(peers, rank) ? rank : TERN_NOBODY;
    for (uint32_t r = 0; rank == TERN_ANYBODY && r < context->size; r++)
        if (tern_is_lost(peers, r))
            return r;
    return TERN_NOBODY;
}

tern_status tern_lost_look(tern_context *context, const tern_await *wait, uint32_t rank,
                           uint64_t now) {
    const tern_peers *peers = &context->peers;
    /* R4 */
    if (!atomic_load_explicit(&((tern_peers *)(uintptr_t)peers)->any_lost, memory_order_relaxed) ||
        now - wait->began < patience_of(context))
        return TERN_OK;
    const uint32_t lost = lost_for(context, rank);
    return lost != TERN_NOBODY ? tern_lost_check(context, lost) : TERN_OK;
}
