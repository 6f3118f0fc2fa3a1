#ifndef TERN_RMA_RING_MESSAGE_CHANNEL_H
#define TERN_RMA_RING_MESSAGE_CHANNEL_H

/*
 * A message channel replaces the ring of a pair if the target has no ring memory left, or has taken
 * the ring's memory back (rma/ring/reclaim.h). A pair has two channels, calls and notifications,
 * and a message channel for each of them that lacks a ring. The origin stages its records and sends
 * them by messages, also to ranks of its own node. The thread that serves a message appends the
 * records to memory of the target's process. Positions, credit and order are those of a ring, so an
 * origin has at most as many bytes under way as a ring takes. Both sides allocate memory only with
 * the first record.
 *
 * After the origin has sent 64 frames by messages, it asks the target for a ring. If the target
 * refuses, the origin asks again after as many more.
 */

#include "rma/ring/ring.h"

#define TERN_RING_NONE UINT32_MAX /* stands for a message channel in place of a ring's index */

typedef struct tern_message_channel tern_message_channel;

/* Makes out send by messages from its write position on. Nothing may be under way in its ring. */
void tern_message_channel_use(tern_worker *worker, tern_out *out);
/* Allocates the memory in which out stages its records. TERN_ERR_MEMORY. */
tern_status tern_message_channel_stage(tern_out *out);
/* Counts a frame that was sent by messages, and asks for a ring when it is time. */
void tern_message_channel_published(tern_worker *worker, tern_out *out);
/* Whether it is time to ask for a ring. */
bool tern_message_channel_wants_ring(const tern_out *out);

/* Finds where the records of a message go: into the message channel from endpoint to a worker of
 * this process. The first records create it. The caller holds the MPI lock. False: there is no
 * memory now. */
bool tern_message_channel_memory(tern_context *context, uint32_t target_index, uint32_t endpoint,
                                 tern_ring_memory *memory);
/* Notes that the records from endpoint come by messages from position on. The caller holds the MPI
 * lock. False: there is no memory now. */
bool tern_message_channel_begin(tern_context *context, uint32_t target_index, uint32_t endpoint,
                                uint64_t position);

/* The consuming worker's part. _has_begun: whether records from endpoint come by messages and the
 * worker does not read the message channel yet. _take: makes in read from the message channel.
 * False: the worker has not consumed all records before the channel. */
bool tern_message_channel_has_begun(const tern_worker *worker, uint32_t endpoint);
bool tern_message_channel_take(const tern_worker *worker, uint32_t endpoint, tern_in *in);
/* Makes in read the memory of the message channel, if the first record has come and the memory is
 * allocated. */
void tern_message_channel_look(const tern_worker *worker, uint32_t endpoint, tern_in *in);

void tern_message_channel_close(tern_context *context);

#endif
