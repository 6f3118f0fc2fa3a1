#ifndef TERN_COLLECTIVE_H
#define TERN_COLLECTIVE_H

/*
 * Collectives over notifications: barrier, broadcast and all-reduce of vectors of any length,
 * with no MPI call where memory is shared. Every rank of the context calls them, in the same order,
 * by its worker of the same index; the workers of another index may be in collectives of their own
 * at the same time. They wait, making progress: calls, messages and notified operations of others
 * go on meanwhile. The notifications they are made of are tern's own: they neither appear in probes
 * nor wait behind events that nobody has probed for.
 *
 * Data lies in the caller's memory, wherever that is; nothing is registered, and it may be reused
 * when the function returns. A vector travels in parts of a quarter of TERN_RING_SIZE, each copied
 * into a ring and out of it. Parts that arrive at a rank which does not wait for them yet are
 * copied once more, to memory of tern's: at most 16 from each rank that sends to it in this
 * collective. Costs below are of one rank, with P ranks, n bytes and N parts (N is 1 for vectors of
 * up to one part).
 *
 * TERN_ERR_PEER: a rank has died; TERN_ERR_ARGUMENT; TERN_ERR_STATE: in a handler;
 * TERN_ERR_MEMORY: a rank had no memory for a ring; TERN_ERR_MPI;
 * TERN_ERR_MISMATCH: the ranks are in different collective functions, of these three or any others
 * of the context, or give vectors of different length. Then every rank gets that error, with both
 * names, unless its broadcast had ended before, and the next collectives work. A rank whose
 * broadcast has ended lets the others wait for that error until it calls a collective function
 * again. After another error that not every rank got, collectives of that worker index are over.
 * After an error what lies at data or values is undefined, but for TERN_ERR_ARGUMENT and
 * TERN_ERR_STATE, and for an all-reduce of up to 128 numbers, which leave it as it was.
 *
 * A program that mixes these functions with tern_barrier and its like calls those by workers of the
 * same index on every rank too. If other workers of a rank are in collectives at the same time, an
 * error of one worker's may be told to another's.
 */

#include <stddef.h>

#include "tern/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns when all have called it. Unlike tern_barrier it completes no puts: flushes and events say
 * when those are there. worker: the calling thread's. Blocks; not in handlers. Costs log2(P)
 * messages, rounded up, sent and received, one after the other. */
TERN_NODISCARD TERN_API tern_status tern_notify_barrier(tern_worker *worker);

/* Root's bytes come to data everywhere. root: a rank. data: so many bytes, read on root and written
 * elsewhere; may be NULL if bytes is 0. bytes: the same on every rank. TERN_ERR_ARGUMENT: no such
 * root; NULL. Blocks; not in handlers. It may return on a rank before others have called it: root
 * is up to 16 parts ahead of the two ranks that it sends to, and 16 broadcasts.
 *
 * Goes down a binary tree: a rank receives n bytes and sends at most 2 n, in N messages from its
 * parent and N to each of two children, with one back for every 8 parts beyond the first 16. The
 * last rank has them after log2(P) steps and N more. */
TERN_NODISCARD TERN_API tern_status tern_notify_broadcast(tern_worker *worker, uint32_t root,
                                                          void *data, size_t bytes);

/* What an all-reduce makes of the numbers of all ranks. */
typedef enum tern_reduction { TERN_REDUCE_SUM, TERN_REDUCE_MIN, TERN_REDUCE_MAX } tern_reduction;
/* The type of the numbers of an all-reduce. */
typedef enum tern_number { TERN_UINT64, TERN_INT64, TERN_DOUBLE } tern_number;

/* Element by element over all ranks, in place. values: count numbers of 8 bytes of the type, at any
 * address; may be NULL if count is 0. type, op and count: the same on every rank, which is
 * compared. Every rank gets the same bits. Sums of integers wrap around; sums of doubles are added
 * in an order that depends on P and count; a NaN in a minimum or maximum may be left out.
 * TERN_ERR_ARGUMENT: no such type or operation; NULL. TERN_ERR_MISMATCH, on every rank: they differ
 * somewhere. Blocks; not in handlers.
 *
 * Up to 128 numbers: log2(P) messages of n bytes, sent and received, one after the other. Beyond:
 * halves, quarters and so on are exchanged and reduced, and come back the same way: less than 2 n
 * bytes sent and received, in 2 log2(P) steps and about 2 N + 2 log2(P) messages. If P is no power
 * of two, the ranks beyond the largest one below P send n bytes before and get n after, and their
 * partners receive and send n more. */
TERN_NODISCARD TERN_API tern_status tern_notify_allreduce(tern_worker *worker, tern_number type,
                                                          tern_reduction op, void *values,
                                                          size_t count);

#ifdef __cplusplus
}
#endif

#endif
