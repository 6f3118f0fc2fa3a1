#ifndef TERN_RMA_ATOMIC_NB_H
#define TERN_RMA_ATOMIC_NB_H

#include "tern/transfer.h"

/* Starts an atomic on a word of 8 bytes and returns; otherwise as tern_atomic_far, but it may be
 * used in progress. *old is written, and has to stay in place, until the request is complete. MPI's
 * own atomics, which have no such form for a compare and swap, are done when this returns, and so
 * is what load/store reaches. */
tern_status tern_atomic_nb(tern_worker *worker, tern_ptr p, tern_atomic_op op, uint64_t operand,
                           uint64_t expected, uint64_t *old, tern_request *request);

#endif
