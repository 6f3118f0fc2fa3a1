#ifndef TERN_SYNCHRONIZER_H
#define TERN_SYNCHRONIZER_H

/*
 * Synchronizers (paper 000, section 3.1): counters of operations that are not done yet. A call or a
 * broadcast that carries one raises it and lowers it again when it has been sent, or when it has
 * run. The counter lies in a segment, and the worker that runs the call lowers it one-sided:
 * nothing of that passes through a ring, and no handler runs at the counter's owner.
 */

#include "tern/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* When a call lowers its synchronizer. */
typedef enum tern_notify_on {
    TERN_ON_EXECUTED, /* when its function has returned, whatever it returned */
    TERN_ON_SENT      /* when it has left: it is published, and its buffer may be reused */
} tern_notify_on;

/* Plain data: copies are the same synchronizer, and other ranks may use them. */
typedef struct tern_synchronizer {
    tern_ptr counter; /* of 8 bytes, aligned, allocated with TERN_DOMAIN_OWNER, 0 at first */
} tern_synchronizer;

/* [out] synchronizer: with a counter in this rank's segment, at 0. TERN_ERR_MEMORY,
 * TERN_ERR_ARGUMENT. Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_synchronizer_create(tern_worker *worker,
                                                             tern_synchronizer *synchronizer);

/* Frees the counter of one that was created here. TERN_ERR_STATE: operations are outstanding.
 * Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_synchronizer_destroy(tern_worker *worker,
                                                              tern_synchronizer *synchronizer);

/* For operations that are not calls of tern: raise before one begins, on a rank that reaches the
 * counter by load/store; lower when it is done, on any rank. Neither blocks, and both may be used
 * in handlers. TERN_ERR_RANGE, TERN_ERR_ARGUMENT; raise: TERN_ERR_UNSUPPORTED for a counter of
 * another node; lower: TERN_ERR_AGAIN while too many such notices wait for progress. */
TERN_NODISCARD TERN_API tern_status tern_synchronizer_raise(tern_worker *worker,
                                                            tern_synchronizer synchronizer,
                                                            uint64_t operations);
TERN_NODISCARD TERN_API tern_status tern_synchronizer_lower(tern_worker *worker,
                                                            tern_synchronizer synchronizer,
                                                            uint64_t operations);

/* [out] outstanding: how many operations are. Makes progress if any is, and never blocks. On a rank
 * that reaches the counter by load/store: TERN_ERR_UNSUPPORTED elsewhere. What was done before a
 * counter was lowered is seen by every rank that finds it so. */
TERN_NODISCARD TERN_API tern_status tern_synchronizer_test(tern_worker *worker,
                                                           tern_synchronizer synchronizer,
                                                           uint64_t *outstanding);

/* Waits, making progress, until none is. Not in handlers (TERN_ERR_STATE). TERN_ERR_PEER when a
 * rank has died; else errors as for test. */
TERN_NODISCARD TERN_API tern_status tern_synchronizer_wait(tern_worker *worker,
                                                           tern_synchronizer synchronizer);

#ifdef __cplusplus
}
#endif

#endif
