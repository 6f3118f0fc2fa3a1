#ifndef TERN_REGISTRATION_H
#define TERN_REGISTRATION_H

/*
 * Registration: memory of the application, outside the segment, that other ranks may put to and get
 * from (paper 001, III A). The pointer to it is a tern_ptr like any other: it can be sent to every
 * rank, and puts, gets, their notified forms and rendezvous take it. Atomics do not take it
 * (TERN_ERR_UNSUPPORTED): allocate memory for them.
 *
 * How ranks reach it. Its own rank uses it directly. Other ranks of the node copy with one system
 * call for each transfer (process_vm_writev), if the system allows it; if not, or with
 * TERN_CMA=off, the owner's progress copies through a segment. Over rma MPI moves the data, through
 * a dynamic window. Over p2p, and with Open MPI, whose dynamic windows are not sound, the owner's
 * progress moves it. When a rank of another node uses a region for the first time, it asks the
 * owner once: a put or a get waits for the answer, making progress; notified operations and
 * handlers get TERN_ERR_AGAIN meanwhile. An aligned word may be torn by a copy. A put is complete
 * only after tern_flush, as a put into the segment is.
 *
 * The local side of a transfer need not be registered. The counter bytes_staged (tern/stats.h)
 * counts the bytes that are copied through memory of tern.
 */

#include <stddef.h>

#include "tern/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most regions of a rank at a time, and the size of the largest region. */
#define TERN_REGIONS_MAX 4095u
#define TERN_REGION_BYTES_MAX ((uint64_t)1 << 40)

/* Registers [base, base + bytes) of this process. The memory stays the caller's and must stay
 * mapped, readable and writable until it is deregistered or the context is destroyed. If it lies
 * inside a region that is registered already, that region's count of registrations goes up by one.
 * [out] p: the global pointer to base.
 *
 * TERN_ERR_ARGUMENT: NULL, no bytes, or memory of the segment. TERN_ERR_EXISTS: the memory overlaps
 * a region without lying inside it. TERN_ERR_RANGE: more than TERN_REGION_BYTES_MAX. TERN_ERR_FULL:
 * the rank has TERN_REGIONS_MAX regions. TERN_ERR_MEMORY: the network cannot register it.
 * TERN_ERR_MPI. Local, never waits, any worker of the process. */
TERN_NODISCARD TERN_API tern_status tern_register(tern_worker *worker, void *base, size_t bytes,
                                                  tern_ptr *p);

/* Takes one registration back; p is any address in the region. When the last registration is taken
 * back the region ends: from then on tern refuses pointers into it, on every rank, with
 * TERN_ERR_RANGE, and the memory is the caller's alone. Waits, making progress, until the ranks of
 * other nodes that have used the region have dropped it.
 *
 * TERN_ERR_STATE: in a handler; or the region is in use, and stays registered: a post that offers
 * it has not been waited for, a transfer is under way, a rank of the node died while it copied, or,
 * over rma with MPICH, a rank has put to it and not flushed. Puts that were sent as messages before
 * arrive first. TERN_ERR_ARGUMENT: p lies in no region of this rank. TERN_ERR_PEER: a rank that has
 * used the region has died. */
TERN_NODISCARD TERN_API tern_status tern_deregister(tern_worker *worker, tern_ptr p);

#ifdef __cplusplus
}
#endif

#endif
