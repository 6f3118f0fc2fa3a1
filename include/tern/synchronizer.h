#ifndef TERN_SYNCHRONIZER_H
#define TERN_SYNCHRONIZER_H

/*
 * Synchronizers (paper 000, section 3.1): counters of operations that are not done yet. A call or a
 * broadcast that carries a synchronizer raises its counter, and lowers it again when the call has
 * been sent, or when it has run. The counter lies in a segment, and the worker that runs the call
 * lowers it by a one-sided atomic: no record goes through a ring, and no handler runs at the
 * counter's owner.
 */

#include "tern/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* When a call lowers its synchronizer. */
typedef enum tern_notify_on {
    TERN_ON_EXECUTED, /* when its function has returned, whatever it returned */
    TERN_ON_SENT      /* when the call has left: it is published, and its buffer may be reused */
} tern_notify_on;

/* Plain data: copies are the same synchronizer, and other ranks may use them. */
typedef struct tern_synchronizer {
    tern_ptr counter; /* 8 bytes, aligned, allocated with TERN_DOMAIN_OWNER, 0 at first */
} tern_synchronizer;

/* Creates a synchronizer. [out] synchronizer: its counter is in this rank's segment and is 0.
 * TERN_ERR_MEMORY, TERN_ERR_ARGUMENT. Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_synchronizer_create(tern_worker *worker,
                                                             tern_synchronizer *synchronizer);

/* Frees the counter of a synchronizer that this rank has created. TERN_ERR_STATE: the counter is
 * not 0. Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_synchronizer_destroy(tern_worker *worker,
                                                              tern_synchronizer *synchronizer);

/* Raises the counter, before operations that are not calls of tern begin, on a rank that reaches
 * the counter by load/store. Never blocks; may be used in handlers. TERN_ERR_RANGE;
 * TERN_ERR_ARGUMENT; TERN_ERR_UNSUPPORTED for a counter of another node. */
TERN_NODISCARD TERN_API tern_status tern_synchronizer_raise(tern_worker *worker,
                                                            tern_synchronizer synchronizer,
                                                            uint64_t operations);

/* Lowers the counter, on any rank, when such operations are done. Never blocks; may be used in
 * handlers. TERN_ERR_RANGE; TERN_ERR_ARGUMENT; TERN_ERR_AGAIN while too many messages that lower
 * counters wait for progress. */
TERN_NODISCARD TERN_API tern_status tern_synchronizer_lower(tern_worker *worker,
                                                            tern_synchronizer synchronizer,
                                                            uint64_t operations);

/* Reads the counter of a synchronizer. [out] outstanding: the counter, which is the number of
 * operations that are not done. Makes progress if it is not 0; never blocks. TERN_ERR_UNSUPPORTED:
 * this rank does not reach the counter by load/store. A rank that finds the counter lowered sees
 * everything that was done before it was lowered. */
TERN_NODISCARD TERN_API tern_status tern_synchronizer_test(tern_worker *worker,
                                                           tern_synchronizer synchronizer,
                                                           uint64_t *outstanding);

/* Waits, making progress, until the counter is 0. Not in handlers (TERN_ERR_STATE). TERN_ERR_PEER:
 * a rank has died. Other errors are those of tern_synchronizer_test. */
TERN_NODISCARD TERN_API tern_status tern_synchronizer_wait(tern_worker *worker,
                                                           tern_synchronizer synchronizer);

#ifdef __cplusplus
}
#endif

#endif
