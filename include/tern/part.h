#ifndef TERN_PART_H
#define TERN_PART_H

/*
 * Parts: objects of a program's own that are spread over the ranks of a context, as tern's tables
 * and queues are. Each rank has a part. All parts of an object have one id, by which the calls of
 * other ranks (tern/call.h) find the part of the rank that they have come to:
 *
 *     static tern_status shop_sell(tern_call_info *call, const void *arguments, size_t bytes) {
 *         uint64_t id; ... copied from the arguments ...
 *         struct shop *shop = tern_part_find(call->worker, "shop", id);
 *         if (shop == NULL)
 *             return tern_call_fail(call, TERN_ERR_STATE, "this shop has been closed");
 *
 * A call carries the id, which the handler must check, because a message may be wrong; it never
 * carries a pointer. tern_context_destroy refuses to destroy a context that has parts. tern/agree.h
 * has what collective functions of such objects need.
 */

#include <stdint.h>

#include "tern/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A rank's part of an object that ranks create together. Its members are tern's own. */
typedef struct tern_part tern_part;

/* Makes this rank's part of a new object. Collective, blocks, makes progress. kind: what the object
 * is, the same on every rank, such as "shop"; it lives as long as the part. data: what
 * tern_part_find returns on this rank. [out] part: destroyed by tern_part_destroy. A call may find
 * a rank's part before this function has returned on other ranks, but finds nothing on a rank that
 * has not made its part yet. So call a rank only when it has returned, for example after a barrier.
 *
 * TERN_ERR_ARGUMENT: NULL. TERN_ERR_STATE: in a handler. TERN_ERR_MISMATCH: the ranks are in
 * different collective functions. TERN_ERR_MEMORY, TERN_ERR_SYSTEM, TERN_ERR_PEER. Unless a rank
 * dies meanwhile, either every rank gets a part or every rank gets an error. */
TERN_NODISCARD TERN_API tern_status tern_part_create(tern_worker *worker, const char *kind,
                                                     void *data, tern_part **part);

/* Returns the object's id: the same on every rank, never 0, and not used again. Local, never
 * blocks. */
TERN_API uint64_t tern_part_id(const tern_part *part);

/* Returns the data of this rank's part of the object with that id, or NULL if no object of that
 * kind has it. Any thread with a worker, also in handlers; never blocks, takes no lock. */
TERN_API void *tern_part_find(const tern_worker *worker, const char *kind, uint64_t id);

/* Destroys this rank's part. After it, no call finds the part, and no call that has found it runs
 * any more on a service thread. Not in a handler. Local; waits at most for a round of the service
 * threads. Other ranks may still call and then find nothing; a barrier before this call prevents
 * that. NULL is fine. */
TERN_API void tern_part_destroy(tern_part *part);

#ifdef __cplusplus
}
#endif

#endif
