#ifndef TERN_PROMISE_H
#define TERN_PROMISE_H

/*
 * Promise: what the caller of a container's operation promises about the operations that may run at
 * the same time (BCL's concurrency promises, paper 003 section II-C), and by which way it is done.
 * Phases are kept apart by tern_barrier. An operation whose own promise excludes it, such as an
 * insert in a phase of reads, is TERN_ERR_ARGUMENT.
 */

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tern_promise {
    TERN_PROMISE_READ_WRITE, /* nothing: any operation may run at the same time */
    TERN_PROMISE_WRITE_ONLY, /* a phase of writes: only operations that change or push */
    TERN_PROMISE_READ_ONLY   /* a phase of reads: only operations that find or pop */
} tern_promise;

typedef enum tern_via {
    TERN_VIA_RMA, /* one-sided, by the caller */
    TERN_VIA_CALL /* remote invocation, by the owner's progress */
} tern_via;

/* By which algorithm a container is operated: tern's own; the paper's, for comparison; the paper's
 * queue with checksums (queues only). */
typedef enum tern_algorithm {
    TERN_ALGO_IMPROVED,
    TERN_ALGO_CLASSIC,
    TERN_ALGO_CHECKSUM
} tern_algorithm;

#ifdef __cplusplus
}
#endif

#endif
