#ifndef TERN_LOCK_H
#define TERN_LOCK_H

/*
 * Distributed lock manager (the helpers of paper 000, 3.3): locks that any worker of the job takes
 * and gives back by calls to the rank that keeps them. Those that wait are in a queue there and is
 * told one-sided when it is its turn: waiting costs no traffic, and turns come in the order in
 * which they were asked for. Between ranks that share no memory a contended lock takes one round
 * trip and a half, however many wait; tries of an atomic take one each.
 *
 * What the holder put before it released is there for the next holder. The keeping rank must make
 * progress, or have a service thread (TERN_SERVICE_THREADS).
 *
 * Once a rank has died, be it the holder of a lock, its keeper or one that waits, everybody who
 * waits for any lock is told within milliseconds, or as soon as MPI reports it from another
 * machine. A lock that the dead held is never free again: tern_lock_try says so by 0, and by
 * TERN_ERR_PEER where the keeper is dead. What is held by the living can be released; no new turn
 * is to be waited for.
 */

#include <stddef.h>

#include "tern/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A set of locks, spread over all ranks. Its members are tern's own. */
typedef struct tern_locks tern_locks;

/* Collective: count locks, numbered from 0; lock i is kept by rank i % size. All ranks pass the
 * same count (TERN_ERR_MISMATCH), 1 or more. [out] locks. TERN_ERR_MEMORY: the segment has no room
 * for 16 bytes a lock and 24 for each worker of the job; TERN_ERR_PEER: a rank died; others may
 * have got the locks nevertheless, and those that this rank keeps may stay with them until the
 * context goes. */
TERN_NODISCARD TERN_API tern_status tern_locks_create(tern_worker *worker, size_t count,
                                                      tern_locks **locks);

/* Collective. NULL is fine. TERN_ERR_STATE, on every rank: a worker holds one of them.
 * TERN_ERR_MISMATCH: the other ranks are in another collective function. After these two the locks
 * stay as they were; they are gone even where the status is TERN_ERR_PEER. */
TERN_NODISCARD TERN_API tern_status tern_locks_destroy(tern_worker *worker, tern_locks *locks);

/* Waits, with progress, until the lock is this worker's. TERN_ERR_STATE: in a handler, or this
 * worker holds it. TERN_ERR_ARGUMENT: no such lock. TERN_ERR_PEER: a rank has died; whether the
 * lock would have come is not known, and none of these locks is to be used any more. */
TERN_NODISCARD TERN_API tern_status tern_lock_acquire(tern_worker *worker, tern_locks *locks,
                                                      size_t index);

/* [out] taken: 1 if the lock was free and is this worker's now, else 0. Waits for the answer of the
 * rank that keeps it. Errors as above. */
TERN_NODISCARD TERN_API tern_status tern_lock_try(tern_worker *worker, tern_locks *locks,
                                                  size_t index, int *taken);

/* Gives the lock back, after all that this worker has put anywhere: waits for that where it would
 * come in another order than the call to the keeper, and never for the keeper's answer.
 * TERN_ERR_STATE: this worker does not hold it, or in a handler. */
TERN_NODISCARD TERN_API tern_status tern_lock_release(tern_worker *worker, tern_locks *locks,
                                                      size_t index);

#ifdef __cplusplus
}
#endif

#endif
