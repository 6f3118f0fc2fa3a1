#include "src/peers/stuck.h"

#include "base/error.h"
#include "src/peers/watch.h"
#include "src/progress/wait.h"

/* Reads the word of a rank of this machine. TERN_NO_CALL also if the system does not let this
 * process read it. */
static uint64_t read_word(tern_peers *peers, uint32_t rank) {
    uint64_t word;
    const uint64_t address = tern_peer_find(peers, rank)->call_at;
    return tern_peer_peek(peers, rank, address, &word, sizeof word) ? word : TERN_NO_CALL;
}

/* Two threads that store at once may mix their pairs; then a later wait waits for the whole
 * TERN_PEER_PATIENCE again. */
static void remember(tern_peers *peers, uint32_t rank, uint64_t call) {
    /* R4 */
    atomic_store_explicit(&peers->stuck_call, call, memory_order_relaxed);
    atomic_store_explicit(&peers->stuck_rank, rank, memory_order_relaxed);
}

static bool is_remembered(tern_peers *peers, uint32_t rank, uint64_t call) {
    /* R4 */
    return tern_stuck_before(peers, rank) &&
           atomic_load_explicit(&peers->stuck_call, memory_order_relaxed) == call;
}

tern_status tern_stuck_look(tern_context *context, tern_await *wait, uint32_t rank, uint64_t now) {
    tern_peers *peers = &context->peers;
    const uint64_t patience = (uint64_t)context->config.peer_patience * 1000000000u;
    if (patience == 0 || !peers->known || rank >= context->size || rank == context->rank ||
        tern_peers_dead(peers) == TERN_NOBODY)
        return TERN_OK;
    const uint64_t before = wait->call_since != 0 ? wait->call : TERN_NO_CALL;
    const uint64_t word = tern_peer_is_watched(peers, rank)
                              ? read_word(peers, rank)
                              : tern_watches_call(context, rank, now, before);
    const uint32_t target = (uint32_t)word;
    if (word == TERN_NO_CALL || target >= context->size || !tern_peer_is_dead(peers, target)) {
        wait->call_since = 0;
        return TERN_OK;
    }
    if (wait->call_since == 0 || wait->call != word) {
        wait->call = word;
        wait->call_since = now;
    }
    if (now - wait->call_since < patience && !is_remembered(peers, rank, word))
        return TERN_OK;
    remember(peers, rank, word);
    return tern_fail(TERN_ERR_PEER,
                     "rank %u has been stuck for %zu s in a call of MPI towards rank %u, which has "
                     "died; end rank %u, and use TERN_TRANSPORT=p2p where ranks may die",
                     rank, context->config.peer_patience, target, rank);
}
