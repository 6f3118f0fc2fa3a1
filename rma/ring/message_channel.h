#ifndef TERN_RMA_RING_MESSAGE_CHANNEL_H
#define TERN_RMA_RING_MESSAGE_CHANNEL_H

/*
 * A message channel replaces the ring of a pair if the target has no ring memory left, or has taken
 * the ring's memory back (rma/ring/reclaim.h). A pair has one for each of its channels, calls and
 * notifications, that lacks a ring. The origin stages its records and sends them by messages, also
 * to ranks of its own node, and the thread that serves a message appends them to memory of the
 * target's process. Positions, credit and order are those of a ring, so an origin has at most as
 * many bytes under way as a ring takes. Both sides allocate memory only with the first record.
 *
 * After a pair has sent many frames by messages, it asks for a ring, and again after as many more.
 */

#include "rma/ring/ring.h"

#define TERN_RING_NONE UINT32_MAX /* stands for a message channel in place of a ring's index */

typedef struct tern_message_channel tern_message_channel;

/* Makes out send by messages from its write position on. Nothing may be under way in its ring. */
void tern_message_channel_use(tern_worker *worker, tern_out *out);
/* Allocates the memory in which out stages its records. TERN_ERR_MEMORY. */
tern_status tern_message_channel_stage(tern_out *out);
/* Counts a frame that was sent by message, and asks for a ring now and then. */
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

/* The consuming worker's part. _has_begun: whether endpoint has a message channel from which the
 * worker does not read yet. _take: makes in read from the message channel. False: records before it
 * are not consumed yet. */
bool tern_message_channel_has_begun(const tern_worker *worker, uint32_t endpoint);
bool tern_message_channel_take(const tern_worker *worker, uint32_t endpoint, tern_in *in);
/* Makes in read the memory of the message channel if it has been allocated meanwhile. */
void tern_message_channel_look(const tern_worker *worker, uint32_t endpoint, tern_in *in);

void tern_message_channel_close(tern_context *context);

#endif
