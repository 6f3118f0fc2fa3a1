#ifndef TERN_PROMISE_H
#define TERN_PROMISE_H

/*
 * Promise: what the caller of a container's operation promises about the operations that may run at
 * the same time (BCL's concurrency promises, paper 003 section II-C), and by which way it is done.
 * Phases are kept apart by tern_barrier, which also settles what operations of a phase may leave
 * undone; other barriers do not.
 *
 * Over rma, MPI may keep what an operation has put to itself until a flush: inserts in a phase of
 * writes, pushes and pops always leave some behind. Others who need the same bucket, item or room
 * wait until it is there. A worker flushes it in tern_barrier and tern_flush, and when it begins to
 * wait in an operation of a container or for the result of a call; before it waits for other ranks
 * by any other means, the program has to call tern_flush_all.
 *
 * With several workers in a process a phase ends so: each has finished its operations and called
 * tern_flush_all, the threads meet, and then one worker of each rank calls tern_barrier, which
 * flushes for that one alone.
 *
 * An operation whose own promise excludes it, such as an insert in a phase of reads, is
 * TERN_ERR_ARGUMENT.
 */

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tern_promise {
    TERN_PROMISE_READ_WRITE, /* nothing: any operation may run at the same time */
    TERN_PROMISE_WRITE_ONLY, /* a phase of writes: only operations that change or push */
    TERN_PROMISE_READ_ONLY,  /* a phase of reads: only operations that find or pop */
    TERN_PROMISE_LOCAL       /* queues: only one worker of the rank that holds it operates on it */
} tern_promise;

/* How a container works inside; chosen when it is created. */
typedef enum tern_algorithm {
    TERN_ALGO_IMPROVED, /* tern's own */
    TERN_ALGO_CLASSIC,  /* the paper's, for comparison; all operations on a queue in a phase of
                           pushes or of pops have to promise it */
    TERN_ALGO_CHECKSUM  /* the paper's checksum queue */
} tern_algorithm;

/* AUTO takes the way that the cost model (tern/model.h) finds cheaper for the kind of operation, on
 * what gets, puts, atomics and calls are measured to cost. Each worker measures another node's
 * ranks once for all, in a fraction of a millisecond, at its first operation on one of them. Calls
 * are timed: where they take twice as long as the model says, since owners compute, the worker
 * keeps to the way that is the cheaper then, and measures anew after a pause of 10 ms, which
 * doubles up to 1.3 s while owners do not attend. tern_hashtable_explain and tern_queue_explain
 * tell what was measured and decided.
 *
 * Over shm AUTO goes by RMA, whose operations need nobody's progress, unless service threads or
 * libtern_pmpi (docs/mpi.md) serve calls while workers are elsewhere. Between nodes an operation by
 * call waits until the owner makes progress, and a rank that blocks in MPI itself makes none. Where
 * one way is not permitted (call_only, too large for a call, in a handler, no future left) AUTO
 * takes the other.
 *
 * Kinds: of tables, finds, and inserts, erasures or additions; of queues, pushes and pops, batches
 * among them. Batches of keys are kinds of their own: by call means what goes to other nodes, and
 * the parts of the own node are reached by load and store. */
typedef enum tern_via {
    TERN_VIA_RMA,  /* one-sided, by the caller */
    TERN_VIA_CALL, /* remote invocation, by the owner's progress */
    TERN_VIA_AUTO  /* the cheaper of the two */
} tern_via;

#ifdef __cplusplus
}
#endif

#endif
