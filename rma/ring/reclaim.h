#ifndef TERN_RMA_RING_RECLAIM_H
#define TERN_RMA_RING_RECLAIM_H

/*
 * Ring memory is used as a cache. A target that receives records by message channels
 * (rma/ring/message_channel.h), from pairs that found no ring memory, takes back a ring whose pair
 * is idle:
 *
 *     target: picks a ring that has been idle; message RECLAIM{endpoint, ring} to its origin
 *     origin: between two operations, if the endpoint still has that ring and nothing is under way
 *             in it: waits until its puts have arrived; message CLOSED{endpoint, p}: the ring ends
 *             at position p, and the pair goes on in a message channel
 *     target: once it has consumed up to p: gives the ring's pieces back, and reads the message
 *             channel
 *
 * A busy pair with a message channel asks for a ring as a full ring asks for a larger one
 * (rma/ring/growth.c), and a MOVED record ends the message channel. So the records of a pair have
 * one order, whether rings or messages carry them.
 *
 * No late put lands in pieces that another pair owns by then: only the origin ends a ring, after
 * all its puts have arrived, and messages come in order. A ring is closed once, since the target
 * gives its pieces back only after it has consumed up to p. So an old RECLAIM names a ring that the
 * endpoint no longer has, or one that it has again. Such a ring is closed like any other.
 *
 * The target asks for only one ring per TERN_RECLAIM_FRAMES frames that messages bring. So if no
 * pair is idle, or if too many pairs take turns, the pairs that have rings keep most of them.
 *
 * Model: tests/spin/reclaim.pml.
 */

#include "rma/message/message.h"

struct tern_in;

#define TERN_RECLAIM_FRAMES 16u
#define TERN_RECLAIM_IDLE 1024u /* frames by message during which an idle ring carried nothing */

/* Lists a ring that brings records, so that the worker may ask for it later. */
void tern_reclaim_list(tern_worker *worker, struct tern_in *in);

/* The target's part; called in some rounds of progress: asks for an idle ring if messages have
 * brought frames. */
void tern_reclaim_ask(tern_worker *worker);

/* Called after a doorbell: notes whether the origin has told the end of the ring. If in reads a
 * message channel, looks for its memory instead. */
void tern_reclaim_hear(tern_worker *worker, struct tern_in *in);
/* Called for an empty ring whose end has been told: if the worker has consumed it up to its end,
 * gives the ring back and goes on in the message channel. */
void tern_reclaim_leave(tern_worker *worker, struct tern_in *in);

/* The origin's part of a round of progress: closes the rings that their targets asked for. */
void tern_reclaim_close(tern_worker *worker);

/* Serve the two messages; the MPI lock is held. False: the message is malformed. [out] served:
 * false if there is no memory for the message now. */
bool tern_reclaim_serve_ask(tern_context *context, uint32_t source, const tern_message *message);
bool tern_reclaim_serve_closed(tern_context *context, uint32_t source, const tern_message *message,
                               bool *served);

#endif
