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

/* A wait for a rank that was not asked lasts so much longer. Its watch, which begins after
 * TERN_PEER_PATIENCE, finds a death meanwhile. */
#define DOUBT_NS 1000000000u

static uint64_t patience_of(const tern_context *context) {
    return (uint64_t)context->config.peer_patience * 1000000000u;
}

static bool has_died(const tern_peers *peers, uint32_t rank) {
    return rank == TERN_ANYBODY ? tern_peers_dead(peers) != TERN_NOBODY
                                : tern_peer_is_dead(peers, rank);
}

static bool was_asked(const tern_peers *peers, uint32_t rank) {
    /* R4 */
    return (atomic_load_explicit(&peers->asked[rank / 64], memory_order_relaxed) >> rank % 64 &
            1) != 0;
}

/* Asks rank, or for TERN_ANYBODY all ranks, until the answer is known or the patience is over.
 * Returns whether it has answered that it lives. */
static bool ask(tern_context *context, uint32_t rank) {
    const struct timespec pause = {0, 1000000};
    const uint64_t began = tern_now(), patience = patience_of(context);
    const uint64_t longest = patience > DYING_NS ? patience : DYING_NS + DYING_NS / 2;
    uint64_t since = 0;
    for (uint64_t now = began; now - began <= longest; now = tern_now()) {
        tern_peers_look(&context->peers);
        const tern_ask answer = tern_watches_ask(context, rank, now);
        if (has_died(&context->peers, rank))
            return false;
        if (answer == TERN_ASK_SILENT)
            since = 0;
        else if (answer == TERN_ASK_CONNECTED && since == 0)
            since = now;
        else if (answer == TERN_ASK_CONNECTED && now - since >= DYING_NS)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

bool tern_lost_is_death(tern_context *context, uint32_t rank) {
    if (context->peers.known && !tern_mpi_locked())
        (void)ask(context, rank);
    return has_died(&context->peers, rank);
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

static tern_status lost_fail(uint32_t rank) {
    return tern_fail(TERN_ERR_MPI,
                     "MPI has lost its connection to rank %u; destroy the context and end the "
                     "program, since MPI does not connect again",
                     rank);
}

tern_status tern_lost_check(tern_context *context, uint32_t rank) {
    return tern_is_lost(&context->peers, rank) ? tern_lost_fail(context, rank, MPI_SUCCESS, NULL)
                                               : TERN_OK;
}

tern_status tern_lost_fail(tern_context *context, uint32_t rank, int code, const char *call) {
    tern_peers *peers = &context->peers;
    char text[MPI_MAX_ERROR_STRING];
    if (!peers->known || (rank >= context->size && rank != TERN_ANYBODY) || rank == context->rank)
        return tern_fail_mpi(code, call);
    const bool asks = !tern_mpi_locked() && (rank == TERN_ANYBODY || !was_asked(peers, rank));
    const bool alive = asks && ask(context, rank);
    if (has_died(peers, rank))
        return tern_peer_fail(rank == TERN_ANYBODY ? tern_peers_dead(peers) : rank);
    if (rank == TERN_ANYBODY)
        return tern_fail_mpi(code, call);
    tern_lost_note(context, rank);
    /* R4 */
    atomic_fetch_or_explicit(&peers->asked[rank / 64], (uint64_t)asks << rank % 64,
                             memory_order_relaxed);
    if (!asks || code == MPI_SUCCESS)
        return lost_fail(rank);
    tern_mpi_text(code, text);
    return tern_fail(TERN_ERR_MPI, "MPI does not reach rank %u, which %s; %s: %s", rank,
                     alive ? "is alive" : "has not said whether it is alive", call, text);
}

uint32_t tern_lost_any(const tern_context *context) {
    const tern_peers *peers = &context->peers;
    for (uint32_t r = 0; tern_any_is_lost(peers) && r < context->size; r++)
        if (tern_is_lost(peers, r))
            return r;
    return TERN_NOBODY;
}

tern_status tern_lost_look(tern_context *context, const tern_await *wait, uint32_t rank,
                           uint64_t now) {
    const tern_peers *peers = &context->peers;
    if (!tern_any_is_lost(peers))
        return TERN_OK;
    const uint32_t lost = rank == TERN_ANYBODY ? tern_lost_any(context) : rank;
    if (lost >= context->size || !tern_is_lost(peers, lost))
        return TERN_OK;
    const uint64_t patience = patience_of(context), lasted = now - wait->began;
    const uint64_t doubt = patience == 0 || !was_asked(peers, lost) ? DOUBT_NS : 0;
    return lasted >= patience + doubt ? lost_fail(lost) : TERN_OK;
}
