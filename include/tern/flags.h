#ifndef TERN_FLAGS_H
#define TERN_FLAGS_H

/*
 * How an operation of a container is done: flags that the caller ors together, or 0. Two questions
 * are answered by them, each by at most one flag.
 *
 * What the caller promises about concurrent operations (BCL's concurrency promises, paper 003
 * section II-C): TERN_READ_WRITE, TERN_WRITE_ONLY, TERN_READ_ONLY or TERN_LOCAL. tern_barrier
 * separates phases with different promises, and settles what the operations of a phase may leave
 * undone. Other barriers, such as MPI_Barrier, do not.
 *
 * By which way the operation is done: TERN_AUTO, TERN_BY_RMA or TERN_BY_CALL.
 *
 * Over rma, MPI may delay the puts of an operation until a flush. Inserts in a phase of writes,
 * pushes and pops always leave such puts behind. Operations of other ranks that need the same
 * bucket, item or slot wait until the put has arrived. A worker flushes its puts in tern_barrier
 * and tern_flush, and when it begins to wait in an operation of a container or for the result of a
 * call. Before it waits for other ranks by any other means, the program has to call tern_flush_all.
 *
 * With several workers in a process a phase ends in these steps: each worker finishes its
 * operations and calls tern_flush_all, the threads meet, and then one worker of each rank calls
 * tern_barrier. tern_barrier flushes for the calling worker alone.
 *
 * An operation that its own promise excludes, such as an insert in a phase of reads, returns
 * TERN_ERR_ARGUMENT, and so does one with two promises, two ways or an unknown flag.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags, or 0. */
typedef uint32_t tern_flags;

/* The promises. */
enum {
    TERN_READ_WRITE = 0,      /* no promise: any operation may run at the same time */
    TERN_WRITE_ONLY = 1 << 0, /* a phase of writes: only operations that change or push */
    TERN_READ_ONLY = 1 << 1,  /* a phase of reads: only operations that find or pop */
    TERN_LOCAL = 1 << 2,      /* only one worker of the rank whose memory it is uses a queue, or the
                                 rank's own part of a table or map; on a key of another rank an
                                 operation with it is TERN_ERR_ARGUMENT */
    TERN_PROMISES = TERN_WRITE_ONLY | TERN_READ_ONLY | TERN_LOCAL, /* the flags of promises */
};

/* The ways. TERN_AUTO takes the one that the cost model (tern/model.h) predicts to be cheaper for
 * the kind of operation, with the measured costs of gets, puts, atomics and calls. Each worker
 * measures another node's ranks only once, in a fraction of a millisecond, at its first operation
 * on one of them. The worker times its calls. If they take twice as long as the model predicts,
 * because owners compute, the worker decides again with that cost, and measures anew after a pause.
 * The pause is 10 ms at first and doubles up to 1.3 s while owners do not attend.
 * tern_hashtable_explain and tern_queue_explain tell what was measured and decided.
 *
 * Over shm AUTO goes by RMA, which needs no progress of other ranks, unless service threads or
 * libtern_pmpi (docs/mpi.md) serve calls while workers are outside tern. Between nodes an operation
 * by call waits until the owner makes progress, and a rank that blocks in MPI itself makes none.
 * Where one way is not permitted (call_only, too large for a call, in a handler, no request left),
 * AUTO takes the other.
 *
 * AUTO decides for each kind of operation: for tables these are finds, inserts and erasures, and
 * additions; for queues pushes and pops, batches included. Batches of keys of a table are kinds of
 * their own. A batch by call sends to other nodes by call, and reaches the parts of the own node by
 * load and store. */
enum {
    TERN_AUTO = 0,                          /* the cheaper of the two */
    TERN_BY_RMA = 1 << 3,                   /* the caller does it by one-sided operations */
    TERN_BY_CALL = 1 << 4,                  /* the owner does it, in its progress */
    TERN_WAYS = TERN_BY_RMA | TERN_BY_CALL, /* the flags of ways */
};

#ifdef __cplusplus
}
#endif

#endif
