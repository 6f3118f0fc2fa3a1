#ifndef TERN_COLLECTIVE_H
#define TERN_COLLECTIVE_H

/*
 * Collectives over notifications: barrier, broadcast and all-reduce of vectors of any length,
 * with no MPI call where memory is shared. Every rank of the context calls them, in the same order,
 * with its worker of the same index. Workers of another index may be in collectives of their own at
 * the same time. The functions wait and make progress: calls, messages and notified operations of
 * others go on meanwhile. Their notifications are internal: probes do not return them, and they do
 * not wait behind events that nobody has probed for.
 *
 * The data may lie in any memory of the caller, which need not be registered and may be reused when
 * the function returns. A vector travels in fragments of a quarter of TERN_RING_SIZE, each of which
 * is copied into a ring and out of it. A rank that does not wait for an arriving fragment copies
 * it once more, to memory of tern: at most 16 fragments from each rank that sends to it in this
 * collective. Costs below are of one rank, with P ranks, n bytes and N fragments (N is 1 for
 * vectors of up to one fragment).
 *
 * TERN_ERR_PEER: a rank has died; TERN_ERR_ARGUMENT; TERN_ERR_STATE: in a handler;
 * TERN_ERR_MEMORY: a rank had no memory for a ring; TERN_ERR_MPI;
 * TERN_ERR_MISMATCH: the ranks are in different collective functions, of these three or any others
 * of the context, or give vectors of different length. Then every rank gets that error, with both
 * names, unless its broadcast had ended before, and the next collectives work. If a rank's
 * broadcast has ended, the others get the error only when that rank calls a collective function
 * again. After any other error that not every rank got, the workers of that index can run no more
 * collectives. After an error the content of data or values is undefined; it is unchanged after
 * TERN_ERR_ARGUMENT and TERN_ERR_STATE, and in an all-reduce of up to 128 numbers.
 *
 * A program that mixes these functions with tern_barrier and the like must call those, too, with
 * workers of the same index on every rank. If several workers of a rank are in collectives at the
 * same time, one worker may get the error of another's collective.
 */

#include <stddef.h>

#include "tern/memory.h"
#include "tern/number.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns when all ranks have called it. Unlike tern_barrier it does not complete puts: flushes and
 * events tell when those have arrived. worker: the calling thread's. Blocks; not in handlers. Costs
 * log2(P) messages, rounded up, sent and received, one after the other. */
TERN_NODISCARD TERN_API tern_status tern_notify_barrier(tern_worker *worker);

/* Copies the bytes at data of rank root to data of every rank. root: a rank. data: read on root and
 * written elsewhere; may be NULL if bytes is 0. bytes: the same on every rank. TERN_ERR_ARGUMENT:
 * no such root; NULL. Blocks; not in handlers. It may return on a rank before other ranks have
 * called it: root may be up to 16 fragments, and 16 broadcasts, ahead of the two ranks that it
 * sends to.
 *
 * The data goes down a binary tree: a rank receives n bytes and sends at most 2 n, in N messages
 * from its parent and N to each of two children, with one message back for every 8 fragments beyond
 * the first 16. The last rank has the data after log2(P) steps and N more. */
TERN_NODISCARD TERN_API tern_status tern_notify_broadcast(tern_worker *worker, uint32_t root,
                                                          void *data, size_t bytes);

/* Combines the vectors of all ranks, element by element and in place. type: TERN_UINT64,
 * TERN_INT64 or TERN_DOUBLE. op: TERN_REDUCE_SUM, _MIN or _MAX. values: count numbers of the type,
 * at any address; may be NULL if count is 0. type, op and count: the same on
 * every rank; tern compares them. Every rank gets the same bits. Sums of integers wrap around; sums
 * of doubles are added in an order that depends on P and count; a NaN in a minimum or maximum may
 * be left out. TERN_ERR_ARGUMENT: no such type or operation; NULL. TERN_ERR_MISMATCH, on every
 * rank: type, op or count differ. Blocks; not in handlers.
 *
 * Up to 128 numbers cost log2(P) messages of n bytes, sent and received, one after the other. With
 * more numbers the ranks exchange and reduce halves, quarters and so on, and send the results back
 * the same way: less than 2 n bytes sent and received, in 2 log2(P) steps and about 2 N + 2 log2(P)
 * messages. If P is not a power of two, the ranks beyond the largest power of two below P send n
 * bytes before and get n after, and their partners receive and send n more. */
TERN_NODISCARD TERN_API tern_status tern_notify_allreduce(tern_worker *worker, tern_number type,
                                                          tern_reduction op, void *values,
                                                          size_t count);

#ifdef __cplusplus
}
#endif

#endif
