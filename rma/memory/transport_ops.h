#ifndef TERN_RMA_MEMORY_TRANSPORT_OPS_H
#define TERN_RMA_MEMORY_TRANSPORT_OPS_H

/*
 * The interface of a transport (rma/transport/transport.h), which is how a worker reaches the
 * memory and the rings of another rank. Offsets count from the start of the target's segment and
 * are checked before they get here.
 */

#include "src/context.h"
#include "tern/transfer.h"

struct tern_out;
struct tern_in;
struct tern_cell;
struct tern_return_address;
struct tern_posting;
struct tern_rkey;

/* A put, a get or an atomic under way (rma/transfer.h). Zeroed it is complete. */
typedef struct tern_transfer {
    uint32_t rank;
    bool under_way;
    bool flies; /* over a network */
    bool asked; /* the answer to a message, which can be done without */
    union {
        MPI_Request mpi;
        struct tern_posting *posting; /* rma/port/port.h */
    };
    struct tern_rkey *key; /* of MPI: held, of the region that it reads; or NULL */
} tern_transfer;

typedef struct tern_transport_ops {
    tern_transport name;
    bool reads_own_batches; /* the origin puts batches that the target must validate */
    bool posts_in_order;    /* what is posted is there before any record published later */
    bool replies_compared;  /* a late reply to a cell that is used again is dropped on receipt */
    bool puts_outlive;      /* what a dead rank has put may still be written */
    bool settles_own;       /* settle and flush wait for no puts but this worker's */

    /* Starts; transfer NULL: returns when the source may be reused. Over p2p the source is copied,
     * so the transfer is complete at once. */
    tern_status (*put)(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                       size_t bytes, tern_transfer *transfer);
    /* Starts a put and never waits. The source must stay as it is until the next flush, or, where
     * posts are in order, has been copied. [out] posted: how much of it was taken. TERN_ERR_AGAIN:
     * the rest later. NULL over shm. */
    tern_status (*post)(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                        uint64_t bytes, uint64_t *posted);
    /* Starts; the transfer is complete when the data is there. */
    tern_status (*get)(tern_worker *worker, uint32_t rank, uint64_t offset, void *to, size_t bytes,
                       tern_transfer *transfer);
    tern_status (*atomic)(tern_worker *worker, uint32_t rank, uint64_t offset, tern_atomic_op op,
                          unsigned width, uint64_t operand, uint64_t expected, uint64_t *old);
    /* Remote completion of this worker's puts and atomics to rank. */
    tern_status (*flush)(tern_worker *worker, uint32_t rank);
    /* Local completion of the posts: their sources may be reused. Where MPI needs the target's help
     * it takes a round trip to it. NULL where they are copied. */
    tern_status (*settle)(tern_worker *worker, uint32_t rank);
    tern_status (*test)(tern_worker *worker, tern_transfer *transfer, int *done);

    /* Starts or continues the opening of a ring. TERN_ERR_AGAIN: not yet. */
    tern_status (*open)(tern_worker *worker, struct tern_out *out);
    /* Whether the opening needs nothing but the target's listener and the network, so it ends
     * whatever the target does. NULL: never. */
    bool (*opens_alone)(const tern_worker *worker, const struct tern_out *out);
    /* Makes the committed records visible. TERN_ERR_AGAIN: later. */
    tern_status (*publish)(tern_worker *worker, struct tern_out *out);
    /* The position up to which the target has consumed, as far as known here. */
    uint64_t (*consumed)(tern_worker *worker, const struct tern_out *out);
    /* Tells the origin what was consumed. TERN_ERR_AGAIN: later. */
    tern_status (*report)(tern_worker *worker, struct tern_in *in);
    /* Writes a reply into a cell of a worker. */
    tern_status (*reply)(tern_worker *worker, uint32_t target,
                         const struct tern_return_address *address, const struct tern_cell *image);
    /* Progress; how many events. NULL: needs none. */
    size_t (*poll)(tern_worker *worker);
} tern_transport_ops;

#endif
