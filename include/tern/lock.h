#ifndef TERN_LOCK_H
#define TERN_LOCK_H

/*
 * Distributed lock manager (the helpers of paper 000, 3.3): locks that any worker of the job takes
 * and gives back by calls to the rank that keeps them. Workers that wait for a lock are in a queue
 * on the keeping rank, which tells the next worker by a put that it has the lock. So waiting costs
 * no traffic, and workers get the lock in the order in which they asked. Between ranks that share
 * no memory a contended lock costs one round trip and a half, however many workers wait; with a
 * lock made of an atomic, each try costs one round trip.
 *
 * Everything that a holder has put before it released the lock has arrived when the next holder
 * gets it. The keeping rank must make progress, or have a service thread (TERN_SERVICE_THREADS).
 *
 * When any rank has died (the holder of a lock, its keeper or a rank that waits), every worker that
 * waits for any lock gets TERN_ERR_PEER: within milliseconds for a death on this machine, and as
 * soon as MPI reports it for another machine. A lock that a dead rank held is never free again:
 * tern_lock_try then gives taken 0, or TERN_ERR_PEER if the keeper is dead. Live holders can still
 * release their locks, but a worker can no longer wait for a lock.
 */

#include <stddef.h>

#include "tern/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A set of locks, spread over all ranks. Its members are tern's own. */
typedef struct tern_locks tern_locks;

/* Creates count locks, numbered from 0. Rank i % size keeps lock i. Collective. All ranks pass the
 * same count (else TERN_ERR_MISMATCH), 1 or more. [out] locks. TERN_ERR_MEMORY: the segment has no
 * room for 16 bytes a lock and 24 for each worker of the job; TERN_ERR_PEER: a rank died. Other
 * ranks may have got the locks nevertheless, and may use those that this rank keeps until the
 * context is destroyed. */
TERN_NODISCARD TERN_API tern_status tern_locks_create(tern_worker *worker, size_t count,
                                                      tern_locks **locks);

/* Destroys the locks. Collective. NULL is fine. TERN_ERR_STATE, on every rank: a worker holds one
 * of them. TERN_ERR_MISMATCH: the other ranks are in another collective function. After these two
 * errors the locks stay as they were. After TERN_ERR_PEER they are destroyed. */
TERN_NODISCARD TERN_API tern_status tern_locks_destroy(tern_worker *worker, tern_locks *locks);

/* Waits until this worker holds the lock, making progress. TERN_ERR_STATE: in a handler, or this
 * worker holds the lock already. TERN_ERR_ARGUMENT: no such lock. TERN_ERR_PEER: a rank has died.
 * Whether this worker would have got the lock is not known, and the program must not use these
 * locks any more. */
TERN_NODISCARD TERN_API tern_status tern_lock_acquire(tern_worker *worker, tern_locks *locks,
                                                      size_t index);

/* Takes the lock if it is free. [out] taken: 1 if this worker holds the lock now, else 0. Waits for
 * the answer of the rank that keeps the lock. Returns the same errors as tern_lock_acquire. */
TERN_NODISCARD TERN_API tern_status tern_lock_try(tern_worker *worker, tern_locks *locks,
                                                  size_t index, int *taken);

/* Gives the lock back after all puts of this worker, to any rank, have arrived. It waits for those
 * puts that could arrive later than its call to the keeper, and never for the keeper's answer.
 * TERN_ERR_STATE: this worker does not hold it, or in a handler. */
TERN_NODISCARD TERN_API tern_status tern_lock_release(tern_worker *worker, tern_locks *locks,
                                                      size_t index);

#ifdef __cplusplus
}
#endif

#endif
