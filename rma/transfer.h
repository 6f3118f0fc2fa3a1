#ifndef TERN_RMA_TRANSFER_H
#define TERN_RMA_TRANSFER_H

/*
 * Transfer: a put, a get or an atomic under way, for tern's own use. A request of a program
 * (tern/request.h) holds one. Unlike a request it may be looked at in progress, and it tells an
 * error once.
 */

#include "src/context.h"
#include "tern/transfer.h"

struct tern_flight;
struct tern_rkey;

/* Zeroed it is complete. */
typedef struct tern_transfer {
    uint32_t rank;
    bool under_way;
    bool flies; /* over a network */
    union {
        MPI_Request mpi;
        struct tern_flight *flight; /* rma/network/port.h */
    };
    struct tern_rkey *key; /* of MPI: held, of the region that it reads; or NULL */
} tern_transfer;

/* Start, as tern_put_start and tern_get_start do. */
tern_status tern_transfer_put(tern_worker *worker, tern_ptr to, const void *from, size_t bytes,
                              tern_transfer *transfer);
tern_status tern_transfer_get(tern_worker *worker, void *to, tern_ptr from, size_t bytes,
                              tern_transfer *transfer);
/* As tern_atomic_start, but it may be used in progress. */
tern_status tern_transfer_atomic(tern_worker *worker, tern_ptr p, tern_atomic_op op,
                                 uint64_t operand, uint64_t expected, uint64_t *old,
                                 tern_transfer *transfer);

/* [out] done: 1 when it is complete. One look, then progress if there may be any. Never waits.
 * TERN_ERR_PEER. */
tern_status tern_transfer_test(tern_worker *worker, tern_transfer *transfer, int *done);
tern_status tern_transfer_wait(tern_worker *worker, tern_transfer *transfer);

#endif
