#ifndef TERN_RMA_MEMORY_TRANSPORT_OPS_H
#define TERN_RMA_MEMORY_TRANSPORT_OPS_H

/*
 * The interface of a transport (rma/transport/transport.h), by which a worker reaches the memory
 * and the rings of another rank. Offsets count from the start of the target's segment. The callers
 * have checked them.
 */

#include "src/context.h"
#include "tern/transfer.h"

struct tern_out;
struct tern_in;
struct tern_cell;
struct tern_return_address;
struct tern_posting;
struct tern_rkey;

/* A put, a get or an atomic under way (rma/transfer.h). All zero: it is complete. */
typedef struct tern_transfer {
    uint32_t rank;
    bool under_way;
    bool flies; /* goes over a network: posting is valid */
    bool asked; /* waits for the answer to a message; the wait may be given up */
    union {
        MPI_Request mpi;
        struct tern_posting *posting; /* rma/port/port.h */
    };
    struct tern_rkey *rkey; /* with MPI: the held rkey of the region that it reads; or NULL */
} tern_transfer;

typedef struct tern_transport_ops {
    tern_transport name;
    bool reads_own_frames; /* the origin puts frames that the target must validate */
    bool posts_in_order;   /* a posted put arrives before any record published later */
    bool replies_compared; /* a late reply to a cell that is used again is dropped on receipt */
    bool puts_outlive;     /* a put of a dead rank may still be written */
    bool settles_own;      /* settle and flush wait for no puts but this worker's */

    /* Starts a put. With transfer NULL it returns when the source may be reused. Over p2p the
     * source is copied, so the transfer is complete at once. */
    tern_status (*put)(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                       size_t bytes, tern_transfer *transfer);
    /* Starts a put and never waits. The caller must not change the source until the next flush;
     * where posts are in order, the source has been copied. asks: the caller asks
     * whether a network has lost the put (tern_port_lost_since); else the program's next flush
     * tells of the loss. [out] posted: how many bytes were taken. TERN_ERR_AGAIN: try the rest
     * later. NULL over shm. */
    tern_status (*post)(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                        uint64_t bytes, bool asks, uint64_t *posted);
    /* Starts a get. The transfer is complete when the data is there. */
    tern_status (*get)(tern_worker *worker, uint32_t rank, uint64_t offset, void *to, size_t bytes,
                       tern_transfer *transfer);
    tern_status (*atomic)(tern_worker *worker, uint32_t rank, uint64_t offset, tern_atomic_op op,
                          unsigned width, uint64_t operand, uint64_t expected, uint64_t *old);
    /* Waits until this worker's puts and atomics to rank are complete there, or until a network has
     * lost them (tern_port_tell). */
    tern_status (*flush)(tern_worker *worker, uint32_t rank);
    /* Waits for the local completion of the posts: their sources may be reused. If MPI needs the
     * target's help, this takes a round trip. NULL where posts copy their sources. */
    tern_status (*settle)(tern_worker *worker, uint32_t rank);
    tern_status (*test)(tern_worker *worker, tern_transfer *transfer, int *done);

    /* Starts or continues the opening of a ring. TERN_ERR_AGAIN: not yet. */
    tern_status (*open)(tern_worker *worker, struct tern_out *out);
    /* Whether the opening needs only the target's listener and the network, so that it ends
     * whatever the target does. NULL: never. */
    bool (*opens_alone)(const tern_worker *worker, const struct tern_out *out);
    /* Makes the committed records visible. TERN_ERR_AGAIN: later. */
    tern_status (*publish)(tern_worker *worker, struct tern_out *out);
    /* The position up to which the target has consumed, as far as this rank knows. */
    uint64_t (*consumed)(tern_worker *worker, const struct tern_out *out);
    /* Tells the origin how far the ring is consumed. TERN_ERR_AGAIN: later. */
    tern_status (*report)(tern_worker *worker, struct tern_in *in);
    /* Writes a reply into a cell of a worker. */
    tern_status (*reply)(tern_worker *worker, uint32_t target,
                         const struct tern_return_address *address, const struct tern_cell *image);
    /* Makes progress; returns the number of events. NULL: the transport needs no progress. */
    size_t (*poll)(tern_worker *worker);
} tern_transport_ops;

#endif
