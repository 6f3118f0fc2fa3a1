#ifndef TERN_TEAM_H
#define TERN_TEAM_H

/*
 * Teams and their collectives. A team is an ordered set of ranks. It is made without a
 * communicator: its members make it, each for itself, and send nothing for that. NULL stands for
 * the team of all ranks of the context.
 *
 * A team belongs to one worker. Its collectives are called by the workers of the same index of all
 * members, in the same order on each. Collectives of different teams, and of workers of different
 * index, are independent of each other. Every collective has a form that starts and returns
 * (_start), with a request (tern/request.h); the other form starts and waits. Up to
 * TERN_TEAM_UNDER_WAY collectives of a team may be under way at the same time, and their requests
 * may be waited for in any order. They go on in every call that makes progress on the worker.
 *
 * In the comments below, P is the number of members and n the number of bytes. A rank in a team is
 * the index of a member in the order of the team: 0 to P - 1. The data may lie in any memory of the
 * caller; from the start to the completion of the request it belongs to tern. Data of up to 1 KiB
 * may be sent before the other member has started the collective, and is kept there meanwhile: of
 * at most 32 collectives. Longer data waits until the other member is there.
 *
 * Errors of all these functions, from the start: TERN_ERR_ARGUMENT; TERN_ERR_STATE: in a handler;
 * TERN_ERR_AGAIN: TERN_TEAM_UNDER_WAY collectives of the team are under way (the blocking forms
 * wait instead); TERN_ERR_MEMORY: nothing was started. From the wait: TERN_ERR_PEER: a member has
 * died; TERN_ERR_MISMATCH: two members are in different functions, or differ in root, type,
 * operation or length, both of which the text names; TERN_ERR_MPI; TERN_ERR_MEMORY. A member whose
 * collective fails tells the other members, and it fails with the same status on each that has not
 * ended it before. Later collectives of the team work after a mismatch. After an error the content
 * of the memory is undefined. The death of a rank that is not a member changes nothing.
 */

#include <stddef.h>
#include <stdint.h>

#include "tern/memory.h"
#include "tern/number.h"
#include "tern/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Some ranks of a context in an order of their own. A worker's own handle: other workers make
 * theirs. */
typedef struct tern_team tern_team;

/* The most collectives of one team of a worker that may be under way. */
#define TERN_TEAM_UNDER_WAY 64

/* Color of a member that tern_team_split puts into a team of its own. */
#define TERN_TEAM_ALONE UINT32_MAX

/* Makes a team of a list of ranks. Called by its members. Members that make several teams of the
 * same list do so equally often. ranks: count ranks of the context, each once and the caller's
 * among them, in the same order on every member; copied. [out] team: owned by the caller, for this
 * worker. TERN_ERR_ARGUMENT: no such list; TERN_ERR_MEMORY; TERN_ERR_STATE: in a handler. Does not
 * block and sends nothing. Costs memory and time in proportion to count. */
TERN_NODISCARD TERN_API tern_status tern_team_create(tern_worker *worker, const uint32_t *ranks,
                                                     size_t count, tern_team **team);

/* Makes a team of the count ranks start, start + stride, start + 2 stride and so on. stride may be
 * negative. Otherwise as tern_team_create. */
TERN_NODISCARD TERN_API tern_status tern_team_stride(tern_worker *worker, uint32_t start,
                                                     int64_t stride, size_t count,
                                                     tern_team **team);

/* Splits a team: the members with the same color make one team, in the order of their keys and, for
 * equal keys, of their ranks in parent. Called by all members of parent, as a collective of it.
 * color: TERN_TEAM_ALONE: a team of this member alone. Blocks; not in handlers. Costs an all-gather
 * of 16 bytes. Returns the errors of collectives and of tern_team_create. */
TERN_NODISCARD TERN_API tern_status tern_team_split(tern_worker *worker, tern_team *parent,
                                                    uint32_t color, uint64_t key, tern_team **team);

/* Frees a team. Called by each member when it needs the team no more, not necessarily at the same
 * time. team: NULL does nothing. TERN_ERR_STATE: collectives of the team are under way here, or in
 * a handler. Sends nothing. Teams that are left are freed with the context. */
TERN_NODISCARD TERN_API tern_status tern_team_destroy(tern_worker *worker, tern_team *team);

/* Returns the caller's rank in a team. */
TERN_API uint32_t tern_team_rank(const tern_worker *worker, const tern_team *team);

/* Returns the number of members of a team. */
TERN_API uint32_t tern_team_size(const tern_worker *worker, const tern_team *team);

/* Translates a rank in a team to a rank of the context. [out] rank. TERN_ERR_ARGUMENT: the team has
 * no such member. Allowed in handlers. */
TERN_NODISCARD TERN_API tern_status tern_team_translate(const tern_worker *worker,
                                                        const tern_team *team, uint32_t member,
                                                        uint32_t *rank);

/* Asks for a local event (tern/notify.h) when a collective that was started is complete. request:
 * of a function of this header, whether or not it is complete, before it is reused. local_cid: of
 * the event, whose peer is this worker, whose bytes are those of the collective's data and whose
 * status is that of the collective. TERN_ERR_AGAIN: TERN_NOTIFY_EVENTS events have not been probed
 * for; TERN_ERR_ARGUMENT; TERN_ERR_MEMORY. Does not block. */
TERN_NODISCARD TERN_API tern_status tern_team_event(tern_worker *worker, tern_request *request,
                                                    uint64_t local_cid);

/* Returns when all members have called it. It does not complete puts. Costs log2(P) messages,
 * rounded up, sent and received, one after the other. */
TERN_NODISCARD TERN_API tern_status tern_team_barrier(tern_worker *worker, tern_team *team);

/* Starts tern_team_barrier and returns (tern/request.h). */
TERN_NODISCARD TERN_API tern_status tern_team_barrier_start(tern_worker *worker, tern_team *team,
                                                            tern_request *request);

/* Copies the bytes at data of the member root to data of every member. data: read on root, written
 * elsewhere; may be NULL if bytes is 0. A member may be done before others have started. Goes down
 * a binomial tree: a member sends at most log2(P) times n bytes, and passes data on to its first
 * child while it arrives. */
TERN_NODISCARD TERN_API tern_status tern_team_broadcast(tern_worker *worker, tern_team *team,
                                                        uint32_t root, void *data, size_t bytes);

/* Starts tern_team_broadcast and returns (tern/request.h). */
TERN_NODISCARD TERN_API tern_status tern_team_broadcast_start(tern_worker *worker, tern_team *team,
                                                              uint32_t root, void *data,
                                                              size_t bytes, tern_request *request);

/* Combines the vectors of all members, element by element, into that of the member root. values:
 * count numbers of the type (tern/number.h), at any address; on other members than root they are
 * undefined afterwards. Sums of floating point are added in an order that depends on P and root.
 * Goes up a binomial tree. */
TERN_NODISCARD TERN_API tern_status tern_team_reduce(tern_worker *worker, tern_team *team,
                                                     uint32_t root, tern_number type,
                                                     tern_reduction op, void *values, size_t count);

/* Starts tern_team_reduce and returns (tern/request.h). */
TERN_NODISCARD TERN_API tern_status tern_team_reduce_start(tern_worker *worker, tern_team *team,
                                                           uint32_t root, tern_number type,
                                                           tern_reduction op, void *values,
                                                           size_t count, tern_request *request);

/* Combines the vectors of all members, element by element and in place. Every member gets the same
 * bits. Up to 1 KiB costs log2(P) messages of n bytes sent and received; longer vectors less than
 * 2 n bytes, in 2 log2(P) steps. If P is not a power of two, 2 more steps of n bytes. */
TERN_NODISCARD TERN_API tern_status tern_team_allreduce(tern_worker *worker, tern_team *team,
                                                        tern_number type, tern_reduction op,
                                                        void *values, size_t count);

/* Starts tern_team_allreduce and returns (tern/request.h). */
TERN_NODISCARD TERN_API tern_status tern_team_allreduce_start(tern_worker *worker, tern_team *team,
                                                              tern_number type, tern_reduction op,
                                                              void *values, size_t count,
                                                              tern_request *request);

/* Gathers bytes from every member at root, in the order of the team. mine: bytes to read, not in
 * all. all: on root P times bytes are written; elsewhere ignored. Costs P - 1 messages at root. */
TERN_NODISCARD TERN_API tern_status tern_team_gather(tern_worker *worker, tern_team *team,
                                                     uint32_t root, const void *mine, void *all,
                                                     size_t bytes);

/* Starts tern_team_gather and returns (tern/request.h). */
TERN_NODISCARD TERN_API tern_status tern_team_gather_start(tern_worker *worker, tern_team *team,
                                                           uint32_t root, const void *mine,
                                                           void *all, size_t bytes,
                                                           tern_request *request);

/* Gathers bytes from every member on every member. mine: not in all. all: P times bytes. Goes round
 * a ring in P - 1 steps, each of n bytes sent and received. */
TERN_NODISCARD TERN_API tern_status tern_team_allgather(tern_worker *worker, tern_team *team,
                                                        const void *mine, void *all, size_t bytes);

/* Starts tern_team_allgather and returns (tern/request.h). */
TERN_NODISCARD TERN_API tern_status tern_team_allgather_start(tern_worker *worker, tern_team *team,
                                                              const void *mine, void *all,
                                                              size_t bytes, tern_request *request);

/* Sends the i-th block of out to member i, which stores it as the block of this member. out, in: P
 * blocks of bytes bytes each; they do not overlap. Costs P - 1 steps, each with a block sent and
 * one received. */
TERN_NODISCARD TERN_API tern_status tern_team_alltoall(tern_worker *worker, tern_team *team,
                                                       const void *out, void *in, size_t bytes);

/* Starts tern_team_alltoall and returns (tern/request.h). */
TERN_NODISCARD TERN_API tern_status tern_team_alltoall_start(tern_worker *worker, tern_team *team,
                                                             const void *out, void *in,
                                                             size_t bytes, tern_request *request);

/* Combines the vectors of the members up to this one, in place: an inclusive scan. Goes along a
 * chain of all members, each of which receives and sends n bytes. */
TERN_NODISCARD TERN_API tern_status tern_team_scan(tern_worker *worker, tern_team *team,
                                                   tern_number type, tern_reduction op,
                                                   void *values, size_t count);

/* Starts tern_team_scan and returns (tern/request.h). */
TERN_NODISCARD TERN_API tern_status tern_team_scan_start(tern_worker *worker, tern_team *team,
                                                         tern_number type, tern_reduction op,
                                                         void *values, size_t count,
                                                         tern_request *request);

/* Combines the vectors of the members before this one: an exclusive scan, otherwise as
 * tern_team_scan. The values of member 0 stay as they are. Takes n bytes of memory meanwhile. */
TERN_NODISCARD TERN_API tern_status tern_team_scan_before(tern_worker *worker, tern_team *team,
                                                          tern_number type, tern_reduction op,
                                                          void *values, size_t count);

/* Starts tern_team_scan_before and returns (tern/request.h). */
TERN_NODISCARD TERN_API tern_status tern_team_scan_before_start(tern_worker *worker,
                                                                tern_team *team, tern_number type,
                                                                tern_reduction op, void *values,
                                                                size_t count,
                                                                tern_request *request);

#ifdef __cplusplus
}
#endif

#endif
