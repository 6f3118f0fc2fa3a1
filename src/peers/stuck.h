#ifndef TERN_SRC_PEERS_STUCK_H
#define TERN_SRC_PEERS_STUCK_H

/*
 * Ranks that are stuck in MPI. A one-sided operation of MPI towards a rank that dies may never end
 * (rma/transport/mpi_rma.c). So while a rank is in such a call it stores the target of the call in
 * a word of its own memory. A rank that waits for it, and knows of a death, reads this word with
 * the system call that reads another process's memory; from a rank of another machine it learns the
 * word by the listener (src/peers/watch.h). If the word stays the same for TERN_PEER_PATIENCE, and
 * names a dead rank, the wait ends with TERN_ERR_PEER. Later waits for that rank end at once while
 * it is in the same call.
 *
 * Hot path: two relaxed stores around a call of MPI's one-sided operations.
 */

#include "src/context.h"
#include "tern/progress.h"

/* Called before and after a call of MPI towards rank. The caller holds the MPI lock. */
static inline void tern_stuck_enter(tern_peers *peers, uint32_t rank) {
    /* R4: read_word */
    atomic_store_explicit(&peers->call, (uint64_t)++peers->calls << 32 | rank,
                          memory_order_relaxed);
}

static inline void tern_stuck_leave(tern_peers *peers) {
    /* R4: read_word */
    atomic_store_explicit(&peers->call, TERN_NO_CALL, memory_order_relaxed);
}

/* Whether an earlier wait for rank found it stuck: then a new wait checks at once. */
static inline bool tern_stuck_before(const tern_peers *peers, uint32_t rank) {
    /* R4 */
    return atomic_load_explicit(&((tern_peers *)(uintptr_t)peers)->stuck_rank,
                                memory_order_relaxed) == rank;
}

/* Called by a wait for rank, which is alive: TERN_ERR_PEER if rank has been stuck for
 * TERN_PEER_PATIENCE. */
tern_status tern_stuck_look(tern_context *context, tern_await *wait, uint32_t rank, uint64_t now);

#endif
