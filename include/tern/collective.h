#ifndef TERN_COLLECTIVE_H
#define TERN_COLLECTIVE_H

/*
 * Collectives over notifications: barrier, broadcast and all-reduce of small vectors,
 * with no MPI call where memory is shared. Every rank of the context calls them, in the same order,
 * by its worker of the same index; the workers of another index may be in collectives of their own
 * at the same time. They wait, making progress. The notifications they are made of are tern's own:
 * they neither appear in probes nor wait behind events that nobody has probed for.
 *
 * TERN_ERR_PEER: a rank has died; TERN_ERR_ARGUMENT; TERN_ERR_STATE: in a handler;
 * TERN_ERR_MISMATCH: the ranks are in different collective functions, of these three or any others
 * of the context, or give vectors of different length. Then every rank gets that error, with both
 * names, unless its broadcast had ended before, and the next collectives work. A rank whose
 * broadcast has ended lets the others wait for that error until it calls a collective function
 * again. After another error that not every rank got, collectives of that worker index are over.
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

/* The largest vector, in bytes. */
#define TERN_COLLECTIVE_MAX 1024u

/* Returns when all have called it. Unlike tern_barrier it completes no puts: flushes and events say
 * when those are there. */
TERN_NODISCARD TERN_API tern_status tern_notify_barrier(tern_worker *worker);

/* Root's bytes come to data everywhere. It may return on a rank before others have called it. */
TERN_NODISCARD TERN_API tern_status tern_notify_broadcast(tern_worker *worker, uint32_t root,
                                                          void *data, size_t bytes);

typedef enum tern_reduction { TERN_REDUCE_SUM, TERN_REDUCE_MIN, TERN_REDUCE_MAX } tern_reduction;
typedef enum tern_number { TERN_UINT64, TERN_INT64, TERN_DOUBLE } tern_number;

/* Element by element over all ranks, in place: values are count numbers of 8 bytes. Every rank gets
 * the same bits. Sums of integers wrap around; a NaN in a minimum or maximum may be left out. */
TERN_NODISCARD TERN_API tern_status tern_notify_allreduce(tern_worker *worker, tern_number type,
                                                          tern_reduction op, void *values,
                                                          size_t count);

#ifdef __cplusplus
}
#endif

#endif
