#ifndef TERN_SRC_PEERS_LOST_H
#define TERN_SRC_PEERS_LOST_H

/*
 * Lost connections of MPI. If a call of MPI towards a rank fails, the rank has died, or MPI has
 * given up its connection to a rank that lives, after a link was down or lost too much. The call
 * does not tell which, and MPI often notices a death before the rank's host can refuse a
 * connection. So the process then asks the rank whether it lives, for TERN_PEER_PATIENCE seconds at
 * most, and once. A failure that is found where the process cannot wait, as with the MPI lock held,
 * is only noted. The next operation by MPI on this rank asks.
 *
 * MPI does not connect again. A process whose MPI has lost the connection to a rank notes that. Its
 * listener, if it has a thread, tells the rank, whose own MPI may see nothing: what the rank waits
 * for does not come any more. Waits for a rank to which the connection is lost end with
 * TERN_ERR_MPI when they have lasted for TERN_PEER_PATIENCE seconds, and waits for any rank, too;
 * if the rank was not asked, 1 s later, since it may be dead. Waits that end sooner need no
 * connection of MPI, or what they wait for had arrived. Other ranks are not told.
 *
 * MPI notices that a connection is lost when it sends, so a last message is followed by another one
 * (rma/message/follow.h).
 */

#include "src/context.h"
#include "src/mpi/mpi.h"
#include "tern/progress.h"

/* Says what the failure of a call of MPI towards rank means, or, for TERN_ANYBODY, towards unknown
 * ranks. code: what MPI returned. TERN_ERR_PEER: rank has died. TERN_ERR_MPI: MPI has lost the
 * connection to it. MPI_SUCCESS for code: MPI was not called, since the connection is known to be
 * lost. The calling thread does not hold the MPI lock. */
tern_status tern_lost_fail(tern_context *context, uint32_t rank, int code, const char *call)
    __attribute__((cold));

/* Asks rank, towards which an operation over a network has failed, whether it lives, for
 * TERN_PEER_PATIENCE seconds at most, each time. Returns whether it has died. A thread that holds
 * the MPI lock does not ask, and returns what is known. */
bool tern_lost_is_death(tern_context *context, uint32_t rank) __attribute__((cold));

/* Fails if MPI has lost the connection to rank, in which case it is of no use to call MPI: as
 * tern_lost_fail does. */
tern_status tern_lost_check(tern_context *context, uint32_t rank);

/* A rank to which MPI has lost the connection, or TERN_NOBODY. */
uint32_t tern_lost_any(const tern_context *context);

/* Notes that MPI has lost the connection to rank. Any thread, with or without the MPI lock. */
void tern_lost_note(const tern_context *context, uint32_t rank) __attribute__((cold));

/* Called by a wait for rank: TERN_ERR_MPI if MPI has lost the connection to rank and the wait has
 * lasted for long enough. */
tern_status tern_lost_look(tern_context *context, const tern_await *wait, uint32_t rank,
                           uint64_t now);

static inline bool tern_any_is_lost(const tern_peers *peers) {
    /* R4 */
    return atomic_load_explicit(&((tern_peers *)(uintptr_t)peers)->any_lost, memory_order_relaxed);
}

static inline bool tern_is_lost(const tern_peers *peers, uint32_t rank) {
    /* R4 */
    return peers->lost != NULL &&
           (atomic_load_explicit(&peers->lost[rank / 64], memory_order_relaxed) >> rank % 64 & 1) !=
               0;
}

/* Whether the closers of a context may call MPI for what all ranks take part in: MPI runs, no rank
 * has died, and no connection is lost. */
static inline bool tern_mpi_is_of_use(const tern_context *context) {
    /* R7: finalized_under_us */
    return !atomic_load(&context->mpi_gone) && tern_peers_dead(&context->peers) == TERN_NOBODY &&
           !tern_any_is_lost(&context->peers);
}

/* TERN_MPI for a call towards rank. */
#define TERN_MPI_TO(context, rank, call)                                                           \
    __extension__({                                                                                \
        tern_mpi_lock();                                                                           \
        int tern_mpi_code = (call);                                                                \
        tern_mpi_unlock();                                                                         \
        tern_mpi_code == MPI_SUCCESS ? TERN_OK                                                     \
                                     : tern_lost_fail(context, rank, tern_mpi_code, #call);        \
    })

#endif
