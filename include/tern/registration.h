#ifndef TERN_REGISTRATION_H
#define TERN_REGISTRATION_H

/*
 * Registration: memory of the application's own, outside the segment, that other ranks may put to
 * and get from (paper 001, III A). A registered pointer is a tern_ptr like any other: it
 * can be sent to every rank, and puts, gets, notified ones and rendezvous take it. Atomics do not
 * (TERN_ERR_UNSUPPORTED): memory for them is allocated.
 *
 * How it is reached. By its own rank directly. By ranks of the node with one system call a transfer
 * (process_vm_writev), where the system allows it; where it does not, or TERN_CMA=off,
 * copied through a segment by its owner's progress. Over rma by MPI, which has the memory attached
 * to a dynamic window; with Open MPI, whose dynamic windows are not sound, as over p2p: by its
 * owner's progress. The first use of a region by a rank of
 * another node asks its owner, once: a put or a get waits for the answer, with progress; notified
 * ones and handlers get TERN_ERR_AGAIN meanwhile. Aligned words are not promised to be copied
 * whole, and a put is not seen by tern_flush to be complete any sooner than one into the segment.
 *
 * The local side of a transfer is never registered: any memory will do. What has to be copied
 * through memory of tern's, bytes_staged counts (tern/stats.h).
 */

#include <stddef.h>

#include "tern/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Regions of a rank at a time, and the largest. */
#define TERN_REGIONS_MAX 4095u
#define TERN_REGION_BYTES_MAX ((uint64_t)1 << 40)

/* Registers [base, base + bytes) of this process, which stays the caller's and must stay mapped,
 * readable and writable until it is deregistered or the context is destroyed. Memory inside a
 * region that is registered already is counted there once more. [out] p: the place of base.
 *
 * TERN_ERR_ARGUMENT: NULL, no bytes, or memory of the segment. TERN_ERR_EXISTS: it overlaps a
 * region without lying inside it. TERN_ERR_RANGE: more than TERN_REGION_BYTES_MAX. TERN_ERR_FULL:
 * TERN_REGIONS_MAX. TERN_ERR_MEMORY: the network cannot register it. TERN_ERR_MPI. Local, never
 * waits, any worker of the process. */
TERN_NODISCARD TERN_API tern_status tern_register(tern_worker *worker, void *base, size_t bytes,
                                                  tern_ptr *p);

/* Takes one registration back; p is any place in the region. The last one ends the region: from
 * then on what still names it is refused with TERN_ERR_RANGE, wherever it comes from, and the
 * memory is the caller's alone. Waits, with progress, for the ranks of other nodes that have used
 * the region to let go of it.
 *
 * TERN_ERR_STATE: the region is in use, and stays: a post that offers it has not been waited for,
 * a transfer is under way, a rank of the node died while it copied, or, over rma with MPICH, a rank
 * has put to it and not flushed; or in a handler. Puts by messages that were sent before arrive
 * first.
 * TERN_ERR_ARGUMENT: no region of this rank. TERN_ERR_PEER: a rank that has used it has died. */
TERN_NODISCARD TERN_API tern_status tern_deregister(tern_worker *worker, tern_ptr p);

#ifdef __cplusplus
}
#endif

#endif
