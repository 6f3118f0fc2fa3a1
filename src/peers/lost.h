#ifndef TERN_SRC_PEERS_LOST_H
#define TERN_SRC_PEERS_LOST_H

/*
 * Lost connections of MPI. If a call of MPI towards a rank fails, the rank has died, or MPI has
 * given up its connection to a rank that lives, after a link was down or lost too much. The call
 * does not tell which, and MPI often notices a death before the rank's host can refuse a
 * connection. So the process then asks the rank whether it lives, for TERN_PEER_PATIENCE seconds at
 * most.
 *
 * MPI does not connect again. A process whose MPI has lost the connection to a rank notes that. Its
 * listener tells the rank, whose own MPI may see nothing: what the rank waits for does not come any
 * more. Waits for a rank to which the connection is lost end with TERN_ERR_MPI when they have
 * lasted for TERN_PEER_PATIENCE seconds, and waits for any rank, too. Waits that end sooner need no
 * connection of MPI, or what they wait for had arrived.
 *
 * MPI notices that a connection is lost when it sends. So a wait for a rank that lasts makes MPI
 * send something to the rank every TERN_LOST_ASK_NS (layers' ask).
 */

#include "src/context.h"
#include "src/mpi/mpi.h"
#include "tern/progress.h"

#define TERN_LOST_ASK_NS 10000000000u

/* Says what the failure of a call of MPI towards rank means, or, for TERN_ANYBODY, towards unknown
 * ranks. code: what MPI returned. TERN_ERR_PEER: rank has died. TERN_ERR_MPI: MPI has lost the
 * connection to it. The calling thread does not hold the MPI lock. */
tern_status tern_lost_fail(tern_context *context, uint32_t rank, int code, const char *call)
    __attribute__((cold));

/* TERN_ERR_MPI if MPI has lost the connection to rank, in which case it is of no use to call MPI.
 */
tern_status tern_lost_check(const tern_context *context, uint32_t rank);

/* Notes that MPI has lost the connection to rank. Any thread, with or without the MPI lock. */
void tern_lost_note(const tern_context *context, uint32_t rank) __attribute__((cold));

/* Called by a wait for rank: TERN_ERR_MPI if MPI has lost the connection to rank and the wait has
 * lasted for TERN_PEER_PATIENCE. */
tern_status tern_lost_look(tern_context *context, const tern_await *wait, uint32_t rank,
                           uint64_t now);

static inline bool tern_is_lost(const tern_peers *peers, uint32_t rank) {
    /* R4 */
    return peers->lost != NULL &&
           (atomic_load_explicit(&peers->lost[rank / 64], memory_order_relaxed) >> rank % 64 & 1) !=
               0;
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
