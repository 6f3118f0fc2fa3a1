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

/* AUTO begins with what the model says (tern/model.h) and goes on with what the operations of the
 * same kind by this worker on the same rank are seen to cost, so ranks that compute and do not
 * attend are left alone. It tries the other way now and then, which takes some percent of the time
 * in the long run; but one such call may wait, over shm too, until the owner next makes progress,
 * and a rank that blocks in MPI itself makes none. Where one way is not permitted (call_only, too
 * large for a call, in a handler, no future left) it takes the other.
 *
 * What is learned: of tables, finds as one kind, inserts, erasures and additions as another; of
 * queues, pushes, pops and the batches of each. Additions of many keys share one choice for all
 * ranks. Insertions and finds of many keys learn nothing: they go by RMA if load/store reaches all
 * parts of the table, else by call if that is permitted. */
typedef enum tern_via {
    TERN_VIA_RMA,  /* one-sided, by the caller */
    TERN_VIA_CALL, /* remote invocation, by the owner's progress */
    TERN_VIA_AUTO  /* the cheaper of the two */
} tern_via;

#ifdef __cplusplus
}
#endif

#endif
